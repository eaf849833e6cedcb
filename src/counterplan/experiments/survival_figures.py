"""Figures of plans that last: survival against cost by method, and stated against realised survival."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from counterplan.experiments.drawing import INK, WIDE, FigureSpec, limits
from counterplan.experiments.frontier import (
    ACCEPTED,
    COMMITTEE,
    LASTING,
    ORACLE,
    FrontierPoint,
    Record,
    frontier_points,
    reliability_bins,
    seed_records,
)
from counterplan.experiments.methods import BLUE, VERMILLION
from counterplan.experiments.rows import ExperimentRows
from counterplan.figures.style import GREY, new_figure
from counterplan.problem.transitions import Floats

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LABELLED = (COMMITTEE, ORACLE, "at_least")
"""The methods whose points have their value beside them."""
_LEAST_LABELLED = 0.6
"""Points with smaller values are too close together for labels."""
_LEAST = "least cost"
_LABEL_SIZE = 6.5
_RINGS = (2.0, 8.0, 14.0, 22.0)
"""Distances of a label from the marker of its point, in points; from the second one on, a line connects them."""
_MARKER = 6.0
"""Size of a marker, in points."""
_DIRECTIONS = ((1, -1), (-1, 1), (1, 1), (-1, -1), (1, 0), (-1, 0), (0, 1), (0, -1))
"""In the order in which they are tried; mirrored for the oracle's points, which are above the others."""
_COVERS_LABEL, _COVERS_LINE, _AMBIGUOUS, _RING, _DIRECTION = 10.0, 2.0, 10.0, 4.0, 0.1
"""What a place of a label costs: covering a marker or label, covering a line, being as close to the marker of another
point as to its own without a line to its own, each further ring, and each later direction."""
GOALS = {0.0: ("least cost", INK, "*"), 4.0: ("balanced (λ = 4)", BLUE, "s"), 8.0: ("high (λ = 8)", VERMILLION, "o")}
"""The weights of survival whose plans the reliability diagram shows."""


def frontier_figure(records: Iterable[Record]) -> Figure:
    """Draw held against cost ÷ optimal cost, by method, with a panel for each benchmark.

    Parameters
    ----------
    records : iterable of mappings
        See `counterplan.experiments.frontier`.

    Returns
    -------
    matplotlib.figure.Figure
    """
    points = frontier_points(records)
    figure, panels = _panels(points, 3.5)
    drawn: dict[str, Artist] = {}
    for axis, own in panels:
        for point in own:
            if point.value == 0:
                (drawn[_LEAST],) = axis.plot(
                    [point.ratio.mean], [point.held.mean], "o", color=INK, linestyle="", markersize=5, zorder=3
                )
        for method in LASTING:
            curve = [point for point in own if point.method == method]
            if curve:
                drawn[method] = _draw_curve(axis, method, curve)
        for point in own:
            if point.method == ACCEPTED:
                drawn[ACCEPTED] = axis.axhline(point.held.mean, color=GREY, linewidth=0.9, linestyle=":", zorder=0)
        axis.set_xlim(*limits((), [1.0, *(point.ratio.mean for point in own)]))
        axis.set_xlabel("cost ratio")
        axis.grid()
        axis.set_axisbelow(True)
    panels[0][0].set_ylim(*limits((), [point.held.mean for point in points]))
    panels[0][0].set_ylabel("held, mean over judges")
    labels = {_LEAST: _LEAST} | {method: style.label for method, style in LASTING.items()}
    labels |= {ACCEPTED: "accepted people as they are"}
    order = [method for method in labels if method in drawn]
    figure.legend(
        [drawn[method] for method in order],
        [labels[method] for method in order],
        loc="outside lower center",
        ncols=4,
        columnspacing=1.4,
    )
    figure.draw_without_rendering()  # labels are placed in points, which needs the layout
    for axis, own in panels:
        _label_points(axis, [point for point in own if point.method != ACCEPTED])
    return figure


def _panels(points: Sequence[FrontierPoint], height: float) -> tuple[Figure, list[tuple[Axes, list[FrontierPoint]]]]:
    """A figure with a panel for each benchmark, and the points of each."""
    names = list(dict.fromkeys(point.benchmark for point in points))
    figure = new_figure(WIDE, height)
    axes = figure.subplots(1, max(1, len(names)), squeeze=False, sharey=True)[0]
    for axis, name in zip(axes, names, strict=False):
        axis.set_title(name)
    by_name = [[point for point in points if point.benchmark == name] for name in names]
    return figure, list(zip(axes, by_name, strict=True)) if names else [(axes[0], [])]


def _draw_curve(axis: Axes, method: str, curve: Sequence[FrontierPoint]) -> Artist:
    style = LASTING[method]
    colour = style.colour or INK
    x, y = [point.ratio.mean for point in curve], [point.held.mean for point in curve]
    (line,) = axis.plot(
        x,
        y,
        color=colour,
        marker=style.marker,
        linestyle=style.line,
        markerfacecolor="none" if method == ORACLE else colour,
        linewidth=1.0,
        markersize=6 if style.marker == "*" else 4,
        markevery=[place for place, point in enumerate(curve) if point.value != 0],
    )
    return line


_Box = tuple[float, float, float, float]
"""Left, bottom, right and top, in points."""


class _Place(NamedTuple):
    """A place for a label: its centre relative to the point, whether a line connects them, and the area."""

    offset: tuple[float, float]
    connected: bool
    box: _Box
    cost: float
    """Of ring and direction."""


def _label_points(axis: Axes, points: Sequence[FrontierPoint]) -> None:
    """Write the value of each labelled point where it is closest to that point and covers as little as possible."""
    unit = 72 / axis.figure.dpi
    centres = [axis.transData.transform((point.ratio.mean, point.held.mean)) * unit for point in points]
    taken = [_box(centre, _MARKER, _MARKER) for centre in centres]
    lines: list[_Box] = []
    for method, style in LASTING.items():
        own = [centre for centre, point in zip(centres, points, strict=True) if point.method == method]
        for start, end in pairwise(own) if style.line else ():
            lines += [_box(place, 1, 1) for place in np.linspace(start, end, 24)]
    low, high = (axis.transAxes.transform(corner) * unit for corner in ((0, 0), (1, 1)))
    frame = (*low, *high)
    for centre, point in zip(centres, points, strict=True):
        if point.method not in _LABELLED or (point.value or 0) < _LEAST_LABELLED:
            continue
        text = f"{point.value:g}".lstrip("0")
        others = [other for other in centres if np.abs(other - centre).max() > 1e-6]
        places = _places(centre, text, -1 if point.method == ORACLE else 1)
        best = min(places, key=lambda place: _cost(place, centre, others, taken, lines, frame))
        taken.append(best.box)
        colour = LASTING[point.method].colour or INK
        axis.annotate(
            text,
            (point.ratio.mean, point.held.mean),
            xytext=best.offset,
            textcoords="offset points",
            fontsize=_LABEL_SIZE,
            color=colour,
            ha="center",
            va="center_baseline",
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.5, "shrinkA": 0, "shrinkB": 0}
            if best.connected
            else None,
        )


def _places(centre: Floats, text: str, side: int) -> Iterator[_Place]:
    """The places for a label around a point."""
    width, height = 0.62 * _LABEL_SIZE * len(text), 0.9 * _LABEL_SIZE
    for ring, distance in enumerate(_RINGS):
        for number, (across, up) in enumerate(_DIRECTIONS):
            slant = 0.75 if across and up else 1.0
            far = slant * (_MARKER / 2 + distance)
            offset = (side * across * (far + width / 2), side * up * (far + height / 2))
            cost = _RING * ring + _DIRECTION * number
            yield _Place(offset, ring > 0, _box(centre + offset, width, height), cost)


def _cost(
    place: _Place, centre: Floats, others: Sequence[Floats], taken: Sequence[_Box], lines: Sequence[_Box], frame: _Box
) -> float:
    """How bad a place is for the label of the point at `centre`."""
    left, bottom, right, top = place.box
    if left < frame[0] or bottom < frame[1] or right > frame[2] or top > frame[3]:
        return math.inf
    nearest = min((_distance(place.box, other) for other in others), default=math.inf)
    ambiguous = not place.connected and nearest < _distance(place.box, centre) + _MARKER / 2
    crossed = any(_overlap(place.box, line) for line in lines)
    covered = sum(_overlap(place.box, other) for other in taken)
    return place.cost + _COVERS_LABEL * covered + _COVERS_LINE * crossed + _AMBIGUOUS * ambiguous


def _distance(box: _Box, point: Floats) -> float:
    """Distance of a point from a box."""
    left, bottom, right, top = box
    return math.hypot(max(left - point[0], 0, point[0] - right), max(bottom - point[1], 0, point[1] - top))


def _box(centre: Floats, width: float, height: float) -> _Box:
    x, y = float(centre[0]), float(centre[1])
    return x - width / 2, y - height / 2, x + width / 2, y + height / 2


def _overlap(one: _Box, other: _Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def reliability_figure(records: Iterable[Record], method: str = COMMITTEE) -> Figure:
    """Draw stated against realised survival of plans in bins, with a panel for each benchmark.

    Parameters
    ----------
    records : iterable of mappings
        See `counterplan.experiments.frontier`; those of `method` have `plans`.
    method : str, default="committee"
        A key of `LASTING`.

    Returns
    -------
    matplotlib.figure.Figure
    """
    stated = [record for record in records if record["method"] == method and record.get("plans")]
    names = list(dict.fromkeys(record["benchmark"] for record in stated))
    figure = new_figure(WIDE, 3.1)
    axes = figure.subplots(2, max(1, len(names)), squeeze=False, sharex=True, height_ratios=(4, 1))
    handles: dict[str, Any] = {}
    for column, name in enumerate(names):
        top, bottom = axes[:, column]
        top.set_title(name)
        top.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, zorder=0)
        shares = []
        for weight, (label, colour, marker) in GOALS.items():
            plans = [
                pair for one in stated if (one["benchmark"], one["value"]) == (name, weight) for pair in one["plans"]
            ]
            shares.append(([pair[0] for pair in plans], colour))
            if bins := reliability_bins(plans):
                handles[label] = top.errorbar(
                    [one.stated for one in bins],
                    [one.realised for one in bins],
                    yerr=[one.half for one in bins],
                    color=colour,
                    marker=marker,
                    markersize=6 if marker == "*" else 4,
                    linewidth=1,
                    elinewidth=0.7,
                    capsize=1.5,
                )
        bottom.hist(
            [values for values, _ in shares],
            bins=np.linspace(0, 1, 11),
            color=[colour for _, colour in shares],
            stacked=True,
            rwidth=0.85,
        )
        top.set_xlim(0, 1)
        top.set_ylim(0, 1.02)
        top.grid()
        top.set_axisbelow(True)
        bottom.set_xlabel("stated survival")
        bottom.locator_params(axis="y", nbins=2)
    axes[0][0].set_ylabel("realised survival")
    axes[1][0].set_ylabel("plans")
    figure.align_ylabels()
    if handles:
        figure.legend(list(handles.values()), list(handles), loc="outside upper center", ncols=len(handles))
    return figure


def _of_experiment(rows: ExperimentRows) -> Figure:
    return frontier_figure(seed_records(rows.survival))


SURVIVAL = FigureSpec(
    "survival",
    "Survival against cost",
    "Share of retrained models under which plans hold, against their cost. Numbers at the points are weights λ; the "
    "objective of a plan is cost ÷ least cost + λ · (1 − survival). The oracle plans with the judges themselves, which "
    "no planner can. Dotted: test people that the model accepts, as they are. Means over seeds; the table has "
    "intervals.",
    _of_experiment,
)
