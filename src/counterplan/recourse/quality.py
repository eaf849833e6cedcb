"""`Quality`: how good plans with a fitted surrogate are, compared with exact search on held-out people."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from counterplan.errors import SettingError
from counterplan.planners.base import is_whole
from counterplan.plans.progress import duration

CHEAP_SECONDS = 1.0
"""Mean time of exact search for one person from which on it is not recommended any more."""
WEAK_SUCCESS, WEAK_RATIO = 0.95, 1.1
"""Guided planning is weak below this share of people helped, or above this cost ratio."""


@dataclass(frozen=True)
class QualitySettings:
    """Settings of the assessment of a surrogate after a fit.

    Parameters
    ----------
    people : int, default=50
        Held-out refused people to plan for.
    max_queries : int, optional
        Most queries in all; a budget of `fit` that leaves fewer takes precedence. Default: three times as many as
        `fit` needed, but at least 2,000.
    seconds : float, default=10
        Most time that these queries may take, by the speed of the model.

    Raises
    ------
    SettingError
        If a value is out of range.

    Examples
    --------
    >>> from counterplan import LearningSettings, QualitySettings, Recourse, benchmarks
    >>> german = benchmarks.load("german")
    >>> settings = LearningSettings(people=30, plans=30, validation=10, rounds=1)
    >>> recourse = Recourse(german.problem, german.model)
    >>> few = QualitySettings(people=5, max_queries=500)
    >>> _ = recourse.fit(german.train, settings=settings, quality=few)
    >>> quality = recourse.quality_
    >>> quality.people, quality.feasible, quality.queries <= 500
    (5, 5, True)
    """

    people: int = 50
    max_queries: int | None = None
    seconds: float = 10.0

    def __post_init__(self) -> None:
        if not is_whole(self.people, 1):
            raise SettingError(f"'people' must be an integer, 1 or more, not {self.people!r}")
        if self.max_queries is not None and not is_whole(self.max_queries):
            raise SettingError(f"'max_queries' must be an integer, zero or more, or None, not {self.max_queries!r}")
        if isinstance(self.seconds, bool) or not isinstance(self.seconds, (int, float)) or not self.seconds >= 0:
            raise SettingError(f"'seconds' must be a number, zero or more, not {self.seconds!r}")


@dataclass(frozen=True)
class Quality:
    """Quality of guided planning on held-out refused people, who were not learned from.

    `print(quality)` shows it as two or three sentences; `advice` is the last one.

    Parameters
    ----------
    people : int
        People that guided planning planned for; 0 if nothing could be assessed.
    synthetic : int
        How many of them are synthetic, because there were too few others.
    decided : int
        People decided by exact search: with a plan, or with a proof that there is none.
    feasible : int
        How many of these have a plan.
    helped : int
        How many of those with a plan guided planning found one for.
    exhausted : int
        How many of those it did not help used all queries that a person may have.
    max_queries : int
        The number of queries that a person may have.
    cost_ratio : float or None
        Mean cost of guided plans, as a multiple of the least cost, over the people helped.
    guided_queries : float or None
        Mean queries of guided planning about a person with a plan, the one about their own state included.
    infeasible_queries : float or None
        The same about a person without one.
    exact_queries : float or None
        Mean queries of exact search about a person.
    exact_seconds : float or None
        Mean time of exact search for a person.
    seconds_per_row : float or None
        Mean time in which the model answered one row.
    queries : int
        Queries that the assessment sent to the model.
    skipped : str
        What was skipped, and why; empty if nothing was.

    Examples
    --------
    >>> from counterplan import Quality
    >>> quality = Quality(
    ...     people=50, decided=50, feasible=48, helped=48, max_queries=15, cost_ratio=1.01,
    ...     guided_queries=2.1, exact_queries=60.0,
    ... )  # `Recourse.fit` makes it: `recourse.quality_`
    >>> quality.success, quality.weak
    (1.0, False)
    >>> print(quality)
    Of 50 held-out refused people, 48 can be helped, as exact search proves; of these,
    guided planning helps 100% at 1.01 times the least cost with 2.1 queries a person
    (exact: 60). Guided planning is good here.
    """

    people: int = 0
    synthetic: int = 0
    decided: int = 0
    feasible: int = 0
    helped: int = 0
    exhausted: int = 0
    max_queries: int = 0
    cost_ratio: float | None = None
    guided_queries: float | None = None
    infeasible_queries: float | None = None
    exact_queries: float | None = None
    exact_seconds: float | None = None
    seconds_per_row: float | None = None
    queries: int = 0
    skipped: str = ""

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Quality:
        """Read what `dataclasses.asdict` gives; ValueError if a value has the wrong type or is out of range."""
        values: dict[str, Any] = {}
        for one in fields(cls):
            value = data[one.name]
            if one.type == "int":
                valid = is_whole(value)
            elif one.type == "str":
                valid = isinstance(value, str)
            else:
                number = isinstance(value, (int, float)) and not isinstance(value, bool)
                valid = value is None or (number and math.isfinite(value) and value >= 0)
            if not valid:
                raise ValueError(f"'{one.name}' is invalid")
            values[one.name] = value
        quality = cls(**values)
        if not quality.helped <= quality.feasible <= quality.decided <= quality.people:
            raise ValueError("the numbers of people contradict each other")
        return quality

    @property
    def success(self) -> float | None:
        """Share of the people with a plan that guided planning solved; None if nobody is known to have one."""
        return self.helped / self.feasible if self.feasible else None

    @property
    def weak(self) -> bool:
        """Whether guided planning helps too few people, or at too high a cost."""
        ratio = self.cost_ratio
        return self.success is not None and (self.success < WEAK_SUCCESS or (ratio is not None and ratio > WEAK_RATIO))

    @property
    def advice(self) -> str:
        """What to do, in one sentence."""
        if self.success is None:
            return "The quality of guided plans is not known: check them with planner='exact' for some people."
        exact = self._exact_advice()
        if not self.weak:
            return exact or "Guided planning is good here."
        if exact:
            return f"Guided planning is weak here; {exact[0].lower()}{exact[1:]}"
        unhelped = self.feasible - self.helped
        if self.success < WEAK_SUCCESS and 2 * self.exhausted >= unhelped:
            more = 5 * math.ceil(1.3 * self.max_queries / 5)
            return f"Guided planning is weak here: raise the budget of queries a person to {more}."
        return "Guided planning is weak here: fit with more people or a larger budget."

    def _exact_advice(self) -> str:
        """Advice to plan with exact search; empty if that is expensive."""
        if not self.exact_seconds or not self.seconds_per_row or self.exact_seconds > CHEAP_SECONDS:
            return ""
        return (
            f"Your model answers {_rounded(1 / self.seconds_per_row)} rows a second: exact planning costs "
            f"{duration(self.exact_seconds)} a person and proves its answers."
        )

    def __str__(self) -> str:
        sentences = []
        if self.decided:
            group = f"{self.decided} {'synthetic' if self.synthetic == self.people else 'held-out'} refused people"
            group += f" ({self.synthetic} of {self.people} synthetic)" if 0 < self.synthetic < self.people else ""
            text = f"Of {group}, {self.feasible} can be helped, as exact search proves"
            if self.success is not None:
                text += f"; of these, guided planning helps {self.success:.0%}"
            if self.cost_ratio is not None:
                text += f" at {self.cost_ratio:.2f} times the least cost"
            if self.guided_queries is not None:
                exact = "" if self.exact_queries is None else f" (exact: {self.exact_queries:,.0f})"
                text += f" with {self.guided_queries:.1f} queries a person{exact}"
            sentences.append(f"{text}.")
        if self.seconds_per_row is not None:
            sentences.append(f"A query takes {duration(self.seconds_per_row)}.")
        if self.skipped:
            sentences.append(f"{self.skipped[0].upper()}{self.skipped[1:]}.")
        return " ".join([*sentences, self.advice])


def _rounded(number: float) -> str:
    """A number with two significant digits and thousands separators."""
    digits = max(0, math.floor(math.log10(number)) - 1) if number >= 1 else 0
    return f"{round(number, -digits):,.0f}" if number >= 1 else f"{number:.1g}"
