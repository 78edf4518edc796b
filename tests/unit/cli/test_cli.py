"""The command line: what it prints, what it refuses, and how little it loads before it knows what to do."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys

import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import example, given
from hypothesis import strategies as st

import shuffledp
from shuffledp import accountants, cli, rounding
from shuffledp.accountants import calibration, registry, systems
from shuffledp.cli import drawing, printing
from shuffledp.cli import options as reading
from shuffledp.profiles import named_randomizers
from shuffledp.records import refusals
from shuffledp.reproduction import config
from shuffledp.training.costs import core_seconds
from shuffledp.training.data.checksums import IDX_FILES
from shuffledp.variables import OF_RANDOMIZERS, VARIABLES, counts

SYSTEM = {"--clients": "1e4", "--per-round": "1e2"}
EPSILON = {**SYSTEM, "--eps0": "1", "--rounds": "2e2", "--delta": "1e-6"}
DELTA = {**SYSTEM, "--eps0": "1", "--rounds": "200", "--eps": "0.15"}
CALIBRATE = {**SYSTEM, "--target-eps": "0.5", "--delta": "1e-6", "--rounds": "200"}
SETTING = {"n": 10_000, "k": 100, "eps0": 1.0, "rounds": 200, "delta": 1e-6}
COMMANDS = {"epsilon": EPSILON, "delta": DELTA, "calibrate": CALIBRATE}
QUICK = ("--accountant", "girgis2021-upper")
DESCRIPTION = set(printing.FIELDS)
SYSTEMS = systems.systems()
KRR = {"--clients": "1000", "--categories": "4", "--gamma": "0.25", "--rounds": "4"}
OF_KRR = ("--protocol", "shuffle", "--mechanism", "krr")
GAUSSIAN = {"--clients": "7", "--sigma": "2", "--rounds": "2"}
OF_NAMED = ("--randomizer", "krr", "--categories", "4")
HEAVY = {"numpy", "scipy", "pandas", "torch", "rich"}


def words(options):
    return [word for option in options.items() for word in option]


def run(*arguments, expect=0):
    result = CliRunner().invoke(cli.app, list(arguments))
    assert result.exit_code == expect, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def shown(*arguments):
    result = run(*arguments)
    # the delta that some of them find is no small one
    assert all(line.startswith("Warning: ") and "delta" in line for line in result.stderr.splitlines())
    return result.stdout


def refusal(*arguments, expect=2):
    """The one line that a refused command line gets."""
    result = run(*arguments, expect=expect)
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert result.stderr.endswith("\n")
    return result.stderr.strip()


def as_json(*arguments):
    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(shown(*arguments, "--json"), parse_constant=refuse)


def fresh(*arguments, code="from shuffledp.cli import main; main()"):
    """Run the command line in an interpreter of its own."""
    return subprocess.run(
        [sys.executable, *(["-c", code] if code else ["-m", "shuffledp"]), *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


# --- epsilon


@pytest.fixture(scope="module")
def table():
    return shown("epsilon", *words(EPSILON)).splitlines()


@pytest.fixture(scope="module")
def everything():
    return as_json("epsilon", *words(EPSILON))


def test_epsilon_says_for_what(table):
    assert table[0] == "n=10000, k=100, eps0=1, rounds=200, delta=1e-06; neighbours by substitution"


def test_epsilon_has_one_line_an_accountant(table):
    rows = {line.split()[0]: line for line in table[4:]}
    assert sorted(rows) == sorted(accountants.names())
    for name, line in rows.items():
        entry = accountants.get(name)
        for text in (entry.kind, entry.citation, entry.theorem):
            assert text in line
        exact, printed = accountants.epsilon(name, **SETTING), float(line.split()[1])
        assert printed == pytest.approx(exact, rel=1e-6)
        assert printed >= exact if entry.kind == "upper" else printed <= exact


def test_epsilon_has_the_tightest_first(everything):
    entries = everything["accountants"]
    kinds = [entry["kind"] for entry in entries]
    assert kinds == sorted(kinds, reverse=True)  # upper, then lower
    upper = [entry["epsilon"] for entry in entries if entry["kind"] == "upper"]
    assert upper == sorted(upper)
    lower = [entry for entry in entries if entry["kind"] == "lower"]
    for scope in ("epsilon", "renyi"):
        values = [entry["epsilon"] for entry in lower if entry["scope"] == scope]
        assert values == sorted(values, reverse=True)
    # what bounds Renyi accounting only comes after what bounds epsilon
    assert [entry["scope"] for entry in lower] == sorted(entry["scope"] for entry in lower)


def test_epsilon_has_the_bracket_before_the_table(table):
    bracket = accountants.bracket(**SETTING)
    low, high, names, ratio = re.fullmatch(
        r"epsilon in \[(.*), (.*)\] by (.*), ratio (.*)", table[1]
    ).groups()
    assert float(low) <= bracket.lower < bracket.upper <= float(high)
    assert float(low) == pytest.approx(bracket.lower, rel=1e-6)
    assert float(high) == pytest.approx(bracket.upper, rel=1e-6)
    assert names == " and ".join(bracket.names)
    assert float(ratio) == pytest.approx(bracket.upper / bracket.lower, rel=1e-3)


def test_epsilon_as_json(everything):
    assert everything.keys() == {"setting", "accountants", "bracket"}
    assert everything["setting"] == SETTING
    assert {entry["name"] for entry in everything["accountants"]} == set(accountants.names())
    for entry in everything["accountants"]:
        assert entry.keys() == {*DESCRIPTION, "epsilon", "details"}
        registered = accountants.get(entry["name"])
        assert entry["details"] == registered.details(**SETTING)
        assert entry["epsilon"] == entry["details"]["epsilon"]
        assert (entry["theorem"], entry["needs"]) == (registered.theorem, list(registered.needs))
    bracket = accountants.bracket(**SETTING)
    assert everything["bracket"] == {
        "lower": bracket.lower,
        "upper": bracket.upper,
        "ratio": bracket.upper / bracket.lower,
        "names": {"lower": bracket.names[0], "upper": bracket.names[1]},
        "neighbours": "substitution",
    }


def test_epsilon_by_one_accountant():
    lines = shown("epsilon", *words(EPSILON), *QUICK).splitlines()
    details = accountants.get("girgis2021-upper").details(**SETTING)
    assert [line.split()[0] for line in lines[3:]] == ["girgis2021-upper", *list(details)[1:]]
    assert f"order = {details['order']:g}" in lines
    result = as_json("epsilon", *words(EPSILON), *QUICK)
    assert [entry["name"] for entry in result["accountants"]] == ["girgis2021-upper"]
    assert result["bracket"] is None


def test_epsilon_of_pure_dp():
    setting = {"--clients": "1e6", "--per-round": "1e3", "--eps0": "2", "--rounds": "10", "--delta": "0"}
    result = as_json("epsilon", *words(setting))  # infinite for the theorems that have no answer
    assert {entry["details"]["theorem_epsilon"] for entry in result["accountants"]} == {"inf"}
    for entry in result["accountants"]:
        assert entry["epsilon"] == pytest.approx(0.0636873, abs=5e-8)  # hard case A6
    assert "epsilon in [0.06368732, 0.06368733] by" in shown("epsilon", *words(setting))
    lines = shown("epsilon", *words(setting), *QUICK).splitlines()
    assert lines[-1] == "theorem_epsilon = inf"


def test_epsilon_without_rounds_costs_nothing():
    options = {**EPSILON, "--rounds": "0"}
    assert any(
        line.startswith("epsilon in [0, 0] by ") for line in shown("epsilon", *words(options)).splitlines()
    )
    assert as_json("epsilon", *words(options))["bracket"]["ratio"] == "inf"


def test_infinite_and_not_computed_differ_in_json(capsys):
    numbers = {"a": math.inf, "b": [-math.inf, math.nan, None], "c": {"d": 0.1, "e": 3}}
    printing.as_json(numbers)
    read = json.loads(capsys.readouterr().out)
    assert read == {"a": "inf", "b": ["-inf", None, None], "c": {"d": 0.1, "e": 3}}
    assert pd.to_numeric(pd.Series([1.5, read["a"]])).tolist() == [1.5, math.inf]
    assert float(read["b"][0]) == -math.inf


def test_the_readme_setting():
    options = {"--clients": "1e6", "--per-round": "1e3", "--eps0": "2", "--rounds": "1e5", "--delta": "1e-8"}
    assert re.search(r"^girgis2021-upper +1\.040219 +upper", shown("epsilon", *words(options), *QUICK), re.M)


# --- delta


def test_delta_is_on_the_safe_side():
    lines = shown("delta", *words(DELTA)).splitlines()
    assert lines[0] == "n=10000, k=100, eps0=1, rounds=200; neighbours by substitution"
    printed = re.match(r"delta <= (\S+) at epsilon = 0\.15 by clones-joint-pld \[upper; ", lines[1])[1]
    assert accountants.epsilon("clones-joint-pld", **{**SETTING, "delta": float(printed)}) <= 0.15
    assert float(lines[2].removeprefix("epsilon at that delta: ")) <= 0.15


def test_delta_of_a_lower_bound():
    text = shown("delta", *words(DELTA), "--accountant", "rr2-lower")
    printed = re.search(r"delta >= (\S+) at epsilon = 0\.15 by rr2-lower \[lower; ", text)[1]
    assert accountants.epsilon("rr2-lower", **{**SETTING, "delta": float(printed)}) >= 0.15


def test_delta_of_renyi_accounting_says_so():
    assert "girgis2021-lower [lower (renyi);" in shown(
        "delta", *words(DELTA), "--accountant", "girgis2021-lower"
    )


def test_delta_as_json():
    result = as_json("delta", *words(DELTA), *QUICK)
    assert result.keys() == {"setting", "accountant", "delta", "eps", "epsilon"}
    assert result["accountant"].keys() == DESCRIPTION
    setting = {name: SETTING[name] for name in ("n", "k", "eps0", "rounds")}
    assert result["setting"] == setting
    assert result["delta"] == calibration.delta_at("girgis2021-upper", eps=0.15, **setting)
    assert result["epsilon"] == accountants.epsilon("girgis2021-upper", delta=result["delta"], **setting)
    assert result["epsilon"] <= result["eps"] == 0.15


@pytest.mark.parametrize(("eps", "delta"), [("1e3", "0"), ("1e-9", "1")])
def test_delta_at_the_ends(eps, delta):
    options = {"--clients": "9", "--per-round": "9", "--eps0": "5", "--rounds": "40", "--eps": eps}
    command = ("delta", *words(options), "--accountant", "feldman2021-advanced-noamp")
    done = run(*command)
    assert f"delta <= {delta} at epsilon = {float(eps):g} by" in done.stdout
    assert ("promises next to nothing" in done.stderr) == (eps == "1e3")
    assert ("is at least 1/n" in done.stderr) == (delta == "1")
    result = json.loads(run(*command, "--json").stdout)
    assert result["delta"] == float(delta)
    assert (result["epsilon"] is None) == (delta == "1")


# --- calibrate

B4 = {"--clients": "1e6", "--per-round": "1e3", "--target-eps": "1", "--delta": "1e-8"}


def test_hard_case_b4():
    lines = shown("calibrate", *words({**B4, "--rounds": "1e5"}), *QUICK).splitlines()
    assert lines[1].startswith("eps0 <= 1.968160 keeps epsilon <= 1 by girgis2021-upper [upper; girgis2021: ")
    assert lines[2] == "epsilon there: 0.9999998"


def test_rounds_of_b4():
    lines = shown("calibrate", *words({**B4, "--eps0": "1.96816"}), *QUICK).splitlines()
    assert lines[1].startswith("rounds <= 100000 keeps epsilon <= 1 by girgis2021-upper")


def test_calibrate_takes_the_tightest_accountant():
    text = shown("calibrate", *words(CALIBRATE))
    printed = float(re.search(r"eps0 <= (\S+) keeps epsilon <= 0\.5 by clones-joint-pld ", text)[1])
    assert accountants.epsilon("clones-joint-pld", **{**SETTING, "eps0": printed}) <= 0.5
    assert accountants.epsilon("clones-joint-pld", **{**SETTING, "eps0": printed * (1 + 2e-6)}) > 0.5


@pytest.mark.parametrize(("given", "value", "unknown"), [("rounds", "2e2", "eps0"), ("eps0", "1", "rounds")])
def test_calibrate_as_json(given, value, unknown):
    options = {**SYSTEM, "--target-eps": "0.5", "--delta": "1e-6", f"--{given}": value}
    result = as_json("calibrate", *words(options), *QUICK)
    assert result.keys() == {"setting", "accountant", "target_eps", unknown, "epsilon"}
    assert result["accountant"]["name"] == "girgis2021-upper"
    assert result["setting"] == {"n": 10_000, "k": 100, "delta": 1e-6, given: float(value)}
    recomputed = accountants.epsilon("girgis2021-upper", **result["setting"], **{unknown: result[unknown]})
    assert result["epsilon"] == recomputed <= result["target_eps"] == 0.5
    assert type(result[unknown]) is (int if unknown == "rounds" else float)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"--accountant": "rr2-lower"},
            "accountant must be an upper bound to keep a budget, got 'rr2-lower'",
        ),
        (
            {"--rounds": None},
            "leave out one of --clients, --per-round, --eps0, --rounds, --delta, which is found; left out "
            "are --eps0 and --rounds",
        ),
        ({"--eps0": "1"}, "--rounds, --delta, which is found; got all"),
        ({"--rounds": "0"}, "--rounds must be a whole number >= 1, got '0'"),
        ({"--target-eps": "0"}, "--target-eps must be a finite number > 0, got '0'"),
        (
            {"--rounds": None, "--eps0": "9", "--per-round": "1e4"},
            "for rounds from 1 to 1e+15 epsilon goes from 8.999999 to 8.997779e+15 by unshuffled-strong",
        ),
        (
            {"--rounds": None, "--eps0": "0"},
            "met by every value of rounds up to 1e+15, where epsilon is 0 by unshuffled-strong, so",
        ),
    ],
)
def test_what_cannot_be_calibrated(options, message):
    merged = {**CALIBRATE, "--accountant": "unshuffled-strong", **options}
    given = {option: value for option, value in merged.items() if value is not None}
    assert message in refusal("calibrate", *words(given))


# --- other systems


def test_another_system_by_its_names_or_by_its_accountant():
    everything = as_json("epsilon", *words(KRR), "--delta", "1e-6", *OF_KRR)
    assert everything["setting"] == {"n": 1000, "categories": 4, "gamma": 0.25, "rounds": 4, "delta": 1e-6}
    assert {entry["name"] for entry in everything["accountants"]} == set(
        accountants.names(protocol="shuffle", mechanism="krr")
    )
    assert everything["bracket"] is None  # nothing bounds it from below
    (alone,) = as_json("epsilon", *words(KRR), "--delta", "1e-6", "--accountant", "krr-weak")["accountants"]
    assert alone["epsilon"] == accountants.epsilon("krr-weak", **everything["setting"])
    assert "epsilon in [" not in shown("epsilon", *words(KRR), "--delta", "1e-6", *OF_KRR)


def test_a_mechanism_that_one_protocol_has_needs_no_protocol():
    command = ("epsilon", *words(GAUSSIAN), "--delta", "1e-5", "--mechanism", "gaussian")
    alone = as_json(*command)
    assert alone == as_json(*command, "--protocol", "shuffle")
    assert alone["setting"] == {"n": 7, "sigma": 2, "rounds": 2, "delta": 1e-5}
    names = {"lower": "shuffled-gaussian-pair", "upper": "shuffled-gaussian-blanket"}
    assert alone["bracket"]["names"] == names


@pytest.mark.slow
def test_the_default_accountant_is_the_systems():
    assert (
        as_json("delta", *words(GAUSSIAN), "--eps", "1", "--mechanism", "gaussian")["accountant"]["name"]
        == "shuffled-gaussian-blanket"
    )
    assert as_json("delta", *words(KRR), "--eps", "1", *OF_KRR)["accountant"]["name"] == "krr-weak"
    assert as_json("delta", *words(DELTA))["accountant"]["name"] == "clones-joint-pld"


OF_SYSTEMS = {
    ("distributed-check-in", "gaussian"): {"n": 2000, "rate": 0.05, "sigma": 0.8},
    ("shuffle", "approximate-ldp"): {"n": 2000, "eps0": 0.5, "delta0": 1e-15},
    ("shuffled-check-in", "gaussian"): {"n": 2000, "rate": 0.05, "sigma": 1.5},
    ("fixed-window", "ldp"): {"slots": 50, "participation": 0.5, "eps0": 0.5},
}


DEAR = {
    ("shuffle", "approximate-ldp"),
    ("shuffled-check-in", "gaussian"),
    ("distributed-check-in", "gaussian"),
}


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(names, id="-".join(names), marks=[pytest.mark.slow] if names in DEAR else [])
        for names in OF_SYSTEMS
    ],
)
def test_every_variable_has_its_option(names):
    setting = OF_SYSTEMS[names]
    options = {VARIABLES[name].option: f"{value:g}" for name, value in setting.items()}
    given = words({**options, "--rounds": "3", "--protocol": names[0], "--mechanism": names[1]})
    found = as_json("delta", *given, "--eps", "0.2")
    assert found["setting"] == {**setting, "rounds": 3}
    assert found["epsilon"] <= 0.2
    default = systems.get(*names).default
    assert found["accountant"]["name"] == default
    assert accountants.epsilon(default, **setting, rounds=3, delta=found["delta"]) == found["epsilon"]
    everything = as_json("epsilon", *given, "--delta", "1e-5")
    assert everything["accountants"][0]["name"] == default


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            (*words(EPSILON), "--sigma", "1"),
            "--sigma has no meaning for protocol subsampled-shuffle with mechanism ldp",
        ),
        ((*words(EPSILON), "--sigma", "0"), "--sigma must be a finite number > 0, got '0'"),
        ((*words(EPSILON), "--delta0", "2"), "--delta0 must be a number in [0, 1), got '2'"),
        (
            (*words(KRR), "--delta", "1e-6"),
            "--per-round is needed for protocol subsampled-shuffle with mechanism ldp, which takes "
            "--clients, --per-round, --eps0",
        ),
        (
            (*words(EPSILON), *OF_KRR),
            "--categories is needed for protocol shuffle with mechanism krr, which takes --clients, "
            "--categories, --gamma",
        ),
        (
            (*words(EPSILON), "--accountant", "krr-weak"),
            "--categories is needed for accountant krr-weak of protocol shuffle with mechanism krr, which "
            "takes --clients, --categories, --gamma",
        ),
        (
            (*words(KRR), "--delta", "1e-6", "--eps0", "2", *OF_KRR),
            "--eps0 has no meaning for protocol shuffle with mechanism krr",
        ),
        (
            (
                *words(GAUSSIAN),
                *("--delta", "1e-6", "--accountant", "shuffled-gaussian-pair", "--sigma", "0.01"),
            ),
            "--sigma must lie in [0.1, 1000], outside of which the law of a sum of log-normal terms is not "
            "computed, got 0.01",
        ),
        (
            ("--clients", "7", "--rounds", "2", "--delta", "1e-6", "--mechanism", "gaussian"),
            "--sigma is needed for protocol shuffle with mechanism gaussian, which takes --clients, --sigma",
        ),
        ((*words(EPSILON), "--gamma", "1"), "--gamma must be a number in (0, 1), got '1'"),
        ((*words(EPSILON), "--categories", "1"), "--categories must be a whole number >= 2"),
        (
            (*words(EPSILON), "--protocol", "gossip"),
            "--protocol must be one of subsampled-shuffle, shuffled-check-in, fixed-window",
        ),
        (
            (*words(EPSILON), "--accountant", "krr-weak", "--protocol", "subsampled-shuffle"),
            "--mechanism must be one of ldp, share, tv, blanket",
        ),
        (
            (*words(EPSILON), "--accountant", "clones-pld", *OF_KRR),
            "accountant 'clones-pld' is for rounds of k of n clients",
        ),
    ],
)
def test_what_belongs_to_another_system_is_refused(arguments, message):
    assert message in refusal("epsilon", *arguments)


# --- accountants, version, help


def of_system(system):
    return accountants.names(protocol=system.protocol, mechanism=system.mechanism)


def test_the_accountants_are_listed_by_system():
    blocks = shown("accountants").split("\n\n")
    heads, tables = blocks[::2], blocks[1::2]
    assert len(heads) == len(tables) == len(SYSTEMS)
    for system, head, table in zip(SYSTEMS, heads, tables, strict=True):
        title, about, options = head.splitlines()
        assert title == str(system)
        assert about == f"{system.words}; neighbours by {system.neighbours}"
        for name in system.variables:
            assert f"{VARIABLES[name].option} " in f"{options} "
        entries = [accountants.get(line.split()[0]) for line in table.splitlines()[2:]]
        assert sorted(entry.name for entry in entries) == sorted(of_system(system))
        assert entries[0].name == system.default
        kinds = [entry.kind for entry in entries]
        assert kinds == sorted(kinds, key=["upper", "estimate", "lower"].index)
        for entry, line in zip(entries, table.splitlines()[2:], strict=True):
            for text in (entry.kind, entry.citation, entry.theorem, ", ".join(entry.needs)):
                assert text in line


def test_the_options_that_head_a_system_are_those_that_choose_it():
    for system in SYSTEMS:
        options = shown("accountants", "--system", f"{system.protocol}/{system.mechanism}").splitlines()[2]
        chosen = dict(re.findall(r"(--protocol|--mechanism) (\S+)", options))
        assert chosen == {"--protocol": system.protocol, "--mechanism": system.mechanism}


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("shuffle/krr", lambda system: (system.protocol, system.mechanism) == ("shuffle", "krr")),
        ("shuffle", lambda system: system.protocol == "shuffle"),
        ("gaussian", lambda system: system.mechanism == "gaussian"),
    ],
)
def test_systems_are_chosen(name, wanted):
    chosen = [system for system in SYSTEMS if wanted(system)]
    titles = [block.splitlines()[0] for block in shown("accountants", "--system", name).split("\n\n")[::2]]
    assert titles == [str(system) for system in chosen]
    entries = as_json("accountants", "--system", name)
    assert [entry["name"] for entry in entries] == [
        line.split()[0]
        for block in shown("accountants", "--system", name).split("\n\n")[1::2]
        for line in block.splitlines()[2:]
    ]


@pytest.mark.parametrize(("wrong", "right"), [("shufle", "shuffle"), ("shuffle/kr", "shuffle/krr")])
def test_a_misspelt_system_is_told_the_closest(wrong, right):
    assert f"unknown system {wrong!r}: did you mean {right!r}? known are protocols (" in refusal(
        "accountants", "--system", wrong
    )


def test_the_randomisers_are_listed_with_the_options_that_each_takes():
    head, _, *lines = shown("accountants", "--randomizers").splitlines()
    assert head.split() == ["randomizer", "options", "words"]
    entries = as_json("accountants", "--randomizers")
    assert [line.split()[0] for line in lines] == [entry["name"] for entry in entries]
    assert {entry["name"] for entry in entries} == set(named_randomizers.NAMES)
    for line, entry in zip(lines, entries, strict=True):
        assert line.endswith(entry["words"])
        takes = named_randomizers.parameters(entry["name"])
        assert entry["takes"] == list(takes)
        assert set(entry["needs"]) == {one for one, needed in takes.items() if needed}
        assert set(re.findall(r"--\S+(?= )", line)) == {VARIABLES[one].option for one in takes}
    assert re.search(r"^local-hashing +--cells G \[--collision P\] ", "\n".join(lines), re.M)


def test_randomisers_are_of_no_system():
    assert refusal("accountants", "--randomizers", "--system", "shuffle").endswith(
        "--system has no meaning with --randomizers, got 'shuffle'; leave it out"
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_help_says_where_all_names_are_listed(command):
    text = " ".join(shown(command, "--help").split())
    for said in ("`shuffledp accountants` lists all protocols", "`shuffledp accountants` lists all mech"):
        assert said in text
    listed = "`shuffledp accountants --randomizers` lists all" in text
    assert listed == ("--randomizer NAME" in text)


@pytest.mark.parametrize("room", [60, 30, 100, 200])
def test_narrow_terminals_are_filled_and_not_overrun(room, monkeypatch):
    words_of = {word for line in shown("accountants").splitlines() for word in line.split()}
    monkeypatch.setattr(printing, "width", lambda: room)
    text = shown("accountants")
    rows = [line for line in text.splitlines() if not set(line) <= {"-"}]
    # a word alone may be longer than a very narrow line, and a name is not broken
    assert all(len(line) <= max(room, 60) for line in rows)
    missing = words_of - {word.rstrip(":;") for word in text.split()} - {"citation", "theorem"}
    assert not {word for word in missing if word.rstrip(":;,") not in text and not set(word) <= {"-"}}
    table = shown("epsilon", *words(EPSILON)).splitlines()
    assert table[1].startswith("epsilon in [")
    listed = [line.split()[0] for line in table[4:] if not line.startswith(" ")]
    assert set(listed) == set(accountants.names())


def test_the_width_is_that_of_the_terminal():
    code = (
        "import os, pty, fcntl, struct, sys, termios\n"
        "pid, end = pty.fork()\n"
        "if pid == 0:\n"
        "    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 47, 0, 0))\n"
        "    os.environ.pop('COLUMNS', None)\n"
        "    from shuffledp.cli import printing\n"
        "    print(printing.width(), flush=True)\n"
        "    os._exit(0)\n"
        "print(os.read(end, 100).decode().strip())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "47"
    assert printing.width() is None or sys.stdout.isatty()


def test_the_accountants_as_json():
    entries = as_json("accountants")
    assert sorted(entry["name"] for entry in entries) == sorted(
        name for system in SYSTEMS for name in of_system(system)
    )
    for entry in entries:
        assert entry.keys() == DESCRIPTION
        assert entry["note"] == accountants.get(entry["name"]).note


def test_a_users_accountant_takes_part(monkeypatch):
    monkeypatch.setattr(registry, "_REGISTRY", {})
    fields = {
        "citation": "here [bold]",
        "theorem": "x in [0, 1]",
        "label": "mine",
        "needs": ("any",),
        "note": "-",
    }
    for name, kind in (("mine", "estimate"), ("up", "upper"), ("low", "lower")):
        register = registry.register(name=name, kind=kind, **fields)
        register(lambda *, n, k, eps0, rounds, delta: {"epsilon": 1e-3 * rounds})
    lines = shown("epsilon", *words(EPSILON)).splitlines()
    assert [line.split()[0] for line in lines[4:]] == ["up", "mine", "low"]
    assert "here [bold]" in lines[4]  # brackets are no markup
    assert "x in [0, 1]" in lines[4]
    assert re.search(
        r"delta ~ 1 at epsilon = 0\.15 by mine", shown("delta", *words(DELTA), "--accountant", "mine")
    )


def test_version():
    assert shown("--version") == f"shuffledp {shuffledp.__version__}\n"


@pytest.mark.parametrize("option", ["--help", "-h"])
@pytest.mark.parametrize("command", [None, *COMMANDS, "accountants"])
def test_help(command, option):
    text = shown(*([command] if command else []), option)
    assert text.startswith("Usage: ")
    for name in COMMANDS.get(command, {}) if command else [*COMMANDS, "accountants"]:
        assert name in text
    assert "..." not in text.partition("\n")[2]  # the commands' summaries are not cut short


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_every_variable(command):
    has = {one for one in re.findall(r"^ +(--[a-z0-9-]+)", shown(command, "--help"), re.M)}
    of_systems = {VARIABLES[name].option for system in systems.systems() for name in system.variables}
    assert of_systems < has
    assert {one.option for one in OF_RANDOMIZERS} <= has or command != "epsilon"


def test_no_command_gets_help():
    result = run(expect=2)
    assert result.stdout == ""
    assert "Commands:" in result.stderr


# --- train


@pytest.fixture
def shipped_folder(root, monkeypatch):
    """Where the shipped configuration is found."""
    monkeypatch.chdir(root)


@pytest.mark.usefixtures("shipped_folder")
def test_train_lists_the_experiments_and_what_they_cost(shipped):
    listing = shown("train", "--list")
    lines = [line for line in listing.splitlines() if not line.startswith("shuffledp tune ")]
    assert lines[0].split()[0] == "experiment"
    rows = {line.split()[0]: line.split() for line in lines[2:-1]}
    assert list(rows) == [entry.name for entry in shipped.experiments]
    left = 0.0
    for entry in shipped.experiments:
        seeds, made, each = rows[entry.name][-3:]
        assert (int(seeds), entry.data) == (entry.seeds, rows[entry.name][-4])
        assert 0 <= int(made) <= entry.seeds
        assert float(each) == pytest.approx(core_seconds(entry) / 60, rel=0.06)
        left += (entry.seeds - int(made)) * core_seconds(entry) / 60
    assert lines[-1] == f"The runs that are not made yet take about {left:.0f} minutes of one CPU core."
    for tuning in shipped.tunings:
        each = sum(core_seconds(entry) for entry in tuning.tries) / 60
        said = f"shuffledp tune {tuning.experiment.name} takes {each:.0f} minutes more." in listing
        assert said != tuning.product(shipped.results).is_current()


@pytest.mark.usefixtures("shipped_folder")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name an experiment; `shuffledp train --list` lists them"),
        (["girgis2021-fig9"], "no experiment 'girgis2021-fig9'; did you mean 'girgis2021-fig3'? it has "),
        (["nowhere"], "no experiment 'nowhere'; it has girgis2021-fig3, "),
        (["girgis2021-fig3", "--device", "cdua"], "got 'cdua'; did you mean 'cuda'?"),
        (["girgis2021-fig3", "--device", "gpu"], "got 'gpu'; did you mean 'cuda'?"),
        (["girgis2021-fig3", "--seed", "-1"], "--seed must be a whole number >= 0"),
        (["girgis2021-fig3", "--seed", "one"], "--seed must be a whole number >= 0"),
        (
            ["girgis2021-fig3", "--seed", "1e30"],
            "--seed must be at most 9.0072e+15, since seeds are stored in JSON, whose numbers are doubles",
        ),
        (["girgis2021-fig3", "--seed", "1e400"], "--seed must be a whole number >= 0"),
        (
            ["girgis2021-fig3", "--seed", "0..3"],
            "--seed must be a whole number >= 0 (written 1000000 or 1e6), got '0..3'",
        ),
        (
            ["girgis2021-fig3", "--threads", "1..4"],
            "--threads must be a whole number >= 1 (written 1000000 or 1e6), got '1..4'",
        ),
        (
            ["girgis2021-fig3", "--seeds", f"{10**30}-{10**30 + 1}"],
            "--seeds must be at most 9.0072e+15, since seeds are stored in JSON, whose numbers are doubles",
        ),
        (["girgis2021-fig3", "--seeds", f"0-{'9' * 5000}"], "--seeds must be at most 9.0072e+15, since"),
        (["girgis2021-fig3", "--seeds", "0-²"], "--seeds must be a range such as 0-9, got '0-²'"),
        (["girgis2021-fig3", "--seeds", "3"], "--seeds must be a range such as 0-9, got '3'"),
        (["girgis2021-fig3", "--seeds", "9-0"], "--seeds must be a range such as 0-9, got '9-0'"),
        (["girgis2021-fig3", "--seeds", "0-x"], "--seeds must be a range such as 0-9, got '0-x'"),
        (["girgis2021-fig3", "--seed", "0", "--seeds", "0-1"], "give one of --seed and --seeds, got both"),
        (["girgis2021-fig3", "--seeds", "0-1000"], "--seeds must be a range of at most 1000"),
        (["girgis2021-fig3", "--threads", "0"], "--threads must be a whole number >= 1"),
        (["girgis2021-fig3", "--config", "nowhere.yaml"], "nowhere.yaml cannot be read (No such"),
        (["girgis2021-fig3", "--sed", "0"], "No such option: --sed"),
    ],
)
def test_train_refuses_by_name(arguments, message):
    assert message in refusal("train", *arguments)


@pytest.mark.usefixtures("shipped_folder")
def test_train_without_torch_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)  # as find_spec sees what is not installed
    line = refusal("train", "girgis2021-fig3")
    assert line == (
        "Error: training needs torch, which is not installed; in a clone of the repository, run: pip install "
        "'.[training]'"
    )
    assert shown("train", "--list").startswith("experiment"), "which needs no torch"


@pytest.mark.usefixtures("shipped_folder")
def test_train_refuses_devices_and_data_that_are_not_there(monkeypatch, tmp_path):
    torch = pytest.importorskip("torch")
    out = ("--out", str(tmp_path / "out"))
    for command in ("train", "tune"):
        line = refusal(command, "girgis2021-fig3", "--device", "mps")
        assert line == "Error: --device must be one of auto, cpu, cuda, got 'mps'"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert "needs a GPU" in refusal("train", "girgis2021-fig3", "--device", "cuda", *out)
    wrong = tmp_path / "data"
    wrong.mkdir()
    for name in IDX_FILES:
        (wrong / name).write_bytes(b"not it")
    monkeypatch.delenv("SHUFFLEDP_DATA", raising=False)
    arguments = ("girgis2021-fig3", "--device", "cpu", "--data", str(wrong), *out)
    assert "is not the MNIST file" in refusal("train", *arguments)
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("shipped_folder")
def test_a_run_that_is_not_recorded_is_not_compared():
    line = refusal("reproduce", "girgis2021-fig3", "--seed", "77")
    assert "--seed must be that of a recorded run of girgis2021-fig3, 0 to 9, got 77" in line
    line = refusal("reproduce", "girgis2021-fig3", "--seeds", "5-50")
    assert "--seeds must be of recorded runs of girgis2021-fig3, 0 to 9, got 10" in line


@pytest.mark.usefixtures("shipped_folder")
@pytest.mark.parametrize("command", ["train", "reproduce", "tune"])
def test_a_mistyped_folder_of_data_is_not_filled(command, monkeypatch, tmp_path):
    pytest.importorskip("torch")
    monkeypatch.delenv("SHUFFLEDP_DATA", raising=False)
    mistyped = tmp_path / "resorces"
    line = refusal(command, "liew2022-fig3b", "--data", str(mistyped))
    assert line == (
        f"Error: --data must name a folder that exists, got {str(mistyped)!r}; create it first, or leave "
        "--data out to use resources/mnist"
    )
    assert not mistyped.exists()


# --- numbers and refusals


@pytest.mark.parametrize("count", ["10000", "1e4", "1E4", "10000.0", "1_0000", " 1e4 ", "0.1e5"])
def test_counts_may_be_written_as_one_likes(count):
    options = {**EPSILON, "--clients": count}
    setting = as_json("epsilon", *words(options), *QUICK)["setting"]
    assert setting["n"] == 10_000
    assert type(setting["n"]) is int


def test_counts_stay_exact():
    assert reading.Number(counts(1)).read("--clients", "999999999999999") == 999999999999999


COUNTS = ["1.5", "-1", "nan", "inf", "-inf", "many", "", "1e999", "9" * 400, "1,000", "0x10"]
REALS = ["-1", "nan", "inf", "two", "", "1e999"]
REFUSED = {
    "--clients": ([*COUNTS, "0"], "a whole number >= 1"),
    "--per-round": ([*COUNTS, "0"], "a whole number >= 1"),
    "--rounds": (COUNTS, "a whole number >= "),
    "--eps0": (REALS, "a finite number >= 0"),
    "--eps": (REALS, "a finite number >= 0"),
    "--target-eps": ([*REALS, "0"], "a finite number > 0"),
    "--delta": ([*REALS, "1", "2", "-1e-6"], "a number in [0, 1)"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_bad_numbers_are_refused_by_name(command):
    for option in COMMANDS[command]:
        values, wanted = REFUSED[option]
        for value in values:
            line = refusal(command, *words({**COMMANDS[command], option: value}))
            assert line.startswith(f"Error: {option} must be {wanted}")
            assert line.endswith(f"got {value!r}")


@pytest.mark.parametrize(
    ("value", "written"),
    [("many", " (written 1000000 or 1e6)"), ("0", ""), ("-1", ""), ("1.5", ""), ("9" * 400, "")],
)
def test_how_counts_are_written_is_said_to_who_writes_none(value, written):
    line = refusal("epsilon", *words({**EPSILON, "--clients": value}))
    assert line == f"Error: --clients must be a whole number >= 1{written}, got {value!r}"
    option = ("--randomizer", "krr", "--categories", value)
    line = refusal("epsilon", *words(EPSILON), *option)
    assert line == f"Error: --categories must be a whole number >= 2{written}, got {value!r}"


@pytest.mark.parametrize("beside", [(), OF_NAMED], ids=["alone", "randomizer"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_misspelt_protocol_has_a_close_one(command, beside):
    given = words(COMMANDS[command])
    line = refusal(command, *given, *beside, "--protocol", "shuffel")
    assert line.startswith("Error: --protocol must be one of subsampled-shuffle, ")
    assert line.endswith("got 'shuffel'; did you mean 'shuffle'?")
    line = refusal(command, *given, *beside, "--protocol", "unheard")
    assert line.endswith("got 'unheard'")
    if not beside:
        line = refusal(command, *given, "--mechanism", "ldq")
        assert line.startswith("Error: --mechanism must be one of ldp, ")
        assert line.endswith("got 'ldq'; did you mean 'ldp'?")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_figure_that_cannot_be_written_is_refused_before_computing(command, tmp_path, monkeypatch):
    blocked = tmp_path / "a.png"
    blocked.mkdir()
    monkeypatch.setattr(reading.Plot, "points", lambda plot: pytest.fail("computed"))
    given = words({**COMMANDS[command], "--eps0": "1..2"})
    assert refusal(command, *given, "--plot", str(blocked)) == (
        f"Error: --plot must be a file, got {str(blocked)!r}, which is a folder; name a file"
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_more_clients_a_round_than_there_are(command):
    line = refusal(command, *words({**COMMANDS[command], "--per-round": "10001"}))
    assert line == "Error: --per-round must be at most --clients: a round cannot draw 10001 of 10000 clients"


@pytest.mark.parametrize("command", COMMANDS)
def test_unknown_accountants_are_refused(command):
    line = refusal(command, *words(COMMANDS[command]), "--accountant", "girgis2021-uper")
    told = "--accountant must be a registered one, got 'girgis2021-uper': did you mean 'girgis2021-upper'? "
    assert line.startswith(f"Error: {told}known are ")
    assert "--accountant must be a registered one, got ''" in refusal(
        command, *words(COMMANDS[command]), "--accountant", ""
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["epsilom"], "No such command 'epsilom'"),
        (["--verbose"], "No such option: --verbose"),
        (["epsilon", "--client", "3"], "No such option: --client"),
        (["epsilon", "extra", *words(EPSILON)], "extra"),
        (["delta", "--eps"], "requires an argument"),
        (["epsilon"], "Missing option '--rounds'"),
    ],
)
def test_usage_errors_are_one_line_too(arguments, message):
    assert message in refusal(*arguments)


def test_usage_errors_say_where_help_is():
    assert refusal("epsilon").endswith("epsilon --help)")


def test_numerics_that_give_up_are_named(monkeypatch):
    monkeypatch.setattr(registry, "_REGISTRY", dict(registry._REGISTRY))

    def give_up(**_):
        raise ArithmeticError("no epsilon could be\ncertified")

    fields = {"citation": "here", "theorem": "none", "label": "-", "needs": ("any",), "note": "-"}
    registry.register(name="broken", kind="upper", **fields)(give_up)
    # the others have their rows
    assert re.search(
        r"^broken +none +upper +here +cannot answer: no epsilon could be certified",
        run("epsilon", *words(EPSILON)).stdout,
        re.M,
    )
    line = refusal("epsilon", *words(EPSILON), "--accountant", "broken", expect=1)
    assert line == "Error: broken: no epsilon could be certified; choose another by --accountant"
    assert "could be certified" in refusal("delta", *words(DELTA), "--accountant", "broken", expect=1)


# --- rounding for display


@pytest.mark.parametrize(
    ("value", "upper", "lower", "estimate"),
    [
        (0.1, "0.1", "0.1", "0.1"),
        (12.0, "12", "12", "12"),
        (0.12345674, "0.1234568", "0.1234567", "0.1234567"),
        (1.00000001, "1.000001", "1", "1"),
        (1.00000001e-9, "1.000001e-09", "1e-09", "1e-09"),
        (0.0, "0", "0", "0"),
        (math.inf, "inf", "inf", "inf"),
    ],
)
def test_display_rounds_outwards(value, upper, lower, estimate):
    assert [rounding.shown(value, kind) for kind in ("upper", "lower", "estimate")] == [
        upper,
        lower,
        estimate,
    ]


@pytest.mark.parametrize(
    ("value", "upper", "lower", "estimate"),
    [
        (0.1, "0.10", "0.10", "0.10"),
        (2.8049, "2.81", "2.80", "2.80"),
        (1e-300, "0.01", "0.00", "0.00"),
        (math.inf, "inf", "inf", "inf"),
        (math.nan, "nan", "nan", "nan"),
    ],
)
def test_digits_after_the_point_are_rounded_outwards(value, upper, lower, estimate):
    sides = ("upper", "lower", "estimate")
    assert [rounding.shown(value, kind, places=2) for kind in sides] == [upper, lower, estimate]


@given(value=st.floats(min_value=0, allow_infinity=False), digits=st.integers(1, 15))
@example(value=2.0**-24, digits=15)
@example(value=5e-324, digits=1)
def test_whatever_is_shown_is_on_its_side(value, digits):
    shown = {kind: float(rounding.shown(value, kind, digits=digits)) for kind in ("upper", "lower")}
    assert shown["lower"] <= value <= shown["upper"]
    for kind in ("upper", "lower", "estimate"):
        assert float(rounding.shown(value, kind, digits=None)) == value
        places = float(rounding.shown(value, kind, places=digits))
        assert {"upper": places >= value, "lower": places <= value, "estimate": True}[kind]


@pytest.mark.parametrize("value", [1.96816, 12.34567, 1e-8, 1.234567e-300, 0.0, 1.0, 0.9999999, 300.0])
def test_answers_print_as_they_are(value):
    assert float(printing.digits(value)) == value


# --- in an interpreter of its own


def test_as_a_module():
    done = fresh("calibrate", *words({**B4, "--rounds": "1e5"}), *QUICK, code=None)
    assert (done.returncode, done.stderr) == (0, "")
    assert "eps0 <= 1.968160 keeps epsilon <= 1" in done.stdout


def test_a_refusal_has_no_traceback():
    done = fresh("epsilon", *words({**EPSILON, "--delta": "2"}), code=None)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == "Error: --delta must be a number in [0, 1); 0 asks for pure DP, got '2'\n"


@pytest.mark.parametrize(
    ("command", "option", "value", "limit"),
    [
        (command, option, value, limit)
        for command, options in COMMANDS.items()
        for option, value, limit in (
            ("--rounds", "1e20", "at most 1e+15, since whole numbers"),
            ("--rounds", "1e19", "at most 1e+15, since whole numbers"),
            ("--clients", "1e16", "at most 1e+15, since whole numbers"),
            ("--per-round", "1e16", "at most 1e+15, since whole numbers"),
            ("--eps0", "1e308", "at most 100000, since reports with a larger one hide nothing"),
        )
        if option in options
    ],
)
def test_limits_are_told_with_their_reason(command, option, value, limit):
    line = refusal(command, *words({**COMMANDS[command], option: value}))
    assert line.startswith(f"Error: {option} must be {limit}")
    assert "got " in line


def test_a_row_says_why_its_accountant_cannot_answer():
    """The theorem of one has no limits of sigma, those of the others have."""
    for sigma, why in (
        ("0.05", "--sigma must lie in [0.1, 1000]"),
        ("1e6", "--sigma must lie in [0.1, 1000]"),
    ):
        options = {**GAUSSIAN, "--sigma": sigma, "--delta": "1e-5", "--mechanism": "gaussian"}
        lines = run("epsilon", *words(options)).stdout.splitlines()
        rows = {line.split()[0]: line for line in lines[3:]}
        exact = accountants.epsilon("gaussian-unshuffled", n=7, sigma=float(sigma), rounds=2, delta=1e-5)
        assert float(rows["gaussian-unshuffled"].split()[1]) == pytest.approx(exact, rel=1e-6)
        assert f"cannot answer: {why}" in rows["shuffled-gaussian-pair"]
        found = json.loads(run("epsilon", *words(options), "--json").stdout)
        refused = {entry["name"]: entry["refused"] for entry in found["accountants"] if "refused" in entry}
        assert refused["shuffled-gaussian-pair"].startswith(why)
        assert found["bracket"] is None


def test_a_protocol_that_has_one_mechanism_needs_none():
    options = {"--clients": "100", "--rate": "0.05", "--sigma": "2", "--rounds": "1", "--eps": "0.5"}
    found = as_json("delta", *words(options), "--protocol", "distributed-check-in")
    assert found["accountant"]["name"] == "distributed-check-in-pld"


def test_removal_is_told_wherever_a_number_is():
    setting = ("--clients", "100", "--rate", "0.05", "--sigma", "2", "--protocol", "distributed-check-in")
    for command in (
        ("epsilon", *setting, "--rounds", "1", "--delta", "1e-3"),
        ("delta", *setting, "--rounds", "1", "--eps", "0.5"),
        ("calibrate", *setting, "--target-eps", "1", "--delta", "1e-3"),
    ):
        assert shown(*command).splitlines()[0].endswith("; neighbours by removal")


CHECK_IN = {"--rate": "0.01", "--target-eps": "0.5", "--delta": "1e-6"}


@pytest.mark.parametrize("clients", [1000, pytest.param(10_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("given", "unknown"), [("--rounds", "eps0"), ("--eps0", "rounds")])
def test_other_systems_are_calibrated(given, unknown, clients):
    options = {**CHECK_IN, "--clients": f"{clients:g}", given: "2", "--accountant": "liew2022-upper"}
    found = as_json("calibrate", *words(options))
    setting = {"n": clients, "rate": 0.01, "delta": 1e-6, given[2:]: 2}
    assert found["setting"] == setting
    epsilon = accountants.epsilon("liew2022-upper", **setting, **{unknown: found[unknown]})
    assert epsilon == found["epsilon"] <= 0.5
    assert "--rate" in refusal(
        "calibrate", *words({option: value for option, value in options.items() if option != "--rate"})
    )


def test_rounds_are_found_where_no_eps0_sets_what_is_sent():
    options = {"--clients": "1000", "--sigma": "20", "--target-eps": "1", "--delta": "1e-5"}
    command = ("calibrate", *words(options), "--mechanism", "gaussian")
    rounds = as_json(*command)["rounds"]
    setting = {"n": 1000, "sigma": 20, "delta": 1e-5}
    assert accountants.epsilon("shuffled-gaussian-blanket", **setting, rounds=rounds) <= 1
    assert accountants.epsilon("shuffled-gaussian-blanket", **setting, rounds=rounds + 1) > 1
    assert "leave out one of --clients, --sigma, --rounds, --delta, which is found; got all" in refusal(
        *command, "--rounds", "5"
    )
    assert "--eps0 has no meaning" in refusal(*command, "--eps0", "5")


@pytest.mark.parametrize(
    ("command", "option", "says"),
    [
        ("delta", "--delta", "--delta is what this command prints: give --eps,"),
        ("epsilon", "--eps", "--eps is what this command prints: give --delta;"),
        ("calibrate", "--eps", "the budget is --target-eps"),
        ("epsilon", "--target-eps", "is an option of `shuffledp calibrate`"),
        ("delta", "--target-eps", "is an option of `shuffledp calibrate`"),
    ],
)
def test_what_another_command_takes_is_no_misspelt_option(command, option, says):
    line = refusal(command, *words(COMMANDS[command]), option, "1e-6")
    assert says in line
    assert "Did you mean" not in line


WARNED = {"--clients": "100", "--per-round": "10", "--delta": "0.01"}
TOLD = {"--clients": "100", "--per-round": "10", "--eps0": "1", "--rounds": "9"}


@pytest.mark.parametrize(
    ("command", "options", "warnings"),
    [
        ("epsilon", {**WARNED, "--eps0": "1", "--rounds": "1"}, ["delta = 0.01 is at least 1/n = 0.01"]),
        ("epsilon", {**WARNED, "--eps0": "1", "--rounds": "1", "--delta": "0.0099"}, []),
        ("calibrate", {**WARNED, "--target-eps": "1", "--rounds": "2"}, ["delta = 0.01 is at least 1/n"]),
        (
            "epsilon",
            {**WARNED, "--eps0": "30", "--rounds": "9"},
            ["delta = 0.01 is at least 1/n", "promises next to nothing"],
        ),
        (
            "calibrate",
            {**WARNED, "--delta": "1e-6", "--target-eps": "25", "--rounds": "2"},
            ["promises next to nothing"],
        ),
        (
            "calibrate",
            {**WARNED, "--delta": "1e-6", "--target-eps": "20", "--rounds": "2"},
            [],
        ),
        # what it prints is a delta, of which nothing is given
        ("delta", {**TOLD, "--eps": "0.01"}, ["delta = 0.189031 is at least 1/n = 0.01"]),
        ("delta", {**TOLD, "--eps": "4"}, []),
        ("delta", {**TOLD, "--eps": "21"}, ["epsilon = 21 promises next to nothing"]),
    ],
)
def test_guarantees_that_promise_little_come_with_a_warning(command, options, warnings):
    done = run(command, *words(options), "--accountant", "unshuffled-strong")
    lines = done.stderr.splitlines()
    assert len(lines) == len(warnings)
    for line, words_ in zip(lines, warnings, strict=True):
        assert line.startswith("Warning: ")
        assert words_ in line
    # what is printed is the same text, and JSON stays JSON
    json.loads(run(command, *words(options), "--accountant", "unshuffled-strong", "--json").stdout)


@pytest.mark.parametrize(
    ("command", "options", "warnings"),
    [
        (
            "epsilon",
            {**TOLD, "--delta": "1e-6", "--eps0": "1..60"},
            ["in the figure, epsilon = 519.3 promises next to nothing"],
        ),
        (
            "epsilon",
            {**TOLD, "--delta": "0.01", "--clients": "50..1000"},
            ["in the figure, delta = 0.01 is at least 1/n = 0.001"],
        ),
        ("epsilon", {**TOLD, "--delta": "1e-6", "--clients": "50..1000"}, []),
        ("delta", {**TOLD, "--eps": "0.01..1"}, ["in the figure, delta = 0.189031 is at least 1/n = 0.01"]),
        (
            "delta",
            {**TOLD, "--eps": "18..21"},
            ["in the figure, epsilon = 21 promises next to nothing", "25 of the 25 points"],
        ),
        (
            "calibrate",
            {**TOLD, "--target-eps": "21", "--delta": "0.01", "--rounds": "1..9", "--eps0": None},
            ["in the figure, delta = 0.01 is at least 1/n", "in the figure, epsilon = 21 promises"],
        ),
    ],
)
def test_figures_of_guarantees_that_promise_little_come_with_one_warning(
    tmp_path, command, options, warnings
):
    options = {option: value for option, value in options.items() if value is not None}
    done = run(
        command, *words(options), "--accountant", "unshuffled-strong", "--plot", str(tmp_path / "figure.svg")
    )
    lines = done.stderr.splitlines()
    assert len(lines) == len(warnings)
    for line, words_ in zip(lines, warnings, strict=True):
        assert line.startswith(f"Warning: {words_}")


@pytest.mark.parametrize(
    ("command", "options", "left_out"),
    [
        (
            ("epsilon", "--accountant", "shuffle-clones-approximate"),
            {"--clients": "1000", "--eps0": "1..8", "--delta0": "1e-3", "--rounds": "1", "--delta": "1e-9"},
            "25 of the 25 points of shuffle-clones-approximate are left out, being infinite",
        ),
        (
            ("delta", "--accountant", "unshuffled-strong"),
            {**TOLD, "--eps": "10..19"},
            "25 of the 25 points of unshuffled-strong are left out, being 0, which a logarithmic axis",
        ),
        (
            ("delta", "--accountant", "unshuffled-strong"),
            {**TOLD, "--eps": "1..19"},
            "22 of the 25 points of unshuffled-strong are left out, being 0, which a logarithmic axis",
        ),
    ],
)
def test_a_figure_is_drawn_of_what_it_can_show_and_the_rest_counted(tmp_path, command, options, left_out):
    path = tmp_path / "figure.svg"
    assert left_out in run(*command, *words(options), "--plot", str(path)).stderr
    assert path.exists()


def test_an_infinite_epsilon_is_told_as_no_guarantee():
    options = {"--clients": "1000", "--eps0": "8", "--delta0": "1e-3", "--rounds": "1", "--delta": "1e-9"}
    done = run("epsilon", *words(options), "--accountant", "shuffle-clones-approximate")
    assert done.stderr == "Warning: epsilon = inf is no guarantee: no finite bound was found here\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_help_says_what_to_enter_for_unusual_rounds(command):
    text = " ".join(shown(command, "--help").split())
    assert "sends two reports in a round: enter twice its EPS0 (and twice its DELTA0) and one round" in text
    assert "What is known of one report, such as its TV, does not hold for two" in text
    assert "If fewer than K reports arrive: throw them away unread, and draw the round anew" in text


@pytest.mark.usefixtures("shipped_folder")
@pytest.mark.parametrize("folder", ["README.md", "README.md/below"])
def test_a_file_is_no_folder_to_train_into(folder):
    line = refusal("train", "girgis2021-fig3", "--out", folder)
    assert line == (f"Error: --out must be a folder, got {folder!r}, where README.md is a file; name another")


@pytest.mark.usefixtures("shipped_folder")
def test_no_folder_to_train_into_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)  # or hours would be trained where it is not refused
    line = refusal("train", "girgis2021-fig3", "--out", "")
    assert line == "Error: --out must be a folder, got '', which is empty; name one"


@pytest.mark.usefixtures("shipped_folder")
def test_a_folder_that_cannot_be_written_is_refused_before_training(monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    for options, named in ((("--out", "nowhere/below"), "--out"), ((), "paths.results")):
        line = refusal("train", "girgis2021-fig3", *options)
        assert line.startswith(f"Error: {named} must be a folder that can be written to, got ")
    for arguments in (("tune", shipped_tuning()), ("reproduce", "girgis2021-fig3", "--stamp")):
        line = refusal(*arguments)
        assert line.startswith("Error: paths.results must be a folder that can be written to, got ")


def shipped_tuning():
    return config.load(["config/config.yaml"]).tunings[0].experiment.name


@pytest.mark.usefixtures("shipped_folder")
def test_a_folder_that_permissions_do_not_forbid_is_tried(monkeypatch):
    def refuse(*_, **__):
        raise OSError(30, "Read-only file system", "a temporary name")

    monkeypatch.setattr(refusals.tempfile, "TemporaryFile", refuse)
    line = refusal("train", "girgis2021-fig3", "--out", "nowhere/below")
    assert line == (
        "Error: --out must be a folder that can be written to, got 'nowhere/below', where . is not; "
        "name another"
    )


@pytest.mark.usefixtures("shipped_folder")
def test_a_misspelt_tuning_has_a_close_one():
    name = shipped_tuning()
    assert f"no tuning of '{name}x'; did you mean '{name}'? it has " in refusal("tune", f"{name}x")
    assert "no tuning of 'nowhere'; it has " in refusal("tune", "nowhere")


@pytest.mark.parametrize("command", ["train", "reproduce", "tune"])
def test_outside_of_a_clone_it_is_said_where_to_go(command, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert refusal(command, "girgis2021-fig3") == (
        "Error: config/config.yaml is not in this folder; run the command in a clone of the repository, or "
        "name a file with --config"
    )
    assert refusal(command, "girgis2021-fig3", "--config", "no.yaml") == (
        "Error: configuration: no.yaml cannot be read (No such file or directory); check the path"
    )


@pytest.mark.parametrize("command", ["train", "reproduce", "tune"])
def test_a_file_of_a_part_alone_is_told_to_be_laid_over_the_configuration(command, tmp_path):
    part = tmp_path / "part.yaml"
    part.write_text("training: {device: cpu}\n", encoding="utf-8")
    line = refusal(command, "girgis2021-fig3", "--config", str(part))
    assert "'paths' is a required property" in line
    assert line.endswith("name both, --config config/config.yaml --config FILE (at top level)")
    helped = " ".join(shown(command, "--help").split())
    assert "name both: --config config/config.yaml --config FILE" in helped


@pytest.mark.usefixtures("shipped_folder")
@pytest.mark.parametrize(
    ("error", "line"),
    [
        (
            PermissionError(13, "Permission denied", "a/b.csv"),
            "a/b.csv cannot be read or written (Permission denied); name another, or change its permissions",
        ),
        (
            OSError(28, "No space left on device", "a/b.csv"),
            "a/b.csv cannot be read or written (No space left on device); check the path and the disk",
        ),
        (
            FileExistsError(17, "File exists", ".tmp", None, "a"),
            "a cannot be read or written (File exists); name a folder, not a file",
        ),
        (
            OSError(12, "Cannot allocate memory"),
            "the operating system refuses: Cannot allocate memory; free what is short, and try again",
        ),
    ],
    ids=lambda value: "" if isinstance(value, str) else type(value).__name__,
)
def test_errors_of_the_system_are_one_line(monkeypatch, error, line):
    def refuse(*_, **__):
        raise error

    monkeypatch.setattr(config, "load", refuse)
    assert refusal("train", "girgis2021-fig3", expect=1) == f"Error: {line}"


@pytest.mark.usefixtures("shipped_folder")
def test_an_interrupt_is_one_line_too(monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(config, "load", interrupt)
    result = run("train", "girgis2021-fig3", expect=1)
    assert (result.stdout, result.stderr.strip()) == ("", "Error: interrupted")


@pytest.mark.usefixtures("shipped_folder")
@pytest.mark.parametrize("command", ["train", "tune"])
def test_threads_have_a_limit(command):
    line = refusal(command, "girgis2021-fig3", "--threads", "1e9")
    assert line.startswith("Error: --threads must be at most 1024, since ")


def test_its_name_does_not_depend_on_how_it_was_started():
    assert fresh("epsilon", code=None).stderr.endswith("(see shuffledp epsilon --help)\n")


def test_a_closed_pipe_is_no_error_message():
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as pipe:
        done = subprocess.run(
            [sys.executable, "-m", "shuffledp", "accountants", "--json"],
            stdout=pipe,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["epsilon", "--help"],
        ["--version"],
        ["epsilon"],
        ["epsilom"],
        ["epsilon", *words({**EPSILON, "--delta": "2"})],
        ["delta", *words({**DELTA, "--rounds": "1.5"})],
        ["calibrate", *words({**CALIBRATE, "--per-round": "1e9"})],
    ],
    ids=lambda arguments: " ".join(arguments[:2]),
)
def test_help_and_refusals_load_nothing_heavy(arguments):
    code = (
        "import sys\n"
        "from shuffledp.cli import main\n"
        "try:\n"
        "    main()\n"
        "finally:\n"
        "    print('\\nloaded', *{name.partition('.')[0] for name in sys.modules})\n"
    )
    loaded = set(fresh(*arguments, code=code).stdout.splitlines()[-1].split())
    assert {"loaded", "click", "shuffledp"} <= loaded
    assert not loaded & HEAVY


# --- what is known of the randomiser


ROUNDS_OF = {"--clients": "1000", "--per-round": "100", "--eps0": "1", "--rounds": "10", "--delta": "1e-6"}


@pytest.mark.parametrize(
    ("known", "name"),
    [
        ({"--share": "0.2"}, "share-pld"),
        ({"--tv": "0.3"}, "tv-pld"),
        pytest.param({"--share": "0.2", "--tv": "0.1"}, "blanket-pld", marks=pytest.mark.slow),
    ],
)
def test_what_is_known_sets_the_mechanism(known, name):
    numbers = {option[2:]: float(value) for option, value in known.items()}
    setting = {"eps0": 1, "rounds": 10, "delta": 1e-6, **numbers}
    options = {option: value for option, value in ROUNDS_OF.items() if option != "--per-round"}
    for more, own, prefix in (
        ({"--per-round": "100"}, {"k": 100}, ""),
        ({"--rate": "0.1"}, {"rate": 0.1}, "check-in-"),
        ({}, {}, "shuffle-"),
    ):
        (found,) = as_json("epsilon", *words({**options, **more, **known}))["accountants"]
        assert found["name"] == prefix + name
        assert found["epsilon"] == accountants.epsilon(prefix + name, n=1000, **own, **setting)
    options = {option: value for option, value in ROUNDS_OF.items() if option != "--delta"}
    found = as_json("delta", *words({**options, **known}), "--eps", "0.1")
    assert found["accountant"]["name"] == name


def test_a_randomiser_by_its_name():
    command = ("epsilon", *words(ROUNDS_OF), "--randomizer", "krr", "--categories", "10")
    found = as_json(*command)["bracket"]
    bracket = accountants.bracket(
        n=1000, k=100, eps0=1, rounds=10, delta=1e-6, randomizer="krr", categories=10
    )
    assert (found["lower"], found["upper"]) == bracket[:2]
    line = shown(*command).splitlines()[-1]
    assert line.startswith("epsilon in [")
    assert "third" in line
    assert "share-pld" in line


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"--randomizer": "krr"}, "randomizer 'krr' needs categories, got no parameter; give --categories"),
        ({"--randomizer": "privunit", "--dimension": "1"}, "dimension must be a whole number >= 2, got 1"),
        ({"--randomizer": "rr"}, "randomizer must be one of krr"),
        ({"--randomizer": "oue", "--mechanism": "krr"}, "--mechanism has no meaning with --randomizer"),
        ({"--randomizer": "oue", "--cells": "3"}, "takes no parameter, got cells="),
        (
            {"--share": "0.7"},
            "--share must be a number in (0, 1/2]; every eps0-LDP randomiser may be taken at 1/2, got '0.7'",
        ),
        ({"--tv": "0.9"}, "tv must be at most (e^eps0 - 1)/(e^eps0 + 1) = 0.462117"),
        ({"--dimension": "3"}, "--dimension has no meaning for"),
    ],
)
def test_what_is_wrong_about_a_randomiser(options, message):
    assert message in refusal("epsilon", *words({**ROUNDS_OF, **options}))


def test_delta_and_calibration_of_a_randomiser_by_its_name():
    randomizer = {"--randomizer": "krr", "--categories": "10"}
    options = {**ROUNDS_OF, **randomizer}
    given = {"n": 1000, "k": 100, "randomizer": "krr", "categories": 10}
    without = {option: value for option, value in options.items() if option != "--delta"}
    found = as_json("delta", *words(without), "--eps", "0.2")
    assert found["delta"] == calibration.delta_at(eps=0.2, **given, eps0=1.0, rounds=10)
    assert found["setting"]["randomizer"] == "krr"
    assert found["accountant"]["kind"] == "upper"
    assert "randomizer=krr" in shown("delta", *words(without), "--eps", "0.2")
    for missing, other in (("--eps0", "rounds"), ("--rounds", "eps0")):
        asked = {option: value for option, value in options.items() if option != missing}
        found = as_json("calibrate", *words(asked), "--target-eps", "0.2")
        kept = {"rounds": 10} if other == "rounds" else {"eps0": 1.0}
        unknown = missing.removeprefix("--")
        assert accountants.epsilon(**given, **kept, **{unknown: found[unknown]}, delta=1e-6) <= 0.2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"--randomizer": "privunit"}, "randomizer 'privunit' needs dimension"),
        ({"--randomizer": "gaussian"}, "--randomizer must be eps0-LDP, which 'gaussian' is not"),
        ({"--randomizer": "oue", "--accountant": "clones-pld"}, "--accountant has no meaning with --rand"),
        (
            {"--randomizer": "oue", "--dimension": "3"},
            "--dimension has no meaning for randomizer oue in protocol",
        ),
        ({"--share": "0"}, "--share must be a number in (0, 1/2]"),
        ({"--tv": "0.9"}, "--tv must be at most (e^eps0 - 1)/(e^eps0 + 1) = 0.462117"),
    ],
)
def test_what_is_wrong_about_a_randomiser_whose_delta_is_asked_for(options, message):
    asked = {option: value for option, value in {**ROUNDS_OF, **options}.items() if option != "--delta"}
    assert message in refusal("delta", *words(asked), "--eps", "0.1")
    asked = {option: value for option, value in {**ROUNDS_OF, **options}.items() if option != "--rounds"}
    assert message in refusal("calibrate", *words(asked), "--target-eps", "0.1")


# --- figures of one variable

QUICK_ROUNDS = {**SYSTEM, "--eps0": "1", "--delta": "1e-6", "--accountant": "unshuffled-strong"}


@pytest.mark.parametrize(
    "command",
    [
        ("epsilon", *words({**QUICK_ROUNDS, "--rounds": "1..1000"})),
        ("epsilon", *words({**KRR, "--rounds": "1..3", "--delta": "1e-6"}), *OF_KRR),
        ("delta", *words({**QUICK_ROUNDS, "--rounds": "50", "--eps": "0.1..0.3"}))[:-2],
        ("calibrate", *words({**QUICK_ROUNDS, "--rounds": "1..100", "--target-eps": "1"})),
    ],
    ids=("epsilon", "krr", "delta", "calibrate"),
)
def test_figures_are_drawn_against_one_variable(command, tmp_path):
    options = list(command)
    if options[0] == "delta":
        del options[options.index("--delta") : options.index("--delta") + 2]
        options += ["--eps", "0.1..0.3"] if "--eps" not in options else []
    if options[0] == "calibrate":
        del options[options.index("--eps0") : options.index("--eps0") + 2]
    path = tmp_path / "figure.svg"
    text = shown(*options, "--plot", str(path))
    assert text.startswith(f"{path}: ")
    assert "<svg" in path.read_text(encoding="utf-8")


def test_points_without_an_answer_are_left_out_and_told(tmp_path):
    setting = {**QUICK_ROUNDS, "--eps0": "0.001..0.1", "--delta": "1e-6", "--rounds": None}
    asked = words({option: value for option, value in setting.items() if value is not None})
    plot = str(tmp_path / "figure.svg")
    # the first values of eps0 cost 1e-4 in some rounds, the last do so in less than one
    lines = run("calibrate", *asked, "--target-eps", "1e-4", "--plot", plot).stderr.splitlines()
    told = [line for line in lines if "having no answer; at eps0=" in line]
    assert len(told) == 1
    assert re.match(r"Warning: \d+ of the 25 points of unshuffled-strong are left out", told[0])
    assert "--target-eps=0.0001 is too small: for rounds from 1 to 1e+15 epsilon goes from" in told[0]
    assert "is too small" in refusal("calibrate", *asked, "--target-eps", "1e-9", "--plot", plot)


@pytest.mark.parametrize(
    ("command", "options", "variable", "axes", "logarithmic"),
    [
        ("delta", {"--rounds": "50", "--eps": "0.1..0.3"}, "epsilon", "delta", (False, True)),
        ("delta", {"--rounds": "1..1000", "--eps": "0.2"}, "rounds", "delta", (True, True)),
        (
            "calibrate",
            {"--rounds": "1..100", "--target-eps": "1", "--delta": "1e-6"},
            "rounds",
            "eps0",
            (True, False),
        ),
        (
            "calibrate",
            {"--eps0": "1..2", "--target-eps": "1", "--delta": "1e-6"},
            "eps0",
            "rounds",
            (False, False),
        ),
        (
            "calibrate",
            {"--rounds": "9", "--eps0": "1..2", "--target-eps": "0.3"},
            "eps0",
            "delta",
            (False, True),
        ),
    ],
    ids=("eps", "rounds", "eps0 found", "rounds found", "delta found"),
)
@pytest.mark.parametrize("of", [("--accountant", "unshuffled-strong"), OF_NAMED], ids=("anyone", "krr"))
@pytest.mark.few(6)
def test_figures_show_what_the_command_says_of_each_point(
    monkeypatch, tmp_path, of, command, options, variable, axes, logarithmic
):
    monkeypatch.setattr(reading, "_POINTS", 2)
    seen = {}
    monkeypatch.setattr(drawing, "draw", lambda path, **drawn: seen.update(drawn, path=path))
    default = {"--clients": "200", "--per-round": "20", "--eps0": "1"}
    fixed = {**{key: value for key, value in default.items() if key != "--eps0" or axes != "eps0"}, **options}
    path = str(tmp_path / "figure.pdf")
    text = run(command, *words(fixed), *of, "--plot", path).stdout
    ((name, values),) = seen["curves"].items()
    low, high = seen["x"][0], seen["x"][-1]
    assert text == f"{path}: {name}, from {low:g} to {high:g}\n"
    assert (seen["path"], seen["logarithmic"]) == (path, logarithmic)
    assert seen["labels"] == (VARIABLES[variable].label, VARIABLES[axes].label)
    assert len(seen["x"]) == len(values) == 2
    for x, value in zip(seen["x"], values, strict=True):
        single = run(command, *words({**fixed, VARIABLES[variable].option: repr(x)}), *of, "--json").stdout
        found = json.loads(single)
        assert found["accountant"]["name"] == name
        assert found[axes] == value


def test_a_figure_of_a_budget_that_nothing_keeps_is_refused_whole(tmp_path):
    options = {**SYSTEM, "--eps0": "1", "--rounds": "1..100", "--target-eps": "1e-5"}
    path = tmp_path / "figure.svg"
    del options["--per-round"]
    line = refusal("calibrate", *words({**options, "--delta": "1e-6"}), "--plot", str(path))
    assert "--target-eps=1e-05 is too small: for k from 1 to 10000" in line
    assert not path.exists()


@pytest.mark.parametrize("command", ["epsilon", "delta", "calibrate"])
def test_a_figure_prints_no_numbers_as_json(command):
    options = {**COMMANDS[command], "--clients": "9e3..1e4", "--plot": "a.png"}
    assert "--json has no meaning with --plot" in refusal(command, *words(options), "--json")


@pytest.mark.parametrize("command", ["delta", "calibrate"])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"--clients": "9e3..1e4"}, "--clients must be one number, or --plot FILE be given"),
        ({"--plot": "a.png"}, "--plot needs one variable as a..b, such as --rounds 1..1000, got none"),
        ({"--clients": "9e3..1e4", "--plot": "a.gif"}, "--plot must end in .pdf, .png, .svg, got 'a.gif'"),
    ],
)
def test_what_other_commands_cannot_draw(command, options, message):
    assert message in refusal(command, *words({**COMMANDS[command], **options}))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"--rounds": "1..9"},
            "--rounds must be one number, or --plot FILE be given to draw over the range, got --rounds 1..9",
        ),
        ({"--rounds": "9..1", "--plot": "a.png"}, "--rounds must rise from its first end to its second"),
        ({"--plot": "a.png"}, "--plot needs one variable as a..b, such as --rounds 1..1000, got none"),
        ({"--rounds": "1..9", "--eps0": "1..2", "--plot": "a.png"}, "got --eps0, --rounds"),
        ({"--rounds": "1..9", "--plot": "a.gif"}, "--plot must end in .pdf, .png, .svg, got 'a.gif'"),
        ({"--rounds": "1..x", "--plot": "a.png"}, "--rounds must be a whole number >= 0"),
        (
            {"--per-round": "10..20000", "--plot": "a.png"},
            "--per-round must be at most --clients: a round cannot draw 20000 of 10000 clients",
        ),
        ({"--clients": "50..20000", "--plot": "a.png"}, "a round cannot draw 100 of 50 clients"),
    ],
)
def test_what_cannot_be_drawn(options, message):
    assert message in refusal("epsilon", *words({**EPSILON, **options}))


OF_ONE = {"--clients": "3000", "--eps0": "1", "--randomizer": "krr", "--categories": "20"}


@pytest.mark.parametrize(
    ("protocol", "unknown"), [("subsampled-shuffle", "k"), ("shuffled-check-in", "rate")]
)
@pytest.mark.few(1)
def test_who_takes_part_is_found_for_a_named_randomizer_too(protocol, unknown):
    command = {**OF_ONE, "--target-eps": "0.1", "--rounds": "50", "--delta": "1e-6", "--protocol": protocol}
    found = as_json("calibrate", *words(command))
    setting = {"n": 3000, "eps0": 1.0, "categories": 20, "rounds": 50, "delta": 1e-6, "randomizer": "krr"}
    answer = found[unknown]
    beyond = answer + 1 if unknown == "k" else answer * 1.000002
    at, above = (accountants.epsilon(**setting, **{unknown: value}) for value in (answer, beyond))
    assert at == found["epsilon"] <= 0.1 < above


def test_without_a_protocol_it_is_said_how_to_find_who_takes_part():
    message = refusal(
        "calibrate", *words({**OF_ONE, "--target-eps": "1", "--rounds": "9", "--delta": "1e-6"})
    )
    assert (
        "got all of rounds of all clients; to find --per-round, say --protocol subsampled-shuffle" in message
    )


def test_the_protocol_of_a_named_randomizer_must_be_that_of_its_variables():
    command = {**OF_ONE, "--rounds": "9", "--delta": "1e-6", "--protocol": "subsampled-shuffle"}
    assert "--per-round is needed for randomizer krr in protocol subsampled-shuffle" in refusal(
        "epsilon", *words(command)
    )
    whole = as_json("epsilon", *words({**command, "--per-round": "30"}))
    assert whole == as_json(
        "epsilon", *words({**OF_ONE, "--rounds": "9", "--delta": "1e-6", "--per-round": "30"})
    )


def test_several_eps0_are_refused_with_what_to_give():
    message = refusal("epsilon", *words({**EPSILON, "--eps0": "1,2"}))
    assert message == (
        "Error: --eps0 must be one number, got '1,2'; where clients differ in it, give the largest, which "
        "all satisfy: no bound here uses each client's own"
    )


# --- reports that do not arrive

ARRIVING = {"--clients": "900", "--per-round": "100", "--eps0": "1", "--rounds": "4", "--delta": "1e-4"}


def test_reports_that_do_not_arrive_set_a_protocol():
    options = words({**ARRIVING, "--arriving": "90"})
    found = as_json("epsilon", *options)
    setting = {"n": 900, "k": 100, "arriving": 90, "eps0": 1.0, "rounds": 4, "delta": 1e-4}
    assert found["setting"] == setting
    assert found == as_json("epsilon", *options, "--protocol", "shuffle-with-dropouts")
    bracket = accountants.bracket(protocol="shuffle-with-dropouts", **setting)
    assert (found["bracket"]["lower"], found["bracket"]["upper"]) == (bracket.lower, bracket.upper)


def test_how_many_must_arrive_is_found():
    asked = words({**ARRIVING, "--target-eps": "0.9"})
    found = as_json("calibrate", *asked, "--protocol", "shuffle-with-dropouts")
    setting = {"n": 900, "k": 100, "eps0": 1.0, "rounds": 4, "delta": 1e-4}
    at, fewer = (
        accountants.epsilon("dropouts-clones", **setting, arriving=found["arriving"] - less)
        for less in (0, 1)
    )
    assert at == found["epsilon"] <= 0.9 < fewer


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"--arriving": "101"}, "--arriving must be at most k = 100, got 101"),
        ({"--arriving": "0"}, "--arriving must be a whole number >= 1"),
        (
            {"--arriving": "9", "--share": "0.1"},
            "--share has no meaning for protocol shuffle-with-dropouts",
        ),
    ],
)
def test_what_is_wrong_about_reports_that_do_not_arrive(options, message):
    assert message in refusal("epsilon", *words({**ARRIVING, **options}))
