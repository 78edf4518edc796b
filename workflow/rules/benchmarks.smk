rule benchmark_accountants:
    output:
        table=f"{BENCHMARKS}/accountants.csv",
    log:
        f"{LOGS}/benchmark_accountants.log",
    benchmark:
        f"{BENCHMARKS}/benchmark_accountants.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    message:
        "Timing the accountants: per curve, and against the largest order and k."
    script:
        "../scripts/benchmark_accountants.py"


rule benchmark_numerical_accounting:
    output:
        table=f"{BENCHMARKS}/numerical_accounting.csv",
        pdf=f"{BENCHMARKS}/numerical_accounting.pdf",
        png=f"{BENCHMARKS}/numerical_accounting.png",
    log:
        f"{LOGS}/benchmark_numerical_accounting.log",
    benchmark:
        f"{BENCHMARKS}/benchmark_numerical_accounting.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    message:
        "Timing numerical accounting, against the enumeration of every outcome."
    script:
        "../scripts/benchmark_numerical_accounting.py"


rule benchmark_one_round:
    output:
        table=f"{BENCHMARKS}/one_round.csv",
    log:
        f"{LOGS}/benchmark_one_round.log",
    benchmark:
        f"{BENCHMARKS}/benchmark_one_round.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    message:
        "Timing one round, against the script of the authors of feldman2021 if it can be fetched."
    script:
        "../scripts/benchmark_one_round.py"


rule benchmark_shuffled_gaussian:
    output:
        table=f"{BENCHMARKS}/shuffled_gaussian.csv",
    log:
        f"{LOGS}/benchmark_shuffled_gaussian.log",
    benchmark:
        f"{BENCHMARKS}/benchmark_shuffled_gaussian.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    message:
        "Timing the shuffled Gaussian, against pld-accounting if it is installed."
    script:
        "../scripts/benchmark_shuffled_gaussian.py"


# Not among all_benchmarks, which need no torch.
rule benchmark_training:
    output:
        table=f"{BENCHMARKS}/training.csv",
    log:
        f"{LOGS}/benchmark_training.log",
    benchmark:
        f"{BENCHMARKS}/benchmark_training.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=3000,
        runtime=10,
    message:
        "Timing rounds of CLDP-SGD, against a plain forward and backward pass."
    script:
        "../scripts/benchmark_training.py"


rule all_benchmarks:
    input:
        rules.benchmark_accountants.output.table,
        rules.benchmark_numerical_accounting.output.table,
        rules.benchmark_one_round.output.table,
        rules.benchmark_shuffled_gaussian.output.table,
    localrule: True
