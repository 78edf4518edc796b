from shuffledp.records import tables
from shuffledp.reproduction import jobs
from shuffledp.reproduction.studies import quantities

with jobs.running(snakemake.input.request, log=snakemake.log[0], packages=["numpy", "scipy"]) as parameters:
    columns = quantities.evaluate(
        quantities.get(parameters["quantity"]),
        variable=parameters["variable"],
        values=parameters["values"],
        fixed=parameters["fixed"],
    )
    tables.write_table(snakemake.output.curve, columns)
