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
        [f"{curve.stem(RESULTS)}.csv" for curve in SETTINGS.curves],
        [f"{curve.stem(RESULTS)}.csv" for curve in SETTINGS.quantity_curves],
        [f"{panel.stem(RESULTS)}.csv" for panel in SETTINGS.joined],
    localrule: True
