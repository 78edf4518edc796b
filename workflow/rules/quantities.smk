rule compute_quantity:
    input:
        request=request(f"{RESULTS}/{{paper}}/{{figure}}/{{panel}}/{{quantity}}.json"),
    output:
        curve=f"{RESULTS}/{{paper}}/{{figure}}/{{panel}}/{{quantity}}.csv",
        record=f"{RESULTS}/{{paper}}/{{figure}}/{{panel}}/{{quantity}}.json",
    log:
        f"{LOGS}/compute_quantity/{{paper}}/{{figure}}/{{panel}}/{{quantity}}.log",
    benchmark:
        f"{BENCHMARKS}/compute_quantity/{{paper}}/{{figure}}/{{panel}}/{{quantity}}.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    message:
        "Computing {wildcards.quantity} for {wildcards.paper} {wildcards.figure} ({wildcards.panel})."
    script:
        "../scripts/compute_quantity.py"
