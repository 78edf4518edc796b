rule plot_progress:
    input:
        request=request(f"{FIGURES}/{{progress_paper}}/{{progress_figure}}.json"),
        runs=progressed_runs,
    output:
        pdf=f"{FIGURES}/{{progress_paper}}/{{progress_figure}}.pdf",
        png=report(
            f"{FIGURES}/{{progress_paper}}/{{progress_figure}}.png",
            caption="../report/progress.rst",
            category="{progress_paper}",
            labels={"figure": "{progress_figure}"},
        ),
        record=f"{FIGURES}/{{progress_paper}}/{{progress_figure}}.json",
    log:
        f"{LOGS}/plot_progress/{{progress_paper}}/{{progress_figure}}.log",
    benchmark:
        f"{BENCHMARKS}/plot_progress/{{progress_paper}}/{{progress_figure}}.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        caption=progress_caption_of,
    message:
        "Drawing {wildcards.progress_paper} {wildcards.progress_figure}."
    script:
        "../scripts/plot_progress.py"
