"""What all tests share: where the checkout is, what git tracks in it, and the shipped configuration."""

import functools
import gc
import os
import subprocess
from collections.abc import Hashable
from pathlib import Path

import pytest

# As many workers run as there are cores: where each starts threads on all of them, these wait for each other,
# and some tests take ten times as long. What tests start inherits it; libraries look when they are imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")

from shuffledp.reproduction import config

ROOT = Path(__file__).resolve().parents[1]
ON_SMOKE = ("test_planning", "test_smoke")


@functools.cache
def load_shipped():
    return config.load([ROOT / "config/config.yaml"])


def git_files(*options):
    listing = subprocess.run(
        ["git", "ls-files", "-z", *options], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return sorted({name for name in listing.stdout.split("\0") if name and (ROOT / name).is_file()})


@pytest.fixture(scope="session")
def root():
    """The checkout that the tests are part of."""
    return ROOT


@pytest.fixture(scope="session")
def tracked():
    """Every file that git tracks, relative to the checkout."""
    return git_files()


@pytest.fixture(scope="session")
def working_files():
    """Every file that git tracks or would track, relative to the checkout: what a commit would hold."""
    return git_files("--cached", "--others", "--exclude-standard")


@pytest.fixture
def in_root(monkeypatch):
    """Products name their files relative to the checkout, as the workflow does."""
    monkeypatch.chdir(ROOT)


@pytest.fixture(scope="session")
def shipped():
    """The settings of config/config.yaml."""
    return load_shipped()


@pytest.fixture
def one_thread():
    """Torch computes on one thread, so that sums come out alike."""
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Tests that share a run of the smoke configuration go to one worker, others of the workflow by files.

    The others go by functions: what one computes for its settings is remembered from one to the next. Those
    that look at the pages of the documentation share these. All go in the order in which they were collected.

    With pytest 9.2 and pytest-xdist 3.8 the mark xdist_group and --dist loadgroup do not do this: tests of
    one group were seen on two workers.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            name = nodeid.partition("::")[0]
            if not name.startswith("tests/workflow/"):
                return "site" if "::test_site_" in nodeid else nodeid.partition("[")[0]
            return "smoke" if Path(name).stem in ON_SMOKE else name

    config.option.loadscopereorder = False
    return Scheduling(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """What is collected stays; to look for garbage among it took a third of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Of tests that are marked few, all cases but that many are slow; what takes longest starts first."""
    cases = {}
    for item in items:
        if item.get_closest_marker("few") and not item.get_closest_marker("slow"):
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for own in cases.values():
        count = own[0].get_closest_marker("few").args[0]
        kept = spread([_comparable(item.callspec.params) for item in own], count)
        for at in set(range(len(own))) - kept:
            own[at].add_marker(pytest.mark.slow)
    # a worker that is left with a run of the workflow at the end would keep the others waiting
    items.sort(key=lambda item: not item.nodeid.startswith("tests/workflow/"))


def _comparable(parameters):
    """The values, or the identities of those without a hash: each is one object in all cases that have it."""
    return {name: value if isinstance(value, Hashable) else id(value) for name, value in parameters.items()}


def spread(cases, count):
    """Places of so many cases, each a mapping: the first, the last, and such that each value occurs.

    One after the other is taken that has most values which do not occur yet, then most that occur seldom;
    of several such the farthest from those taken.
    """
    taken = [0, len(cases) - 1][: min(count, len(cases))]
    while len(taken) < min(count, len(cases)):

        def gain(at):
            alike = [sum(cases[at][key] == cases[other][key] for other in taken) for key in cases[at]]
            return alike.count(0), -sum(alike), min(abs(at - other) for other in taken)

        taken.append(max(set(range(len(cases))) - set(taken), key=gain))
    return set(taken)


def pytest_generate_tests(metafunc):
    if "shipped_figure" in metafunc.fixturenames:
        figures = load_shipped().of("bounds")
        metafunc.parametrize(
            "shipped_figure", figures, ids=[figure.name for figure in figures], scope="session"
        )
