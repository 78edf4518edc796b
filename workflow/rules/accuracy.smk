rule privacy_utility:
    input:
        request=request(
            f"{RESULTS}/{{accuracy_paper}}/{{accuracy_figure}}/{{accuracy_panel}}/privacy_utility.json"
        ),
        runs=runs_of,
    output:
        table=f"{RESULTS}/{{accuracy_paper}}/{{accuracy_figure}}/{{accuracy_panel}}/privacy_utility.csv",
        record=f"{RESULTS}/{{accuracy_paper}}/{{accuracy_figure}}/{{accuracy_panel}}/privacy_utility.json",
    log:
        f"{LOGS}/privacy_utility/{{accuracy_paper}}/{{accuracy_figure}}/{{accuracy_panel}}.log",
    benchmark:
        f"{BENCHMARKS}/privacy_utility/{{accuracy_paper}}/{{accuracy_figure}}/{{accuracy_panel}}.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    message:
        "Joining accuracy and epsilon for {wildcards.accuracy_paper} {wildcards.accuracy_figure} ({wildcards.accuracy_panel})."
    script:
        "../scripts/privacy_utility.py"


rule plot_accuracy:
    input:
        request=request(f"{FIGURES}/{{accuracy_paper}}/{{accuracy_figure}}.json"),
        tables=joined_tables,
    output:
        pdf=f"{FIGURES}/{{accuracy_paper}}/{{accuracy_figure}}.pdf",
        png=report(
            f"{FIGURES}/{{accuracy_paper}}/{{accuracy_figure}}.png",
            caption="../report/accuracy.rst",
            category="{accuracy_paper}",
            labels={"figure": "{accuracy_figure}"},
        ),
        record=f"{FIGURES}/{{accuracy_paper}}/{{accuracy_figure}}.json",
    log:
        f"{LOGS}/plot_accuracy/{{accuracy_paper}}/{{accuracy_figure}}.log",
    benchmark:
        f"{BENCHMARKS}/plot_accuracy/{{accuracy_paper}}/{{accuracy_figure}}.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        caption=accuracy_caption_of,
    message:
        "Drawing {wildcards.accuracy_paper} {wildcards.accuracy_figure}."
    script:
        "../scripts/plot_accuracy.py"
