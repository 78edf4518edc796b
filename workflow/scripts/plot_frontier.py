from shuffledp import jobs, tables
from shuffledp.figures.frontier import draw_frontier
from shuffledp.figures.style import save

with jobs.making(snakemake.input.request, log=snakemake.log[0]) as asked:
    figure = draw_frontier(
        tables.read_table(asked["table"]),
        curves=dict(asked["curves"]),
        randomizers=asked["randomizers"],
    )
    save(figure, pdf=snakemake.output.pdf, png=snakemake.output.png)
