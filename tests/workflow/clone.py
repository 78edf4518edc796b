"""A clone of the working tree in which Snakemake runs as a user runs it."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

# Far beyond what any run takes, and short of what a hanging one would.
TIMEOUT = 1800
_GIT = ("git", "-c", "user.name=tests", "-c", "user.email=tests@example.org", "-c", "commit.gpgsign=false")
SMOKE = ("--configfile", "config/smoke.yaml")
# One figure of each kind that is made without training, and few curves in each.
FEW = tuple(
    f"figures/smoke/{name}.pdf" for name in ("koskela2022/fig3", "koskela2022/fig5", "balle2020/fig4")
)


def git(folder, *arguments):
    """Run git in a folder and return what it prints."""
    done = subprocess.run([*_GIT, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


@dataclass(frozen=True)
class Run:
    """A run, of Snakemake mostly, that has ended."""

    status: int
    stdout: str
    stderr: str

    @property
    def output(self):
        """Both streams: a dry run says on the one what a run says on the other."""
        return f"{self.stdout}\n{self.stderr}"

    @property
    def jobs(self):
        """How many jobs of each rule were planned; collecting rules left out."""
        table = re.search(r"^Job stats:\njob .*\n[- ]+\n((?:.+\n)+)", self.output, re.MULTILINE)
        lines = table[1].splitlines() if table else []
        counts = {rule: int(count) for rule, count in (line.split() for line in lines)}
        return {
            rule: count for rule, count in counts.items() if rule != "total" and not rule.startswith("all")
        }

    @property
    def says_nothing_to_do(self):
        return "Nothing to be done (all requested files are present and up to date)" in self.output


@dataclass(frozen=True)
class Clone:
    """A checkout of its own, whose code is what its workflow runs."""

    path: Path

    def command(self, *arguments):
        return [sys.executable, "-m", "snakemake", *arguments]

    def environment(self, **changes):
        """Return the environment of a run; a change of None takes a variable away."""
        environment = {**os.environ, "PYTHONPATH": str(self.path / "workflow"), **changes}
        return {key: value for key, value in environment.items() if value is not None}

    def run(self, *arguments, **environment):
        return self._run(self.command(*arguments), environment)

    def run_module(self, name, *arguments, **environment):
        """Return a run of a module of the package, which need not be Snakemake's."""
        return self._run([sys.executable, "-m", name, *arguments], environment)

    def _run(self, command, environment):
        done = subprocess.run(
            command,
            cwd=self.path,
            env=self.environment(**environment),
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
        return Run(done.returncode, done.stdout, done.stderr)

    def plan(self, *arguments):
        """Return a dry run, which must succeed."""
        run = self.run("--cores", "all", "--dry-run", *arguments)
        assert run.status == 0, run.output
        assert run.says_nothing_to_do == (run.jobs == {}), run.output
        return run

    def pending(self, *arguments):
        """Return the files that the next run would write."""
        run = self.run("--cores", "all", "--summary", *arguments)
        assert run.status == 0, run.output
        header, *rows = (line.split("\t") for line in run.stdout.splitlines() if "\t" in line)
        assert header[0] == "output_file"
        assert rows
        return {row[0] for row in rows if row[-1] != "no update"}

    def edit(self, name, old, new):
        """Replace the first occurrence."""
        path = self.path / name
        text = path.read_text(encoding="utf-8")
        assert old in text, f"{name} lacks {old!r}"
        path.write_text(text.replace(old, new, 1), encoding="utf-8")

    def append(self, name, text):
        with open(self.path / name, "a", encoding="utf-8") as stream:
            stream.write(text)

    def changed(self):
        """Return the tracked files that differ from the commit, and new ones that git does not ignore."""
        return {line[3:] for line in git(self.path, "status", "--porcelain").splitlines()}

    def bytes_of(self, *patterns):
        """Return the content of the files that match a pattern, by name; temporary ones left out."""
        found = {path for pattern in patterns for path in self.path.glob(pattern) if path.name[0] != "."}
        return {str(path.relative_to(self.path)): path.read_bytes() for path in found if path.is_file()}

    def checkpoints(self):
        """Return those that are whole: what a kill leaves of another has a hidden name."""
        return list((self.path / "resources/checkpoints").glob("[!.]*.pt"))

    def leftovers(self):
        """Return temporary files among results and figures."""
        return [
            str(path)
            for folder in ("results", "figures")
            for path in (self.path / folder).rglob(".*")
            if path.name != ".gitignore"
        ]


def halve(path):
    """Cut a file in the middle, as a full disk or a kill in mid-write would."""
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
