from shuffledp.records import recorded_tables, tables
from shuffledp.reproduction import jobs
from shuffledp.reproduction.studies.accuracy_against_epsilon import privacy_utility

with jobs.running(
    snakemake.input.request, log=snakemake.log[0], packages=["numpy", "scipy", "pandas"]
) as parameters:
    histories = [recorded_tables.read(path) for path in parameters["runs"]]
    columns = privacy_utility(
        histories,
        names=parameters["accountants"],
        rounds_of_one=parameters["rounds_of_one"],
        **parameters["setting"],
    )
    tables.write_table(snakemake.output.table, columns)
