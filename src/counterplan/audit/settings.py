"""`AuditSettings`: how people are planned for, and how the outcomes are summarised."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from counterplan.errors import SettingError
from counterplan.planners.task import is_whole
from counterplan.survival.goal import SurvivalLike, read_weight

GroupName = str | tuple[str, ...]
"""A column, or a pair of columns: `"sex"`, `"sex*age"` or `("sex", "age")`."""


@dataclass(frozen=True)
class AuditSettings:
    """Settings of an audit.

    Parameters
    ----------
    planner : str, default="auto"
        How to search for plans. "auto" is exact search where that is affordable; otherwise guided planning, and exact
        search for the people that it finds no plan for. Other planners may leave more people unknown.
    budget : int, optional
        Most queries about each refused person, besides the one about their present state. Default: no limit but those
        of the planner.
    groups : sequence of str or tuple of str, optional
        Columns to group people by: features, other columns of the table, the column of the outcome; or pairs of them,
        `"sex*age"` or `("sex", "age")`. Default: the protected features of the problem.
    survival : str or float, optional
        Weight of survival in plans: a number, or "none", "balanced" or "high"; see `Planner.plan`.
    survival_at_least : float, optional
        Least survival of recourse that counts as lasting; plans are searched for with it.
    indispensable : bool, default=False
        Whether to plan again without each function that a plan uses, to count the people who cannot do without it.
        This takes about twice as long.
    relaxations : int, optional
        Try single relaxations of the problem for at most this many people without recourse: a random sample if there
        are more. 0 for none. Default: at most 200, and fewer, but at least 20, if these would take longer than
        planning.
    min_group : int, default=10
        Fewest people that a share, a quantile or a difference is computed for.
    level : float, default=0.95
        Confidence level of intervals.
    seed : int, default=0
        Seed of bootstrap intervals and of the sample for relaxations.

    Raises
    ------
    SettingError
        If a value is invalid.

    Examples
    --------
    >>> from counterplan import Audit, AuditSettings, benchmarks
    >>> german = benchmarks.load("german")
    >>> settings = AuditSettings(planner="exact", relaxations=0, min_group=10)
    >>> audit = Audit(german.problem, german.model, settings=settings)
    >>> result = audit.run(german.test.head(100))
    >>> result.groups[["group", "refused", "recourse_share"]]  # 9 people are too few
           group  refused  recourse_share
    0  everybody       37             1.0
    1     female        9             NaN
    2       male       28             1.0
    """

    planner: str = "auto"
    budget: int | None = None
    groups: Sequence[GroupName] | None = None
    survival: SurvivalLike | None = None
    survival_at_least: float | None = None
    indispensable: bool = False
    relaxations: int | None = None
    min_group: int = 10
    level: float = 0.95
    seed: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.planner, str):
            raise SettingError(f"'planner' must be the name of a planner, not {self.planner!r}")
        if self.budget is not None and not is_whole(self.budget, 1):
            raise SettingError(
                f"'budget' must be an integer, 1 or more, or None for no limit; not {self.budget!r}: without queries, "
                "no plan is verified"
            )
        if not is_whole(self.min_group, 1):
            raise SettingError(f"'min_group' must be an integer, 1 or more, not {self.min_group!r}")
        if self.relaxations is not None and not is_whole(self.relaxations):
            raise SettingError(
                f"'relaxations' must be an integer, zero or more, or None for as many as are affordable; not "
                f"{self.relaxations!r}"
            )
        if not is_whole(self.seed):
            raise SettingError(f"'seed' must be an integer, zero or more, not {self.seed!r}")
        if not _is_number(self.level) or not 0.5 <= self.level < 1:
            raise SettingError(f"'level' must be a number from 0.5 to below 1, such as 0.95; not {self.level!r}")
        if self.survival_at_least is not None and (
            not _is_number(self.survival_at_least) or not 0 < self.survival_at_least <= 1
        ):
            raise SettingError(
                f"'survival_at_least' must be a number above 0, at most 1; not {self.survival_at_least!r}"
            )
        weight = read_weight(self.survival)
        if weight and self.survival_at_least is not None:
            raise SettingError("pass 'survival', the weight of survival, or 'survival_at_least', not both")
        if self.indispensable and (weight or self.survival_at_least is not None):
            raise SettingError(
                "'indispensable' compares least costs: leave out 'survival' and 'survival_at_least', and audit twice"
            )
        if isinstance(self.groups, str):
            object.__setattr__(self, "groups", (self.groups,))
        if self.groups is not None and not isinstance(self.groups, Iterable):
            raise SettingError(
                f"'groups' must be a list of columns, or of pairs of columns such as 'sex*age', not {self.groups!r}"
            )
        if self.groups is not None:
            object.__setattr__(self, "groups", tuple(self.groups))

    @property
    def plan_options(self) -> dict[str, Any]:
        """Parameters of `Planner.plan`."""
        options: dict[str, Any] = {"budget": self.budget, "refused": True}
        if self.survival is not None:
            options["survival"] = self.survival
        if self.survival_at_least is not None:
            options["survival_at_least"] = self.survival_at_least
        return options

    @property
    def search_facts(self) -> dict[str, Any]:
        """The settings that outcomes depend on; the others only affect how they are summarised."""
        return {
            "planner": self.planner,
            "budget": self.budget,
            "survival": self.survival,
            "survival_at_least": self.survival_at_least,
            "indispensable": self.indispensable,
        }


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
