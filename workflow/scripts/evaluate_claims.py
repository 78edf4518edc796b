from shuffledp.records import tables
from shuffledp.reproduction import jobs, ledger
from shuffledp.reproduction.ledger.products import Source

with jobs.running(snakemake.input.request, log=snakemake.log[0]) as parameters:
    found = {tuple(key): Source(paths, setting).read() for key, paths, setting in parameters["curves"]}
    tables.write_table(snakemake.output.ledger, ledger.evaluate(found.get))
