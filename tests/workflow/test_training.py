"""Training through the workflow: never on the way to something else, and not for what is there."""

import os
import shutil
import time

import pytest

from shuffledp.records import files, requests, tables
from shuffledp.reproduction import config
from shuffledp.training.experiment import SAMPLING, THEOREM3

from .clone import SMOKE

DRAWN = "workflow/shuffledp/randomizers/linf_coordinate.py"
COLUMNS = ["epoch", "round", "test_accuracy", "train_loss", "seconds"]
EXCESS = "excess_risk"
COUNTS = ["skipped", "dummies", "messages"]  # of all protocols but one


@pytest.fixture
def trained(clone, monkeypatch):
    """A clone in which every run has a result that counts as up to date, whatever is in it."""
    monkeypatch.chdir(clone.path)
    monkeypatch.setenv("PYTHONPATH", str(clone.path / "workflow"))
    settings = config.load(["config/config.yaml"])
    runs = [run for experiment in settings.experiments for run in settings.trainings(experiment)]
    assert len(runs) > 20
    for run in runs:
        tables.write_table(run.outputs[0], {column: [1.0] for column in [*COLUMNS, *COUNTS]})
        requests.record(requests.stage(run, ".snakemake/requests"))
    return clone, runs


@pytest.fixture
def untrained(clone):
    """A clone without results of training."""
    shutil.rmtree(clone.path / "results/training", ignore_errors=True)
    return clone


@pytest.mark.slow
def test_a_figure_that_no_run_is_there_for_is_not_drawn(untrained):
    clone = untrained
    assert not clone.plan("all_figures", "--forcerun", "plot").jobs.keys() & {"train", "fetch_images"}
    stem = "figures/girgis2021/theorem3"
    asked = clone.run("-n", f"{stem}.pdf")
    assert asked.status != 0, "what no run is there for is not drawn"
    assert f"{stem}.pdf" in asked.output
    assert clone.plan("results/training/girgis2021-nonprivate/seed0.csv").jobs == {
        "fetch_images": 1,
        "train": 1,
    }


@pytest.mark.slow
def test_results_that_are_missing_are_made_only_if_asked_for(untrained, shipped):
    clone = untrained
    assert not clone.plan().jobs.keys() & {"train", "fetch_images"}
    asked = clone.plan("all_trainings").jobs
    assert asked == {
        "fetch_images": 2,  # MNIST and Fashion-MNIST
        "compute_features": sum(entry.features is not None for entry in shipped.experiments),
        "train": sum(entry.seeds for entry in shipped.experiments),
    }


@pytest.mark.slow
def test_results_that_are_there_plan_nothing(trained):
    clone, _ = trained
    assert clone.plan("all_trainings").jobs == {}


def test_only_the_run_that_is_missing_is_planned(trained):
    """Data fetched after training are no reason to train again, nor are data that have to be fetched."""
    clone, runs = trained
    of_mnist = [run for run in runs if run.parameters["experiment"]["data"] == "mnist"]
    (clone.path / of_mnist[-1].outputs[0]).unlink()
    fetched = clone.path / "resources/mnist.json"
    files.write_json(fetched, {})
    os.utime(fetched, (time.time() + 60,) * 2)
    assert clone.plan("all_trainings").jobs == {"train": 1}
    fetched.unlink()
    assert clone.plan("all_trainings").jobs == {"fetch_images": 1, "train": 1}


@pytest.mark.slow
def test_an_edit_of_code_plans_the_runs_behind_it_and_only_if_asked(trained):
    clone, runs = trained
    clone.append(DRAWN, "\n_UNUSED = 1\n")
    # the engine knows this randomiser by its type, so every run is behind it
    assert clone.plan("all_trainings").jobs["train"] == len(runs)
    assert "train" not in clone.plan().jobs


@pytest.mark.slow
def test_a_seed_that_the_configuration_does_not_ask_for_is_refused(clone):
    target = "results/training/girgis2021-nonprivate/seed1.csv"
    run = clone.run("--cores", "1", target)
    assert run.status != 0
    assert target.removesuffix(".csv") in run.stderr
    assert "Traceback" not in run.output


def one_of_each(experiments):
    """The first of the experiments with this protocol, randomiser, network, clipping, schedule and noise."""
    chosen = {}
    for one in experiments:
        how = (one.protocol, one.randomizer, one.model, one.clip, one.schedule, one.features, one.bootstrap)
        chosen.setdefault((*how, one.noise_multiplier is None), one)
    return list(chosen.values())


@pytest.mark.slow
def test_smoke_training(clone, root):
    pytest.importorskip("torch")
    settings = config.load([root / "config/config.yaml", root / "config/smoke.yaml"])
    chosen = one_of_each(settings.experiments)
    products = {experiment: settings.trainings(experiment)[0] for experiment in chosen}
    run = clone.run("--cores", "all", *(product.outputs[0] for product in products.values()), *SMOKE)
    assert run.status == 0, run.output
    with_features = sum(experiment.features is not None for experiment in chosen)
    assert run.jobs == {"train": len(chosen), "compute_features": with_features}
    assert "fetch_images" not in run.output, "generated data need no fetching"
    for experiment, product in products.items():
        table = tables.read_table(clone.path / product.outputs[0])
        more = [EXCESS] if experiment.schedule == THEOREM3 else []
        more += [] if experiment.protocol == SAMPLING else COUNTS
        assert table.columns.tolist() == COLUMNS + more
        assert table["epoch"].tolist() == list(range(1, experiment.total_epochs + 1))
        assert table["round"].iloc[-1] == experiment.rounds
        assert f"{experiment.name} seed 0: epoch {experiment.total_epochs}/" in run.stderr
    left = len(settings.experiments) - len(chosen)
    assert f"trainings: 0 taken from the cache, {len(chosen)} made now, {left} not" in run.stdout
    assert clone.changed() == set()
    assert clone.leftovers() == []
    again = clone.plan("all_trainings", *SMOKE)
    assert again.jobs["train"] == left
    assert not list((clone.path / "resources/checkpoints").glob("*")), "kept only while a run is under way"
    # what is trained is drawn with the other figures
    planned = clone.plan("all_figures", *SMOKE).jobs["plot"]
    assert len(settings.drawable) < planned <= len(settings.declared)
    figure = "figures/smoke/girgis2021/theorem3"
    drawn = clone.run("--cores", "1", f"{figure}.pdf", *SMOKE)
    assert drawn.status == 0, drawn.output
    assert drawn.jobs == {"plot": 1}
    assert (clone.path / f"{figure}.png").read_bytes().startswith(b"\x89PNG")


@pytest.fixture
def few(clone):
    """A clone with an overlay that leaves two seeds of one short experiment to train."""
    (clone.path / "few.yaml").write_text(
        "training: {batch_seeds: true, experiments: {girgis2021-nonprivate: {seeds: 2}}}\n", encoding="utf-8"
    )
    return clone


RUNS = [f"results/smoke/training/girgis2021-nonprivate/seed{seed}.csv" for seed in range(2)]


@pytest.mark.slow
def test_one_job_trains_all_seeds_that_are_not_there(few):
    pytest.importorskip("torch")
    arguments = ("--cores", "1", *RUNS, *SMOKE, "few.yaml")
    run = few.run(*arguments)
    assert run.status == 0, run.output
    assert run.jobs == {"train_girgis2021_nonprivate": 1}
    first, second = ((few.path / name).read_bytes() for name in RUNS)
    (few.path / RUNS[1]).unlink()
    again = few.run(*arguments)
    assert again.status == 0, again.output
    assert "seed 0: epoch" not in again.output
    assert (few.path / RUNS[0]).read_bytes() == first
    table = tables.read_table(few.path / RUNS[1])
    with open(few.path / "second.csv", "wb") as stream:
        stream.write(second)
    expected = tables.read_table(few.path / "second.csv")
    assert table.drop(columns="seconds").equals(expected.drop(columns="seconds"))


@pytest.mark.slow
def test_a_gpu_that_is_asked_for_and_absent_is_an_error(few):
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    few.edit("few.yaml", "batch_seeds: true", "device: cuda")
    run = few.run("--cores", "1", RUNS[0], *SMOKE, "few.yaml")
    assert run.status != 0
    assert "device 'cuda' needs a GPU that torch can use, and there is none" in run.output
    run = few.run("--cores", "1", RUNS[0], *SMOKE, "few.yaml", "--set-resources", "train:gpu=0")
    assert run.status != 0, "not on the CPU in silence"


def test_a_cache_that_cannot_be_written_to_is_refused_before_anything_is_trained(few, tmp_path):
    (tmp_path / "file").touch()
    arguments = ("--cores", "1", "--cache", "train", RUNS[0], *SMOKE, "few.yaml")
    path = tmp_path / "file" / "folder"
    for named, why_not in (
        (path, f"folder, got '{path}', where {tmp_path / 'file'} is a file; name another"),
        ("/proc/nowhere", "folder that can be written to, got '/proc/nowhere', where /"),
    ):
        run = few.run(*arguments, SHUFFLEDP_CACHE=str(named))
        assert run.status != 0
        assert f"SHUFFLEDP_CACHE must be a {why_not}" in run.output
        assert "name another, or unset it" in run.output
        assert "Traceback" not in run.output


@pytest.mark.slow
def test_checkouts_share_what_is_trained_if_asked_to(few, tmp_path):
    pytest.importorskip("torch")
    few.edit("few.yaml", "batch_seeds: true, ", "")
    shared = tmp_path / "shared" / "made"
    arguments = ("--cores", "1", "--cache", "train", "--configfile", SMOKE[1], "few.yaml", "--", RUNS[0])
    first = few.run(*arguments, SHUFFLEDP_CACHE=str(shared))
    assert first.status == 0, first.output
    assert "seed 0: epoch" in first.output
    made = (few.path / RUNS[0]).read_bytes()
    shutil.rmtree(few.path / "results/smoke/training")
    shutil.rmtree(few.path / ".snakemake")
    second = few.run(*arguments, SHUFFLEDP_CACHE=str(shared))
    assert second.status == 0, second.output
    assert "seed 0: epoch" not in second.output
    assert (few.path / RUNS[0]).read_bytes() == made
    assert few.plan(*SMOKE, "few.yaml", "--", RUNS[0]).jobs == {}
