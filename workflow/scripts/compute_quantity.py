from shuffledp.records import tables
from shuffledp.reproduction import jobs
from shuffledp.reproduction.studies import quantities

with jobs.making(snakemake.input.request, log=snakemake.log[0], packages=["numpy", "scipy"]) as asked:
    columns = quantities.evaluate(
        quantities.get(asked["quantity"]),
        variable=asked["variable"],
        values=asked["values"],
        fixed=asked["fixed"],
    )
    tables.write_table(snakemake.output.curve, columns)
