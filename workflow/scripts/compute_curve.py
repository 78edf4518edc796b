from shuffledp.accountants import named
from shuffledp.accountants.curves import evaluate
from shuffledp.records import tables
from shuffledp.reproduction import jobs

with jobs.making(
    snakemake.input.request, log=snakemake.log[0], packages=["numpy", "scipy", "pandas"]
) as asked:
    columns = evaluate(
        named.accountant(asked["accountant"]["name"], **asked.get("randomizer", {})),
        variable=asked["variable"],
        values=asked["values"],
        fixed=asked["fixed"],
    )
    tables.write_table(snakemake.output.curve, columns)
