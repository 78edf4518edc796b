"""What timings compare with: a script of others, fetched and checked."""

from __future__ import annotations

import logging

import pytest

from shuffledp.records import files
from shuffledp.reproduction.benchmarks import accountants, peers

# twice delta, as far as this says anything; the true script says it of one round
SCRIPT = "def numericalanalysis(n, eps0, delta, iterations, step, upper):\n    return delta * 2 * upper\n"


@pytest.fixture
def elsewhere(tmp_path):
    place = tmp_path / "elsewhere.py"
    place.write_text(SCRIPT)
    return {"address": place.as_uri(), "digest": files.sha256(place)}


def test_the_script_is_fetched_once(tmp_path, elsewhere):
    found = peers.script(tmp_path / "kept", **elsewhere)
    assert found.read_text() == SCRIPT
    assert peers.one_round(found)(n=10, eps0=1.0, delta=0.25) == 0.5
    assert peers.script(tmp_path / "kept", **{**elsewhere, "address": "file:///nowhere"}) == found


def test_another_file_is_refused_and_not_kept(tmp_path, elsewhere):
    wrong = {**elsewhere, "digest": "0" * 64}
    with pytest.raises(ValueError, match=r"elsewhere.py must have SHA-256 000.*, got .*; delete it"):
        peers.script(tmp_path / "kept", **wrong)
    assert not list((tmp_path / "kept").iterdir())
    peers.script(tmp_path / "kept", **elsewhere)
    with pytest.raises(ValueError, match=r"kept/computeamplification.py must have SHA-256 000"):
        peers.script(tmp_path / "kept", **wrong)


def test_without_a_network_it_is_left_out(tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        assert peers.script(tmp_path, address="file:///nowhere/script.py") is None
    (record,) = caplog.records
    assert "file:///nowhere/script.py cannot be fetched" in record.message


@pytest.mark.parametrize("there", [True, False])
def test_one_round_is_timed_in_pairs(there, tmp_path, elsewhere, monkeypatch):
    path = peers.script(tmp_path / "kept", **elsewhere) if there else None
    monkeypatch.setattr(peers, "script", lambda: path)
    monkeypatch.setattr(accountants, "_REPEATS", 1)
    table = accountants.time_one_round()
    here = table[table["measured"] == "here"]
    assert (here["ratio"] == 1).all()
    assert here["n"].tolist() == [10.0**power for power in range(3, 13)]
    assert here["epsilon"].is_monotonic_decreasing
    script = table[table["measured"] == "script"]
    assert len(script) == (4 if there else 0)
    assert (script["epsilon"] == 2e-8).all()
