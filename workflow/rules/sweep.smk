import re
import sys

import pandas as pd
from snakemake.utils import Paramspace

SWEEP = SETTINGS.sweep
SWEPT = SWEEP.folder(RESULTS)
# The grid as its paths spell it; accounting is the same for all randomisers.
CELLS = Paramspace(pd.DataFrame(SWEEP.points))
ACCOUNTED = Paramspace(CELLS.dataframe[["eps0", "k"]].drop_duplicates())
SWEEP_RUN = f"{SWEPT}/{CELLS.wildcard_pattern}/seed{{sweep_seed}}"
SWEEP_CURVE = f"{SWEPT}/{ACCOUNTED.wildcard_pattern}/{{sweep_accountant}}"

for _, run in SWEEP.trainings(RESULTS):
    CATALOGUE.add("sweep trainings", run)
for curve in SWEEP.curves:
    CATALOGUE.add("sweep curves", curve.product(RESULTS))
CATALOGUE.add("sweep tables", SWEEP.frontier(RESULTS))
CATALOGUE.add("sweep figures", DRAWN["sweep", "frontier"])

if workflow.output_settings.dryrun:
    print(SWEEP.outlook(RESULTS, is_current=CATALOGUE.is_current), file=sys.stderr)


wildcard_constraints:
    **{axis: one_of(map(re.escape, values)) for axis, values in CELLS.dataframe.items()},
    sweep_seed=one_of(str(seed) for seed in range(SWEEP.cells[0].seeds)),
    sweep_accountant=one_of(SWEEP.accountants),


use rule train as train_sweep with:
    input:
        requests=[request(f"{SWEEP_RUN}.json")],
        data=lambda wildcards: data_unless_current(
            f"{SWEEP_RUN}.csv".format(**dict(wildcards.items())), SWEEP.cells[0]
        ),
    output:
        multiext(SWEEP_RUN, history=".csv", record=".json"),
    log:
        f"{LOGS}/train/sweep/{CELLS.wildcard_pattern}/seed{{sweep_seed}}.log",
    params:
        experiment=lambda wildcards: CELLS.wildcard_pattern.format(**CELLS.instance(wildcards)),
        root=SETTINGS.data_root,
        device=SETTINGS.device,
    message:
        "Training {wildcards.randomizer}, eps0 = {wildcards.eps0}, k = {wildcards.k}, seed {wildcards.sweep_seed}."


use rule compute_curve as compute_sweep_curve with:
    input:
        request=request(f"{SWEEP_CURVE}.json"),
    output:
        curve=f"{SWEEP_CURVE}.csv",
        record=f"{SWEEP_CURVE}.json",
    log:
        f"{LOGS}/compute_curve/sweep/{ACCOUNTED.wildcard_pattern}/{{sweep_accountant}}.log",
    benchmark:
        f"{BENCHMARKS}/compute_curve/sweep/{ACCOUNTED.wildcard_pattern}/{{sweep_accountant}}.tsv"
    message:
        "Computing {wildcards.sweep_accountant} for eps0 = {wildcards.eps0}, k = {wildcards.k}."


rule compute_frontier:
    input:
        request=request(f"{SWEPT}/frontier.json"),
        runs=cached(
            expand(
                f"{SWEPT}/{{cell}}/seed{{seed}}.csv",
                cell=CELLS.instance_patterns,
                seed=range(SWEEP.cells[0].seeds),
            )
        ),
        curves=cached(
            expand(
                f"{SWEPT}/{{point}}/{{accountant}}.csv",
                point=ACCOUNTED.instance_patterns,
                accountant=SWEEP.accountants,
            )
        ),
    output:
        table=f"{SWEPT}/frontier.csv",
        record=f"{SWEPT}/frontier.json",
    log:
        f"{LOGS}/compute_frontier.log",
    benchmark:
        f"{BENCHMARKS}/compute_frontier.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=2000,
        runtime=30,
    message:
        "Looking for what no other point of the sweep beats."
    script:
        "../scripts/compute_frontier.py"


rule all_sweep:
    input:
        [f"{FIGURES}/sweep/frontier.{form}" for form in ("pdf", "png")],
    localrule: True
