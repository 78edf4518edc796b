rule simulate:
    input:
        request=request(f"{RESULTS}/{{paper}}/{{figure}}/n{{clients}}/monte-carlo.json"),
    output:
        table=f"{RESULTS}/{{paper}}/{{figure}}/n{{clients}}/monte-carlo.csv",
        record=f"{RESULTS}/{{paper}}/{{figure}}/n{{clients}}/monte-carlo.json",
    log:
        f"{LOGS}/simulate/{{paper}}/{{figure}}/n{{clients}}.log",
    benchmark:
        f"{BENCHMARKS}/simulate/{{paper}}/{{figure}}/n{{clients}}.tsv"
    conda:
        ENVIRONMENT
    threads: 2
    resources:
        mem_mb=500,
        runtime=30,
    message:
        "Monte Carlo for {wildcards.paper} {wildcards.figure}, n = {wildcards.clients}."
    script:
        "../scripts/simulate.py"


rule all_simulations:
    input:
        [table.path(RESULTS) for table in SETTINGS.tables_of(Simulation)],
    localrule: True
