from importlib import import_module

from shuffledp.reproduction import deferred, jobs
from shuffledp.reproduction.figures.style import save

deferred.defer_computing()
kind = import_module(f"shuffledp.reproduction.figures.{snakemake.params.kind}")
with jobs.running(snakemake.input.request, log=snakemake.log[0]) as parameters:
    save(kind.draw(parameters), pdf=snakemake.output.pdf, png=snakemake.output.png)
