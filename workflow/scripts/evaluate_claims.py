from shuffledp.records import tables
from shuffledp.reproduction import jobs, ledger

with jobs.running(snakemake.input.request, log=snakemake.log[0]) as parameters:
    found = {
        tuple(key): tables.read_table(path).assign(**setting) for *key, path, setting in parameters["curves"]
    }
    tables.write_table(snakemake.output.ledger, ledger.evaluate(found.get))
