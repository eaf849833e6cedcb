"""Which model plans were checked with, and the chance that they hold when the model is trained again."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime
from typing import Any, ClassVar, Literal

import numpy as np

from counterplan.errors import PlanError, SettingError
from counterplan.plans.coded import Coded, rows_of
from counterplan.problem.transitions import Bools, Floats, Ints

SOURCES = ("refits", "committee", "margin", "")
"""What a chance can be estimated from; the empty text: no chance is stated."""

_MOST_MODELS = 2**31


def planning_date() -> str:
    """Today's date in UTC, such as "2026-11-17".

    If the environment variable SOURCE_DATE_EPOCH is set, it gives the date, so that outputs are reproducible.

    Raises
    ------
    SettingError
        If the variable is not a number of seconds since 1970.
    """
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    if not epoch:
        return datetime.now(UTC).date().isoformat()
    try:
        return datetime.fromtimestamp(int(epoch), UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):
        raise SettingError(
            f"the environment variable SOURCE_DATE_EPOCH must be a number of seconds since 1970, not {epoch!r}"
        ) from None


@dataclass(frozen=True)
class Check:
    """The model that a plan was checked with, and when.

    Parameters
    ----------
    model : str
        Name of the model.
    fingerprint : str
        `BlackBox.fingerprint` of the model for the problem.
    date : str
        Date of the planning in UTC, as "2026-11-17".

    Raises
    ------
    PlanError
        If `date` is not a date.

    Examples
    --------
    >>> from counterplan import ExactPlanner, benchmarks
    >>> german = benchmarks.load("german")
    >>> planner = ExactPlanner(german.problem, german.model)
    >>> plan = planner.plan(german.refused_test.head(1))[0]
    >>> plan.check
    Check(model='model of german (...)', fingerprint='...', date='...')
    """

    model: str
    fingerprint: str
    date: str

    def __post_init__(self) -> None:
        if not _is_date(self.date):
            raise PlanError(f"the date of a check should be like '2026-11-17', not {self.date!r}")


@dataclass(frozen=True)
class SurvivalBasis:
    """Source of the estimate of survival, and the survival that was planned for.

    All plans of one call share it.

    Parameters
    ----------
    source : {"refits", "committee", "margin", ""}
        Retrained models that the user supplied, a committee fitted to the outcomes, or the margin of the score; empty
        if no chance is stated.
    reason : str
        Why no chance is stated, as a sentence.
    weight : float
        Lambda of the objective cost / least cost + lambda * (1 - survival); 0 for the least cost alone.
    at_least : float, optional
        Chance that plans were to have at least.
    refits : tuple of str
        Fingerprints of the retrained models that planning used.
    execution : bool
        Whether the chance includes that steps are carried out imprecisely.
    ignored : bool
        Whether the planner could not plan for survival, although it was to.

    Raises
    ------
    PlanError
        If a value is out of range.

    Examples
    --------
    >>> from counterplan import BlackBox, Recourse, benchmarks
    >>> german = benchmarks.load("german")
    >>> refits = [BlackBox(german.model, threshold=limit) for limit in (0.45, 0.5, 0.55)]
    >>> recourse = Recourse(german.problem, german.model, refits=refits)
    >>> people = german.refused_test.head(1)
    >>> plan = recourse.recommend(people, "exact", survival_at_least=0.6)[0]
    >>> basis = plan.robustness.basis
    >>> basis.source, len(basis.refits), basis.at_least, basis.weight
    ('refits', 3, 0.6, 0.0)
    """

    source: Literal["refits", "committee", "margin", ""]
    reason: str = ""
    weight: float = 0.0
    at_least: float | None = None
    refits: tuple[str, ...] = ()
    execution: bool = False
    ignored: bool = False

    def __post_init__(self) -> None:
        if self.source not in SOURCES:
            raise PlanError(f"the source of survival should be one of {', '.join(map(repr, SOURCES))}")
        if not 0 <= self.weight < math.inf:
            raise PlanError(f"the weight of survival should be a finite number, zero or more, not {self.weight!r}")
        _check_share("at_least", self.at_least)


@dataclass(frozen=True)
class Robustness:
    """Chance that one plan holds when the model is trained again, and that of the cheapest plan for comparison.

    Parameters
    ----------
    survival : float, optional
        Stated chance that a retrained model finds the final state favourable; None if no chance is stated.
    cheapest_cost : float, optional
        Cost of the cheapest plan known or estimated; None if it is unknown.
    cheapest_survival : float, optional
        Stated chance of the cheapest plan.
    cheapest_verified : bool
        Whether the model found the cheapest plan favourable.
    met : bool, optional
        Whether `survival` is at least `basis.at_least`; None if no such chance was required.
    proved : bool
        Whether it is proved that the plan is optimal for the objective.
    held, judged : int
        Number of retrained models that find the final state favourable, and of those that were queried, after
        `Plans.survival`. Models that planning used are not counted.
    basis : SurvivalBasis, optional
        What the chance was estimated from.

    Raises
    ------
    PlanError
        If a value is out of range.

    Examples
    --------
    >>> from counterplan import BlackBox, ExactPlanner, benchmarks
    >>> german = benchmarks.load("german")
    >>> planner = ExactPlanner(german.problem, german.model)
    >>> plans = planner.plan(german.refused_test.head(3))
    >>> others = [BlackBox(german.model, threshold=limit) for limit in (0.45, 0.55)]
    >>> for plan in plans.survival(others).plans:
    ...     print(plan.robustness.held, "of", plan.robustness.judged)
    1 of 2
    1 of 2
    2 of 2
    """

    survival: float | None = None
    cheapest_cost: float | None = None
    cheapest_survival: float | None = None
    cheapest_verified: bool = False
    met: bool | None = None
    proved: bool = False
    held: int = 0
    judged: int = 0
    basis: SurvivalBasis | None = None

    def __post_init__(self) -> None:
        _check_share("survival", self.survival)
        _check_share("cheapest_survival", self.cheapest_survival)
        if self.cheapest_cost is not None and not 0 <= self.cheapest_cost < math.inf:
            raise PlanError(f"'cheapest_cost' should be a finite number, zero or more, not {self.cheapest_cost!r}")
        if not 0 <= self.held <= self.judged <= _MOST_MODELS:
            raise PlanError(f"'held' should be from 0 to 'judged', {self.judged}, not {self.held}")


def _is_date(text: str) -> bool:
    """Whether a text is a date as `date.isoformat` writes it, which reads other forms as well."""
    try:
        return date.fromisoformat(text).isoformat() == text
    except (TypeError, ValueError):
        return False


def _check_share(name: str, share: float | None) -> None:
    """Raise a PlanError unless `share` is None or from 0 to 1."""
    if share is not None and (isinstance(share, bool) or not 0 <= share <= 1):
        raise PlanError(f"'{name}' should be a number from 0 to 1, not {share!r}")


@dataclass
class RobustnessColumns:
    """`Robustness` of B plans as arrays.

    Parameters
    ----------
    survival, cheapest_cost, cheapest_survival : float arrays of shape [B]
        NaN where unknown.
    cheapest_verified, proved : bool arrays of shape [B]
    met : int array of shape [B]
        1 and 0 for True and False; -1 if no chance was required.
    held, judged : int arrays of shape [B]
    basis : Coded
        What the chances [B] were estimated from.
    """

    survival: Floats
    cheapest_cost: Floats
    cheapest_survival: Floats
    cheapest_verified: Bools
    met: Ints
    proved: Bools
    held: Ints
    judged: Ints
    basis: Coded[SurvivalBasis]

    ARRAYS: ClassVar[dict[str, tuple[type, float]]] = {
        "survival": (float, math.nan),
        "cheapest_cost": (float, math.nan),
        "cheapest_survival": (float, math.nan),
        "cheapest_verified": (bool, False),
        "met": (np.intp, -1),
        "proved": (bool, False),
        "held": (np.intp, 0),
        "judged": (np.intp, 0),
    }
    """The arrays, their types and the values that stand for absent ones."""

    @classmethod
    def empty(cls, people: int) -> RobustnessColumns:
        """Columns for `people` about whose plans nothing is known."""
        arrays: dict[str, Any] = {name: np.full(people, absent, kind) for name, (kind, absent) in cls.ARRAYS.items()}
        return cls(**arrays, basis=Coded.empty((people,)))

    @classmethod
    def of(cls, plans: Sequence[Robustness | None]) -> RobustnessColumns:
        """Columns from the objects of B plans."""
        arrays: dict[str, Any] = {}
        for name, (kind, absent) in cls.ARRAYS.items():
            values = (None if plan is None else getattr(plan, name) for plan in plans)
            arrays[name] = np.array([absent if value is None else value for value in values], kind)
        return cls(**arrays, basis=Coded.of(None if plan is None else plan.basis for plan in plans))

    def __len__(self) -> int:
        return len(self.survival)

    def __getitem__(self, row: int) -> Robustness | None:
        """The object of one plan; None if nothing is known about it."""
        values = {name: _native(name, getattr(self, name)[row].item()) for name in self.ARRAYS}
        plan = Robustness(**values, basis=self.basis.get(row))
        return None if plan == _UNKNOWN else plan

    def natives(self, name: str) -> list[Any]:
        """The values [B] of an array as `Robustness` has them."""
        return [_native(name, value) for value in getattr(self, name).tolist()]

    def put(self, rows: Ints, part: RobustnessColumns | None) -> None:
        """Replace the values of `rows` [n]; None makes them absent."""
        for name, (_, absent) in self.ARRAYS.items():
            getattr(self, name)[rows] = absent if part is None else getattr(part, name)
        self.basis.put(rows, None if part is None else part.basis)

    def take(self, rows: Ints | slice) -> RobustnessColumns:
        """The values of `rows`."""
        return RobustnessColumns(*(rows_of(getattr(self, field.name), rows) for field in fields(self)))

    @classmethod
    def join(cls, parts: Sequence[RobustnessColumns]) -> RobustnessColumns:
        """Concatenate the columns of several people."""
        arrays = {name: np.concatenate([getattr(part, name) for part in parts]) for name in cls.ARRAYS}
        return cls(**arrays, basis=Coded.join([part.basis for part in parts]))


_UNKNOWN = Robustness()


def _native(name: str, value: Any) -> Any:
    """A value of an array as `Robustness` has it: None for NaN, and for -1 in `met`."""
    if name == "met":
        return None if value < 0 else bool(value)
    return None if isinstance(value, float) and math.isnan(value) else value
