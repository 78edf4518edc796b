from shuffledp.records import tables
from shuffledp.reproduction import jobs
from shuffledp.reproduction.figures.convergence import draw_convergence
from shuffledp.reproduction.figures.style import save

with jobs.making(snakemake.input.request, log=snakemake.log[0]) as asked:
    runs = [tables.read_table(path, needs=("round", "excess_risk")) for path in asked["runs"]]
    save(
        draw_convergence(runs, theorem=asked["theorem"]),
        pdf=snakemake.output.pdf,
        png=snakemake.output.png,
    )
