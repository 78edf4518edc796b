from shuffledp import jobs, tables
from shuffledp.accountants import named
from shuffledp.accountants.sweep import sweep

with jobs.making(
    snakemake.input.request, log=snakemake.log[0], packages=["numpy", "scipy", "pandas"]
) as asked:
    columns = sweep(
        named.accountant(asked["accountant"]["name"], **asked.get("randomizer", {})),
        variable=asked["variable"],
        values=asked["values"],
        fixed=asked["fixed"],
    )
    tables.write_table(snakemake.output.curve, columns)
