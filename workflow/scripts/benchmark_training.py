from shuffledp import extras, jobs, tables

with jobs.logged(snakemake.log[0]):
    extras.need("torch", extra="training")
    import torch

    from shuffledp.training.benchmarks import time_training

    torch.set_num_threads(snakemake.threads)
    tables.write_table(snakemake.output.table, time_training())
