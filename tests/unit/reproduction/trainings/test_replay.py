"""A run that is made again comes out the same."""

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
