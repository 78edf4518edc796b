rule compute_curve:
    input:
        request=request(f"{RESULTS}/{{paper}}/{{figure}}/{{panel}}/{{accountant}}.json"),
    output:
        curve=f"{RESULTS}/{{paper}}/{{figure}}/{{panel}}/{{accountant}}.csv",
        record=f"{RESULTS}/{{paper}}/{{figure}}/{{panel}}/{{accountant}}.json",
    log:
        f"{LOGS}/compute_curve/{{paper}}/{{figure}}/{{panel}}/{{accountant}}.log",
    benchmark:
        f"{BENCHMARKS}/compute_curve/{{paper}}/{{figure}}/{{panel}}/{{accountant}}.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    message:
        "Computing {wildcards.accountant} for {wildcards.paper} {wildcards.figure} ({wildcards.panel})."
    script:
        "../scripts/compute_curve.py"


rule all_bounds:
    input:
        [
            table.path(RESULTS)
            for kind in (Curve, QuantityCurve, Utility)
            for table in SETTINGS.tables_of(kind)
        ],
    localrule: True
