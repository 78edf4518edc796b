from shuffledp.records import files
from shuffledp.reproduction import jobs
from shuffledp.reproduction.figures.captions import render_gallery

with jobs.running(snakemake.input.request, log=snakemake.log[0]) as parameters:
    files.write_text(snakemake.output.page, render_gallery(parameters["entries"]))
