from shuffledp.records import tables
from shuffledp.reproduction import jobs
from shuffledp.reproduction.figures.frontier import draw_frontier
from shuffledp.reproduction.figures.style import save

with jobs.making(snakemake.input.request, log=snakemake.log[0]) as asked:
    figure = draw_frontier(
        tables.read_table(asked["table"]),
        curves=dict(asked["curves"]),
        randomizers=asked["randomizers"],
    )
    save(figure, pdf=snakemake.output.pdf, png=snakemake.output.png)
