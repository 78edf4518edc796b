from shuffledp import files, jobs
from shuffledp.figures.captions import render_gallery

with jobs.making(snakemake.input.request, log=snakemake.log[0]) as asked:
    files.write_text(snakemake.output.page, render_gallery(asked["entries"]))
