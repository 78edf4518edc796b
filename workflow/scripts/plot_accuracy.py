from shuffledp.records import tables
from shuffledp.reproduction import jobs
from shuffledp.reproduction.figures.accuracy import draw_accuracy
from shuffledp.reproduction.figures.style import save

with jobs.making(snakemake.input.request, log=snakemake.log[0]) as asked:
    figure = draw_accuracy(
        {name: tables.read_table(path) for name, path in asked["panels"]},
        titles=asked["titles"],
        curves=dict(asked["curves"]),
        x_scale=asked["x_scale"],
        x_limit=asked["x_limit"],
    )
    save(figure, pdf=snakemake.output.pdf, png=snakemake.output.png)
