"""Another workflow takes this one's rules up as a module, from a directory of its own."""

import pytest

from .clone import Clone
from .conftest import make_clone

CURVE = "results/smoke/koskela2022/fig3/a/girgis2021-upper.csv"
SNAKEFILE = """
configfile: "{checkout}/config/config.yaml"
configfile: "{checkout}/config/smoke.yaml"

module shuffledp:
    snakefile: "{checkout}/workflow/Snakefile"
    config: config

use rule * from shuffledp as shuffledp_*

rule largest:
    default_target: True
    input: "{curve}"
    output: "largest.txt"
    shell: "tail -n 1 {{input}} > {{output}}"
"""


@pytest.mark.slow
def test_rules_are_used_from_elsewhere(origin, tmp_path):
    checkout = make_clone(origin, tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    text = SNAKEFILE.format(checkout=checkout.path, curve=CURVE)
    (elsewhere / "Snakefile").write_text(text, encoding="utf-8")
    run = Clone(elsewhere).run("--cores", "1", PYTHONPATH=str(checkout.path / "workflow"))
    assert run.status == 0, run.output
    assert run.jobs == {"shuffledp_compute_curve": 1, "largest": 1}
    *_, last = (elsewhere / CURVE).read_text(encoding="utf-8").splitlines()
    assert (elsewhere / "largest.txt").read_text(encoding="utf-8").strip() == last
    assert not checkout.changed(), "what is made lies where it was asked for"


@pytest.mark.slow
def test_root_makes_what_the_workflow_makes(clone):
    """An included file does not choose what is made by default."""
    (clone.path / "config/README.md").unlink()
    planned, named = clone.plan(), clone.plan("all")
    assert planned.jobs == named.jobs
    assert planned.jobs["document_config"] == 1
