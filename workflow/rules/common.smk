import os
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.logging import logger

from shuffledp.reproduction.trainings import recorded
from shuffledp.reproduction.config import keeping
from shuffledp.reproduction import all_products, jobs
from shuffledp.reproduction.curve import Curve
from shuffledp.records import digest, refusals, requests
from shuffledp.reproduction.ledger import products as ledger_products
from shuffledp.reproduction.report import products as report_products
from shuffledp.reproduction.tables import QuantityCurve, Simulation, Utility
from shuffledp.reproduction.wildcards import one_of, papers
from shuffledp.training.data.checksums import IDX_SHA256
from shuffledp.training.experiment import DATA

try:
    # Snakemake lists the files of its command line, of which each overrides those before it, first.
    OVERLAYS = workflow.overwrite_configfiles
    RESOLVED = keeping.Resolved(
        config,
        files=[*workflow.configfiles[len(OVERLAYS) :], *OVERLAYS],
        path=".snakemake/shuffledp-settings.pickle",
    )
except ValueError as error:
    raise WorkflowError(str(error)) from None

SETTINGS = RESOLVED.settings
RESULTS, FIGURES = SETTINGS.results, SETTINGS.figures
LOGS, BENCHMARKS = f"{RESULTS}/logs", f"{RESULTS}/benchmarks"
TRAININGS = f"{RESULTS}/training"
# Says that the data were there once; the files themselves may lie wherever data.root or SHUFFLEDP_DATA says.
IMAGES = "resources/{data}.json"
ENVIRONMENT = "../../environment.yml"
TEMPLATES = Path(workflow.current_basedir).parent / "report"


logger.addFilter(jobs.explain)


DRAWN = {(figure.paper, figure.name): SETTINGS.product(figure) for figure in SETTINGS.drawable}
LEDGER = ledger_products.page(SETTINGS)
try:
    refusals.check_folders([RESULTS, LOGS, BENCHMARKS, jobs.CHECKPOINTS])
    with digest.kept(".snakemake/shuffledp-code.json"):
        # A job that Snakemake starts anew parses all this again, and need not look at all products for its own.
        CATALOGUE = all_products.catalogue(
            SETTINGS,
            DRAWN,
            RESOLVED.key_page,
            folder=".snakemake/requests",
            staged=not workflow.is_main_process,
        )
    RESOLVED.keep()
except ValueError as error:
    raise WorkflowError(str(error)) from None
except OSError as error:
    raise WorkflowError(refusals.of_system(error)) from None

REPORTED = all_products.reported(CATALOGUE)
RUNS = {run for experiment in SETTINGS.experiments for run in recorded.runs(experiment, RESULTS)}
MOST_SEEDS = max((experiment.seeds for experiment in SETTINGS.experiments), default=0)


wildcard_constraints:
    paper=papers((figure.paper, figure.name) for figure in SETTINGS.drawable),
    figure=one_of(figure.name for figure in SETTINGS.drawable),
    panel=one_of(table.panel for table in SETTINGS.tables),
    accountant=one_of(curve.accountant for curve in SETTINGS.curves),
    quantity=one_of(curve.quantity for curve in SETTINGS.tables_of(QuantityCurve)),
    clients=one_of(str(panel.n) for panel in SETTINGS.tables_of(Simulation)),
    data=one_of(DATA),
    experiment=one_of(experiment.name for experiment in SETTINGS.experiments),
    seed=one_of(str(seed) for seed in range(MOST_SEEDS)),


def request(record):
    """The request of the product with this record: what makes a rule run again."""
    return f"{CATALOGUE.folder}/{record}"


def cached(paths):
    """Inputs whose content is what the configuration asks for are as old as can be; others will be made, but
    for runs: one that is out of date is read as it is, and trained again only if asked for."""
    wanted = [path for path in paths if CATALOGUE.is_current(path) or path not in RUNS]
    return [ancient(path) if CATALOGUE.is_current(path) else path for path in wanted]


def report_request():
    """The request of the report, which no run but its own counts."""
    product = report_products.report(SETTINGS, REPORTED)
    return requests.stage(product, CATALOGUE.folder)


def figure_of(wildcards):
    return SETTINGS.figure(wildcards.paper, wildcards.figure)


def tables_of(wildcards):
    return cached(DRAWN[wildcards.paper, wildcards.figure].inputs)


def caption_of(wildcards):
    return figure_of(wildcards).text(RESULTS)


def runs_of(wildcards):
    panel = next(one for one in figure_of(wildcards).panels if one.panel == wildcards.panel)
    return cached(recorded.runs(panel.experiment, RESULTS))


def summary():
    """What came from the cache, what was made, and what is left out as its runs are missing."""
    return "\n".join(filter(None, [CATALOGUE.summary(), SETTINGS.left_out()]))
