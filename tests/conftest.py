"""What all tests share: where the checkout is, what git tracks in it, and the shipped configuration."""

import subprocess
from pathlib import Path

import pytest

from shuffledp.reproduction import config

ROOT = Path(__file__).resolve().parents[1]
ON_SMOKE = ("test_planning", "test_smoke")


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
    return config.load([ROOT / "config/config.yaml"])


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

    The others go by functions: what one computes for its settings is remembered from one to the next.

    With pytest 9.2 and pytest-xdist 3.8 the mark xdist_group and --dist loadgroup do not do this: tests of
    one group were seen on two workers.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            name = nodeid.partition("::")[0]
            if not name.startswith("tests/workflow/"):
                return nodeid.partition("[")[0]
            return "smoke" if Path(name).stem in ON_SMOKE else name

    return Scheduling(config, log)


def pytest_generate_tests(metafunc):
    if "shipped_figure" in metafunc.fixturenames:
        figures = config.load([ROOT / "config/config.yaml"]).of("bounds")
        metafunc.parametrize(
            "shipped_figure", figures, ids=[figure.name for figure in figures], scope="session"
        )
