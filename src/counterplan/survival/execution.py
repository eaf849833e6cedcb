"""Noise in doing: steps that add may fall short of their amount, and survival can include that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np

from counterplan.errors import SettingError
from counterplan.problem import People, Problem
from counterplan.problem.transitions import Bools, Floats, Ints, rounded
from counterplan.problem.values import did_you_mean, listed
from counterplan.survival.estimator import SurvivalEstimator

ExecutionLike = float | Mapping[str, float]
"""By how much functions that add may fall short: a share, or shares by function."""
SHARES = (0.0, 0.5, 1.0)
"""Shares of the tolerance by which the variants of a state fall short."""


@dataclass(frozen=True)
class ExecutionNoise:
    """How far people may fall short of the changes that plans ask for: earn 4,700 more instead of 5,000.

    Parameters
    ----------
    tolerances : dict of str to float
        By function that adds: the largest share of a change that may be missing in the end, from 0 to 1.

    Examples
    --------
    >>> from counterplan import benchmarks
    >>> from counterplan.survival.execution import ExecutionNoise
    >>> problem = benchmarks.load_problem("german")
    >>> ExecutionNoise.read(problem, 0.06).tolerances
    {'CHANGE_CREDIT': 0.06, 'CHANGE_DURATION': 0.06}
    """

    tolerances: Mapping[str, float]

    @classmethod
    def read(cls, problem: Problem, execution: ExecutionLike | ExecutionNoise) -> ExecutionNoise:
        """Validate the parameter `execution`.

        Parameters
        ----------
        problem : Problem
            The problem, with the functions that are named.
        execution : float, mapping of str to float, or ExecutionNoise
            The tolerance of every function that adds, or of some of them by name.

        Returns
        -------
        ExecutionNoise
            The tolerance of each function that adds.

        Raises
        ------
        SettingError
            If a function does not exist or sets a value, a tolerance is not from 0 to 1, or no function adds.
        """
        if isinstance(execution, ExecutionNoise):
            execution = execution.tolerances
        functions = {function.name: function for function in problem.transitions.functions}
        adding = [name for name, function in functions.items() if function.adds]
        if not adding:
            raise SettingError(f"'execution' is about functions that add, and '{problem.name}' has none")
        if not isinstance(execution, Mapping):
            return cls(dict.fromkeys(adding, _tolerance(execution, "'execution'")))
        for name in execution:
            if name not in functions:
                hint = did_you_mean(str(name), adding) or f"; those that add are {listed(adding)}"
                raise SettingError(f"'execution': there is no function '{name}'{hint}")
            if not functions[name].adds:
                raise SettingError(
                    f"'execution': {name} sets a value, so nothing of it can be missing; functions that add are "
                    f"{listed(adding)}"
                )
        return cls({name: _tolerance(value, f"'execution' of {name}") for name, value in execution.items()})

    def shortfalls(self, problem: Problem, starts: Floats, states: Floats) -> Floats:
        """Variants of final states whose changes fall short: by nothing, by half the tolerance, and by all of it.

        A feature that a function with a tolerance adds to misses that share of its change since the start. Integers are
        rounded toward the start, and formulas of the causal graph are evaluated again; their `argument` is the amount
        that was added. If several functions change a feature in the same direction, the largest tolerance counts.

        Parameters
        ----------
        problem : Problem
            The problem of the states.
        starts : array of shape [n, F]
            The state in which each person is.
        states : array of shape [n, F]
            The final state of each person.

        Returns
        -------
        array of shape [3, n, F]
            The variants, in this order.
        """
        transitions = problem.transitions
        variants = np.repeat(states[None], len(SHARES), axis=0)
        missing = self._missing(problem, starts, states)
        for index in np.flatnonzero((missing != 0).any(axis=0)).tolist():
            feature, end = problem.features[index], states[:, index]
            for variant, share in zip(variants, SHARES, strict=True):
                value = rounded(end - share * missing[:, index])
                if feature.integer:
                    value = np.where(missing[:, index] > 0, np.floor(value), np.ceil(value))
                variant[:, index] = np.where(missing[:, index] == 0, end, value)
        variants[1:] = [transitions.revise(starts, states, variant) for variant in variants[1:]]
        return variants

    def concerns(self, problem: Problem, starts: Floats, states: Floats) -> Bools:
        """Whether some change from `starts` [n, F] to `states` [n, F] may fall short [n]."""
        return np.asarray((self._missing(problem, starts, states) != 0).any(axis=1))

    def _missing(self, problem: Problem, starts: Floats, states: Floats) -> Floats:
        """The part [n, F] of the change of each feature that may be missing in the end."""
        change = np.nan_to_num(states - starts)
        tolerance = np.zeros_like(change)
        for function in problem.transitions.functions:
            if share := self.tolerances.get(function.name, 0.0):
                own, at = change[:, function.target], tolerance[:, function.target]
                reachable = ((own > 0) & (function.arguments > 0).any()) | ((own < 0) & (function.arguments < 0).any())
                np.maximum(at, share, out=at, where=reachable)
        return change * tolerance


def _tolerance(value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) <= 1:
        raise SettingError(f"{where} must be a share from 0 to 1, such as 0.06 for 6 %, not {value!r}")
    return float(value)


class ExecutionEstimator(SurvivalEstimator):
    """Survival that includes noise in doing: the mean chance of a state and of its variants that fall short.

    Parameters
    ----------
    inner : SurvivalEstimator
        Estimates the chance of a state.
    noise : ExecutionNoise
        How far people may fall short.
    """

    def __init__(self, inner: SurvivalEstimator, noise: ExecutionNoise) -> None:
        self.inner, self.noise = inner, noise
        self.source = inner.source  # type: ignore[misc]
        self.refits, self.portable, self.sends_queries = inner.refits, inner.portable, inner.sends_queries

    @property
    def reason(self) -> str:
        """See `SurvivalEstimator.reason`."""
        return self.inner.reason

    @property
    def largest(self) -> float:
        """See `SurvivalEstimator.largest`."""
        return self.inner.largest

    def chance(self, problem: Problem, people: People, states: Floats, rows: Ints) -> Floats:
        """See `SurvivalEstimator.chance`."""
        return self._mean(self.inner.chance, problem, people, states, rows)

    def predicted(self, problem: Problem, people: People, states: Floats, rows: Ints) -> Floats:
        """See `SurvivalEstimator.predicted`."""
        return self._mean(self.inner.predicted, problem, people, states, rows)

    def falls_short(self, problem: Problem, people: People, states: Floats, rows: Ints) -> Bools:
        """See `SurvivalEstimator.falls_short`."""
        return self.noise.concerns(problem, people.states[rows], states)

    def _mean(
        self,
        estimate: Callable[[Problem, People, Floats, Ints], Floats],
        problem: Problem,
        people: People,
        states: Floats,
        rows: Ints,
    ) -> Floats:
        """The mean `estimate` [n] over the variants of each of `states` [n, F]."""
        variants = self.noise.shortfalls(problem, people.states[rows], states)
        chances = estimate(problem, people, np.concatenate(list(variants)), np.tile(rows, len(variants)))
        mean: Floats = chances.reshape(len(variants), len(states)).mean(axis=0)
        return mean


def read_execution_options(texts: Sequence[str]) -> ExecutionLike:
    """Read tolerances as they are written on the command line: one number, or FUNCTION=NUMBER, repeatedly.

    Raises
    ------
    SettingError
        If a text is neither, or a number is not the only one.
    """
    by_function: dict[str, float] = {}
    for text in texts:
        name, equals, number = text.rpartition("=")
        try:
            tolerance = float(number)
        except ValueError:
            raise SettingError(f"--execution {text}: expected a number such as 0.06, or FUNCTION=0.06") from None
        if not equals:
            if len(texts) > 1:
                raise SettingError(f"--execution {text} is for every function; use it alone, or FUNCTION={number}")
            return tolerance
        if name in by_function:
            raise SettingError(f"--execution {text}: {name} has a tolerance already, {by_function[name]:g}")
        by_function[name] = tolerance
    return by_function
