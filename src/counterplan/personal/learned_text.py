"""What was learned about a person's weights, in sentences for the person."""

from __future__ import annotations

import numpy as np
import pandas as pd

from counterplan.personal.function_words import FunctionWords
from counterplan.problem import Problem
from counterplan.problem.values import visible

MOST = 5
NOTICEABLE, OVERLAP = 1.25, 1.15
"""Factors: from which on a weight is worth a sentence, and by which its interval may reach beyond 1."""


def learned_text(problem: Problem, weights: pd.DataFrame) -> list[str]:
    """Sentences about the functions that seem harder or easier for a person than other changes, the clearest first.

    Parameters
    ----------
    problem : Problem
    weights : DataFrame
        As of `Elicitation.weights`.

    Returns
    -------
    list of str
        At most five. Functions that no question was about, and weights that may well be 1, are left out.
    """
    mean, low, high = weights["mean"], weights["low"], weights["high"]
    harder = (mean >= NOTICEABLE) & (low >= 1 / OVERLAP)
    easier = (mean <= 1 / NOTICEABLE) & (high <= OVERLAP)
    clear = weights[(weights["questions"] > 0) & (harder | easier)]
    order = np.argsort(-np.abs(np.log(clear["mean"].to_numpy())), kind="stable")
    rows = clear.iloc[order[:MOST]]
    words = FunctionWords(problem)
    numbers = rows[["mean", "low", "high"]].to_numpy(float).tolist()
    return [
        _sentence(f"Changing {words.changed(str(name))}", *row) for name, row in zip(rows.index, numbers, strict=True)
    ]


def _sentence(subject: str, mean: float, low: float, high: float) -> str:
    """One weight and its interval in words."""
    about = f"(about {_factor(low)} to {_factor(high)})"
    if mean >= 1:
        return visible(
            f"{subject} seems harder for you than other changes: {_factor(mean)} times its usual effort {about}."
        )
    return visible(
        f"{subject} seems easier for you than other changes: {_factor(mean)} times its usual effort {about}."
    )


def _factor(number: float) -> str:
    """A factor with two significant digits."""
    return f"{number:.0f}" if number >= 10 else f"{number:.1f}" if number >= 0.1 else f"{number:.2f}"
