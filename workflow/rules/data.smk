# Where trained results are shared between checkouts, with --cache train; for Snakemake under a name of its own.
CACHE = os.environ.get("SHUFFLEDP_CACHE")
if CACHE:
    shared = os.path.abspath(os.path.expanduser(CACHE))
    try:
        # Snakemake looks only once a training is done, and would throw it away; nor does it make the folder.
        if why_not := refusals.of_folder(shared):
            raise WorkflowError(f"SHUFFLEDP_CACHE {why_not}, or unset it")
        os.makedirs(shared, exist_ok=True)
    except OSError as error:
        raise WorkflowError(f"SHUFFLEDP_CACHE: {refusals.of_system(error)}") from None
    os.environ.update(SNAKEMAKE_OUTPUT_CACHE=shared)


def data_of(wildcards):
    """What training reads: whatever its age, so that fetching data again trains nothing again."""
    return data_for(SETTINGS.experiment(wildcards.experiment))


def data_for(experiment):
    if experiment.features is not None:
        return ancient(f"resources/features/{experiment.name}-{experiment.data}.json")
    return ancient(IMAGES.format(data=experiment.data)) if experiment.data in IDX_SHA256 else []


def data_unless_current(run, experiment):
    """What a run reads: nothing if it is current, so that fetching data for others does not make it again."""
    return [] if CATALOGUE.is_current(run) else data_for(experiment)


def trainings_left():
    """The runs to ask for: only what is not current, as fetching the data for one would make all others again;
    if everything is, all of them, so that there is nothing to do."""
    every = [
        path
        for experiment in SETTINGS.experiments
        for run in SETTINGS.trainings(experiment)
        for path in run.outputs
    ]
    return [path for path in every if not CATALOGUE.is_current(path)] or every
