"""What sections of figures refer to: looks of curves, named randomisers and experiments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field, create_model

from shuffledp import accountants
from shuffledp.accountants import named, registry
from shuffledp.reproduction.sections import places
from shuffledp.reproduction.sections.model import LEFT_OUT, By, Color, OneOf, Section, fields_of
from shuffledp.reproduction.trainings.accounting import accounting
from shuffledp.training.experiment import Experiment
from shuffledp.variables import OF_RANDOMIZERS, VARIABLES

LINES = (
    *("solid", "dashed", "dashdot", "dotted", "longdash", "shortdash", "dashdotdot", "finedots"),
    "points",
)

MARKERS = ("circle", "square", "triangle", "diamond")


class Style(Section):
    """Looks of one accountant's curves."""

    color: Color
    """Colour, as #rrggbb."""
    line: Annotated[str, OneOf(LINES)]
    """Line style."""
    marker: Annotated[str, OneOf(MARKERS)] = LEFT_OUT
    """Marker on the line, which tells curves of one colour apart; none if absent."""
    label: str = LEFT_OUT
    """Legend entry; the registry's label if absent."""


class _Randomizer(Section):
    randomizer: str
    """Its name, as for shuffledp epsilon --randomizer."""


Randomizer = create_model(
    "Randomizer",
    __base__=_Randomizer,
    __doc__="One randomiser, with its own parameters.",
    **fields_of((VARIABLES["categories"], *OF_RANDOMIZERS)),
)
Styles = Annotated[
    dict[str, Style],
    By("accountant", free=True),
    Field(
        description="How each accountant is drawn, by its name in the registry. Changing this recomputes "
        "nothing."
    ),
]
Randomizers = Annotated[
    dict[str, Randomizer],  # type: ignore[valid-type]  # its fields are those of the table of variables
    By("name"),
    Field(
        description="Named randomisers for figures of bounds: <name>-upper is the curve of what is known "
        "of one, "
        "<name>-lower that of data sets of its own."
    ),
]


@dataclass(frozen=True)
class Context:
    """The parts of a configuration with which its figures are resolved.

    Attributes:
        files: of the configuration, for messages.
        styles: by accountant or quantity.
        randomizers: arguments of ``named.description`` for each curve of a randomiser, by the curve's name.
        experiments: all experiments of the configuration.
    """

    files: Sequence[str]
    styles: Mapping[str, Style]
    randomizers: Mapping[str, Mapping[str, Any]]
    experiments: tuple[Experiment, ...]

    def fault(self, message: str, at: Sequence[str]) -> ValueError:
        """Return the error with a message, the key, and the key's file and line."""
        return places.fault(message, at, self.files)

    def check_accountant(self, name: str, at: Sequence[str], *, plotted: bool = True) -> None:
        """Make sure that an accountant or a curve of a randomiser exists, and has a style if it is plotted.

        Raises:
            ValueError: it does not exist, or has no style.
        """
        try:
            named.description(name, **self.randomizers.get(name, {}))
        except ValueError as error:
            raise self.fault(str(error), at) from None
        if plotted:
            self.check_style(name, at)

    def check_system(self, name: str, experiment: Experiment, at: Sequence[str]) -> None:
        """Make sure that an accountant of the registry accounts for an experiment.

        Raises:
            ValueError: it does not.
        """
        entry = accountants.get(name)
        if (entry.protocol, entry.mechanism) not in accounting(experiment):
            known = " or ".join(" with ".join(system) for system in accounting(experiment))
            remedy = "leave it out"
            if entry.mechanism == "share" and entry.protocol == experiment.protocol:
                remedy = (
                    f"nothing but eps0 is known of randomizer {experiment.randomizer!r}: leave it out, or "
                    "enter in profiles/named_randomizers.py what is known"
                )
            raise self.fault(
                f"experiment must be of the system of each of curves: {name!r} is for {entry.protocol} with "
                f"{entry.mechanism}, and {experiment.name!r} is {known}; {remedy}",
                at,
            )

    def accounted_for(self, name: str, at: Sequence[str]) -> Experiment:
        """Return the experiment of that name.

        Raises:
            ValueError: there is none whose privacy can be accounted for.
        """
        private = {entry.name: entry for entry in self.experiments if accounting(entry)}
        if name not in private:
            raise self.fault(
                f"experiment must be one with a local randomiser and a delta whose privacy is accounted for "
                f"({', '.join(private)}), got {name!r}",
                at,
            )
        return private[name]

    def check_style(self, name: str, at: Sequence[str]) -> None:
        """Make sure that a curve that is plotted has a style.

        Raises:
            ValueError: it has none.
        """
        if name not in self.styles:
            raise self.fault(f"{name!r} is drawn here and has no entry under styles; add one", at)

    def look(self, name: str, label: str) -> dict[str, str]:
        """Return the looks of a curve: its style, with ``label`` if the style has no label."""
        return {"label": label, **self.styles[name].model_dump(exclude_unset=True)}

    def looks(self, names: Iterable[str]) -> dict[str, dict[str, str]]:
        """Return the looks of the curves of accountants, by name."""
        return {
            name: self.look(name, named.description(name, **self.randomizers.get(name, {})).label)
            for name in names
        }


def of_randomizers(section: Mapping[str, Any], files: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the arguments of ``named.description`` for each curve of a randomiser, by the curve's name.

    Raises:
        ValueError: there is no such randomiser, or an accountant has its name.
    """
    found = {}
    for name, randomizer in section.items():
        given = randomizer.model_dump(exclude_unset=True)
        at = ["randomizers", name]
        for kind in ("upper", "lower"):
            curve = f"{name}-{kind}"
            try:
                named.description(curve, kind=kind, **given)
            except ValueError as error:
                raise places.fault(str(error), at, files) from None
            found[curve] = {"kind": kind, **given}
            if registry.known(curve):
                raise places.fault(
                    f"{curve!r} is an accountant of the registry; give the randomiser another name", at, files
                )
    return found
