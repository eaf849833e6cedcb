"""The plans of many people on axes of matplotlib: the distribution of costs, or shares by status."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np

from counterplan.errors import SettingError
from counterplan.plans.html import OUTCOMES
from counterplan.plans.sources import steps_taken
from counterplan.plans.text import Summary
from counterplan.plotting import BLUE, EDGE, FILLS, label_rows, new_axes, percent_axis, plain, write_note
from counterplan.plotting.axes import TITLE_WIDTH
from counterplan.problem.values import did_you_mean

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from counterplan.plans.plans import Plans

PlotKind = Literal["cost", "status"]
_KINDS = ("cost", "status")
_MOST_BINS = 30


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
    costs, lengths = plans.costs[found], plans.lengths[found]
    edges = np.histogram_bin_edges(costs, min(_MOST_BINS, math.ceil(math.sqrt(len(costs)))))
    parts = {}
    for steps in range(1, len(FILLS) + 1):
        last = steps == len(FILLS)
        members = lengths >= steps if last else lengths == steps
        if members.any():
            words = f"{steps} step{'s' * (steps > 1)}" + (" or more" if last and lengths.max() > steps else "")
            parts[words] = (np.histogram(costs[members], edges)[0], FILLS[steps - 1])
    below = np.zeros(len(edges) - 1)
    for words, (heights, (colour, hatch)) in parts.items():
        ax.bar(
            edges[:-1], heights, np.diff(edges), below, align="edge", label=words, color=colour, hatch=hatch,
            edgecolor=EDGE, linewidth=0.6,
        )  # fmt: skip
        below = below + heights
    ax.set_xlabel("cost of the plan, with personal weights" if _weighted(plans) else "cost of the plan")
    ax.set_ylabel("number of people")
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_ylim(0, 1.08 * below.max())
    ax.set_title(plain(counts, TITLE_WIDTH), loc="left", fontsize="medium")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.legend(frameon=False)
    return ax


def _weighted(plans: Plans) -> bool:
    """Whether the weights of some person change a cost."""
    weights = plans.columns.weights
    return weights is not None and bool((weights[steps_taken(plans.columns)] != 1).any())


def _draw_statuses(plans: Plans, ax: Axes) -> Axes:
    """The share of people by status."""
    counts = list(plans.counts.values())
    shares = [count / len(plans) for count in counts]
    label_rows(ax, list(OUTCOMES.values()))
    ax.barh(range(len(counts)), shares, height=0.5, color=BLUE, edgecolor=EDGE, linewidth=0.8)
    percent_axis(ax)
    ax.set_xlim(0, 1.25)
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1])
    for row, (count, share) in enumerate(zip(counts, shares, strict=True)):
        words = f"{count:,} ({100 * share:.1f} %)"
        ax.annotate(words, (share, row), (6, 0), textcoords="offset points", va="center", fontsize="small")
    people = "1 person" if len(plans) == 1 else f"{len(plans):,} people"
    ax.set_xlabel(f"share of {people} (%)")
    return ax
