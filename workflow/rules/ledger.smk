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


rule update_readme:
    input:
        request=request(f"{README}.json"),
        ledger=cached([rules.evaluate_claims.output.ledger]),
    output:
        readme=update(README),
    log:
        f"{LOGS}/update_readme.log",
    benchmark:
        f"{BENCHMARKS}/update_readme.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    message:
        "Writing the ledger into {output.readme}."
    script:
        "../scripts/update_readme.py"


rule all_claims:
    input:
        rules.evaluate_claims.output.ledger,
        rules.update_readme.output.readme,
    localrule: True
