from shuffledp.reproduction import jobs
from shuffledp.reproduction.ledger import readme

with jobs.logged(snakemake.log[0]):
    readme.update(snakemake.output.readme, snakemake.input.ledger[0])
