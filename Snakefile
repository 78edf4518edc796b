"""Every figure and every claim of the papers, from cached intermediate results.

snakemake --cores all                                  everything
snakemake --cores 1 figures/girgis2021/fig2.pdf        one figure
snakemake --cores all --configfile config/smoke.yaml   the same jobs, seconds in all
snakemake --cores all all_trainings                    what is trained: hours, and only if asked for
snakemake -n --configfile config/sweep.yaml -- all_sweep  a large study: what it would make, and what that costs
"""

import sys

from snakemake.exceptions import WorkflowError
from snakemake.utils import min_version

from shuffledp.reproduction import config as configuration, recovery

min_version("9.13")

try:
    # Snakemake, which reads it next, would name no line.
    configuration.check_file("config/config.yaml")
except ValueError as error:
    raise WorkflowError(str(error)) from None


configfile: "config/config.yaml"


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/bounds.smk"
include: "workflow/rules/quantities.smk"
include: "workflow/rules/training.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/accuracy.smk"
include: "workflow/rules/simulation.smk"
include: "workflow/rules/ledger.smk"
include: "workflow/rules/documentation.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/benchmarks.smk"


if SETTINGS.sweep:

    include: "workflow/rules/sweep.smk"


rule all:
    default_target: True
    input:
        rules.all_bounds.input,
        rules.all_simulations.input,
        rules.all_figures.input,
        rules.all_claims.input,
        rules.document_config.output.page,
    localrule: True


onstart:
    recovery.begin(sys.argv[1:])


onsuccess:
    recovery.end()
    print(summary())


onerror:
    print(summary())
