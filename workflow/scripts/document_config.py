from shuffledp.records import files
from shuffledp.reproduction import jobs, schema

with jobs.making(snakemake.input.request, log=snakemake.log[0]):
    files.write_text(snakemake.output.page, schema.key_table())
