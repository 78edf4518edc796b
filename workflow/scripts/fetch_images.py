from shuffledp.records import files
from shuffledp.records.product import checksums
from shuffledp.reproduction import jobs
from shuffledp.training.data import datasets

with jobs.logged(snakemake.log[0]):
    folder = datasets.located(snakemake.params.data, snakemake.params.root)
    files.write_json(snakemake.output.record, checksums(folder / name for name in datasets.IDX_FILES))
