"""The pages of docs: they can be built, and what they show is what comes out."""

import doctest
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from shuffledp import cli
from shuffledp.accountants import registry

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    str(path.relative_to(ROOT))
    for path in (ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md")))
    if "_generated" not in path.parts
]
# "..." stands for what an example leaves out, and columns may be set closer.
AS_SHOWN = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def blocks(page, language):
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def pages_with(language):
    found = [page for page in PAGES if blocks(page, language)]
    return pytest.mark.parametrize("page", found)


def sessions(page):
    """The commands of a page's console blocks, each with what it is said to print."""
    for block in blocks(page, "console"):
        for session in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = session.partition("\n")
            yield command, shown


SESSIONS = dict.fromkeys(one for page in PAGES for one in sessions(page))


def test_there_is_something_to_try():
    assert len(SESSIONS) > 5
    assert sum(len(blocks(page, "pycon")) for page in PAGES) > 5


@pytest.mark.parametrize(("command", "shown"), SESSIONS)
def test_command_prints_what_is_shown(command, shown, capsys, monkeypatch):
    program, *arguments = shlex.split(command)
    assert program == "shuffledp"
    monkeypatch.setattr(sys, "argv", ["shuffledp", *arguments])
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert left.value.code == 0
    printed = capsys.readouterr().out
    assert shown.strip()
    assert doctest.OutputChecker().check_output(shown, printed, AS_SHOWN), printed


@pages_with("pycon")
def test_python_session_prints_what_is_shown(page):
    text = "\n".join(blocks(page, "pycon"))
    case = doctest.DocTestParser().get_doctest(text, {}, page, page, 0)
    assert case.examples
    found = []
    doctest.DocTestRunner(verbose=False, optionflags=AS_SHOWN).run(case, out=found.append)
    assert not found, "".join(found)


def test_example_of_a_bound_is_an_accountant(monkeypatch):
    monkeypatch.setattr(registry, "_REGISTRY", dict(registry._REGISTRY))
    (example,) = blocks("docs/howto/extend.md", "python")
    exec(compile(example, "extend.md", "exec"), {})
    entry = registry.get("pure-dp")
    assert entry.compute(n=10, k=5, eps0=2.0, rounds=3.0, delta=1e-6) == {"epsilon": 6.0}


@pytest.mark.slow
def test_notebook_prints_what_it_shows():
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    shown = nbformat.read(ROOT / "docs/tutorial.ipynb", as_version=4)
    nbformat.validate(shown)
    ran = nbformat.from_dict(shown)
    for cell in ran.cells:
        cell.outputs = []
    client = nbclient.NotebookClient(ran, timeout=300, kernel_name="python3", coalesce_streams=True)
    client.execute(cwd=str(ROOT / "docs"))
    assert [prints(cell) for cell in ran.cells] == [prints(cell) for cell in shown.cells]
    assert sum(len(prints(cell)) for cell in shown.cells) > 100


def prints(cell):
    """What a cell prints; a picture may be another to the last byte on another machine."""
    return "".join(output.text for output in cell.get("outputs", ()) if output.output_type == "stream")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site as `make docs` builds it: a warning fails, as does what would be fetched."""
    pytest.importorskip("sphinx_click", reason="needs the extra docs")
    target = tmp_path_factory.mktemp("site")
    words = [
        "--quiet",
        "--fail-on-warning",
        "--keep-going",
        "--builder",
        "html",
        "docs",
        str(target / "html"),
    ]
    # nothing is reached by way of this proxy
    offline = {
        name: "http://127.0.0.1:9" for name in ("http_proxy", "https_proxy", "HTTPS_PROXY", "HTTP_PROXY")
    }
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "--doctree-dir", str(target / "doctrees"), *words],
        cwd=ROOT,
        env={**os.environ, **offline},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return target / "html"


@pytest.mark.slow
def test_site_loads_nothing_from_elsewhere(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 20
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert not re.findall(r"<(?:script|link|img)\b[^>]*(?:src|href)=\"(?:https?:)?//[^>]*>", text), (
            page.name
        )
    formulas = (site / "theory/every_randomiser.html").read_text(encoding="utf-8")
    (script,) = re.findall(r'<script[^>]*src="([^"?]*mathjax[^"?]*)', formulas)
    assert (site / "theory" / script).resolve().is_file()


@pytest.mark.slow
def test_site_lists_every_accountant(site):
    page = (site / "reference/accountants.html").read_text(encoding="utf-8")
    for name, entry in registry._REGISTRY.items():
        assert (f">{name}<" in page) == (not entry.variant_of), name


@pytest.mark.slow
def test_site_keeps_the_hyphens_of_options(site):
    page = (site / "reference/command_line.html").read_text(encoding="utf-8")
    assert "T (--rounds), the least where it falls, as with N (--clients)" in page
    assert not re.findall("\N{EN DASH}[a-z]", page)


@pytest.mark.slow
def test_site_keeps_options_in_one_line(site):
    page = (site / "tutorial/first_epsilon.html").read_text(encoding="utf-8")
    assert re.search(r'<code class="[^"]*option-name[^"]*"><span class="pre">--clients</span></code>', page)
    (sheet,) = re.findall(r'href="([^"?]*site\.css)', page)
    assert "code.option-name" in (site / "tutorial" / sheet).read_text(encoding="utf-8")


@pytest.mark.slow
def test_site_has_one_title_a_page(site):
    for path in site.rglob("*.html"):
        headings = re.findall(r"<h([1-6])>(.*?)<a", path.read_text(encoding="utf-8"))
        assert [level for level, _ in headings].count("1") <= 1, path
        first = [title for level, title in headings if level == "1"]
        assert not [title for level, title in headings if level == "2" and title in first], path


@pytest.mark.slow
def test_site_leads_to_other_documentation(site):
    page = (site / "reference/python.html").read_text(encoding="utf-8")
    assert "library/exceptions.html#ValueError" in page
