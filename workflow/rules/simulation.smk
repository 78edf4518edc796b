rule simulate:
    input:
        request=request(f"{RESULTS}/{{simulation_paper}}/{{simulation_figure}}/n{{clients}}/monte-carlo.json"),
    output:
        table=f"{RESULTS}/{{simulation_paper}}/{{simulation_figure}}/n{{clients}}/monte-carlo.csv",
        record=f"{RESULTS}/{{simulation_paper}}/{{simulation_figure}}/n{{clients}}/monte-carlo.json",
    log:
        f"{LOGS}/simulate/{{simulation_paper}}/{{simulation_figure}}/n{{clients}}.log",
    benchmark:
        f"{BENCHMARKS}/simulate/{{simulation_paper}}/{{simulation_figure}}/n{{clients}}.tsv"
    conda:
        ENVIRONMENT
    threads: 2
    resources:
        mem_mb=500,
        runtime=30,
    message:
        "Monte Carlo for {wildcards.simulation_paper} {wildcards.simulation_figure}, n = {wildcards.clients}."
    script:
        "../scripts/simulate.py"


rule plot_simulation:
    input:
        request=request(f"{FIGURES}/{{simulation_paper}}/{{simulation_figure}}.json"),
        tables=simulated_tables,
    output:
        pdf=f"{FIGURES}/{{simulation_paper}}/{{simulation_figure}}.pdf",
        png=report(
            f"{FIGURES}/{{simulation_paper}}/{{simulation_figure}}.png",
            caption="../report/simulation.rst",
            category="{simulation_paper}",
            labels={"figure": "{simulation_figure}"},
        ),
        record=f"{FIGURES}/{{simulation_paper}}/{{simulation_figure}}.json",
    log:
        f"{LOGS}/plot_simulation/{{simulation_paper}}/{{simulation_figure}}.log",
    benchmark:
        f"{BENCHMARKS}/plot_simulation/{{simulation_paper}}/{{simulation_figure}}.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        caption=simulation_caption_of,
    message:
        "Drawing {wildcards.simulation_paper} {wildcards.simulation_figure}."
    script:
        "../scripts/plot_simulation.py"


rule all_simulations:
    input:
        [f"{panel.stem(RESULTS)}.csv" for panel in SETTINGS.simulations],
    localrule: True
