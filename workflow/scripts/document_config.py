from shuffledp.records import files
from shuffledp.reproduction import jobs
from shuffledp.reproduction.config.page import key_table

with jobs.running(snakemake.input.request, log=snakemake.log[0]) as parameters:
    files.write_text(snakemake.output.page, key_table(parameters["keys"], parameters["variables"]))
