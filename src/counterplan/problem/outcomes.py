"""Recorded outcomes: which people of a table had a favourable one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from counterplan.problem.parts import Outcome
from counterplan.problem.transitions import Bools
from counterplan.problem.values import text_of


def recorded_outcomes(outcome: Outcome, column: pd.Series[Any]) -> tuple[Bools, Bools]:
    """Read the column of the outcome.

    Parameters
    ----------
    outcome : Outcome
    column : Series
        [B] outcomes, as values or as codes of them; or scores, if the outcome is one.

    Returns
    -------
    favourable : bool array of shape [B]
        Whether the outcome is favourable; False where it is not known.
    known : bool array of shape [B]
        Whether the value is an outcome of the problem.
    """
    if outcome.score is not None:
        numbers = pd.to_numeric(column, errors="coerce").to_numpy(float, na_value=np.nan)
        known = np.isfinite(numbers)
        limit = outcome.score.limit
        return known & (numbers <= limit if outcome.score.at_most else numbers >= limit), known
    codes, uniques = pd.factorize(column, use_na_sentinel=True)
    by_code = {code: value for value, code in outcome.codes}
    values = [_value(outcome, by_code, unique) for unique in uniques]
    is_known = np.array([value is not None for value in values] + [False])
    is_favourable = np.array([value in outcome.favourable for value in values] + [False])
    return is_favourable[codes], is_known[codes]


def _value(outcome: Outcome, by_code: dict[str, str], unique: object) -> str | None:
    """The outcome that a value of the column, or its spelling as a bool or a whole float, stands for."""
    text = text_of(unique)
    spellings = [text, text.lower(), text.capitalize(), text.removesuffix(".0")]
    for known in (lambda word: word if word in outcome.values else None, by_code.get):
        for spelling in spellings:
            if (value := known(spelling)) is not None:
                return value
    return None
