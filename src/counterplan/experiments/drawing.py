"""Parts that the figures of the report share: style, panels, dot plots, legends, axis limits."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from counterplan.experiments.methods import label_of, method_named
from counterplan.experiments.rows import ExperimentRows
from counterplan.experiments.statistics import Interval, benchmarks_in
from counterplan.figures.style import GREY, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = "#1a1b20"
"""The colour of text; in the report it becomes that of the page."""
WIDE = 7.2
"""Inches: both columns of a printed page."""
DPI = 200
_TOLERANCE = 1e-3
"""Fraction of an axis by which an interval may exceed it unnoticed."""
_ROOM = 1.0
"""Most that an axis is extended for intervals on each side, relative to the range of the means."""
_BOUNDS = {"success": (0.0, 1.0), "ratio": (1.0, math.inf)}
"""Smallest and largest possible value of a measure; of the others 0 is the smallest."""
PUBLISHED = ("published", "o", GREY)
"""The entry of published figures in a legend: label, marker and colour."""
_STYLE: dict[Any, Any] = {
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.labelsize": 8,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "legend.fontsize": 7.5,
    "text.color": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.edgecolor": INK,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "grid.linewidth": 0.5,
    "grid.alpha": 0.35,
    "lines.linewidth": 1.2,
    "lines.markersize": 4.5,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "counterplan",
    "font.family": "sans-serif",
    "hatch.linewidth": 0.5,
}


@dataclass(frozen=True)
class ReportFigure:
    """A figure as files, with its caption."""

    key: str
    title: str
    caption: str
    png: bytes
    svg: str


class FigureSpec(NamedTuple):
    """A figure of the report: its caption may refer to `{intervals}`."""

    key: str
    title: str
    caption: str
    draw: Callable[[ExperimentRows], Figure]


@dataclass(frozen=True)
class DotPlot:
    """The content of a dot plot: one line for each method."""

    methods: Sequence[str]
    label: str
    """Of the horizontal axis."""
    labelled: bool
    """Whether the methods are named on the vertical axis."""
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    published: Mapping[str, float] = field(default_factory=dict)
    measure: str = ""
    """What the intervals are of, which bounds them."""


@contextmanager
def report_style() -> Iterator[None]:
    """Draw figures in the style of the report within the block."""
    new_figure()  # raises if matplotlib is not installed
    import matplotlib

    with matplotlib.rc_context(_STYLE):
        yield


def rendered(key: str, title: str, caption: str, figure: Figure) -> ReportFigure:
    """Render a figure as PNG and SVG."""
    png, svg = io.BytesIO(), io.StringIO()
    figure.savefig(png, format="png", dpi=DPI)
    figure.set_layout_engine("none")  # the layout is computed once; repeating it is slow
    figure.savefig(svg, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return ReportFigure(key, title, caption, png.getvalue(), svg.getvalue())


def interval_note(rows: ExperimentRows, figure: Figure) -> str:
    """A sentence on the intervals of a figure: one seed has none, and wide ones may be cut off."""
    if rows.results["seed"].nunique() == 1:
        return "One seed, so there are no intervals."
    wide = "; an arrow ends those that are wider than the frame" if any(_cut_ends(figure)) else ""
    return f"Means over seeds with 95 % intervals{wide}."


class _CutEnd(NamedTuple):
    """An end of an error bar outside of the frame, and the marker to draw at the frame, in coordinates of the axes."""

    axis: Axes
    x: float
    y: float
    marker: str
    colour: Any


def _cut_ends(figure: Figure) -> Iterator[_CutEnd]:
    """The ends of error bars that exceed their axis."""
    from matplotlib.container import ErrorbarContainer

    for axis in figure.axes:
        for bars in axis.containers:
            for lines in bars.lines[2] if isinstance(bars, ErrorbarContainer) else ():
                for segment in lines.get_segments():
                    shown = axis.transAxes.inverted().transform(axis.transData.transform(segment))
                    for x, y in shown:
                        inside = np.clip((x, y), 0, 1)
                        horizontal, vertical = np.abs(inside - (x, y)) > _TOLERANCE
                        if horizontal != vertical:
                            marker = ("<" if x < 0 else ">") if horizontal else ("v" if y < 0 else "^")
                            yield _CutEnd(axis, float(inside[0]), float(inside[1]), marker, lines.get_color())


def mark_cut_ends(figure: Figure) -> None:
    """Draw an arrow at the frame where an error bar leaves it."""
    for axis, x, y, marker, colour in list(_cut_ends(figure)):
        axis.plot([x], [y], marker, color=colour, markersize=3, transform=axis.transAxes, clip_on=False)


def error_bars(interval: Interval, measure: str) -> tuple[float, float]:
    """Lengths of the error bars below and above a mean, which end at the bounds of the measure."""
    low, high = _BOUNDS.get(measure, (0.0, math.inf))
    return (
        min(interval.half, max(interval.mean - low, 0.0)),
        min(interval.half, max(high - interval.mean, 0.0)),
    )


def panels(rows: ExperimentRows, height: float, lines: int = 1, **options: Any) -> tuple[Figure, list[str], Any]:
    """A figure with a column for each benchmark and `lines` lines: axes [lines, columns]."""
    names = benchmarks_in(rows)
    figure = new_figure(WIDE, height)
    axes = figure.subplots(lines, len(names), squeeze=False, **options)
    for axis, name in zip(axes[0], names, strict=True):
        axis.set_title(name)
    return figure, names, axes


def marker_style(method: str) -> dict[str, Any]:
    """The style of a method's markers."""
    known = method_named(method)
    colour = known.colour or INK
    return {
        "color": colour,
        "marker": known.marker,
        "markeredgecolor": colour,
        "markerfacecolor": "none" if known.hollow else colour,
    }


def dot_plot(axis: Axes, plot: DotPlot) -> None:
    """Draw the mean and interval of each method on a line; hollow grey circles are published figures.

    Intervals end at the bounds of the measure.
    """
    for place, method in enumerate(plot.methods):
        if method in plot.published:
            axis.plot(
                [plot.published[method]], [place], "o", color=GREY, markerfacecolor="none", markersize=6.5, zorder=1
            )
        interval = plot.intervals.get(method)
        if interval is None or np.isnan(interval.mean):
            continue
        style = marker_style(method)
        if interval.half > 0:
            below, above = error_bars(interval, plot.measure)
            axis.errorbar(
                [interval.mean], [place], xerr=[[below], [above]], color=style["color"], elinewidth=1, capsize=1.5
            )
        axis.plot([interval.mean], [place], linestyle="", **style)
    if shown := [plot.intervals[method] for method in plot.methods if method in plot.intervals]:
        axis.set_xlim(*limits(shown, list(plot.published.values()), plot.measure))
    axis.set_yticks(range(len(plot.methods)), [label_of(method) for method in plot.methods] if plot.labelled else [])
    axis.set_ylim(len(plot.methods) - 0.5, -0.5)
    axis.set_xlabel(plot.label)
    axis.grid(axis="both")
    axis.set_axisbelow(True)


def limits(shown: Iterable[Interval], others: Iterable[float] = (), measure: str = "") -> tuple[float, float]:
    """Limits of an axis that shows all means, and of very wide intervals only a part."""
    known = [interval for interval in shown if not np.isnan(interval.mean)]
    means = [*(interval.mean for interval in known), *(value for value in others if not np.isnan(value))]
    if not means:
        return 0.0, 1.0
    low, high = min(means), max(means)
    room = _ROOM * (high - low) or max(0.1 * abs(high), 0.1)
    bars = [(interval.mean, *error_bars(interval, measure)) for interval in known if interval.half > 0]
    ends = [(mean - below, mean + above) for mean, below, above in bars]
    low = max(low - room, min([low, *(end[0] for end in ends)]))
    high = min(high + room, max([high, *(end[1] for end in ends)]))
    margin = 0.06 * (high - low) or room
    return low - margin, high + margin


def legend_above(figure: Figure, entries: Sequence[tuple[str, str, str]], hollow: Sequence[str] = ()) -> None:
    """Add a legend above all panels: label, marker and colour of each entry; those labelled `hollow` are."""
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], marker=marker, color=colour, linestyle="", label=label) for label, marker, colour in entries
    ]
    for handle in handles:
        if handle.get_label() in hollow:
            handle.set_markerfacecolor("none")
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles))


def method_legend(figure: Figure, methods: Sequence[str], lines: Sequence[str] = ()) -> None:
    """Add a legend of methods below all panels; `lines` are those with a line."""
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], linestyle="-" if method in lines else "", label=label_of(method), **marker_style(method))
        for method in methods
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=6 if len(methods) <= 6 else 5)
