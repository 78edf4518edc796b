"""A large study through the workflow: what it would make, and on a tiny grid what it makes."""

import re

import pytest

from shuffledp.records import requests, tables
from shuffledp.reproduction import config
from shuffledp.reproduction.studies.frontier import Cell, frontier

FULL = ("--configfile", "config/sweep.yaml", "--", "all_sweep")
SMOKE = ("--configfile", "config/sweep.yaml", "config/sweep-smoke.yaml", "--", "all_sweep")


@pytest.mark.parametrize(
    ("overlay", "jobs"),
    [
        pytest.param("sweep: {grid: {eps0: [1, 2], k: [200]}}\n", 20, id="few cells"),
        pytest.param("{}\n", 2000, id="whole", marks=pytest.mark.slow),
    ],
)
def test_a_dry_run_of_the_full_study_says_how_much_is_left(clone, monkeypatch, tmp_path, overlay, jobs):
    """One run is there, and data are not: fetching them for the others does not make it again."""
    monkeypatch.chdir(clone.path)
    smaller = tmp_path / "smaller.yaml"
    smaller.write_text(overlay, encoding="utf-8")
    sweep = config.load(["config/config.yaml", "config/sweep.yaml", smaller]).sweep
    _, run = sweep.trainings("results")[7]
    tables.write_table(run.outputs[0], {"round": [1.0], "test_accuracy": [0.5]})
    requests.record(requests.stage(run, ".snakemake/requests"))
    plan = clone.plan(*FULL[:2], str(smaller), *FULL[2:])
    assert plan.jobs == {
        "fetch_images": 1,
        "train_sweep": len(sweep.trainings("results")) - 1,
        "compute_sweep_curve": len(sweep.curves),
        "compute_frontier": 1,
        "plot": 1,
    }
    assert sum(plan.jobs.values()) > jobs
    assert sweep.outlook("results", is_current=lambda path: path in run.outputs) in plan.stderr.splitlines()
    assert "core-hours" not in plan.stdout


@pytest.mark.parametrize(
    ("overlay", "trainings", "curves"),
    [
        pytest.param("sweep: {grid: {eps0: [1], k: [50]}}\n", 2, 2, id="one cell", marks=pytest.mark.slow),
        pytest.param("{}\n", 4, 4, id="whole", marks=pytest.mark.slow),
    ],
)
def test_a_tiny_study_is_made_once(clone, monkeypatch, tmp_path, overlay, trainings, curves):
    pytest.importorskip("torch")
    smaller = tmp_path / "smaller.yaml"
    smaller.write_text(overlay, encoding="utf-8")
    arguments = (*SMOKE[:3], str(smaller), *SMOKE[3:])
    names = [clone.path / "config" / name for name in ("config.yaml", "sweep.yaml", "sweep-smoke.yaml")]
    sweep = config.load([*names, smaller]).sweep
    run = clone.run("--cores", "all", *arguments)
    assert run.status == 0, run.output
    assert run.jobs == {
        "train_sweep": trainings,
        "compute_sweep_curve": curves,
        "compute_frontier": 1,
        "plot": 1,
    }
    assert "core-hours" not in run.output, "said of a dry run alone"
    assert (clone.path / "figures/smoke/sweep/frontier.png").read_bytes().startswith(b"\x89PNG")
    assert (clone.path / "figures/smoke/sweep/frontier.pdf").read_bytes().startswith(b"%PDF")

    # from the tables, by their paths
    folder = clone.path / "results/smoke/sweep"
    cells = []
    for point in sweep.points:
        above = folder / f"eps0~{point['eps0']}" / f"k~{point['k']}"
        cells.append(
            Cell(
                float(point["eps0"]),
                int(point["k"]),
                point["randomizer"],
                [tables.read_table(above / f"randomizer~{point['randomizer']}" / "seed0.csv")],
                {name: tables.read_table(above / f"{name}.csv") for name in sweep.accountants},
            )
        )
    monkeypatch.chdir(clone.path)
    settings = config.load([*names, smaller])
    assert ", trained on CPU." in settings.figure("sweep", "frontier").text(settings.results)

    tables.write_table(clone.path / "again.csv", frontier(cells, accountants=sweep.accountants))
    assert (clone.path / "again.csv").read_bytes() == (folder / "frontier.csv").read_bytes()
    (clone.path / "again.csv").unlink()
    assert clone.changed() == set()
    assert clone.leftovers() == []

    # what is there is not made again, and what is missing is made without the rest
    again = clone.plan(*arguments)
    assert again.jobs == {}
    assert "sweep: 0 trainings and 0 accounting jobs left" in again.stderr
    (folder / "eps0~1/k~50/randomizer~l2_hemisphere/seed0.csv").unlink()
    less = clone.plan(*arguments)
    assert less.jobs == {"train_sweep": 1, "compute_frontier": 1, "plot": 1}
    assert "sweep: 1 trainings and 0 accounting jobs left" in less.stderr


@pytest.mark.slow
def test_a_mistake_in_a_study_is_one_line(clone):
    clone.edit("config/sweep.yaml", "k: [200,", "k: [60001,")
    run = clone.run("--cores", "1", *FULL)
    assert run.status != 0
    assert "k must be at most n" in run.output
    assert re.search(r"at sweep\.grid\.k\.0, \S*config/sweep\.yaml line \d+\)", run.output)
    assert "Traceback" not in run.output
