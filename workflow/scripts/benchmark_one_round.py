from shuffledp.records import tables
from shuffledp.reproduction import jobs
from shuffledp.reproduction.benchmarks.accountants import time_one_round

with jobs.logged(snakemake.log[0]):
    tables.write_table(snakemake.output.table, time_one_round())
