from shuffledp.records import tables
from shuffledp.reproduction import jobs
from shuffledp.reproduction.studies.accuracy_against_epsilon import privacy_utility

with jobs.making(
    snakemake.input.request, log=snakemake.log[0], packages=["numpy", "scipy", "pandas"]
) as asked:
    histories = [tables.read_table(path) for path in asked["runs"]]
    columns = privacy_utility(
        histories, names=asked["accountants"], rounds_of_one=asked["rounds_of_one"], **asked["setting"]
    )
    tables.write_table(snakemake.output.table, columns)
