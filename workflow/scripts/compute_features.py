from shuffledp import extras, files, jobs
from shuffledp.training.experiment import Experiment

with jobs.logged(snakemake.log[0]):
    extras.need("torch", extra="training")
    import torch

    from shuffledp.training import features

    torch.set_num_threads(snakemake.threads)
    experiment = Experiment.from_parameters(snakemake.wildcards.experiment, snakemake.params.experiment)
    features.load(experiment, root=snakemake.params.root)
    files.write_json(snakemake.output.record, {"features": str(features.stem(experiment))})
