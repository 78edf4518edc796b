from shuffledp import optional_packages
from shuffledp.records import tables
from shuffledp.reproduction import jobs

with jobs.logged(snakemake.log[0]):
    optional_packages.need("torch", extra="training")
    import torch

    from shuffledp.reproduction.benchmarks.training import time_training

    torch.set_num_threads(snakemake.threads)
    tables.write_table(snakemake.output.table, time_training())
