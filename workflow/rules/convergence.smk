rule plot_convergence:
    input:
        request=request(f"{FIGURES}/{{convergence_paper}}/{{convergence_figure}}.json"),
        runs=converged_runs,
    output:
        pdf=f"{FIGURES}/{{convergence_paper}}/{{convergence_figure}}.pdf",
        png=report(
            f"{FIGURES}/{{convergence_paper}}/{{convergence_figure}}.png",
            caption="../report/convergence.rst",
            category="{convergence_paper}",
            labels={"figure": "{convergence_figure}"},
        ),
        record=f"{FIGURES}/{{convergence_paper}}/{{convergence_figure}}.json",
    log:
        f"{LOGS}/plot_convergence/{{convergence_paper}}/{{convergence_figure}}.log",
    benchmark:
        f"{BENCHMARKS}/plot_convergence/{{convergence_paper}}/{{convergence_figure}}.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        caption=convergence_caption_of,
    message:
        "Drawing {wildcards.convergence_paper} {wildcards.convergence_figure}."
    script:
        "../scripts/plot_convergence.py"
