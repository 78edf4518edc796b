rule plot:
    input:
        request=request(f"{FIGURES}/{{paper}}/{{figure}}.json"),
        tables=tables_of,
    output:
        pdf=f"{FIGURES}/{{paper}}/{{figure}}.pdf",
        png=report(
            f"{FIGURES}/{{paper}}/{{figure}}.png",
            caption="../report/figure.rst",
            category="{paper}",
            labels={"figure": "{figure}"},
        ),
        record=f"{FIGURES}/{{paper}}/{{figure}}.json",
    log:
        f"{LOGS}/plot/{{paper}}/{{figure}}.log",
    benchmark:
        f"{BENCHMARKS}/plot/{{paper}}/{{figure}}.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        kind=lambda wildcards: figure_of(wildcards).kind,
        caption=caption_of,
    message:
        "Drawing {wildcards.paper} {wildcards.figure} ({params.kind})."
    script:
        "../scripts/plot.py"


rule render_gallery:
    input:
        request=request(f"{FIGURES}/README.json"),
    output:
        page=f"{FIGURES}/README.rst",
        record=f"{FIGURES}/README.json",
    log:
        f"{LOGS}/render_gallery.log",
    benchmark:
        f"{BENCHMARKS}/render_gallery.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    message:
        "Writing the page of figures and captions."
    script:
        "../scripts/render_gallery.py"


rule all_figures:
    input:
        [
            f"{FIGURES}/{figure.paper}/{figure.name}.{form}"
            for figure in SETTINGS.plotted
            for form in ("pdf", "png")
        ],
        rules.render_gallery.output.page,
    localrule: True
