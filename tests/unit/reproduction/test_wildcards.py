"""Wildcards match what the configuration names, and nothing else."""

import re

from shuffledp.reproduction.wildcards import one_of, papers


def test_one_of_matches_the_names_alone():
    pattern = one_of(["b", "a", "b"])
    assert [name for name in ("a", "b", "c", "ab", "") if re.fullmatch(pattern, name)] == ["a", "b"]


def test_one_of_nothing_matches_nothing():
    assert not any(re.match(one_of([]), name) for name in ("", "a"))


def test_a_paper_is_followed_by_a_figure_of_its_own():
    pattern = papers([("one2021", "fig1"), ("one2021", "fig2"), ("two2022", "fig3")])
    paths = (
        "one2021/fig1.pdf",
        "one2021/fig2/a/b.csv",
        "two2022/fig3.png",
        "two2022/fig1.pdf",
        "one2021/fig12.pdf",
    )
    assert [path for path in paths if re.match(pattern, path)] == list(paths[:3])
