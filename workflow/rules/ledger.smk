rule evaluate_claims:
    input:
        request=request(f"{RESULTS}/claims.json"),
        curves=cached(ledger_products.claims(SETTINGS).inputs),
    output:
        ledger=f"{RESULTS}/claims.csv",
        record=f"{RESULTS}/claims.json",
    log:
        f"{LOGS}/evaluate_claims.log",
    benchmark:
        f"{BENCHMARKS}/evaluate_claims.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    message:
        "Deciding the claims of the papers."
    script:
        "../scripts/evaluate_claims.py"


rule render_claims:
    input:
        request=request(LEDGER.record),
        ledger=cached([rules.evaluate_claims.output.ledger]),
    output:
        page=LEDGER.outputs[0],
        record=LEDGER.record,
    log:
        f"{LOGS}/render_claims.log",
    benchmark:
        f"{BENCHMARKS}/render_claims.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    message:
        "Writing the page of claims."
    script:
        "../scripts/render_claims.py"


rule all_claims:
    input:
        rules.evaluate_claims.output.ledger,
        rules.render_claims.output.page,
    localrule: True
