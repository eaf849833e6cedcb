"""Plans for people with different targets: one planner for each target."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd

from counterplan.blackbox import BlackBox
from counterplan.errors import SettingError
from counterplan.personal.alternatives import Alternatives
from counterplan.personal.weights import WeightsLike, read_weights
from counterplan.planners.base import Planner
from counterplan.planners.task import ProgressCallback
from counterplan.plans import ActionLimits, Coded, Forbid, PlanColumns, Plans, allowed_actions
from counterplan.plans.progress import reporting
from counterplan.problem import People, PeopleTable, Problem
from counterplan.problem.targets import Target, TargetsLike, read_targets
from counterplan.problem.transitions import Bools, Ints
from counterplan.survival.execution import ExecutionLike
from counterplan.survival.goal import SurvivalLike


class TargetPlanner:
    """Plan for people with different targets.

    A planner is for one problem, and so for one set of favourable outcomes; this class groups people by target, and
    plans for each group with a planner for `problem.with_target(target)`. Any planner can be used in this way. The
    planners share the black box, whose cached answers serve all targets if the problem has three or more outcomes.

    Parameters
    ----------
    problem : Problem
        The problem, with any favourable outcomes.
    box : BlackBox
        The black box of all planners.
    create : callable
        Returns a planner, with this black box, for a target: a frozenset of outcomes. It is called once for each.

    Examples
    --------
    >>> from counterplan import BlackBox, ExactPlanner, benchmarks
    >>> german = benchmarks.load("german")
    >>> box = BlackBox(german.model)
    >>> def create(target):
    ...     return ExactPlanner(german.problem.with_target(target), box)
    >>> planner = TargetPlanner(german.problem, box, create)
    >>> planner.plan(german.refused_test.head(2), target=["good", "bad"]).counts
    {'found': 1, 'already_favourable': 1, 'infeasible': 0, 'not_found': 0}
    """

    def __init__(self, problem: Problem, box: BlackBox, create: Callable[[Target], Planner]) -> None:
        self.problem, self.box = problem, box
        self._create = create
        self._planners: dict[Target, Planner] = {}
        self._expected: int | None = None

    def planner(self, target: Target) -> Planner:
        """Return the planner for a target."""
        if target not in self._planners:
            self.box.require_target(self.problem.with_target(target))
            self._planners[target] = self._create(target)
            if self._expected is not None:
                self._planners[target].expect(self._expected)
        return self._planners[target]

    def expect(self, people: int) -> None:
        """Announce how many people will be planned for; see `Planner.expect`."""
        self._expected = people
        for planner in self._planners.values():
            planner.expect(people)

    def plan(
        self,
        people: PeopleTable | People,
        *,
        target: TargetsLike,
        forbid: Forbid = (),
        allowed: Bools | None = None,
        weights: WeightsLike | None = None,
        alternatives: int | Alternatives | None = None,
        budget: int | None = None,
        refused: bool = False,
        survival: SurvivalLike | None = None,
        survival_at_least: float | None = None,
        execution: ExecutionLike | None = None,
        deadline: float | None = None,
        pareto: bool = False,
        jobs: int = 1,
        progress: ProgressCallback | bool | None = None,
    ) -> Plans:
        """Plan for each of `people`.

        Parameters
        ----------
        people : DataFrame or People
            B people.
        target : str, number, bool, set of these, or a sequence of length B
            The outcome to reach, or a set of outcomes any of which is to be reached; or one of these for each person,
            in the order of the table. A Series is aligned by the index labels of the people.
        forbid, allowed, weights, alternatives, budget
            As for `Planner.plan`.
        refused : bool, default=False
            Whether nobody has their target yet. If that is not true, plans and proofs may be wrong.
        survival, survival_at_least, execution, deadline, pareto, jobs, progress
            As for `Planner.plan`.

        Returns
        -------
        Plans
            One plan per person, in the same order, with the targets.

        Raises
        ------
        SettingError
            If a parameter is invalid.
        """
        read = self.problem.read(people)
        groups: dict[Target, list[int]] = {}
        for row, chosen in enumerate(read_targets(self.problem.outcome, _by_label(target, read), len(read))):
            groups.setdefault(chosen, []).append(row)
        mask = allowed_actions(self.problem, read, forbid, allowed)
        factors = None if weights is None else read_weights(self.problem, read, weights)
        queries, cached = self.box.queries, self.box.cached
        columns = PlanColumns.empty(len(read), self.problem.max_actions)
        with reporting(progress, "Planning", len(read), display=lambda bar: bar.advance) as callback:
            for chosen, members in groups.items():
                rows: Ints = np.array(members, np.intp)
                plans = self.planner(chosen).plan(
                    read.take(rows),
                    allowed=mask[rows],
                    weights=None if factors is None else factors[rows],
                    alternatives=alternatives,
                    budget=budget,
                    refused=refused,
                    survival=survival,
                    survival_at_least=survival_at_least,
                    execution=execution,
                    deadline=deadline,
                    pareto=pareto,
                    jobs=jobs,
                    progress=callback,
                )
                columns.put(rows, replace(plans.columns, targets=self._column(chosen, len(rows))))
        columns.limits = ActionLimits.of(mask, factors)
        queries, cached = self.box.queries - queries, self.box.cached - cached
        return Plans.from_columns(self.problem, read, columns, queries=queries, cached=cached)

    def _column(self, target: Target, people: int) -> Coded[tuple[str, ...]]:
        """The target, with outcomes in the order of the problem, as the column of a group."""
        ordered = tuple(value for value in self.problem.outcome.values if value in target)
        return Coded(np.zeros(people, np.intp), [ordered])


def _by_label(target: TargetsLike, people: People) -> TargetsLike:
    """A Series of targets in the order of the people; anything else as it is.

    Raises
    ------
    SettingError
        If its labels are not those of the people.
    """
    labels = people.table.index
    if not isinstance(target, pd.Series) or target.index.equals(labels):
        return target
    if len(target) != len(labels) or not (
        target.index.is_unique and labels.is_unique and labels.isin(target.index).all()
    ):
        raise SettingError(
            "'target' is a Series whose index labels are not those of the people; pass target.tolist() to give targets "
            "in the order of the table"
        )
    return target.loc[labels]
