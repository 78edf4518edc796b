from shuffledp import optional_packages
from shuffledp.reproduction import jobs

with jobs.logged(snakemake.log[0]):
    optional_packages.need("torch", extra="training")
    import torch

    from shuffledp.reproduction.trainings import commands
    from shuffledp.training import runs

    torch.set_num_threads(snakemake.threads)
    device = snakemake.params.device
    if device == "auto" and not snakemake.resources.get("gpu"):
        device = "cpu"
    commands.make(
        snakemake.input.requests,
        name=snakemake.params.experiment,
        on=runs.device(device),
        root=snakemake.params.root,
    )
