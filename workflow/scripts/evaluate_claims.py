from shuffledp import jobs, ledger, tables

with jobs.making(snakemake.input.request, log=snakemake.log[0]) as asked:
    paths = {ledger.CurveKey(*key): path for *key, path in asked["curves"]}
    tables.write_table(snakemake.output.ledger, ledger.evaluate(lambda key: tables.read_table(paths[key])))
