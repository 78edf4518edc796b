rule fetch_mnist:
    output:
        record=MNIST,
    log:
        f"{LOGS}/fetch_mnist.log",
    benchmark:
        f"{BENCHMARKS}/fetch_mnist.tsv"
    localrule: True
    conda:
        ENVIRONMENT
    params:
        # As a function, since the linter takes the folder for a prefix of the output.
        root=lambda wildcards: SETTINGS.data_root,
    message:
        "Looking for MNIST, and fetching it if it is not there."
    script:
        "../scripts/fetch_mnist.py"


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
        request=request(f"{TRAININGS}/{{experiment}}/seed{{seed}}.json"),
        data=data_of,
    output:
        history=f"{TRAININGS}/{{experiment}}/seed{{seed}}.csv",
        record=f"{TRAININGS}/{{experiment}}/seed{{seed}}.json",
    log:
        f"{LOGS}/train/{{experiment}}/seed{{seed}}.log",
    benchmark:
        f"{BENCHMARKS}/train/{{experiment}}/seed{{seed}}.tsv"
    conda:
        ENVIRONMENT
    # The networks are too small for more threads to pay; more runs at once do.
    threads: 1
    resources:
        mem_mb=3000,
        runtime=240,
        # For a GPU: --set-resources train:gpu=1 --resources gpu=<how many there are>
        gpu=0,
    params:
        root=SETTINGS.data_root,
        epochs=epochs_of,
    message:
        "Training {wildcards.experiment}, seed {wildcards.seed}."
    script:
        "../scripts/train.py"


rule all_trainings:
    input:
        trainings_left(),
    localrule: True
