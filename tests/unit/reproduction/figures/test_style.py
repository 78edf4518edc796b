"""Figures are saved in one style, as the same bytes each time, without a window system."""

import itertools
import os
import subprocess
import sys

import matplotlib as mpl
import pytest
from matplotlib import image

from shuffledp.reproduction.figures import simulation
from shuffledp.reproduction.figures.bounds import draw_bounds
from shuffledp.reproduction.figures.style import _STYLE, line, save, style

from .test_bounds import STYLES, curve

# What a reader may have in a matplotlibrc of their own, read while drawing or while saving; several at a time
# since every figure takes half a second.
FOREIGN_SETTINGS = {
    "drawing": {
        "lines.linewidth": 5,
        "axes.grid": False,
        "mathtext.fontset": "cm",
        "axes.unicode_minus": False,
    },
    "text": {"font.size": 20, "text.hinting": "none"},
    "resolution": {"savefig.dpi": 50, "pdf.compression": 0, "pdf.fonttype": 3},
    "background": {"savefig.bbox": "tight", "savefig.facecolor": "red", "savefig.transparent": True},
}
WITHOUT_PYPLOT = """
import sys
from shuffledp.records import tables
from shuffledp.reproduction.figures.bounds import draw_bounds
from shuffledp.reproduction.figures.style import save
look = {"color": "#000000", "line": "solid", "label": "one"}
panels = {"a": {"one": tables.read_table("curve.csv")}}
save(draw_bounds(panels, variables={"a": "rounds"}, styles={"one": look}), pdf="a.pdf", png="a.png")
loaded = [name for name in sys.modules if name.startswith(("matplotlib.pyplot", "tkinter", "PyQt"))]
assert not loaded, loaded
"""


def luminance(color):
    """How bright a colour (#rrggbb) is in grey, from 0 to 1, with the weights of ITU-R BT.709."""
    red, green, blue = (int(color[start : start + 2], 16) / 255 for start in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def draw():
    panels = {"a": {"one": curve(), "other": curve(epsilon=[0.2, 0.4, 0.6])}}
    return draw_bounds(panels, variables={"a": "rounds"}, styles=STYLES)


def save_in(folder, figure):
    """Save a figure and return the bytes of both forms."""
    paths = {form: folder / f"a.{form}" for form in ("pdf", "png")}
    save(figure, **paths)
    return {form: path.read_bytes() for form, path in paths.items()}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return save_in(tmp_path_factory.mktemp("plain"), draw())


def test_both_forms_are_what_they_are_called(saved):
    assert saved["pdf"].startswith(b"%PDF-")
    assert saved["png"].startswith(b"\x89PNG")


def test_drawing_and_saving_again_gives_the_same_bytes(tmp_path, saved):
    assert save_in(tmp_path, draw()) == saved


def test_no_date_and_no_version_is_inside(saved):
    assert b"CreationDate" not in saved["pdf"]
    for form in ("pdf", "png"):
        assert mpl.__version__.encode() not in saved[form]
        assert b"Software" not in saved[form]


# All at once in the ordinary suite; which of them shows is told by the slow one.
@pytest.mark.parametrize(
    "settings",
    [
        pytest.param(
            {key: value for own in FOREIGN_SETTINGS.values() for key, value in own.items()}, id="all"
        ),
        *(pytest.param(own, id=name, marks=pytest.mark.slow) for name, own in FOREIGN_SETTINGS.items()),
    ],
)
def test_the_settings_of_the_reader_do_not_show(tmp_path, saved, settings):
    with mpl.rc_context(settings):
        assert save_in(tmp_path, draw()) == saved


def test_saving_leaves_the_settings_of_matplotlib_alone(tmp_path):
    figure, before = draw(), dict(mpl.rcParams)
    save_in(tmp_path, figure)
    assert dict(mpl.rcParams) == before


def test_the_png_has_the_resolution_of_the_style(tmp_path):
    figure = draw()
    save_in(tmp_path, figure)
    height, width = image.imread(tmp_path / "a.png").shape[:2]
    assert (width, height) == pytest.approx(tuple(figure.get_size_inches() * _STYLE["savefig.dpi"]), abs=1)


def test_text_in_the_pdf_can_be_searched_and_edited(saved):
    """Type 42 embeds TrueType fonts as they are; type 3, the default, is refused by some publishers."""
    assert b"/Type3" not in saved["pdf"]
    assert b"/TrueType" in saved["pdf"] or b"/CIDFontType2" in saved["pdf"]


@pytest.mark.parametrize("form", ["pdf", "png"])
def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, form):
    paths = {"pdf": tmp_path / "a.pdf", "png": tmp_path / "a.png"}
    for path in paths.values():
        path.write_text("old")
    figure = draw()
    write = figure.savefig

    def fail(path, *, format, **options):
        write(path, format=format, **options)
        if format == form:
            raise OSError("disk full")

    monkeypatch.setattr(figure, "savefig", fail)
    with pytest.raises(OSError, match="disk full"):
        save(figure, **paths)
    assert paths[form].read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["a.pdf", "a.png"]


def test_style_ends_with_its_block():
    before = dict(mpl.rcParams)
    with style():
        assert {key: mpl.rcParams[key] for key in ("font.size", "savefig.dpi", "pdf.fonttype")} == {
            key: _STYLE[key] for key in ("font.size", "savefig.dpi", "pdf.fonttype")
        }
        inside = dict(mpl.rcParams)
    assert dict(mpl.rcParams) == before != inside


def test_no_window_system_is_asked_for(tmp_path):
    curve().to_csv(tmp_path / "curve.csv", index=False)
    environment = {**os.environ, "MPLBACKEND": "TkAgg"}
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        environment.pop(name, None)
    subprocess.run([sys.executable, "-c", WITHOUT_PYPLOT], cwd=tmp_path, env=environment, check=True)
    assert {"a.pdf", "a.png"} <= set(os.listdir(tmp_path))


def looks_of(figure):
    """What the curves of a figure look like; curves that share an entry of the legend are one."""
    if figure.kind == "progress":
        panels = {}
        for one in figure.lines:
            panels.setdefault(one.panel, []).append(one.look)
        return list(panels.values())
    if figure.kind == "simulation":
        return [simulation.looks_of(len(figure.panels))]
    looks = getattr(figure, "looks", {}).values()
    return [list({look["label"]: look for look in looks}.values())]


def test_curves_of_a_figure_can_be_told_apart_in_grey(shipped):
    for figure in shipped.plotted:
        for looks in looks_of(figure):
            for one, other in itertools.combinations(looks, 2):
                alike = abs(luminance(one["color"]) - luminance(other["color"])) < 0.12
                assert not alike or one.get("marker") != other.get("marker"), (figure.name, one, other)


def test_a_bound_looks_the_same_in_every_figure(shipped):
    """Looks are given once for an accountant, and accountants of one label are one bound."""
    by_label = {}
    for figure in shipped.plotted:
        for look in getattr(figure, "looks", {}).values():
            by_label.setdefault(look["label"], set()).add((look["color"], look["line"], look.get("marker")))
    assert {label: looks for label, looks in by_label.items() if len(looks) > 1} == {}


def test_a_marker_is_drawn_where_a_look_has_one():
    look = {"color": "#000000", "line": "dotted", "label": "one"}
    assert "marker" not in line(look)
    assert line({**look, "marker": "square"})["marker"] == "s"
