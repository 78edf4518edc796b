from shuffledp import files, jobs, simulation

with jobs.logged(snakemake.log[0]):
    asked = files.read_json(snakemake.input.request)["parameters"]
    batches = sum(setting.batches for setting in simulation.experiments(asked).values())
    with simulation.reporting(f"Monte Carlo, n = {snakemake.wildcards.clients}", batches=batches) as report:
        simulation.make(
            snakemake.input.request,
            checkpoint=jobs.checkpoint_of(snakemake.output.table, ".json"),
            workers=snakemake.threads,
            report=report,
        )
