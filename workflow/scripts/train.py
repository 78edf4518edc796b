from shuffledp import extras, jobs

with jobs.logged(snakemake.log[0]):
    extras.need("torch", extra="training")
    import torch

    from shuffledp.training import progress, runs

    torch.set_num_threads(snakemake.threads)
    name = snakemake.wildcards.experiment
    runs.make(
        snakemake.input.request,
        name=name,
        checkpoint=jobs.checkpoint_of(snakemake.output.history, ".pt"),
        root=snakemake.params.root,
        on=runs.device("cuda" if snakemake.resources.get("gpu") else "cpu"),
        report=progress.lines(f"{name} seed {snakemake.wildcards.seed}", epochs=snakemake.params.epochs),
    )
