"""The learning curve of a surrogate, and its reliability diagram."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from counterplan.figures.style import BLUE, GREY, ORANGE, new_figure, write_figure
from counterplan.problem.transitions import Bools, Floats
from counterplan.surrogate.surrogate import Surrogate, reliability_of, sigmoid

FEWEST_ANSWERS = 50
"""Minimum number of answers to estimate calibration from."""
_VALIDATION_LABELS = {"success": "success rate", "cost": "mean cost of plans", "questions": "queries per person"}


def draw_learning(metrics: Sequence[Mapping[str, Any]], path: Path, title: str) -> None:
    """Draw what each round achieved against the number of queries.

    Success rate, cost and queries per validation person; if scores were learned from, the error of their prediction.

    Parameters
    ----------
    metrics : sequence of mappings
        One report per round.
    path : pathlib.Path
        The file to write.
    title : str
        Title of the figure.
    """
    if any(row.get("error") is not None for row in metrics):
        labels, about = {"error": "standard error"}, "predicted log odds near the boundary, out of fold"
    else:
        labels, about = _VALIDATION_LABELS, "validation people"
    figure = new_figure(7, 1 + 5 * len(labels) / 3)
    axes = figure.subplots(len(labels), 1, sharex=True, squeeze=False)[:, 0]
    for axis, (key, label) in zip(axes, labels.items(), strict=True):
        known = [row for row in metrics if row.get(key) is not None]
        axis.plot([row["queries"] for row in known], [row[key] for row in known], "o-", color=ORANGE, markersize=4)
        axis.set_ylabel(label)
        axis.set_ylim(*((-0.05, 1.05) if key == "success" else (0, None)))
        axis.grid(alpha=0.3)
    axes[0].set_title(f"{title}: {about}")
    axes[-1].set_xlabel("queries to the black box")
    write_figure(figure, path)


class Assessment(NamedTuple):
    """Probabilities of a surrogate for states that the predicting parts were not fitted on, and the true answers.

    Attributes
    ----------
    probability : ndarray of float, shape [n]
        Predicted probability of a favourable answer.
    answers : ndarray of bool, shape [n]
        Answers of the black box.
    description : str
        How the states were held out.
    """

    probability: Floats
    answers: Bools
    description: str

    def __str__(self) -> str:
        return f"{len(self.answers):,} answers{self.description}"

    @property
    def error(self) -> float:
        """Expected calibration error: mean distance between predicted probability and favourable share, over bins."""
        rows = reliability_of(self.probability, self.answers)
        return sum(abs(mean - share) * count for mean, share, count in rows) / max(1, len(self.answers))


def assess(surrogate: Surrogate, states: Floats, answers: Bools, holdout: bool) -> Assessment | None:
    """Assess a surrogate on answers of the black box.

    Parameters
    ----------
    surrogate : Surrogate
        The surrogate.
    states : ndarray of float, shape [n, F]
        States with known answers.
    answers : ndarray of bool, shape [n]
        The answers.
    holdout : bool
        Whether the surrogate was fitted on none of them. Otherwise each state is predicted by the network and the
        forest that were not fitted on it.

    Returns
    -------
    Assessment or None
        None if there are too few usable answers.
    """
    if holdout:
        assessment = Assessment(surrogate(states), answers, " held out from training")
    else:
        rows, logits = surrogate.held_out(states)
        assessment = Assessment(sigmoid(logits), answers[rows], ", by cross-validation")
    return assessment if len(assessment.answers) >= FEWEST_ANSWERS else None


def draw_reliability(assessment: Assessment, path: Path, title: str) -> None:
    """Draw a reliability diagram: share of favourable answers against predicted probability.

    Parameters
    ----------
    assessment : Assessment
        Probabilities and answers.
    path : pathlib.Path
        The file to write.
    title : str
        Title of the figure.
    """
    rows = reliability_of(assessment.probability, assessment.answers)
    figure = new_figure(5, 5)
    axis = figure.subplots()
    axis.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle="--")
    axis.scatter([row[0] for row in rows], [row[1] for row in rows], s=[8 + row[2] ** 0.5 * 6 for row in rows], c=BLUE)
    for probability, share, count in rows:
        axis.annotate(f"{count:,}", (probability, share), (6, -10), textcoords="offset points", fontsize=8)
    axis.set_title(f"{title}\n{assessment}")
    axis.set_xlabel("predicted probability of a favourable decision")
    axis.set_ylabel("share of favourable decisions")
    axis.grid(alpha=0.3)
    write_figure(figure, path)
