"""Every example of the documentation runs, and prints what its page says."""

import re
import runpy

import pytest

EXAMPLES = {
    "shuffled_histogram.py": "frequencies.md",
    "opacus_logistic.py": "interop.md",
    "flower_logistic.py": "interop.md",
}
NEEDS = {"opacus_logistic.py": "opacus", "flower_logistic.py": "flwr"}
LONGEST = 40  # lines


def test_every_example_is_run(root):
    assert {path.name for path in (root / "docs/examples").glob("*.py")} == set(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_is_short(root, name):
    assert len((root / "docs/examples" / name).read_text(encoding="utf-8").splitlines()) <= LONGEST


# Opacus warns that draws are not of its secure generator, and torch that inputs need no gradients
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", EXAMPLES)
def test_example_prints_what_its_page_says(root, name, capsys):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name], reason="needs the extra that brings it")
    page = (root / "docs" / EXAMPLES[name]).read_text(encoding="utf-8")
    assert f"](examples/{name})" in page
    runpy.run_path(str(root / "docs/examples" / name), run_name="__main__")
    printed = capsys.readouterr().out
    assert printed
    assert printed in re.findall(r"```text\n(.*?)```", page, re.DOTALL)
