import functools

from shuffledp.records import recorded_tables, tables
from shuffledp.reproduction import jobs
from shuffledp.reproduction.studies.frontier import Cell, frontier

with jobs.running(snakemake.input.request, log=snakemake.log[0], packages=["numpy", "pandas"]) as parameters:
    read = functools.cache(tables.read_table)
    cells = [
        Cell(
            **{key: cell[key] for key in ("eps0", "k", "randomizer")},
            runs=[recorded_tables.read(path, needs=("round", "test_accuracy")) for path in cell["runs"]],
            curves={name: read(path, needs=("rounds", "epsilon")) for name, path in cell["curves"].items()},
        )
        for cell in parameters["cells"]
    ]
    tables.write_table(snakemake.output.table, frontier(cells, accountants=parameters["accountants"]))
