rule privacy_utility:
    input:
        request=request(f"{RESULTS}/{{paper}}/{{figure}}/{{panel}}/privacy_utility.json"),
        runs=runs_of,
    output:
        table=f"{RESULTS}/{{paper}}/{{figure}}/{{panel}}/privacy_utility.csv",
        record=f"{RESULTS}/{{paper}}/{{figure}}/{{panel}}/privacy_utility.json",
    log:
        f"{LOGS}/privacy_utility/{{paper}}/{{figure}}/{{panel}}.log",
    benchmark:
        f"{BENCHMARKS}/privacy_utility/{{paper}}/{{figure}}/{{panel}}.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    message:
        "Joining accuracy and epsilon for {wildcards.paper} {wildcards.figure} ({wildcards.panel})."
    script:
        "../scripts/privacy_utility.py"
