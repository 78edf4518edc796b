"""Values that axes cannot show: those that are not finite and, on logarithmic axes, not positive."""

from __future__ import annotations

import logging
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LOG = logging.getLogger(__name__)

# By the reason why a value is not drawn: whether its mark is at the upper end of the axis, and its marks
# along the horizontal and along the vertical axis.
_MARKS = {
    "infinite": (True, ">", "^"),
    "zero": (False, "<", "v"),
    "negative": (False, "<", "v"),
    "nan": (False, "x", "x"),
}
_SIGNS = {">": "▶", "<": "◀", "^": "▲", "v": "▼", "x": "✕"}  # how the note shows marks
_AT_END = 0.985  # place of marks, as a part of the axis
_SIZE = 9.0  # of marks, in square points
_COLOR = "#666666"
_ENDS = 14.0  # size of the ring where a curve ends, in square points


class Panel:
    """One panel: selects the points of its curves that can be drawn, and marks the others.

    Args:
        axis: of the panel.
        name: of the panel, for the warnings.
        log_x: whether the horizontal axis is logarithmic.
        log_y: whether the vertical axis is.
    """

    def __init__(self, axis: Axes, name: str, *, log_x: bool, log_y: bool) -> None:
        self._axis, self._name, self._log = axis, name, (log_x, log_y)
        self._signs: dict[str, dict[str, None]] = {reason: {} for reason in _MARKS}  # drawn, in order
        self._drawn = 0
        self._ended = False
        self._seen: tuple[list[float], list[float]] = ([], [])

    def keep(self, curve: str, x: ArrayLike, y: ArrayLike, *, color: object) -> NDArray[np.bool_]:
        """Return which points of a curve can be drawn; mark the others at the ends of the axes, and warn.

        A ring is drawn where a curve ends because the next value is infinite.

        Args:
            curve: its name, for the warning.
            x: of shape (points,).
            y: of the same shape.
            color: of the marks.
        """
        values = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
        reasons = _reasons(values[0], self._log[0]), _reasons(values[1], self._log[1])
        kept = (reasons[0] == "") & (reasons[1] == "")
        for one, why, seen in zip(values, reasons, self._seen, strict=True):
            seen.extend(one[why == ""].tolist())
        self._drawn += int(kept.sum())
        found = Counter(np.where(reasons[1] == "", reasons[0], reasons[1])[~kept].tolist())
        for reason in found:
            self._mark(reason, values, reasons, color)
        if found:
            said = ", ".join(f"{count} {reason}" for reason, count in sorted(found.items()))
            where = f"panel {self._name}, {curve}" if self._name else curve
            _LOG.warning("%s: %d of %d points are not drawn: %s", where, found.total(), kept.size, said)
        infinite = (reasons[0] == "infinite") | (reasons[1] == "infinite")
        ends = np.flatnonzero(kept[:-1] & infinite[1:])
        if ends.size:
            self._ended = True
            ring: dict[str, Any] = {"s": _ENDS, "facecolors": "white", "edgecolors": color, "zorder": 4}
            self._axis.scatter(values[0][ends], values[1][ends], marker="o", linewidths=1.0, **ring)
        return kept

    def _mark(
        self,
        reason: str,
        values: tuple[np.ndarray, np.ndarray],
        reasons: tuple[np.ndarray, np.ndarray],
        color: object,
    ) -> None:
        upper, along_x, along_y = _MARKS[reason]
        end = _AT_END if upper else 1 - _AT_END
        look: dict[str, Any] = {"s": _SIZE, "color": color, "linewidths": 0.8, "clip_on": False, "zorder": 3}
        above = values[0][(reasons[0] == "") & (reasons[1] == reason)]
        if above.size:
            self._signs[reason][_SIGNS[along_y]] = None
            transform = self._axis.get_xaxis_transform()
            self._axis.scatter(above, np.full(above.shape, end), marker=along_y, transform=transform, **look)
        beside = values[1][(reasons[1] == "") & (reasons[0] == reason)]
        if beside.size:
            self._signs[reason][_SIGNS[along_x]] = None
            transform = self._axis.get_yaxis_transform()
            self._axis.scatter(
                np.full(beside.shape, end), beside, marker=along_x, transform=transform, **look
            )

    def finish(self) -> None:
        """Set the scales after all curves are drawn, and explain the marks in the panel."""
        scales = (self._axis.set_xscale, self._axis.set_yscale)
        limits = (self._axis.set_xlim, self._axis.set_ylim)
        for which, name in enumerate(("x", "y")):
            seen = self._seen[which]
            if seen and self._log[which]:
                scales[which]("log")
            if seen and not self._drawn and min(seen) < max(seen):
                limits[which](min(seen), max(seen))
            elif not seen:  # no value is drawn, so ticks would mean nothing
                self._axis.tick_params(
                    axis=name,  # type: ignore[arg-type]
                    which="both",
                    length=0,
                    labelbottom=name != "x",
                    labelleft=name != "y",
                )
        signs = {reason: "".join(drawn) for reason, drawn in self._signs.items() if drawn}
        if signs:
            note = ", ".join(f"{sign} {reason}" for reason, sign in signs.items())
            self._axis.text(
                *(0.97, 0.06),
                f"not drawn: {note}" + ("\n○ finite up to here" if self._ended else ""),
                transform=self._axis.transAxes,
                horizontalalignment="right",
                fontsize=6,
                color=_COLOR,
                bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1.0},
                zorder=5,
            )


def _reasons(values: NDArray[np.float64], log: bool) -> NDArray[np.str_]:
    """Return for each value the reason why it cannot be drawn, "" if it can."""
    found = np.full(values.shape, "", dtype="U8")
    found[np.isinf(values)] = "infinite"
    found[np.isnan(values)] = "nan"
    if log:
        found[np.isfinite(values) & (values < 0)] = "negative"
        found[values == 0] = "zero"
    return found
