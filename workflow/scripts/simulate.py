from shuffledp.records import files
from shuffledp.reproduction import jobs, simulations
from shuffledp.reproduction.progress_bar import progress_bar

with jobs.logged(snakemake.log[0]):
    parameters = files.read_json(snakemake.input.request)["parameters"]
    batches = sum(setting.batches for setting in simulations.experiments(parameters).values())
    with progress_bar(f"Monte Carlo, n = {snakemake.wildcards.clients}", total=batches) as report:
        simulations.make(
            snakemake.input.request,
            checkpoint=jobs.checkpoint_of(snakemake.output.table, ".json"),
            workers=snakemake.threads,
            report=report,
        )
