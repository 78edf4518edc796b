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
