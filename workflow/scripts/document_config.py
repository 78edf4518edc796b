from shuffledp import config, files, jobs

with jobs.making(snakemake.input.request, log=snakemake.log[0]):
    files.write_text(snakemake.output.page, config.key_table())
