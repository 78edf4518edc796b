rule plot_bounds:
    input:
        request=request(f"{FIGURES}/{{paper}}/{{figure}}.json"),
        curves=drawn_curves,
    output:
        pdf=f"{FIGURES}/{{paper}}/{{figure}}.pdf",
        png=report(
            f"{FIGURES}/{{paper}}/{{figure}}.png",
            caption="../report/bounds.rst",
            category="{paper}",
            labels={"figure": "{figure}"},
        ),
        record=f"{FIGURES}/{{paper}}/{{figure}}.json",
    log:
        f"{LOGS}/plot_bounds/{{paper}}/{{figure}}.log",
    benchmark:
        f"{BENCHMARKS}/plot_bounds/{{paper}}/{{figure}}.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        caption=caption_of,
    message:
        "Drawing {wildcards.paper} {wildcards.figure}."
    script:
        "../scripts/plot_bounds.py"


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
            for figure in (
                *SETTINGS.bounds,
                *SETTINGS.quantities,
                *SETTINGS.simulation,
                *SETTINGS.trained,
                *SETTINGS.converged,
                *SETTINGS.progressed,
            )
            for form in ("pdf", "png")
        ],
        rules.render_gallery.output.page,
    localrule: True
