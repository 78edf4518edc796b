"""Figures of trainings while some of their runs are there: planned, and with a caption, of any one part."""

import dataclasses


def test_a_figure_can_be_planned_with_any_one_of_its_parts(root, shipped):
    results = str(root / shipped.results)
    seen = set()
    for figure in shipped.declared:
        for part in getattr(figure, figure.parts) if figure.parts else ():
            one = dataclasses.replace(figure, **{figure.parts: (part,)})
            assert one.parameters(results), (figure.paper, figure.name, part.panel)
            assert one.text(results)
            seen.add(figure.kind)
    assert seen == {"accuracy", "progress"}


def test_a_panel_without_a_line_is_left_out(root, shipped):
    (figure,) = (one for one in shipped.declared if (one.paper, one.name) == ("liew2022", "fig5"))
    assert {line.panel for line in figure.lines} == {"a", "b"}
    first = next(line for line in figure.lines if line.panel == "a")
    parameters = dataclasses.replace(figure, lines=(first,)).parameters(str(root / shipped.results))
    assert list(parameters["titles"]) == ["a"]
    assert [panel for panel, *_ in parameters["lines"]] == ["a"]
