"""How learning went, and how far a surrogate can be trusted, as figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from counterplan.figures.style import BLUE, GREY, ORANGE, new_figure, write_figure
from counterplan.problem.transitions import Bools, Floats
from counterplan.surrogate.surrogate import Surrogate, reliability_of, sigmoid

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


class Judged(NamedTuple):
    """Chances [n] that a surrogate gives without having learned from the `answers` [n], and how that was done."""

    chance: Floats
    answers: Bools
    how: str

    def __str__(self) -> str:
        return f"{len(self.answers):,} answers{self.how}"

    @property
    def error(self) -> float:
        """How far chances are from shares, on average."""
        rows = reliability_of(self.chance, self.answers)
        return sum(abs(chance - share) * count for chance, share, count in rows) / max(1, len(self.answers))


def judge(surrogate: Surrogate, states: Floats, answers: Bools, unseen: bool) -> Judged | None:
    """Judge a surrogate by `answers` [n] about `states` [n, F]; None if too few are of use.

    Unless all of them are `unseen`, each is judged by the network and the forest that did not learn from it.
    """
    if unseen:
        judged = Judged(surrogate(states), answers, " that it did not learn from")
    else:
        rows, logits = surrogate.held_out(states)
        judged = Judged(sigmoid(logits), answers[rows], ", by parts that did not learn from them")
    return judged if len(judged.answers) >= FEWEST else None


def draw_reliability(judged: Judged, path: Path, title: str) -> None:
    """What share of answers is favourable, over the chance that the surrogate gives them."""
    rows = reliability_of(judged.chance, judged.answers)
    figure = new_figure(5, 5)
    axis = figure.subplots()
    axis.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle="--")
    axis.scatter([row[0] for row in rows], [row[1] for row in rows], s=[8 + row[2] ** 0.5 * 6 for row in rows], c=BLUE)
    for chance, share, count in rows:
        axis.annotate(f"{count:,}", (chance, share), (6, -10), textcoords="offset points", fontsize=8)
    axis.set_title(f"{title}\n{judged}")
    axis.set_xlabel("chance that the surrogate gives")
    axis.set_ylabel("share that the black box favours")
    axis.grid(alpha=0.3)
    write_figure(figure, path)
