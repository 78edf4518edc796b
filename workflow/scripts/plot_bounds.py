from shuffledp.records import tables
from shuffledp.reproduction import jobs
from shuffledp.reproduction.figures.bounds import draw_bounds
from shuffledp.reproduction.figures.style import save

with jobs.making(snakemake.input.request, log=snakemake.log[0]) as asked:
    panels = {
        name: {accountant: tables.read_table(path) for accountant, path in asked["panels"][name]["curves"]}
        for name in asked["order"]
    }
    variables = {name: panel["variable"] for name, panel in asked["panels"].items()}
    titles = {name: panel["title"] for name, panel in asked["panels"].items()}
    figure = draw_bounds(
        panels,
        variables=variables,
        styles=asked["styles"],
        titles=titles,
        ratio=asked["ratio"],
        relative=asked["relative"],
    )
    save(figure, pdf=snakemake.output.pdf, png=snakemake.output.png)
