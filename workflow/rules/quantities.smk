rule compute_quantity:
    input:
        request=request(
            f"{RESULTS}/{{quantity_paper}}/{{quantity_figure}}/{{quantity_panel}}/{{quantity}}.json"
        ),
    output:
        curve=f"{RESULTS}/{{quantity_paper}}/{{quantity_figure}}/{{quantity_panel}}/{{quantity}}.csv",
        record=f"{RESULTS}/{{quantity_paper}}/{{quantity_figure}}/{{quantity_panel}}/{{quantity}}.json",
    log:
        f"{LOGS}/compute_quantity/{{quantity_paper}}/{{quantity_figure}}/{{quantity_panel}}/{{quantity}}.log",
    benchmark:
        f"{BENCHMARKS}/compute_quantity/{{quantity_paper}}/{{quantity_figure}}/{{quantity_panel}}/{{quantity}}.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    message:
        "Computing {wildcards.quantity} for {wildcards.quantity_paper} {wildcards.quantity_figure} ({wildcards.quantity_panel})."
    script:
        "../scripts/compute_quantity.py"


rule plot_quantities:
    input:
        request=request(f"{FIGURES}/{{quantity_paper}}/{{quantity_figure}}.json"),
        curves=quantity_curves,
    output:
        pdf=f"{FIGURES}/{{quantity_paper}}/{{quantity_figure}}.pdf",
        png=report(
            f"{FIGURES}/{{quantity_paper}}/{{quantity_figure}}.png",
            caption="../report/quantities.rst",
            category="{quantity_paper}",
            labels={"figure": "{quantity_figure}"},
        ),
        record=f"{FIGURES}/{{quantity_paper}}/{{quantity_figure}}.json",
    log:
        f"{LOGS}/plot_quantities/{{quantity_paper}}/{{quantity_figure}}.log",
    benchmark:
        f"{BENCHMARKS}/plot_quantities/{{quantity_paper}}/{{quantity_figure}}.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        caption=quantity_caption_of,
    message:
        "Drawing {wildcards.quantity_paper} {wildcards.quantity_figure}."
    script:
        "../scripts/plot_quantities.py"
