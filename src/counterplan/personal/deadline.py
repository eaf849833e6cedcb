"""`checked_deadline`: the longest time that a person has."""

from __future__ import annotations

import math

import numpy as np

from counterplan.errors import SettingError
from counterplan.problem import Problem
from counterplan.problem.transitions import TIME_DECIMALS
from counterplan.problem.values import cut

MAX_DEADLINE = 1e9
"""No plan takes longer: it has at most 64 steps, each of at most a million units of time."""


def checked_deadline(problem: Problem, deadline: float | None, pareto: bool = False) -> float | None:
    """Validate the longest duration of a plan, and that the problem has durations if any are needed.

    Parameters
    ----------
    problem : Problem
    deadline : float, optional
    pareto : bool, default=False
        Whether the front of cost and duration is wanted, which needs durations, too.

    Returns
    -------
    float or None
        The deadline, rounded down to the precision of durations.

    Raises
    ------
    SettingError
        If the deadline is not a number from 0 to `MAX_DEADLINE`, or no action of the problem takes time.
    """
    if not isinstance(pareto, bool):
        raise SettingError(f"'pareto' must be True or False, not {cut(repr(pareto), 40)}")
    is_number = isinstance(deadline, (int, float, np.integer, np.floating)) and not isinstance(deadline, bool)
    if deadline is not None and not (is_number and 0 <= _as_float(deadline) <= MAX_DEADLINE):
        raise SettingError(
            f"'deadline' must be a number from 0 to {MAX_DEADLINE:,.0f}, or None for no limit; not "
            f"{cut(repr(deadline), 40)}"
        )
    if (deadline is not None or pareto) and not problem.time_unit:
        wanted = "'pareto'" if deadline is None else "'deadline'"
        raise SettingError(
            f"{wanted} needs durations, and no action of the problem '{problem.name}' takes time: write 'duration' for "
            f"the functions of the problem file, or leave {wanted} out"
        )
    return None if deadline is None else _rounded_down(_as_float(deadline))


def _as_float(number: float) -> float:
    """A number as a float; infinite if it is too large for one."""
    try:
        return float(number)
    except OverflowError:
        return math.inf


def _rounded_down(deadline: float) -> float:
    """The deadline to as many decimals as durations have, so that no plan takes longer."""
    rounded = round(deadline, TIME_DECIMALS) + 0.0  # -0.0 becomes 0.0
    return rounded if rounded <= deadline else round(rounded - 10.0**-TIME_DECIMALS, TIME_DECIMALS)
