"""The figures of the report. Pure functions of the rows; methods differ by marker as well as by colour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from counterplan.experiments.budgets import CpuUsage, cpu_usage, distillation_queries, query_usage
from counterplan.experiments.drawing import (
    INK,
    PUBLISHED,
    WIDE,
    DotPlot,
    FigureSpec,
    ReportFigure,
    dot_plot,
    error_bars,
    interval_note,
    legend_above,
    limits,
    mark_cut_ends,
    marker_style,
    method_legend,
    panels,
    rendered,
    report_style,
)
from counterplan.experiments.evaluation import HOLDS, OUTCOMES
from counterplan.experiments.methods import (
    BLUE,
    GREEN,
    ORANGE,
    OWN_MODELS,
    PAPER_MODELS,
    PURPLE,
    SKY,
    VERMILLION,
    in_order,
    label_of,
    method_named,
)
from counterplan.experiments.published import IN_COMMON, SIMILARITY, TRACES, published_of, published_totals
from counterplan.experiments.rows import ExperimentRows
from counterplan.experiments.statistics import (
    Interval,
    MethodStats,
    benchmarks_in,
    by_protected_group,
    curve,
    intersection,
    similarity,
    summary,
)
from counterplan.experiments.survival_figures import SURVIVAL
from counterplan.experiments.tables import BALANCED_PROGRAM, PAIRS
from counterplan.figures.style import GREY, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BENCHMARKS = {
    "german": (BLUE, "o"),
    "adult": (VERMILLION, "s"),
    "syn": (GREEN, "^"),
    "syn_long": (PURPLE, "D"),
    "taiwan": (ORANGE, "v"),
}
_EXTERNAL = ((SKY, "P"), (GREY, "X"))
"""Colours and markers of external benchmarks."""


def all_figures(rows: ExperimentRows) -> dict[str, ReportFigure]:
    """Every figure with rows by its key."""
    with report_style():
        made = []
        for spec in FIGURES if len(rows.survival) else FIGURES[:-1]:
            figure = spec.draw(rows)
            mark_cut_ends(figure)
            made.append(rendered(spec.key, spec.title, caption_of(spec, rows, figure), figure))
    return {figure.key: figure for figure in made}


def caption_of(spec: FigureSpec, rows: ExperimentRows, figure: Figure) -> str:
    """The caption of a figure that was drawn."""
    return spec.caption.format(intervals=interval_note(rows, figure))


def _published(name: str, methods: Sequence[str], measure: str) -> dict[str, float]:
    values = {method: getattr(published_of(name, method), measure) for method in methods}
    return {method: value for method, value in values.items() if value is not None}


def _measure(stats: Mapping[tuple[str, str], MethodStats], name: str, measure: str) -> dict[str, Interval]:
    """A measure of every method on one benchmark."""
    return {method: getattr(one, measure) for (benchmark, method), one in stats.items() if benchmark == name}


def _everybody(rows: ExperimentRows) -> Figure:
    stats = summary(rows)
    methods = in_order(method for _, method in stats)
    lines = (("success", "success"), ("ratio", "cost ratio"), ("length", "steps"), ("cost", "cost"))
    figure, names, axes = panels(rows, 2.2 * len(lines) + 0.3, len(lines))
    compared = False
    for line, (measure, label) in zip(axes, lines, strict=True):
        for axis, name in zip(line, names, strict=True):
            published = _published(name, methods, measure) if measure in ("success", "cost") else {}
            intervals = _measure(stats, name, measure)
            compared |= bool(published)
            dot_plot(axis, DotPlot(methods, label, axis is line[0], intervals, published, measure))
            if measure == "success":
                axis.set_xlim(-0.04, 1.04)
    _published_legend(figure, compared)
    return figure


def _published_legend(figure: Figure, compared: bool) -> None:
    """Explain published figures above all panels, where any are compared with."""
    if compared:
        legend_above(figure, [PUBLISHED], hollow=[PUBLISHED[0]])


def _in_common(rows: ExperimentRows) -> Figure:
    """Above, the paper's four models (and the optimum) on the people solved by all of them; below, our methods."""
    lines = (("length", "steps"), ("cost", "cost"), ("ratio", "cost ratio"))
    figure, names, axes = panels(rows, 2 * (1.3 * len(lines) + 0.2), 2 * len(lines))
    for half, models in zip((axes[: len(lines)], axes[len(lines) :]), (PAPER_MODELS, OWN_MODELS), strict=True):
        stats = summary(rows, intersection(rows.results, models))
        methods = [method for method in in_order(rows.results["method"]) if method in (*models, "exact")]
        for line, (measure, label) in zip(half, lines, strict=True):
            for axis, name in zip(line, names, strict=True):
                known = IN_COMMON.get(name, {})
                papers = {method: method_named(method).paper or "" for method in methods}
                published = {
                    method: float(getattr(known[paper], measure))
                    for method, paper in papers.items()
                    if paper in known and measure != "ratio"
                }
                intervals = _measure(stats, name, measure)
                dot_plot(axis, DotPlot(methods, label, axis is line[0], intervals, published, measure))
        for axis, name in zip(half[0], names, strict=True):
            people = max((one.solved for (benchmark, _), one in stats.items() if benchmark == name), default=0)
            axis.set_title(f"{name}: {people:,} people")
    _published_legend(figure, any(name in IN_COMMON for name in names))
    return figure


_PHASES = {
    "training": ("^", BLUE),
    "distillation": ("s", GREEN),
    "trial": ("D", SKY),
    "total": ("o", VERMILLION),
}


def _queries(rows: ExperimentRows) -> Figure:
    usage = query_usage(rows)
    methods = in_order(method for _, method in usage)
    figure, names, axes = panels(rows, 3.2, sharex=True)
    largest = 1.0
    for axis, name in zip(axes[0], names, strict=True):
        dot_plot(axis, DotPlot(methods, "queries", axis is axes[0][0]))
        for place, method in enumerate(methods):
            published = published_totals(name, method)
            for phase, (marker, colour) in _PHASES.items():
                mean = getattr(usage[name, method], phase).mean if (name, method) in usage else 0.0
                if published.get(phase):
                    axis.plot([published[phase]], [place], marker, color=GREY, markerfacecolor="none", markersize=7)
                if mean > 0:
                    axis.plot([mean], [place], marker, color=colour, markersize=4.5)
                largest = np.nanmax([largest, mean, published.get(phase, 0)])
        axis.set_xscale("log")
        axis.minorticks_off()
    axes[0][0].set_xlim(6, 2 * largest)
    labels = {"total": "prediction, all people", "trial": "trial of the program"}
    entries = [(labels.get(phase, phase), marker, colour) for phase, (marker, colour) in _PHASES.items()]
    legend_above(figure, [*entries, PUBLISHED], hollow=[PUBLISHED[0]])
    return figure


_PROGRAM = {
    "success": "success",
    "rule_length": "features in a rule",
    "queries": "queries of distillation",
    "leaves": "leaves in the program",
    "cost": "cost",
    "ratio": "cost ratio",
    "length": "steps",
}


def _traces(rows: ExperimentRows) -> Figure:
    names, numbers = benchmarks_in(rows), sorted({value for _, value in curve(rows, "paper_program", "traces")})
    external = cycle(_EXTERNAL)
    styles = {name: BENCHMARKS[name] if name in BENCHMARKS else next(external) for name in names}
    figure = new_figure(WIDE, 4.3)
    axes = list(figure.subplots(2, 4, sharex=True).ravel())
    _line_legend(axes.pop(3))
    for axis, (measure, label) in zip(axes, _PROGRAM.items(), strict=True):
        shown: list[Interval] = []
        levels: list[float] = []
        for place, (name, (values, level)) in enumerate(_by_traces(rows, measure).items()):
            colour, marker = styles[name]
            shown += values.values()
            levels.append(level)
            x = [value * _SHIFT ** (place - (len(names) - 1) / 2) for value in values]
            bars = np.nan_to_num([error_bars(value, measure) for value in values.values()]).reshape(-1, 2)
            axis.errorbar(
                x,
                [value.mean for value in values.values()],
                yerr=bars.T if bars.any() else None,
                color=colour,
                marker=marker,
                markersize=3.5,
                elinewidth=0.5,
            )
            if not np.isnan(level):
                axis.axhline(level, color=colour, **_BALANCED_LINE)
            published = _published_by_traces(name, measure)
            levels += published.values()
            axis.plot(list(published), list(published.values()), color=colour, marker=marker, **_PUBLISHED_LINE)
        axis.set_title(label)
        axis.set_ylim(*limits(shown, levels, measure))
        axis.set_xscale("log")
        axis.minorticks_off()
        ticks = [value for value in (100, 300, 700) if value in numbers] or numbers
        axis.set_xticks(ticks, [f"{value:,}" for value in ticks])
        axis.grid()
    axes[0].set_ylim(-0.03, 1.03)
    for axis in axes[3:]:
        axis.set_xlabel("traces")
    legend_above(figure, [(name, marker, colour) for name, (colour, marker) in styles.items()])
    return figure


_PUBLISHED_LINE: dict[str, Any] = {"linestyle": ":", "linewidth": 0.9, "markersize": 3, "markerfacecolor": "none"}
_BALANCED_LINE: dict[str, Any] = {"linestyle": (0, (4, 2)), "linewidth": 0.9}
_SHIFT = 1.02
"""Ratio of the places of two benchmarks at the same number of traces, so that their error bars do not coincide."""


def _line_legend(axis: Axes) -> None:
    """The kinds of lines of the figure of traces, in place of a panel."""
    from matplotlib.lines import Line2D

    lines: dict[str, dict[str, Any]] = {
        "M_prog": {"marker": "o", "markersize": 3.5},
        "published": {"marker": "o"} | _PUBLISHED_LINE,
        BALANCED_PROGRAM: _BALANCED_LINE,
    }
    axis.set_axis_off()
    axis.legend(
        handles=[Line2D([], [], color=INK, label=label, **style) for label, style in lines.items()], loc="center"
    )


def _published_by_traces(name: str, measure: str) -> dict[int, float]:
    """A measure of the published programs by number of traces."""
    points = TRACES.get(name, {})
    known = measure in ("success", "rule_length", "length")
    return {number: float(getattr(point, measure)) for number, point in points.items()} if known else {}


def _by_traces(rows: ExperimentRows, measure: str) -> dict[str, tuple[dict[int, Interval], float]]:
    """By benchmark: a measure of the paper's construction by number of traces, and of the balanced program."""
    found: dict[str, tuple[dict[int, Interval], float]] = {}
    points, stats = curve(rows, "paper_program", "traces"), summary(rows)
    for name in benchmarks_in(rows):
        if measure == "leaves":
            programs = rows.programs[rows.programs["benchmark"] == name]
            by_number = programs[programs["traces"].notna()].groupby("traces")["leaves"]
            balanced = programs[programs["method"] == "program"]["leaves"].astype(float)
            values = {int(str(value)): Interval.of(part) for value, part in by_number}
            found[name] = values, float(balanced.mean())
        elif measure == "queries":
            sent = distillation_queries(rows)
            found[name] = {value: one for (benchmark, value), one in sent.items() if benchmark == name}, np.nan
        else:
            values = {value: getattr(one, measure) for (benchmark, value), one in points.items() if benchmark == name}
            level = getattr(stats[name, "program"], measure).mean if (name, "program") in stats else np.nan
            found[name] = values, level
    return found


_PAIR_STYLES = ((GREEN, "v", True), (GREEN, "^", False), (VERMILLION, "o", False))


def _similarity(rows: ExperimentRows) -> Figure:
    names = benchmarks_in(rows)
    figure = new_figure(WIDE, 2.5)
    axis = figure.subplots()
    for step, (pair, (colour, marker, hollow)) in enumerate(zip(PAIRS, _PAIR_STYLES, strict=True)):
        found = similarity(rows.results, *pair)
        for place, name in enumerate(names):
            interval = Interval.of(found[found["benchmark"] == name]["alike"])
            x, face = place + (step - 1) * 0.13, "none" if hollow else colour
            if interval.half > 0:
                axis.errorbar([x], [interval.mean], yerr=[interval.half], color=colour, elinewidth=1, capsize=1.5)
            label = f"{label_of(pair[0])} – {label_of(pair[1])}" if place == 0 else None
            axis.plot([x], [interval.mean], marker, color=colour, markerfacecolor=face, label=label)
    published = [SIMILARITY.get(name, np.nan) for name in names]
    axis.plot(range(len(names)), published, "o", color=GREY, markerfacecolor="none", markersize=7, label="published")
    axis.set_xticks(range(len(names)), names)
    axis.set_ylim(0, 1.04)
    axis.set_ylabel("similarity")
    axis.grid(axis="y")
    figure.legend(loc="outside upper center", ncols=3)
    return figure


_AMORTIZED = ("paper_search", "evolution", "evolution_small", "exact", "search", "guided", "program")
"""The methods whose total time is drawn against the number of people."""


def _time(rows: ExperimentRows) -> Figure:
    usage = cpu_usage(rows)
    methods = in_order(method for _, method in usage)
    figure, names, axes = panels(rows, 4.9, 2)
    for column, name in enumerate(names):
        top, bottom = axes[0][column], axes[1][column]
        own = {method: one for (benchmark, method), one in usage.items() if benchmark == name}
        intervals = {method: one.person.times(1_000) for method, one in own.items()}
        dot_plot(top, DotPlot(methods, "ms per person", column == 0, intervals))
        top.set_xscale("log")
        ends = [1_000 * one.person.mean for one in own.values() if one.person.mean > 0]
        top.set_xlim(min(ends, default=0.1) / 2, 2 * max(ends, default=1))
        _total_time(bottom, own)
        for axis in (top, bottom):
            axis.minorticks_off()
    axes[1][0].set_ylabel("s, with learning")
    method_legend(figure, in_order(set(methods) & set(_AMORTIZED)))
    return figure


def _total_time(axis: Axes, usage: Mapping[str, CpuUsage]) -> None:
    """Learning and planning time against the number of people."""
    people = np.geomspace(1, 1e5, 40)
    for method in in_order(set(usage) & set(_AMORTIZED)):
        total = np.nan_to_num(usage[method].learning.mean) + people * usage[method].person.mean
        axis.plot(people, total, **marker_style(method) | {"markevery": 8, "markersize": 3.5})
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel("people planned for")
    axis.grid()


_BY_BUDGET = ("guided", "search", "exact")
"""The methods that are drawn as lines, by query budget."""


def _trade_off(rows: ExperimentRows) -> Figure:
    stats = summary(rows)
    figure, names, axes = panels(rows, 4.4, 2, sharex=True)
    curves = {method: curve(rows, method, "budget") for method in _BY_BUDGET}
    for column, name in enumerate(names):
        both = tuple(zip(axes[:, column], ("success", "ratio"), strict=True))
        for method, points in curves.items():
            own = [point for (benchmark, _), point in points.items() if benchmark == name]
            x = [point.queries.mean for point in own]
            for axis, measure in both:
                heights = [getattr(point, measure).mean for point in own]
                axis.plot(x, heights, **marker_style(method) | {"markersize": 2.5, "linewidth": 1, "alpha": 0.8})
        for method in in_order(method for benchmark, method in stats if benchmark == name):
            one = stats[name, method]
            for axis, measure in both:
                height = getattr(one, measure).mean
                axis.plot([one.queries.mean], [height], linestyle="", **marker_style(method) | {"markersize": 6})
        success, ratio = axes[:, column]
        ratio.axhline(1, color=GREY, linewidth=0.8, zorder=0)
        success.set_ylim(-0.03, 1.04)
        ratio.set_ylim(0.97, max(1.15, ratio.get_ylim()[1]))
        ratio.set_xscale("symlog", linthresh=1, linscale=0.6)
        ratio.set_xlim(-0.15, 2 * np.nanmax([1.0, *(one.queries.mean for one in stats.values())]))
        ratio.set_xlabel("queries per person")
        ratio.set_xticks([0, 1, 10, 100, 1_000, 10_000], ["0", "1", "10", "100", "1k", "10k"])
        for axis in (success, ratio):
            axis.minorticks_off()
            axis.grid()
    axes[0][0].set_ylabel("success")
    axes[1][0].set_ylabel("cost ratio")
    method_legend(figure, in_order(method for _, method in stats), _BY_BUDGET)
    return figure


_OUTCOME_STYLES = {
    "refused": (VERMILLION, ""),
    "illegal": (PURPLE, "xx"),
    "too_long": (BLUE, "++"),
    "no_plan": (ORANGE, "//"),
    "proved_none": (SKY, ".."),
    "unreachable": (GREY, "\\\\"),
}


def _failures(rows: ExperimentRows) -> Figure:
    from matplotlib.patches import Patch

    methods = in_order(rows.results["method"])
    figure, names, axes = panels(rows, 2.8)
    used: list[str] = []
    for axis, name in zip(axes[0], names, strict=True):
        dot_plot(axis, DotPlot(methods, "% of people", axis is axes[0][0]))
        results = rows.results[rows.results["benchmark"] == name]
        for place, method in enumerate(methods):
            own = results[results["method"] == method]
            outcome = own["outcome"].where(own["reachable"] != "no", "unreachable")
            start = 0.0
            for kind, (colour, hatch) in _OUTCOME_STYLES.items():
                share = 100 * float((outcome == kind).mean())
                if share > 0:
                    used += [] if kind in used else [kind]
                    axis.barh(place, share, 0.7, start, color=colour, hatch=hatch, edgecolor="white", linewidth=0.3)
                    start += share
        axis.set_xlim(0, None)
    labels = {"unreachable": "provably infeasible"} | {kind: OUTCOMES[kind] for kind in OUTCOMES if kind != HOLDS}
    handles = [
        Patch(facecolor=colour, hatch=hatch, edgecolor="white", label=labels[kind])
        for kind, (colour, hatch) in _OUTCOME_STYLES.items()
        if kind in used
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    return figure


_GROUP_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_GROUP_COLOURS = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, GREY, INK)


def _groups(rows: ExperimentRows) -> Figure:
    frame = by_protected_group(rows)
    pairs = list(dict.fromkeys(zip(frame["benchmark"], frame["feature"], strict=True)))
    methods = [method for method in in_order(frame["method"]) if method != "exact"]
    columns = min(4, max(1, len(pairs)))
    lines = max(1, -(-len(pairs) // columns))
    figure = new_figure(WIDE, 2.9 * lines + 0.2)
    axes = figure.subplots(lines, columns, squeeze=False).ravel()
    for number, (axis, (name, feature)) in enumerate(zip(axes, pairs, strict=False)):
        part = frame[(frame["benchmark"] == name) & (frame["feature"] == feature)]
        dot_plot(axis, DotPlot(methods, "success", number % columns == 0))
        sizes = part.groupby("group")["person"].size().sort_values(ascending=False)
        for place, group in enumerate(sizes.index[:6]):
            members = part[part["group"] == group]
            style: dict[str, Any] = {"marker": _GROUP_MARKERS[place], "color": _GROUP_COLOURS[place], "markersize": 4}
            shares = [float(members[members["method"] == method]["success"].mean()) for method in methods]
            axis.plot(shares, range(len(methods)), linestyle="", markerfacecolor="none", label=str(group), **style)
        axis.set_title(f"{name}: {feature}")
        axis.set_xlim(-0.04, 1.04)
        axis.legend(
            loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2, handletextpad=0.1, columnspacing=0.8, fontsize=6.5
        )
    for axis in axes[len(pairs) :]:
        axis.set_visible(False)
    return figure


FIGURES: tuple[FigureSpec, ...] = (
    FigureSpec(
        "everybody",
        "All people",
        "{intervals} They end at the bounds of a measure: 0 and 1 for success, 1 for the cost ratio. Published (grey "
        "circles): the paper’s figures on its own versions of the problems; for exact, the optimum of those.",
        _everybody,
    ),
    FigureSpec(
        "in_common",
        "People solved by every method",
        "Steps and cost on the same people. Above: those solved by the paper’s four models, as in the paper, with the "
        "optimum of these people (exact) and its published figures (grey circles; other problems and people). Below: "
        "those solved by the methods of this library. {intervals}",
        _in_common,
    ),
    FigureSpec(
        "questions",
        "Queries to the model in total",
        "For all test people, training and distillation apart, on a log scale; fewer than six are not drawn. Hollow "
        "grey marks: as the paper plots them, for 100 people (34 of german), its own problems, and every candidate of "
        "M_cscf.",
        _queries,
    ),
    FigureSpec(
        "traces",
        "Programs by number of traces",
        "The paper’s construction (M_prog); dotted, hollow: the published programs; dashed: the method “program” "
        "(prefer='balanced'). {intervals}",
        _traces,
    ),
    FigureSpec(
        "similarity",
        "Similarity of plans",
        "difflib’s ratio of plans as strings of actions. {intervals}",
        _similarity,
    ),
    FigureSpec(
        "time",
        "Time",
        "Above: CPU time per person, all people in one batch. {intervals} Below: by number of people, with learning.",
        _time,
    ),
    FigureSpec(
        "trade_off",
        "Cost against queries",
        "Large markers: each method by default. Lines: guided, search and exact with other query budgets (guided with "
        "large ones also with a smaller relative gain). The cost ratio is over the people solved by a method, so "
        "that it has to be read with success; it is at least 1. Left is fewer queries, down is lower cost.",
        _trade_off,
    ),
    FigureSpec("failures", "Failures", "People without a successful plan, by outcome.", _failures),
    FigureSpec(
        "groups",
        "By protected group",
        "Success of each method by group (the six largest of each feature), of people without a proof of "
        "infeasibility.",
        _groups,
    ),
    SURVIVAL,
)
"""In the order of the report; the last one is left out if no plans were judged by retrained models."""
