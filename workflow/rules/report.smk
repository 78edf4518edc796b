# Made for the report alone, from records that say when: never tracked, and no part of what is drawn.
rule render_report:
    input:
        request=report_request(),
        template=TEMPLATES / "report.html.jinja",
        results=cached(product.outputs[0] for product in REPORTED),
        figures=rules.all_figures.input,
    output:
        page=f"{RESULTS}/report/report.html",
        record=f"{RESULTS}/report/report.json",
    log:
        f"{LOGS}/render_report.log",
    benchmark:
        f"{BENCHMARKS}/render_report.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    message:
        "Writing the report."
    script:
        "../scripts/render_report.py"


rule all_report:
    input:
        rules.all_figures.input,
        rules.evaluate_claims.output.ledger,
        rules.render_report.output,
    localrule: True
