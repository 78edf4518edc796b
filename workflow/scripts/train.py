from shuffledp import extras, jobs

with jobs.logged(snakemake.log[0]):
    extras.need("torch", extra="training")
    import torch

    from shuffledp.training import commands, runs

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
