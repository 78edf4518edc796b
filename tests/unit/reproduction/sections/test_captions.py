"""Captions, in files of their own."""

import re

import pytest
import yaml

from shuffledp.reproduction import config
from shuffledp.reproduction.sections.captions import Caption

from ..small_configuration import BASE, WITHOUT_CAPTIONS, edited, line_of

CAPTIONS = """\
# of one paper
fig1:
  shows: >-
    Two
    lines.
  choices:
    - The first.
    - 1e5 is the most.
"""


def test_captions_are_read_from_the_file_of_their_paper(captioned):
    caption = captioned(CAPTIONS).figure("paper", "fig1").caption
    assert caption == Caption(shows="Two lines.", choices=["The first.", "1e5 is the most."])


def test_a_layer_may_say_a_caption_anew(captioned):
    layer = "captions: {paper: {fig1: {shows: Another.}}}"
    caption = captioned(CAPTIONS, layer).figure("paper", "fig1").caption
    assert caption == Caption(shows="Another.", choices=["The first.", "1e5 is the most."])


CAPTION_MISTAKES = {
    "unknown figure": ("fig1:", "fgi1:", "unknown figure 'fgi1' of 'paper': did you mean 'fig1'?", "fgi1", 2),
    "figure like no other": ("fig1:", "zzz:", "unknown figure 'zzz' of 'paper': known are fig1", "zzz", 2),
    "misspelt key": ("  shows:", "  show:", "unknown key 'show': did you mean 'shows'?", "fig1.show", 3),
    "no words": (
        "  shows: >-\n    Two\n    lines.\n",
        "",
        "'shows' is a required property. The caption of one figure.",
        "fig1",
        2,
    ),
    "words that are none": (">-\n    Two\n    lines.", "3", "3 is not of type 'string'", "fig1.shows", 3),
    "choices that are no list": (
        "\n    - The first.\n    - 1e5 is the most.",
        " none",
        "'none' is not of type 'array'",
        "fig1.choices",
        6,
    ),
    "a choice that is none": ("The first.", "{a: b}", "is not of type 'string'", "fig1.choices.0", 7),
}


@pytest.mark.parametrize("mistake", CAPTION_MISTAKES.values(), ids=CAPTION_MISTAKES)
def test_a_mistake_in_captions_is_named_with_its_key_file_and_line(tmp_path, captioned, mistake):
    old, new, says, key, line = mistake
    with pytest.raises(ValueError, match=re.escape(says)) as caught:
        captioned(edited(old, new, CAPTIONS))
    assert str(caught.value).startswith("configuration: ")
    assert str(caught.value).endswith(
        f"(at captions.paper.{key}, {tmp_path}/captions/paper.yaml line {line})"
    )


def test_a_figure_without_a_caption_says_where_to_write_it(tmp_path, load, captioned):
    lacking = re.escape(
        f"configuration: figure 'fig1' of 'paper' has no caption; say under 'fig1' in "
        f"{tmp_path}/captions/paper.yaml what it shows "
        f"(at bounds.paper.fig1, {tmp_path}/0.yaml line {line_of('fig1:', WITHOUT_CAPTIONS)})"
    )
    with pytest.raises(ValueError, match=lacking):
        load(WITHOUT_CAPTIONS)
    with pytest.raises(ValueError, match=lacking):
        captioned("")
    with pytest.raises(ValueError, match=r"say under 'fig1' in captions\.paper what"):
        config.resolve(yaml.safe_load(WITHOUT_CAPTIONS))


def test_captions_of_a_paper_without_figures_are_refused(refusal):
    message = refusal(BASE, "captions: {papr: {fig1: {shows: Something.}}}")
    assert "unknown paper 'papr': did you mean 'paper'? (at captions.papr, " in message


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("fig1: [1", "line 1, column 9 is not valid YAML"),
        ("- 1\n", "must hold keys and values, got list"),
        (CAPTIONS + CAPTIONS, "key 'fig1' stands twice in one place of"),
        ("fig1: {shows: a, shows: b}", "key 'shows' stands twice in one place of"),
    ],
)
def test_a_file_that_can_hold_no_captions_is_named(captioned, text, says):
    with pytest.raises(ValueError, match=says) as caught:
        captioned(text)
    assert "captions/paper.yaml" in str(caught.value)


def test_every_file_of_captions_is_of_a_paper(root, shipped):
    papers = {figure.paper for figure in shipped.declared}
    assert {path.stem for path in (root / "config/captions").iterdir()} == papers
