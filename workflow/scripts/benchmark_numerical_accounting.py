from shuffledp.records import tables
from shuffledp.reproduction import jobs
from shuffledp.reproduction.benchmarks.accountants import time_numerical_accounting
from shuffledp.reproduction.figures.style import save
from shuffledp.reproduction.figures.timings import draw_timings

with jobs.logged(snakemake.log[0]):
    timings = time_numerical_accounting()
    save(draw_timings(timings), pdf=snakemake.output.pdf, png=snakemake.output.png)
    tables.write_table(snakemake.output.table, timings)
