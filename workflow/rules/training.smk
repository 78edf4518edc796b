rule fetch_images:
    output:
        record=IMAGES,
    log:
        f"{LOGS}/fetch_images/{{data}}.log",
    benchmark:
        f"{BENCHMARKS}/fetch_images/{{data}}.tsv"
    wildcard_constraints:
        data=one_of(IDX_SHA256),
    localrule: True
    conda:
        ENVIRONMENT
    params:
        # As a function, since the linter takes the folder for a prefix of the output.
        root=lambda wildcards: SETTINGS.data_root,
        data=lambda wildcards: wildcards.data,
    message:
        "Looking for {wildcards.data}, and fetching it if it is not there."
    script:
        "../scripts/fetch_images.py"


rule compute_features:
    output:
        record="resources/features/{experiment}-{data}.json",
    log:
        f"{LOGS}/compute_features/{{experiment}}-{{data}}.log",
    benchmark:
        f"{BENCHMARKS}/compute_features/{{experiment}}-{{data}}.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=4000,
        runtime=120,
    params:
        root=SETTINGS.data_root,
        experiment=lambda wildcards: SETTINGS.experiment(wildcards.experiment).parameters(0),
    message:
        "Computing the features of {wildcards.experiment}."
    script:
        "../scripts/compute_features.py"


rule train:
    input:
        requests=[request(f"{TRAININGS}/{{experiment}}/seed{{seed}}.json")],
        data=data_of,
    output:
        multiext(
            f"{TRAININGS}/{{experiment}}/seed{{seed}}",
            history=".csv",
            record=".json",
        ),
    log:
        f"{LOGS}/train/{{experiment}}/seed{{seed}}.log",
    # No benchmark, which excludes a cache; the table has the seconds. The request says which code it is, and the
    # record versions and device.
    cache: "omit-software" if CACHE else False
    conda:
        ENVIRONMENT
    # The networks are too small for more threads to pay; more runs at once do.
    threads: 1
    resources:
        mem_mb=3000,
        runtime=240,
        # Where training.device leaves it open: --set-resources train:gpu=1
        gpu=1 if SETTINGS.device == "cuda" else 0,
    params:
        experiment=lambda wildcards: wildcards.experiment,
        root=SETTINGS.data_root,
        device=SETTINGS.device,
    message:
        "Training {wildcards.experiment}, seed {wildcards.seed}."
    script:
        "../scripts/train.py"


if SETTINGS.batch_seeds:
    for experiment in SETTINGS.experiments:
        # What is there and up to date is no part of the job, so that it is not lost if the job starts again.
        waiting = [run for run in SETTINGS.trainings(experiment) if not CATALOGUE.is_current(run.outputs[0])]
        if not waiting:
            continue

        rule:
            name:
                f"train_{experiment.name.replace('-', '_')}"
            input:
                requests=[request(run.record) for run in waiting],
                data=data_for(experiment),
            output:
                histories=[run.outputs[0] for run in waiting],
                records=[run.record for run in waiting],
            log:
                f"{LOGS}/train/{experiment.name}.log",
            benchmark:
                f"{BENCHMARKS}/train/{experiment.name}.tsv"
            conda:
                ENVIRONMENT
            # The networks are too small for more threads to pay; more runs at once do.
            threads: 1
            resources:
                mem_mb=3000,
                runtime=240,
                # For a GPU is what batch_seeds is for.
                gpu=0 if SETTINGS.device == "cpu" else 1,
            params:
                experiment=experiment.name,
                root=SETTINGS.data_root,
                device=SETTINGS.device,
            message:
                f"Training {experiment.name}, all seeds."
            script:
                "../scripts/train.py"

        # The other rule is left what is there, which no job has to make.
        workflow.ruleorder(f"train_{experiment.name.replace('-', '_')}", "train")


rule all_trainings:
    input:
        trainings_left(),
    localrule: True
