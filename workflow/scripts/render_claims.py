from shuffledp.records import files, tables
from shuffledp.reproduction import jobs
from shuffledp.reproduction.ledger import page

with jobs.running(snakemake.input.request, log=snakemake.log[0]) as parameters:
    ledger = tables.read_table(snakemake.input.ledger[0])
    files.write_text(snakemake.output.page, page.render(ledger, parameters["figures"]))
