# Made for the report alone, from records that say when: never tracked, and no part of what is drawn.
rule render_report:
    input:
        request=report_pages(),
        template=TEMPLATES / "page.html.jinja",
        results=cached(product.outputs[0] for product in REPORTED),
    output:
        claims=report(
            f"{RESULTS}/report/claims.html",
            caption="../report/claims.rst",
            category="tables",
            labels={"table": "ledger of claims"},
        ),
        brackets=report(
            f"{RESULTS}/report/brackets.html",
            caption="../report/brackets.rst",
            category="tables",
            labels={"table": "brackets"},
        ),
        provenance=report(
            f"{RESULTS}/report/provenance.html",
            caption="../report/provenance.rst",
            category="tables",
            labels={"table": "provenance"},
        ),
        record=f"{RESULTS}/report/pages.json",
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
        "Writing the tables of the report."
    script:
        "../scripts/render_report.py"


rule all_report:
    input:
        rules.all_figures.input,
        rules.evaluate_claims.output.ledger,
        rules.render_report.output,
    localrule: True
