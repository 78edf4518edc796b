from shuffledp.records import tables
from shuffledp.reproduction import jobs
from shuffledp.reproduction.figures.quantities import draw_quantities
from shuffledp.reproduction.figures.style import save

with jobs.making(snakemake.input.request, log=snakemake.log[0]) as asked:
    panels = {
        name: {quantity: tables.read_table(path) for quantity, path in asked["panels"][name]["curves"]}
        for name in asked["order"]
    }
    figure = draw_quantities(
        panels,
        variables={name: panel["variable"] for name, panel in asked["panels"].items()},
        axes={name: tuple(panel["axes"]) for name, panel in asked["panels"].items()},
        titles={name: panel["title"] for name, panel in asked["panels"].items()},
        styles=asked["styles"],
    )
    save(figure, pdf=snakemake.output.pdf, png=snakemake.output.png)
