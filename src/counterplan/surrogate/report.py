"""How learning went, and how far a surrogate can be trusted, as figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from counterplan.figures import BLUE, GREY, ORANGE, new_figure, write_figure
from counterplan.problem.transitions import Bools, Floats
from counterplan.surrogate.surrogate import Surrogate, reliability

FEWEST = 50
"""Fewer answers than this tell little about chances."""


def draw_learning(metrics: Sequence[Mapping[str, Any]], path: Path, title: str) -> None:
    """Success, cost and questions a validation person, round by round, over the questions asked."""
    figure = new_figure(7, 6)
    axes = figure.subplots(3, 1, sharex=True)
    labels = {"success": "people with a plan", "cost": "mean effort of plans", "questions": "questions each"}
    for axis, (key, label) in zip(axes, labels.items(), strict=True):
        axis.plot([row["queries"] for row in metrics], [row[key] for row in metrics], "o-", color=ORANGE, markersize=4)
        axis.set_ylabel(label)
        axis.grid(alpha=0.3)
    axes[0].set_title(f"{title}: validation people")
    axes[0].set_ylim(-0.05, 1.05)
    axes[2].set_ylim(bottom=0)
    axes[2].set_xlabel("questions to the black box")
    write_figure(figure, path)


def draw_reliability(
    surrogate: Surrogate, states: Floats, answers: Bools, path: Path, title: str, learned_from: bool = False
) -> None:
    """What share of `states` [n, F] is favourable by `answers` [n], over the chance that the surrogate gives them."""
    rows = reliability(surrogate, states, answers)
    figure = new_figure(5, 5)
    axis = figure.subplots()
    axis.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle="--")
    axis.scatter([row[0] for row in rows], [row[1] for row in rows], s=[8 + row[2] ** 0.5 * 6 for row in rows], c=BLUE)
    for chance, share, count in rows:
        axis.annotate(f"{count:,}", (chance, share), (6, -10), textcoords="offset points", fontsize=8)
    told = "most of which it learned from" if learned_from else "that it did not learn from"
    axis.set_title(f"{title}\n{len(states):,} answers {told}")
    axis.set_xlabel("chance that the surrogate gives")
    axis.set_ylabel("share that the black box favours")
    axis.grid(alpha=0.3)
    write_figure(figure, path)


def error_of(surrogate: Surrogate, states: Floats, answers: Bools) -> float:
    """How far chances are from shares, on average over `states` [n, F]."""
    rows = reliability(surrogate, states, answers)
    return sum(abs(chance - share) * count for chance, share, count in rows) / max(1, len(states))
