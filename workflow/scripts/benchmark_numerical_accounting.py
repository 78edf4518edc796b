from shuffledp import jobs, tables
from shuffledp.benchmarks import time_numerical_accounting
from shuffledp.figures.style import save
from shuffledp.figures.timings import draw_timings

with jobs.logged(snakemake.log[0]):
    timings = time_numerical_accounting()
    save(draw_timings(timings), pdf=snakemake.output.pdf, png=snakemake.output.png)
    tables.write_table(snakemake.output.table, timings)
