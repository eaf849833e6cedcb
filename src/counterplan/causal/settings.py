"""Settings of questioning a causal graph, and the people that are used."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from counterplan.errors import PeopleError, SettingError
from counterplan.problem import Problem
from counterplan.problem.values import text_of

LEAST_PEOPLE = 100
"""Of fewer people, nothing is said."""


@dataclass(frozen=True)
class GraphSettings:
    """Settings of `question_graph`.

    Attributes
    ----------
    alpha : float, default=0.01
        The level of tests, and of the false discovery rate among edges and among pairs without an edge.
    people : int, default=10000
        Of a larger table, a random sample of so many people is used.
    halves : int, default=10
        The number of random splits of the people in half; a doubt has to recur in the halves.
    recur : float, default=0.8
        The share of the halves in which it has to recur.
    share : float, optional
        The share of favourable outcomes among all people, if the table was sampled by outcome. People of the outcome
        that is too frequent are left out at random.
    seed : int, default=0
        The same seed, the same doubts.

    Examples
    --------
    >>> import pandas as pd
    >>> from counterplan import Problem
    >>> from counterplan.causal import GraphSettings, question_graph
    >>> problem = Problem.from_dict({
    ...     "counterplan": 1, "name": "loan", "max_actions": 1,
    ...     "outcome": {"column": "loan", "values": ["no", "yes"], "favourable": "yes"},
    ...     "features": {
    ...         "job": {"kind": "category", "values": ["clerk", "pilot"]},
    ...         "house": {"kind": "category", "values": ["rent", "own"]},
    ...     },
    ...     "functions": {"WORK": {"set": "job", "arguments": ["pilot"], "cost": 10}},
    ... })
    >>> people = pd.DataFrame({
    ...     "job": ["clerk"] * 100 + ["pilot"] * 100,
    ...     "house": ["rent"] * 62 + ["own"] * 38 + ["rent"] * 38 + ["own"] * 62,
    ... })
    >>> for alpha in (0.01, 0.2):
    ...     report = question_graph(problem, people, GraphSettings(alpha=alpha))
    ...     print([(doubt.kind, doubt.features) for doubt in report.doubts])
    []
    [('missing', (('job', 'house'),))]
    """

    alpha: float = 0.01
    people: int = 10_000
    halves: int = 10
    recur: float = 0.8
    share: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.alpha <= 0.2:
            raise SettingError(f"alpha is the level of tests: a number above 0 and at most 0.2, not {self.alpha!r}")
        if self.people < LEAST_PEOPLE:
            raise SettingError(f"people is at least {LEAST_PEOPLE}, not {self.people!r}")
        if self.halves < 1:
            raise SettingError(f"halves is at least 1, not {self.halves!r}")
        if not 0.5 < self.recur <= 1:
            raise SettingError(f"recur is a share above 0.5 and at most 1, not {self.recur!r}")
        if self.share is not None and not 0 < self.share < 1:
            raise SettingError(f"share is that of favourable outcomes: between 0 and 1, not {self.share!r}")
        if self.seed < 0:
            raise SettingError(f"a seed is a whole number of at least 0, not {self.seed!r}")

    @property
    def least_gain(self) -> float:
        """The nats by which a description has to be shorter: a wrong one is so with at most probability `alpha`."""
        return math.log(1 / self.alpha)


def favourable(problem: Problem, people: pd.DataFrame) -> npt.NDArray[np.bool_] | None:
    """[B] Whether the outcome in the table is favourable; None if the table has no outcomes."""
    names = {text_of(name): name for name in people.columns}
    if problem.outcome.column not in names:
        return None
    texts = people[names[problem.outcome.column]].map(text_of)
    return texts.isin([text_of(value) for value in problem.outcome.favourable]).to_numpy()


def choose_people(problem: Problem, people: pd.DataFrame, settings: GraphSettings) -> npt.NDArray[np.intp]:
    """The rows that are used, in the order of the table."""
    random = np.random.default_rng([settings.seed, 0])
    rows = np.arange(len(people))
    if settings.share is not None:
        good = favourable(problem, people)
        if good is None:
            column = problem.outcome.column
            raise PeopleError(f"share needs the outcomes of people, and the table has no column '{column}'")
        if good.all() or not good.any():
            raise PeopleError("share needs people of both outcomes, and all outcomes in the table are the same")
        now, wanted = good.mean() / (1 - good.mean()), settings.share / (1 - settings.share)
        chance = np.where(good, min(1.0, wanted / now), min(1.0, now / wanted))
        rows = np.flatnonzero(random.random(len(people)) < chance)
    if len(rows) > settings.people:
        rows = np.sort(random.choice(rows, settings.people, replace=False))
    return rows
