"""Settings of alternatives: how many plans of different kinds a person gets, and how they are chosen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterplan.errors import SettingError
from counterplan.problem.transitions import Floats
from counterplan.problem.values import cut

COUNT = 3
MAX_COUNT = 20
_DRAWS, _SEED = 256, 20260101
_RANGES = {"max_ratio": (1.0, 1e6), "min_gain": (0.0, 1.0), "spread": (0.0, 10.0), "time_value": (0.0, 1e6)}
"""Least and largest values of settings."""


@dataclass(frozen=True, eq=False)
class Alternatives:
    """Settings for several plans of one person: how many, how expensive, and how different.

    Plans are chosen greedily: each minimizes the expected least cost of all plans of the person, over a prior of
    personal weights of functions. It uses another set of functions than the plans before, is the cheapest plan to its
    final state with that set, costs at most `max_ratio` times as much as the cheapest plan of all, and lowers the
    expected least cost by at least `min_gain` of that cost. For a person who chooses the cheapest of the plans shown,
    the expected least cost is the negative expected utility of selection. If the problem has durations, the time that a
    plan takes counts like the cost of one more function, with a weight of its own, so that a faster plan may be worth
    its cost.

    Parameters
    ----------
    count : int, default=3
        Most plans of one person, the cheapest included.
    max_ratio : float, default=2.5
        Largest cost of an alternative, relative to the cheapest plan.
    min_gain : float, default=0.01
        Least reduction of the expected least cost by an alternative, relative to the cost of the cheapest plan.
    spread : float, default=0.7
        Standard deviation of the logarithm of a weight. The weights of functions are independent.
    time_value : float, default=0.1
        Cost of the time that the cheapest plan takes, relative to the cost of its steps, at a weight of 1; of other
        plans in proportion to their durations.
    draws : array of shape [S, G], optional
        Weights of the G functions, relative to those that the plans are made with, in place of the prior. Durations
        then do not count.

    Raises
    ------
    SettingError
        If a value is out of range.

    Examples
    --------
    >>> from counterplan import Alternatives, ExactPlanner, benchmarks
    >>> german = benchmarks.load("german")
    >>> planner = ExactPlanner(german.problem, german.model)
    >>> person = german.refused_test.iloc[[14]]
    >>> plan = planner.plan(person, alternatives=Alternatives(count=3))[0]
    >>> for one in (plan, *plan.alternatives):
    ...     print(one.cost, one.actions)
    15.0 ['CHANGE_JOB=highly_skilled', 'CHANGE_SAVINGS=rich', 'CHANGE_HOUSING=own']
    17.0 ['CHANGE_SAVINGS=rich', 'CHANGE_DURATION=-10']
    17.0 ['CHANGE_SAVINGS=rich', 'CHANGE_PURPOSE=vacation/others']
    >>> plan = planner.plan(person, alternatives=Alternatives(count=3, max_ratio=1.1))[0]
    >>> len(plan.alternatives)
    0
    """

    count: int = COUNT
    max_ratio: float = 2.5
    min_gain: float = 0.01
    spread: float = 0.7
    time_value: float = 0.1
    draws: Floats | None = None

    def __post_init__(self) -> None:
        is_whole = isinstance(self.count, (int, np.integer)) and not isinstance(self.count, bool)
        if not is_whole or not 1 <= self.count <= MAX_COUNT:
            shown = cut(str(self.count) if is_whole else repr(self.count), 40)
            raise SettingError(f"'alternatives' must be an integer from 1 to {MAX_COUNT}, not {shown}")
        for name, (least, most) in _RANGES.items():
            value = getattr(self, name)
            if (
                isinstance(value, bool)
                or not isinstance(value, (int, float, np.integer, np.floating))
                or not least <= value <= most
            ):
                raise SettingError(
                    f"'{name}' of alternatives must be a number from {least:g} to {most:g}, not {cut(repr(value), 40)}"
                )
        if self.draws is not None:
            try:
                draws = np.asarray(self.draws, float)
            except (TypeError, ValueError):
                draws = np.empty(0)
            if draws.ndim != 2 or not len(draws) or not (np.isfinite(draws) & (draws > 0)).all():
                raise SettingError("'draws' of alternatives must be positive numbers of shape [S, G], one row per draw")
            object.__setattr__(self, "draws", draws)

    def weights(self, functions: int) -> Floats:
        """Weights of so many functions, and of time: `draws`, or a sample of the prior, which is always the same.

        Parameters
        ----------
        functions : int
            Number of functions, G.

        Returns
        -------
        array of shape [S, G + 1]
            The last column has the weights of time; with `draws`, they are 0.

        Raises
        ------
        SettingError
            If `draws` are of another number of functions.
        """
        if self.draws is None:
            normal = np.random.default_rng(_SEED).normal(size=(_DRAWS, functions + 1))
            return np.asarray(np.exp(float(self.spread) * normal))
        if self.draws.shape[1] != functions:
            raise SettingError(
                f"'draws' of alternatives have weights of {self.draws.shape[1]} functions, and the problem has "
                f"{functions}"
            )
        return np.concatenate([self.draws, np.zeros((len(self.draws), 1))], axis=1)


def read_alternatives(alternatives: int | Alternatives | None) -> Alternatives | None:
    """Settings from the parameter `alternatives`; None if one plan is enough.

    Raises
    ------
    SettingError
        If it is neither an integer in range nor settings.
    """
    if alternatives is None:
        return None
    settings = alternatives if isinstance(alternatives, Alternatives) else Alternatives(alternatives)
    return settings if settings.count > 1 else None
