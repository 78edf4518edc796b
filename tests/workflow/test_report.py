"""The report in a browser: it says nothing on the console, has every figure, and can be read on any width."""

import http.server
import json
import queue
import re
import shutil
import subprocess
import threading

import pytest

from shuffledp.records import tables

from .clone import git
from .conftest import make_clone

PATIENCE = 180  # seconds
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")

# Ahead of the others, for them to send what they find to the test.
TELL = """
<script>
const tell = found => fetch("PLACE", {method: "POST", mode: "no-cors", body: JSON.stringify(found)});
</script>
"""
# What a reader sees of the report, told once all pictures are there.
MEASURE = """
<script>
const errors = [];
window.addEventListener("error", event => errors.push(String(event.message)));
window.addEventListener("load", async () => {
  const pictures = [...document.querySelectorAll("figure")];
  await Promise.all([...document.images].map(image => image.decode()));
  for (const folded of document.querySelectorAll("main > details")) folded.open = true;
  const width = document.documentElement.clientWidth;
  const size = node => parseFloat(getComputedStyle(node).fontSize);
  const cells = [...document.querySelectorAll(".ledger td")];
  await tell({
    errors,
    overflow: document.documentElement.scrollWidth - width,
    smallest: Math.min(...cells.map(size)),
    narrowest: Math.min(...cells.map(cell => cell.getBoundingClientRect().width)),
    figures: Object.fromEntries(pictures.map(figure => [figure.id, {
      size: [figure.querySelector("img").naturalWidth, figure.querySelector("img").naturalHeight],
      words: figure.querySelector("figcaption").textContent.length,
    }])),
    broken: [...document.querySelectorAll("a")].map(link => link.getAttribute("href"))
      .filter(href => !href.startsWith("#") || !document.getElementById(href.slice(1))),
    colours: Object.fromEntries([...document.querySelectorAll(".ledger td.verdict")].map(
      cell => [cell.firstChild.textContent, getComputedStyle(cell).borderLeftColor])),
    rows: Object.fromEntries([...document.querySelectorAll(".ledger tbody tr")].map(
      row => [row.cells[0].textContent, row.textContent])),
    results: [...document.querySelectorAll("td.result")].map(cell => cell.textContent),
  });
});
</script>
"""


@pytest.fixture(scope="module")
def browser():
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(f"no browser: none of {', '.join(BROWSERS)} is installed")
    return found


@pytest.fixture(scope="module")
def reported(origin, tmp_path_factory):
    """A fresh clone with its report, made as `make report` does."""
    clone = make_clone(origin, tmp_path_factory.mktemp("reported"))
    made = clone.run("--cores", "all", "all_report")
    assert made.status == 0, made.output
    assert made.jobs == {"render_report": 1}, "all else is there"
    return clone, clone.path / "results/report/report.html"


class Told(http.server.BaseHTTPRequestHandler):
    """Takes what a page tells."""

    def do_POST(self):
        self.server.told.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *arguments):
        pass


def visit(browser, page, script, folder, width=1400):
    """Open a page, with a script at its end, without a network; return what it found, and the console."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Told) as server:
        server.told = queue.Queue()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        before, end, after = page.read_text(encoding="utf-8").rpartition("</body>")
        tell = TELL.replace("PLACE", f"http://127.0.0.1:{server.server_port}/")
        copy, log = folder / page.name, folder / "browser.log"
        copy.write_text(before + tell + script + end + after, encoding="utf-8")
        command = [
            browser,
            *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
            *(
                f"--user-data-dir={folder / 'profile'}",
                "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
            ),
            *(f"--window-size={width},900", "--enable-logging=stderr", "--log-level=0"),
            *("--remote-debugging-port=0", copy.as_uri()),
        ]
        with log.open("w") as stream, subprocess.Popen(command, stdout=stream, stderr=stream) as process:
            try:
                found = server.told.get(timeout=PATIENCE)
            except queue.Empty:
                pytest.fail(log.read_text(errors="replace")[-2000:])
            finally:
                process.terminate()
        server.shutdown()
    lines = log.read_text(errors="replace").splitlines()
    return found, [line for line in lines if ":CONSOLE" in line]


@pytest.fixture(scope="module", params=[1400, 500])
def read(request, browser, reported, tmp_path_factory):
    """The report as it is seen on a wide screen, and on the narrowest window that the browser has."""
    _, page = reported
    return visit(browser, page, MEASURE, tmp_path_factory.mktemp("visit"), width=request.param)


def test_the_report_has_every_figure_with_its_caption(reported, read):
    clone, _ = reported
    found, console = read
    assert found["errors"] == []
    assert console == []
    drawn = {f"{path.parent.name}-{path.stem}" for path in (clone.path / "figures").rglob("*.png")}
    assert len(drawn) > 5
    assert found["figures"].keys() == drawn
    for name, shown in found["figures"].items():
        assert min(shown["size"]) > 300, name
        assert shown["words"] > 100, name
    assert found["broken"] == []


def test_the_report_needs_nothing_from_elsewhere(reported):
    _, page = reported
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"<(script|img|link|iframe)[^>]*(src|href)=[\"']?(https?:)?//", text)


def test_the_ledger_can_be_read(reported, read):
    clone, _ = reported
    found, _ = read
    assert found["overflow"] <= 0, "nothing is cut off or has to be scrolled to"
    assert found["smallest"] >= 12
    assert found["narrowest"] >= 30
    ledger = tables.read_table(clone.path / "results/claims.csv")
    assert set(found["rows"]) == set(ledger["id"])
    for row in ledger.astype(str).to_dict("records"):
        shown = found["rows"][row["id"]]
        assert all(row[part] in shown for part in ("statement", "stated", "ours", "verdict", "reason"))
    assert found["colours"].keys() == set(ledger["verdict"])
    assert len(set(found["colours"].values())) == len(found["colours"]), "one colour a verdict"


def test_provenance_names_every_result(reported, read):
    clone, _ = reported
    found, _ = read
    records = {
        str(path.relative_to(clone.path).with_suffix(""))
        for folder in ("results", "figures")
        for path in (clone.path / folder).glob("*/*/*/*.json" if "results" in folder else "*/*.json")
    }
    assert len(records) > 40
    assert records <= set(found["results"])


@pytest.mark.slow
def test_snakemakes_own_report_has_every_figure(reported, tmp_path):
    clone, _ = reported
    path = tmp_path / "workflow.html"
    written = clone.run("--cores", "1", "all_figures", "--report", str(path))
    assert written.status == 0, written.output
    text = path.read_text(encoding="utf-8")
    for drawn in (clone.path / "figures").rglob("*.png"):
        assert str(drawn.relative_to(clone.path)) in text


def test_the_report_leaves_what_is_tracked_alone(reported):
    clone, _ = reported
    assert git(clone.path, "status", "--porcelain") == ""
