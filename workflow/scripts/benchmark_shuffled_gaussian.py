from shuffledp import jobs, tables
from shuffledp.benchmarks import time_shuffled_gaussian

with jobs.logged(snakemake.log[0]):
    tables.write_table(snakemake.output.table, time_shuffled_gaussian())
