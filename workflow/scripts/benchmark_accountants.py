from shuffledp import jobs, tables
from shuffledp.benchmarks import time_accountants

with jobs.logged(snakemake.log[0]):
    tables.write_table(snakemake.output.table, time_accountants())
