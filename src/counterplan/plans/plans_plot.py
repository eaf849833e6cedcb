"""The plans of many people on axes of matplotlib: the distribution of costs, or shares by status."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from counterplan.errors import SettingError
from counterplan.plans.sources import steps_taken
from counterplan.plans.text import Summary
from counterplan.plotting import (
    BLUE,
    EDGE,
    FILLS,
    label_rows,
    line_width,
    new_axes,
    percent_axis,
    plain,
    write_beside,
    write_note,
)
from counterplan.problem.transitions import Floats
from counterplan.problem.values import count, did_you_mean

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from counterplan.plans.plans import Plans

PlotKind = Literal["cost", "status"]
_KINDS = ("cost", "status")
_MOST_BINS = 30
_MOST_LABELS = 12
"""Most edges of bins that are labelled."""
_DECIMALS = 9
"""Sums of costs are compared with the edges of bins after rounding to as many decimals."""
_INSIDE = 0.8
"""Bars of at least this share have their number inside."""


def draw_plans(plans: Plans, ax: Axes | None = None, kind: PlotKind = "cost") -> Axes:
    """Draw the costs of plans, or the shares of people by status."""
    if kind not in _KINDS:
        hint = did_you_mean(kind, _KINDS) if isinstance(kind, str) else ""
        raise SettingError(f"'kind' should be one of {', '.join(map(repr, _KINDS))}, not {kind!r}{hint}")
    ax = new_axes(ax)
    if not len(plans):
        return write_note(ax, "No people, and no plans.")
    return _draw_costs(plans, ax) if kind == "cost" else _draw_statuses(plans, ax)


def _draw_costs(plans: Plans, ax: Axes) -> Axes:
    """The number of people by cost, stacked by the number of steps."""
    from matplotlib.ticker import MaxNLocator

    found = plans.lengths > 0
    counts = f"{Summary.of(plans).counts}."
    if not found.any():
        return write_note(ax, counts)
    costs, lengths = np.round(plans.costs[found], _DECIMALS), plans.lengths[found]
    edges = round_edges(costs, min(_MOST_BINS, math.ceil(math.sqrt(len(costs)))))
    parts = {}
    for steps in range(1, len(FILLS) + 1):
        last = steps == len(FILLS)
        members = lengths >= steps if last else lengths == steps
        if members.any():
            words = count(steps, "step") + (" or more" if last and lengths.max() > steps else "")
            parts[words] = (np.histogram(costs[members], edges)[0], FILLS[steps - 1])
    below = np.zeros(len(edges) - 1)
    for words, (heights, (colour, hatch)) in parts.items():
        style: dict[str, Any] = {"color": colour, "hatch": hatch, "edgecolor": EDGE, "linewidth": 0.6}
        ax.bar(edges[:-1], heights, np.diff(edges), below, align="edge", label=words, **style)
        below = below + heights
    ax.set_xlabel("cost of the plan, with personal weights" if _weighted(plans) else "cost of the plan")
    ax.set_ylabel("number of people")
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlim(edges[0], edges[-1])
    ax.set_xticks(edges[:: math.ceil(len(edges) / _MOST_LABELS)])
    ax.set_ylim(0, 1.08 * below.max())
    ax.set_title(plain(counts, line_width(ax)), loc="left", fontsize="medium")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.legend(frameon=False)
    return ax


def round_edges(values: Floats, number: int) -> Floats:
    """Edges of about `number` bins that contain all values; each bin excludes its upper edge.

    Their distance is 1, 2 or 5 times a power of ten.

    Examples
    --------
    >>> round_edges(np.array([4.0, 9.5, 31.0]), 6).tolist()
    [0.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0]
    """
    low, high = float(values.min()), float(values.max())
    width = (high - low) / number or abs(high) / 10 or 1.0
    power = math.floor(math.log10(width))
    digits = max(0, -power)
    factor = min((1, 2, 5, 10), key=lambda factor: abs(math.log(factor * 10.0**power / width)))
    step = round(factor * 10.0**power, digits)
    first, last = (math.floor(round(value / step, _DECIMALS)) for value in (low, high))
    return np.round(np.arange(first, last + 2) * step, digits)


def _weighted(plans: Plans) -> bool:
    """Whether the weights of some person change a cost."""
    weights = plans.columns.weights
    return weights is not None and bool((weights[steps_taken(plans.columns)] != 1).any())


def _draw_statuses(plans: Plans, ax: Axes) -> Axes:
    """The share of people by status."""
    counts = list(plans.counts.values())
    shares = [number / len(plans) for number in counts]
    label_rows(ax, list(plans.counts))
    ax.barh(range(len(counts)), shares, height=0.5, color=BLUE, edgecolor=EDGE, linewidth=0.8, clip_on=False)
    percent_axis(ax)
    for row, (number, share) in enumerate(zip(counts, shares, strict=True)):
        words = f"{number:,} ({100 * share:.1f} %)"
        write_beside(ax, words, (share, row), inside=share > _INSIDE)
    ax.set_xlabel(f"share of {count(len(plans), 'person', 'people')} (%)")
    return ax
