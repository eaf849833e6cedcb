"""The figures of the report: pure functions of the rows, drawn for print, told apart by marker as well as by colour."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from counterplan.experiments.budgets import questions_spent, seconds_spent
from counterplan.experiments.evaluation import HOLDS, OUTCOMES
from counterplan.experiments.methods import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILLION, known_as, label_of
from counterplan.experiments.published import SIMILARITY
from counterplan.experiments.rows import Rows
from counterplan.experiments.statistics import Curve, Interval, Line, Summary, curve, intersection, similarity, summary
from counterplan.experiments.tables import PAIRS, benchmarks_in, compared, grouped, methods_in, published_of
from counterplan.figures.style import GREY, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = "#1a1b20"
"""The colour of text; on a page it becomes that of the page."""
_HAIR = 1e-3
"""Of a frame: what may stick out of it unseen."""
WIDE = 7.2
"""Inches: both columns of a printed page."""
BENCHMARKS = {"german": (BLUE, "o"), "adult": (VERMILLION, "s"), "syn": (GREEN, "^"), "syn_long": (PURPLE, "D")}
_OTHERS = ((ORANGE, "v"), (SKY, "P"), (GREY, "X"))
"""How benchmarks that others brought are drawn."""
_STYLE: dict[Any, Any] = {
    "font.size": 8, "axes.titlesize": 9, "axes.labelsize": 8, "xtick.labelsize": 7.5, "ytick.labelsize": 7.5,
    "legend.fontsize": 7.5, "text.color": INK, "axes.labelcolor": INK, "xtick.color": INK, "ytick.color": INK,
    "axes.edgecolor": INK, "axes.linewidth": 0.6, "axes.spines.top": False, "axes.spines.right": False,
    "xtick.major.width": 0.6, "ytick.major.width": 0.6, "grid.linewidth": 0.5, "grid.alpha": 0.35,
    "lines.linewidth": 1.2, "lines.markersize": 4.5, "legend.frameon": False, "svg.fonttype": "none",
    "svg.hashsalt": "counterplan", "font.family": "sans-serif", "hatch.linewidth": 0.5,
}  # fmt: skip


@dataclass(frozen=True)
class Drawing:
    """A figure as files, and what it shows."""

    key: str
    title: str
    caption: str
    png: bytes
    svg: str


def all_figures(rows: Rows) -> dict[str, Drawing]:
    """Every figure by its key."""
    with _style():
        made = []
        for key, title, caption, draw in _FIGURES:
            figure = draw(rows)
            made.append(_drawn(key, title, _told(caption, rows, figure), figure))
    return {drawing.key: drawing for drawing in made}


def _told(caption: str, rows: Rows, figure: Figure) -> str:
    return caption.format(intervals=_intervals(rows, figure))


def _intervals(rows: Rows, figure: Figure) -> str:
    """What is to be said of the intervals in a figure: there are none with one seed, and some may be cut off."""
    if rows.results["seed"].nunique() == 1:
        return "One seed, so there are no intervals."
    return f"Means over seeds with 95 % intervals{'; some are wider than the frame' if _cut_off(figure) else ''}."


def _cut_off(figure: Figure) -> bool:
    """Whether an error bar goes beyond the frame."""
    from matplotlib.container import ErrorbarContainer

    for axis in figure.axes:
        for bars in axis.containers:
            if isinstance(bars, ErrorbarContainer):
                ends = np.concatenate([part for lines in bars.lines[2] for part in lines.get_segments()])
                shown = axis.transAxes.inverted().transform(axis.transData.transform(ends))
                if ((shown < -_HAIR) | (shown > 1 + _HAIR)).any():
                    return True
    return False


@contextmanager
def _style() -> Iterator[None]:
    new_figure()  # says so if matplotlib is not there
    import matplotlib

    with matplotlib.rc_context(_STYLE):
        yield


def _drawn(key: str, title: str, caption: str, figure: Figure) -> Drawing:
    png, svg = io.BytesIO(), io.StringIO()
    figure.savefig(png, format="png", dpi=200)
    figure.set_layout_engine("none")  # as it is now: working it out again takes long
    figure.savefig(svg, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return Drawing(key, title, caption, png.getvalue(), svg.getvalue())


# Parts


def _panels(rows: Rows, height: float, lines: int = 1, **how: Any) -> tuple[Figure, list[str], Any]:
    """A figure with a column for each benchmark and so many lines: axes [lines, columns]."""
    names = benchmarks_in(rows)
    figure = new_figure(WIDE, height)
    axes = figure.subplots(lines, len(names), squeeze=False, **how)
    for axis, name in zip(axes[0], names, strict=True):
        axis.set_title(name)
    return figure, names, axes


def _look(method: str) -> dict[str, Any]:
    """How a method is drawn."""
    known = known_as(method)
    colour = known.colour or INK
    return {
        "color": colour, "marker": known.marker, "markeredgecolor": colour,
        "markerfacecolor": "none" if known.hollow else colour,
    }  # fmt: skip


def _dots(
    axis: Axes, methods: Sequence[str], found: dict[str, Interval], label: str, first: bool, published: dict[str, float]
) -> None:
    """A line for each method with its mean and interval; hollow grey circles are published figures."""
    for place, method in enumerate(methods):
        if method in published:
            axis.plot([published[method]], [place], "o", color=GREY, markerfacecolor="none", markersize=6.5, zorder=1)
        interval = found.get(method)
        if interval is None or np.isnan(interval.mean):
            continue
        look = _look(method)
        if interval.half > 0:
            axis.errorbar(
                [interval.mean], [place], xerr=[interval.half], color=look["color"], elinewidth=1, capsize=1.5
            )
        axis.plot([interval.mean], [place], linestyle="", **look)
    if shown := [found[method] for method in methods if method in found]:
        axis.set_xlim(*_frame(shown, list(published.values())))
    axis.set_yticks(range(len(methods)), [label_of(method) for method in methods] if first else [])
    axis.set_ylim(len(methods) - 0.5, -0.5)
    axis.set_xlabel(label)
    axis.grid(axis="both")
    axis.set_axisbelow(True)


def _frame(shown: Iterable[Interval], others: Iterable[float] = ()) -> tuple[float, float]:
    """The ends of an axis that shows all means, and of wide intervals only a part."""
    known = [interval for interval in shown if not np.isnan(interval.mean)]
    means = [*(interval.mean for interval in known), *(value for value in others if not np.isnan(value))]
    if not means:
        return 0.0, 1.0
    low, high = min(means), max(means)
    room = 0.3 * (high - low) or max(0.1 * abs(high), 0.1)
    ends = [(interval.mean - half, interval.mean + half) for interval in known if (half := interval.half) > 0]
    low = max(low - room, min([low, *(end[0] for end in ends)]))
    high = min(high + room, max([high, *(end[1] for end in ends)]))
    margin = 0.06 * (high - low) or room
    return low - margin, high + margin


def _published(name: str, methods: Sequence[str], measure: str) -> dict[str, float]:
    values = {method: getattr(published_of(name, method), measure) for method in methods}
    return {method: value for method, value in values.items() if value is not None}


def _of(found: Mapping[tuple[str, str], Line], name: str, measure: str) -> dict[str, Interval]:
    """A measure of every method on one benchmark."""
    return {method: getattr(line, measure) for (benchmark, method), line in found.items() if benchmark == name}


# Figures


def _everybody(rows: Rows) -> Figure:
    found = summary(rows)
    methods = methods_in(method for _, method in found)
    lines = (("success", "success"), ("ratio", "effort ÷ least"), ("length", "steps"), ("cost", "effort"))
    figure, names, axes = _panels(rows, 1.9 * len(lines) + 0.3, len(lines))
    for line, (measure, label) in zip(axes, lines, strict=True):
        for axis, name in zip(line, names, strict=True):
            published = _published(name, methods, measure) if measure in ("success", "cost") else {}
            _dots(axis, methods, _of(found, name, measure), label, axis is line[0], published)
            if measure == "success":
                axis.set_xlim(-0.04, 1.04)
    return figure


def _in_common(rows: Rows) -> Figure:
    found = summary(rows, intersection(rows.results, compared()))
    methods = [method for method in methods_in(rows.results["method"]) if method in compared()]
    lines = (("length", "steps"), ("cost", "effort"), ("ratio", "effort ÷ least"))
    figure, names, axes = _panels(rows, 1.7 * len(lines) + 0.3, len(lines))
    for line, (measure, label) in zip(axes, lines, strict=True):
        for axis, name in zip(line, names, strict=True):
            _dots(axis, methods, _of(found, name, measure), label, axis is line[0], {})
    for axis, name in zip(axes[0], names, strict=True):
        people = found[name, "exact"].solved if (name, "exact") in found else 0
        axis.set_title(f"{name}: {people:,} people")
    return figure


_PHASES = {
    "training": ("^", BLUE), "distillation": ("s", GREEN), "trial": ("D", SKY), "prediction": ("o", VERMILLION),
}  # fmt: skip


def _questions(rows: Rows) -> Figure:
    found = questions_spent(rows)
    methods = methods_in(method for _, method in found)
    figure, names, axes = _panels(rows, 2.7, sharex=True)
    for axis, name in zip(axes[0], names, strict=True):
        _dots(axis, methods, {}, "rows sent", axis is axes[0][0], {})
        for phase, (marker, colour) in _PHASES.items():
            for place, method in enumerate(methods):
                mean = getattr(found[name, method], phase).mean if (name, method) in found else 0.0
                if mean > 0:
                    axis.plot([mean], [place], marker, color=colour, markersize=4.5)
        axis.set_xscale("log")
        axis.minorticks_off()
    means = [getattr(spent, phase).mean for spent in found.values() for phase in _PHASES]
    axes[0][0].set_xlim(0.6, 2 * np.nanmax([*means, 1.0]))
    words = {"prediction": "prediction, a person", "trial": "trial of the program"}
    _legend(figure, [(words.get(phase, phase), marker, colour) for phase, (marker, colour) in _PHASES.items()])
    return figure


def _legend(figure: Figure, entries: Sequence[tuple[str, str, str]]) -> None:
    """A legend above everything: words, marker, colour."""
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], marker=marker, color=colour, linestyle="", label=words) for words, marker, colour in entries
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles))


_PROGRAM = {
    "success": "success", "rule_length": "features in a rule", "leaves": "leaves in the program", "cost": "effort",
    "ratio": "effort ÷ least", "length": "steps",
}  # fmt: skip


def _traces(rows: Rows) -> Figure:
    names, points, usual = benchmarks_in(rows), curve(rows, "paper_program", "traces"), summary(rows)
    others = cycle(_OTHERS)
    looks = {name: BENCHMARKS[name] if name in BENCHMARKS else next(others) for name in names}
    figure = new_figure(WIDE, 4.3)
    axes = figure.subplots(2, 3, sharex=True).ravel()
    numbers = sorted({value for _, value in points})
    for axis, (measure, label) in zip(axes, _PROGRAM.items(), strict=True):
        seen: list[Interval] = []
        levels: list[float] = []
        for name in names:
            colour, marker = looks[name]
            values, level = _against_traces(rows, points, usual, name, measure)
            seen += values.values()
            levels.append(level)
            x, y = list(values), np.array([value.mean for value in values.values()])
            half = np.nan_to_num([value.half for value in values.values()])
            axis.plot(x, y, color=colour, marker=marker, markersize=3.5)
            axis.fill_between(x, y - half, y + half, color=colour, alpha=0.12, linewidth=0)
            axis.axhline(level, color=colour, linestyle=(0, (4, 2)), linewidth=0.9)
        axis.set_title(label)
        axis.set_ylim(*_frame(seen, levels))
        axis.set_xscale("log")
        axis.minorticks_off()
        ticks = [value for value in (100, 300, 700, 2_000, 4_000) if value in numbers] or numbers
        axis.set_xticks(ticks, [f"{value:,}" for value in ticks])
        axis.grid()
    axes[0].set_ylim(-0.03, 1.03)
    for axis in axes[3:]:
        axis.set_xlabel("traces")
    _legend(figure, [(name, marker, colour) for name, (colour, marker) in looks.items()])
    return figure


def _against_traces(
    rows: Rows, points: Curve, usual: Summary, name: str, measure: str
) -> tuple[dict[int, Interval], float]:
    """A measure of the paper's programs by their number of traces, and of the default program."""
    if measure == "leaves":
        mine = rows.programs[rows.programs["benchmark"] == name]
        made = mine[mine["traces"].notna()].groupby("traces")["leaves"]
        ours = mine[mine["method"] == "program"]["leaves"].astype(float)
        return {int(str(value)): Interval.of(part) for value, part in made}, float(ours.mean())
    values = {value: getattr(line, measure) for (benchmark, value), line in points.items() if benchmark == name}
    return values, getattr(usual[name, "program"], measure).mean if (name, "program") in usual else np.nan


def _similarity(rows: Rows) -> Figure:
    names = benchmarks_in(rows)
    figure = new_figure(WIDE, 2.5)
    axis = figure.subplots()
    looks = dict(zip(PAIRS, ((GREEN, "^", False), (GREEN, "v", True), (PURPLE, "P", True), (VERMILLION, "o", False)),
                     strict=True))  # fmt: skip
    for step, (pair, (colour, marker, hollow)) in enumerate(looks.items()):
        found = similarity(rows.results, *pair)
        for place, name in enumerate(names):
            interval = Interval.of(found[found["benchmark"] == name]["alike"])
            where, face = place + (step - 1.5) * 0.13, "none" if hollow else colour
            if interval.half > 0:
                axis.errorbar([where], [interval.mean], yerr=[interval.half], color=colour, elinewidth=1, capsize=1.5)
            words = f"{label_of(pair[0])} – {label_of(pair[1])}" if place == 0 else None
            axis.plot([where], [interval.mean], marker, color=colour, markerfacecolor=face, label=words)
    published = [SIMILARITY.get(name, np.nan) for name in names]
    axis.plot(range(len(names)), published, "o", color=GREY, markerfacecolor="none", markersize=7, label="published")
    axis.set_xticks(range(len(names)), names)
    axis.set_ylim(0, 1.04)
    axis.set_ylabel("similarity")
    axis.grid(axis="y")
    figure.legend(loc="outside upper center", ncols=3)
    return figure


_LEARNED_OR_NOT = ("evolution", "evolution_small", "exact", "search", "guided", "program")


def _time(rows: Rows) -> Figure:
    found = seconds_spent(rows)
    methods = methods_in(method for _, method in found)
    figure, names, axes = _panels(rows, 4.9, 2)
    many = np.geomspace(1, 1e5, 40)
    for column, name in enumerate(names):
        top, bottom = axes[0][column], axes[1][column]
        mine = {method: spent for (benchmark, method), spent in found.items() if benchmark == name}
        _dots(top, methods, {method: spent.person.times(1_000) for method, spent in mine.items()}, "ms a person",
              column == 0, {})  # fmt: skip
        top.set_xscale("log")
        ends = [1_000 * spent.person.mean for spent in mine.values() if spent.person.mean > 0]
        top.set_xlim(min(ends, default=0.1) / 2, 2 * max(ends, default=1))
        for method in methods_in(set(mine) & set(_LEARNED_OR_NOT)):
            total = np.nan_to_num(mine[method].learning.mean) + many * mine[method].person.mean
            bottom.plot(many, total, **_look(method) | {"markevery": 8, "markersize": 3.5})
        bottom.set_xscale("log")
        bottom.set_yscale("log")
        bottom.set_xlabel("people planned for")
        bottom.grid()
        for axis in (top, bottom):
            axis.minorticks_off()
    axes[1][0].set_ylabel("s, learning included")
    _method_legend(figure, methods_in(set(methods) & set(_LEARNED_OR_NOT)))
    return figure


def _trade_off(rows: Rows) -> Figure:
    found = summary(rows)
    figure, names, axes = _panels(rows, 4.4, 2, sharex=True)
    curves = {method: curve(rows, method, "budget") for method in ("guided", "search", "exact")}
    for column, name in enumerate(names):
        both = tuple(zip(axes[:, column], ("success", "ratio"), strict=True))
        for method, points in curves.items():
            mine = [line for (benchmark, _), line in points.items() if benchmark == name]
            asked = [line.questions.mean for line in mine]
            for axis, measure in both:
                heights = [getattr(line, measure).mean for line in mine]
                axis.plot(asked, heights, **_look(method) | {"markersize": 2.5, "linewidth": 1, "alpha": 0.8})
        for method in methods_in(method for benchmark, method in found if benchmark == name):
            line = found[name, method]
            for axis, measure in both:
                height = getattr(line, measure).mean
                axis.plot([line.questions.mean], [height], linestyle="", **_look(method) | {"markersize": 6})
        success, ratio = axes[:, column]
        ratio.axhline(1, color=GREY, linewidth=0.8, zorder=0)
        success.set_ylim(-0.03, 1.04)
        ratio.set_ylim(0.97, max(1.15, ratio.get_ylim()[1]))
        ratio.set_xscale("symlog", linthresh=1, linscale=0.6)
        ratio.set_xlim(-0.15, 2 * np.nanmax([1.0, *(line.questions.mean for line in found.values())]))
        ratio.set_xlabel("questions a person")
        ratio.set_xticks([0, 1, 10, 100, 1_000, 10_000], ["0", "1", "10", "100", "1k", "10k"])
        for axis in (success, ratio):
            axis.minorticks_off()
            axis.grid()
    axes[0][0].set_ylabel("success")
    axes[1][0].set_ylabel("effort ÷ least")
    _method_legend(figure, methods_in(method for _, method in found))
    return figure


def _method_legend(figure: Figure, methods: Sequence[str]) -> None:
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], linestyle="", label=label_of(method), **_look(method)) for method in methods]
    figure.legend(handles=handles, loc="outside lower center", ncols=6 if len(methods) <= 6 else 5)


_WAYS = {
    "refused": (VERMILLION, ""), "illegal": (PURPLE, "xx"), "too_long": (BLUE, "++"), "no_plan": (ORANGE, "//"),
    "proved_none": (SKY, ".."), "unreachable": (GREY, "\\\\"),
}  # fmt: skip


def _failures(rows: Rows) -> Figure:
    methods = methods_in(rows.results["method"])
    figure, names, axes = _panels(rows, 2.8)
    used: list[str] = []
    for axis, name in zip(axes[0], names, strict=True):
        _dots(axis, methods, {}, "% of people", axis is axes[0][0], {})
        mine = rows.results[rows.results["benchmark"] == name]
        for place, method in enumerate(methods):
            some = mine[mine["method"] == method]
            way = some["outcome"].where(some["reachable"] != "no", "unreachable")
            start = 0.0
            for kind, (colour, hatch) in _WAYS.items():
                share = 100 * float((way == kind).mean())
                if share > 0:
                    used += [] if kind in used else [kind]
                    axis.barh(place, share, 0.7, start, color=colour, hatch=hatch, edgecolor="white", linewidth=0.3)
                    start += share
        axis.set_xlim(0, None)
    from matplotlib.patches import Patch

    words = {"unreachable": "provably unreachable"} | {kind: OUTCOMES[kind] for kind in OUTCOMES if kind != HOLDS}
    handles = [
        Patch(facecolor=_WAYS[kind][0], hatch=_WAYS[kind][1], edgecolor="white", label=words[kind])
        for kind in _WAYS
        if kind in used
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    return figure


_MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
_HUES = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, GREY, INK)


def _groups(rows: Rows) -> Figure:
    frame = grouped(rows)
    pairs = list(dict.fromkeys(zip(frame["benchmark"], frame["feature"], strict=True)))
    methods = [method for method in methods_in(frame["method"]) if method != "exact"]
    columns = min(4, max(1, len(pairs)))
    lines = max(1, -(-len(pairs) // columns))
    figure = new_figure(WIDE, 2.9 * lines + 0.2)
    axes = figure.subplots(lines, columns, squeeze=False).ravel()
    for number, (axis, (name, feature)) in enumerate(zip(axes, pairs, strict=False)):
        part = frame[(frame["benchmark"] == name) & (frame["feature"] == feature)]
        _dots(axis, methods, {}, "success", number % columns == 0, {})
        sizes = part.groupby("group")["person"].size().sort_values(ascending=False)
        for place, group in enumerate(sizes.index[:6]):
            some = part[part["group"] == group]
            share = [float(some[some["method"] == method]["success"].mean()) for method in methods]
            axis.plot(
                share, range(len(methods)), linestyle="", marker=_MARKS[place], color=_HUES[place], markersize=4,
                markerfacecolor="none", label=str(group),
            )  # fmt: skip
        axis.set_title(f"{name}: {feature}")
        axis.set_xlim(-0.04, 1.04)
        axis.legend(
            loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2, handletextpad=0.1, columnspacing=0.8, fontsize=6.5
        )
    for axis in axes[len(pairs) :]:
        axis.set_visible(False)
    return figure


_Entry = tuple[str, str, str, Callable[[Rows], "Figure"]]
_FIGURES: tuple[_Entry, ...] = (
    (
        "everybody", "All people",
        "{intervals} Grey circles: the paper’s figures on its own versions of the problems; of exact, what exact "
        "search finds there.",
        _everybody,
    ),
    ("in_common", "People whom every method solves", "Steps and effort on the same people. {intervals}", _in_common),
    (
        "questions", "Questions to the model", "Rows sent, on a log scale; what is not there is zero.", _questions,
    ),
    (
        "traces", "Programs against the number of traces",
        "The paper’s construction; dashed: the default program. {intervals}", _traces,
    ),
    ("similarity", "How alike plans are", "difflib’s ratio of plans as strings of actions. {intervals}", _similarity),
    (
        "time", "Time",
        "Above: processor time a person, everybody together. {intervals} Below: for so many people, "
        "learning included.", _time,
    ),
    (
        "trade_off", "Effort against questions",
        "Large markers: each method as it is. Lines: guided, search and exact with other limits of questions (guided "
        "with large ones also asks where less is to be saved). Effort is of those whom a method solves, so read it "
        "with success. No plan can cost less than 1; left is cheaper to ask, down is cheaper to do.", _trade_off,
    ),
    ("failures", "What fails", "People without a plan that holds, by how it ended.", _failures),
    (
        "groups", "By protected group",
        "Success of each method by group (the six largest of each feature), of people for whom it is not proved that "
        "there is no plan.", _groups,
    ),
)  # fmt: skip
