"""A run that is made again comes out the same, and no more of it is said to than was compared."""

from pathlib import Path

import pytest

from shuffledp.records import files, requests
from shuffledp.reproduction.trainings import recorded

from ...training.test_runs import experiment

REPLAYED = {"n": 400, "k": 40, "epochs": (2,), "learning_rates": (0.3,), "epoch_rounds": 2}


@pytest.fixture(scope="module")
def replayed(tmp_path_factory):
    pytest.importorskip("torch")
    import torch

    from shuffledp.reproduction.trainings import making
    from shuffledp.training import runs
    from shuffledp.training.sgd import loop

    folder = tmp_path_factory.mktemp("replayed")
    found = experiment(**REPLAYED)
    data = runs.load(found, root=None, on=torch.device("cpu"))
    product = recorded.product(found, str(folder), 3)
    request = requests.stage(product, folder / "requests")
    making.make(request, name="tiny", checkpoint=folder / "c.pt", on=torch.device("cpu"), data=data)
    return found, product, data, loop


def test_no_more_epochs_are_compared_than_there_are(replayed, monkeypatch):
    from shuffledp.reproduction.trainings import commands, replay
    from shuffledp.training import runs

    found, product, data, _ = replayed
    record, said = Path(product.record).read_bytes(), []
    setting = {"folder": str(Path(product.record).parent), "stamp": True, "say": said.append}
    monkeypatch.setattr(runs, "load", lambda *_, **__: pytest.fail("the data are loaded"))
    for rows in (500, 3, 0):
        message = f"epochs must be 1 to 2, those of a run of tiny, got {rows}"
        with pytest.raises(ValueError, match=message):
            replay.replay(found, seed=3, data=data, rows=rows, **setting)
        with pytest.raises(ValueError, match=message):
            commands.reproduce(found, seeds=[3], rows=rows, root=None, **setting)
    assert not said
    assert Path(product.record).read_bytes() == record


@pytest.mark.parametrize("kept", [[0], [1], [1, 0], [0, 1, 1]])
@pytest.mark.parametrize("rows", [1, 2])
def test_a_table_of_other_epochs_is_different(replayed, tmp_path, kept, rows):
    from shuffledp.reproduction.trainings import replay

    found, product, data, _ = replayed
    header, *lines = Path(product.outputs[0]).read_text().splitlines(keepends=True)
    (tmp_path / "seed3.csv").write_text("".join([header, *(lines[row] for row in kept)]))
    said = []
    setting = {"folder": str(tmp_path), "data": data, "say": said.append}
    assert not replay.replay(found, seed=3, rows=rows, stamp=True, **setting)
    assert said == [
        f"{tmp_path / 'seed3.csv'}, 0 of 2 epochs: not reproduced: the table's rows ({len(kept)}) are not "
        "those of epochs 1 to 2"
    ]


def test_a_run_is_reproduced_and_a_changed_value_is_noticed(replayed, monkeypatch):
    from shuffledp.reproduction.trainings import replay

    found, product, data, loop = replayed
    said = []
    setting = {"seed": 3, "folder": str(Path(product.record).parent), "data": data, "say": said.append}
    assert replay.replay(found, **setting, rows=2, stamp=False)
    assert said.pop().endswith("seed3.csv, 2 of 2 epochs: reproduced")
    # a record of other code becomes current by proof alone
    record = files.read_json(product.record)
    record["request"]["code"] = "0" * 16
    files.write_json(product.record, record)
    assert not product.is_current()
    rate = loop.schedule.step
    monkeypatch.setattr(loop.schedule, "step", lambda *given, **named: 10 * rate(*given, **named))
    assert not replay.replay(found, **setting, rows=1, stamp=True)
    assert "not reproduced: " in said[-1]
    assert not product.is_current()
    monkeypatch.undo()
    assert replay.replay(found, **setting, rows=1, stamp=True)
    assert product.is_current()
    assert files.read_json(product.record)["environment"]["proof"]["epochs"] == 1
    Path(product.outputs[0]).write_text(Path(product.outputs[0]).read_text().replace("2", "3"))
    with pytest.raises(ValueError, match="is not the file that was recorded; train the run again"):
        replay._stamp(product, 1)
