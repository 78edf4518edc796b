from shuffledp import extras, jobs

with jobs.logged(snakemake.log[0]):
    extras.need("torch", extra="training")
    import torch

    from shuffledp.training import commands, runs

    torch.set_num_threads(snakemake.threads)
    commands.make(
        snakemake.input.requests,
        name=snakemake.params.experiment,
        on=runs.device(snakemake.params.device if snakemake.resources.get("gpu") else "cpu"),
        root=snakemake.params.root,
    )
