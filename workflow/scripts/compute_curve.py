from shuffledp.accountants import named
from shuffledp.accountants.evaluation import evaluate
from shuffledp.records import tables
from shuffledp.reproduction import jobs

with jobs.running(
    snakemake.input.request, log=snakemake.log[0], packages=["numpy", "scipy", "pandas"]
) as parameters:
    columns = evaluate(
        named.accountant(parameters["accountant"]["name"], **parameters.get("randomizer", {})),
        variable=parameters["variable"],
        values=parameters["values"],
        fixed=parameters["fixed"],
    )
    tables.write_table(snakemake.output.curve, columns)
