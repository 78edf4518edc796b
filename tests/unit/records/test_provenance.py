"""Who computed is told by versions and by the revision of the code."""

import importlib
import subprocess
import sys
from pathlib import Path

from shuffledp.records import provenance


def test_environment_says_who_computed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    about = provenance.environment(packages=["numpy"], seconds=1.23456)
    assert about["python"] == ".".join(map(str, sys.version_info[:3]))
    assert about["versions"] == {"numpy": importlib.import_module("numpy").__version__}
    assert about["seconds"] == 1.235
    assert about["git"] is None, "not a checkout"
    git = ["git", "-c", "user.name=tests", "-c", "user.email=tests@example.org"]
    made = [
        Path("results/a/b.csv"),
        Path("figures/a.pdf"),
        Path("docs/claims.md"),
        Path("config/README.json"),
    ]
    for path in (Path("a.txt"), *made):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("1")
    for command in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "one"]):
        subprocess.run([*git, *command], check=True)
    revision = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    state = {"revision": revision.stdout.strip(), "dirty": False}
    for path in made:
        path.write_text("2")  # what the workflow writes is no edit
    assert provenance.environment(packages=[], seconds=0)["git"] == state
    Path("a.txt").write_text("2")
    assert provenance.environment(packages=[], seconds=0)["git"] == {**state, "dirty": True}
