from shuffledp.records import tables
from shuffledp.reproduction import jobs
from shuffledp.reproduction.figures.simulation import draw_simulation
from shuffledp.reproduction.figures.style import save

with jobs.making(snakemake.input.request, log=snakemake.log[0]) as asked:
    found = [tables.read_table(path) for path in asked["tables"]]
    save(draw_simulation(found), pdf=snakemake.output.pdf, png=snakemake.output.png)
