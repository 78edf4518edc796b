from shuffledp.records import tables
from shuffledp.reproduction import jobs
from shuffledp.reproduction.figures.progress import draw_progress
from shuffledp.reproduction.figures.style import save

with jobs.making(snakemake.input.request, log=snakemake.log[0]) as asked:
    panels = {name: [] for name in asked["titles"]}
    for panel, look, paths in asked["lines"]:
        runs = [tables.read_table(path, needs=("round", "test_accuracy")) for path in paths]
        panels[panel].append((look, runs))
    save(
        draw_progress(panels, titles=asked["titles"]),
        pdf=snakemake.output.pdf,
        png=snakemake.output.png,
    )
