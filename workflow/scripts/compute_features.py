from shuffledp import optional_packages
from shuffledp.records import files
from shuffledp.reproduction import jobs
from shuffledp.training.experiment import Experiment

with jobs.logged(snakemake.log[0]):
    optional_packages.need("torch", extra="training")
    import torch

    from shuffledp.training.features import extraction

    torch.set_num_threads(snakemake.threads)
    experiment = Experiment.from_parameters(snakemake.wildcards.experiment, snakemake.params.experiment)
    extraction.load(experiment, root=snakemake.params.root)
    files.write_json(snakemake.output.record, {"features": str(extraction.stem(experiment))})
