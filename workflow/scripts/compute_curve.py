from shuffledp.accountants import named
from shuffledp.accountants.curves import evaluate
from shuffledp.records import tables
from shuffledp.reproduction import jobs

with jobs.making(
    snakemake.input.request, log=snakemake.log[0], packages=["numpy", "scipy", "pandas"]
) as parameters:
    columns = evaluate(
        named.accountant(parameters["accountant"]["name"], **parameters.get("randomizer", {})),
        variable=parameters["variable"],
        values=parameters["values"],
        fixed=parameters["fixed"],
    )
    tables.write_table(snakemake.output.curve, columns)
