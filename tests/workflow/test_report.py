"""The report in a browser: it says nothing on the console, has every figure, and its tables can be read."""

import http.server
import json
import queue
import re
import shutil
import subprocess
import threading

import pytest

from shuffledp.records import tables
from shuffledp.reproduction.report.products import PAGES

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
# Goes through the report as a reader would, and writes what it finds into the page.
VISIT = """
<script>
const errors = [];
window.addEventListener("error", event => errors.push(String(event.message)));
console.error = (...words) => errors.push(words.join(" "));
const pause = () => new Promise(done => setTimeout(done, 50));
window.addEventListener("load", async () => {
  const found = {};
  while (!app) await pause();
  for (const [path, result] of Object.entries(results)) {
    const kind = result.mime_type === "text/html" ? "html" : "img";
    app.showResultInfo(path);
    await pause();
    app.setView({content: kind, contentPath: result.data_uri, resultPath: path});
    let shown = null;
    for (let tries = 0; tries < 100 && !(shown && shown.getAttribute("src") === result.data_uri); tries++) {
      await pause();
      shown = document.querySelector(kind === "img" ? "#app .p-3 > img" : "#app iframe");
    }
    if (kind === "img" && shown) await shown.decode();
    found[path] = {
      size: kind === "img" && shown ? [shown.naturalWidth, shown.naturalHeight] : [],
      shown: Boolean(shown),
      caption: document.querySelector("#app").textContent.includes(
        new DOMParser().parseFromString(result.caption, "text/html").body.textContent.trim().slice(0, 40)),
      words: result.caption.length,
    };
  }
  await tell({errors, found, categories: Object.keys(categories)});
});
</script>
"""
MEASURE = """
<script>
const size = cell => parseFloat(getComputedStyle(cell).fontSize);
const cells = [...document.querySelectorAll("td")];
tell({
  overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  smallest: Math.min(...cells.map(size)),
  narrowest: Math.min(...cells.map(cell => cell.getBoundingClientRect().width)),
  rows: [...document.querySelectorAll("tbody tr")].map(row => [...row.cells].map(cell => cell.textContent)),
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
    path = tmp_path_factory.mktemp("report") / "report.html"
    written = clone.run("--cores", "1", "all_report", "--report", str(path))
    assert written.status == 0, written.output
    return clone, path


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


def test_the_report_has_every_figure_and_table(browser, reported, tmp_path):
    clone, page = reported
    found, console = visit(browser, page, VISIT, tmp_path)
    assert found["errors"] == []
    assert [line for line in console if re.search("error|fail", line, re.IGNORECASE)] == []
    drawn = {str(path.relative_to(clone.path)) for path in (clone.path / "figures").rglob("*.png")}
    assert len(drawn) > 5
    tabled = {f"results/report/{page}.html" for page in PAGES}
    assert drawn | tabled <= found["found"].keys()
    for path, result in found["found"].items():
        assert result["shown"], path
        assert result["caption"], path
        assert result["words"] > 50, path
        if path in drawn:
            assert min(result["size"]) > 300, path
    papers = {path.split("/")[1] for path in drawn}
    assert papers | {"tables"} <= set(found["categories"])


def test_the_report_needs_nothing_from_elsewhere(reported):
    _, page = reported
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"<(script|img|link|iframe)[^>]*(src|href)=[\"']?(https?:)?//", text)


@pytest.mark.parametrize("width", [1400, 900])
def test_the_ledger_can_be_read(browser, reported, tmp_path, width):
    clone, _ = reported
    found, _ = visit(browser, clone.path / "results/report/claims.html", MEASURE, tmp_path, width=width)
    assert found["overflow"] <= 0, "nothing is cut off or has to be scrolled to"
    assert found["smallest"] >= 12
    assert found["narrowest"] >= 30
    ledger = tables.read_table(clone.path / "results/claims.csv")
    shown = {row[0]: row for row in found["rows"]}
    assert set(shown) == set(ledger["id"])
    for row in ledger.astype(str).to_dict("records"):
        assert {row["statement"], row["stated"], row["ours"], row["verdict"]} <= set(shown[row["id"]])


def test_provenance_names_every_result(browser, reported, tmp_path):
    clone, _ = reported
    found, _ = visit(browser, clone.path / "results/report/provenance.html", MEASURE, tmp_path)
    shown = {row[0] for row in found["rows"]}
    records = {
        str(path.relative_to(clone.path).with_suffix(""))
        for folder in ("results", "figures")
        for path in (clone.path / folder).glob("*/*/*/*.json" if "results" in folder else "*/*.json")
    }
    assert len(records) > 40
    assert records <= shown


def test_the_report_leaves_what_is_tracked_alone(reported):
    clone, _ = reported
    assert git(clone.path, "status", "--porcelain") == ""
