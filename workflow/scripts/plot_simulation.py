from shuffledp import jobs, tables
from shuffledp.figures.simulation import draw_simulation
from shuffledp.figures.style import save

with jobs.making(snakemake.input.request, log=snakemake.log[0]) as asked:
    found = [tables.read_table(path) for path in asked["tables"]]
    save(draw_simulation(found), pdf=snakemake.output.pdf, png=snakemake.output.png)
