"""The interface of planners: validation, queries about people as they are, and conversion to plans."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import ClassVar

import numpy as np

from counterplan.blackbox import BlackBox, QueryBudgetExceeded
from counterplan.errors import SettingError
from counterplan.parallel import (
    PeopleChunk,
    WorkerLink,
    answering,
    checked_jobs,
    one_blas_thread,
    people_chunks,
    run_chunks,
)
from counterplan.personal.alternatives import Alternatives, read_alternatives
from counterplan.personal.deadline import checked_deadline
from counterplan.personal.weights import WeightsLike, read_weights
from counterplan.planners.task import (
    PlanningTask,
    ProgressCallback,
    checked_budget,
    is_whole,
    no_progress,
)
from counterplan.plans import ActionLimits, Check, Coded, Forbid, PlanColumns, Plans, Status, allowed_actions
from counterplan.plans.coded import NO_CODE
from counterplan.plans.progress import reporting
from counterplan.plans.robustness import planning_date
from counterplan.plans.time_text import limit_text
from counterplan.problem import People, PeopleTable, Problem
from counterplan.problem.transitions import Bools
from counterplan.search.orders import NO_ACTION
from counterplan.search.schedule import schedule, to_units
from counterplan.survival.estimator import NoEstimate, SurvivalEstimator
from counterplan.survival.execution import ExecutionEstimator, ExecutionLike, ExecutionNoise
from counterplan.survival.goal import SurvivalGoal, SurvivalLike, read_weight, survival_goal
from counterplan.survival.statement import state_survival

__all__ = ["Forbid", "PlanColumns", "Planner", "PlanningTask", "is_whole"]

NOT_WEIGHTED = "It was not planned with your own effort weights."
"""Caution on plans of planners that do not plan with cost weights."""


class Planner(ABC):
    """Interface of all planners: `plan` finds a plan for each person of a table.

    A subclass implements `search`; this base class reads the people, queries them as they are, and makes `Plans`.

    Parameters
    ----------
    problem : Problem
        The problem to plan for.
    box : BlackBox or model
        A model is wrapped in a `BlackBox`.

    Attributes
    ----------
    name : str
        Name of the planner.
    requires : tuple of str
        Learned objects that the planner needs, of "surrogate", "agent", "program" and "card". Each is passed to the
        class as a keyword argument of that name.
    uses : tuple of str
        Learned objects that the planner uses if there are any, passed in the same way; None if there are not.
    chooses : bool
        Whether the planner uses what was learned as far as it is available: the class gets the keyword arguments
        `learned`, functions that return the surrogate, agent and program or None, by name, and `guide`, the settings
        of guided planning or None.
    uses_weights : bool
        Whether plans minimize the weighted cost. A cascade with cost weights leaves out planners that do not, if others
        remain.
    uses_survival : bool
        Whether plans can weigh survival against cost; the same applies to a cascade. The plans of other planners state
        their survival, and that they were not planned for it.
    uses_alternatives : bool
        Whether several plans of different kinds can be found for a person.
    uses_deadline : bool
        Whether plans are searched for within a deadline; the same applies to a cascade. A plan of another planner that
        takes longer is no plan.
    finds_fronts : bool
        Whether all plans on the front of cost and duration can be searched for.
    survival : SurvivalEstimator or None
        Estimates the survival of plans; assigned by `Recourse`. None: plans say nothing about survival.

    Examples
    --------
    >>> from counterplan import ExactPlanner, GuidedPlanner, Scorecard, benchmarks
    >>> from counterplan.scorecard import CardFeature
    >>> german = benchmarks.load("german")
    >>> savings = CardFeature(4, (), (0, 0, 5, 8, 10))
    >>> purpose = CardFeature(8, (), (0, 0, 0, 0, 0, 0, 0, 8))
    >>> card = Scorecard(german.problem, (savings, purpose), needed=8, slope=0.5, shift=3.0)
    >>> planners = [
    ...     ExactPlanner(german.problem, german.model),
    ...     GuidedPlanner(german.problem, german.model, card.logit),
    ... ]
    >>> for planner in planners:
    ...     plans = planner.plan(german.refused_test.iloc[[0, 2]])
    ...     print(planner.name, plans.costs, plans.queries_per_person)
    exact [10.  5.] [21  3]
    guided [10.  5.] [9 3]
    """

    name: ClassVar[str]
    requires: ClassVar[tuple[str, ...]] = ()
    uses: ClassVar[tuple[str, ...]] = ()
    chooses: ClassVar[bool] = False
    uses_weights: ClassVar[bool] = True
    uses_survival: ClassVar[bool] = False
    uses_alternatives: ClassVar[bool] = False
    uses_deadline: ClassVar[bool] = False
    finds_fronts: ClassVar[bool] = False

    def __init__(self, problem: Problem, box: BlackBox | object) -> None:
        self.problem = problem
        self.box = box if isinstance(box, BlackBox) else BlackBox(box)
        self.survival: SurvivalEstimator | None = None

    def plan(
        self,
        people: PeopleTable | People,
        *,
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
        forbid : str, list of str or mapping
            Functions or actions that nobody may take; or, by index label, that one person may not take.
        allowed : bool array of shape [B, A], optional
            The same as a mask.
        weights : mapping, Series, DataFrame or array of shape [B, A], optional
            Factors from 0.01 to 100 on the cost of functions or actions: `{"CHANGE_JOB": 2}`, or a Series with these
            names as index, for everybody; the same by index label, `{7: {"CHANGE_JOB": 2}}`; or a DataFrame with the
            index labels of the people and functions or actions as columns. The cost of a step is its cost in the
            problem times its weight, rounded to 9 decimals.
        alternatives : int or Alternatives, optional
            Most plans of each person: the cheapest, and others that use other functions, chosen to minimize the
            expected least cost over a prior of personal weights. They are in `plan.alternatives`. Default: one plan.
        budget : int, optional
            Most queries about each person. With 0, people are assumed to be refused and no plan is verified.
        refused : bool, default=False
            Whether all people are known to be refused; otherwise each is queried first as they are.
        survival : str or float, optional
            Weight λ of survival, the chance that a retrained model is favourable, too: plans minimize
            cost / least cost + λ · (1 − survival). A number, or "none", "balanced" (4) or "high" (8). Default: "none",
            the least cost.
        survival_at_least : float, optional
            Least survival of a plan: the cheapest plan with it, or else the plan with the best.
        execution : float or mapping of str to float, optional
            By how much of their effect functions that add to a number may fall short, as a share: one for all, or by
            function. Survival then includes that.
        deadline : float, optional
            Longest duration of a plan, in the unit of the problem file. Exact search then proves that its plan is the
            cheapest within the deadline, or that there is none.
        pareto : bool, default=False
            Whether to search for all plans on the front of cost and duration, which become `plan.front`: the planners
            "exact" and "auto", which then plans with exact search.
        jobs : int, default=1
            Number of processes to plan with; -1 for one per core. The plans are the same for any number. All queries
            are sent by this process, so the model need not be thread-safe or serializable. A black box with a budget
            is planned for by one process, because the order of its queries matters; so are plans for survival that
            retrained models or the scores of the model are queried for.
        progress : bool or callable, optional
            True for a progress bar, also in notebooks; or a function, which is called with the number of people
            finished since the last call.

        Returns
        -------
        Plans
            One plan per person, in the same order.

        Raises
        ------
        SettingError
            If a parameter is invalid.
        PeopleError
            If the people do not match the problem.

        Examples
        --------
        >>> from counterplan import ExactPlanner, benchmarks
        >>> german = benchmarks.load("german")
        >>> planner = ExactPlanner(german.problem, german.model)
        >>> planner.plan(german.refused_test.head(3)).costs
        array([10., 20.,  5.])
        >>> planner.plan(german.refused_test.head(3), forbid=["CHANGE_SAVINGS"]).costs
        array([10., 28., 10.])
        >>> planner.plan(german.refused_test.head(3), weights={"CHANGE_PURPOSE": 3}).costs
        array([30., 20.,  5.])
        """
        budget = checked_budget(budget)
        several = self._read_alternatives(alternatives, survival, survival_at_least, pareto)
        deadline = checked_deadline(self.problem, deadline, pareto)
        if pareto and not self.finds_fronts:
            raise SettingError(f"pareto=True needs planner='exact' or 'auto'; '{self.name}' searches for no fronts")
        read = self.problem.read(people)
        goal = self._goal(read, survival, survival_at_least, execution)
        if pareto and goal is not None and goal.changes_plans:
            raise SettingError("pareto=True weighs cost and duration only; leave out 'survival', or 'pareto'")
        queries, cached = self.box.queries, self.box.cached
        with reporting(progress, "Planning", len(read), display=lambda bar: bar.advance) as callback:
            task = PlanningTask(
                read,
                allowed_actions(self.problem, read, forbid, allowed),
                read_weights(self.problem, read, weights),
                goal=goal if goal is not None and goal.changes_plans and self.uses_survival else None,
                alternatives=several,
                deadline=deadline,
                pareto=pareto,
                budget=budget,
                refused=refused,
                progress=callback,
                jobs=checked_jobs(jobs),
            )
            columns = self._plan(task)
        if deadline is not None:
            columns.deadlines = Coded(np.zeros(len(columns), np.intp), [deadline])
        if pareto:
            columns.search_for_related("front")
        columns.limits = ActionLimits.of(task.allowed, task.weights)
        columns.constraints = columns.limits.by_person(self.problem)
        members = self.box.member_fingerprints(self.problem)
        if goal is None and members:
            goal = SurvivalGoal(NoEstimate("", ""))
        for owner, part in [(None, columns), *((one.owner, one.columns) for one in columns.related.values())]:
            own = task if owner is None else task.take(owner)
            if owner is not None:
                part.queries = columns.queries[owner]
                if deadline is not None and part.deadlines is None:
                    part.deadlines = Coded(np.zeros(len(part), np.intp), [deadline])
            part.weights = own.step_weights(part.actions)
            part.checks = self._checks(part)
            if goal is not None:
                state_survival(self.problem, own.people, part, goal, ignored=self.ignores(goal), members=members)
        queries, cached = self.box.queries - queries, self.box.cached - cached
        return Plans.from_columns(self.problem, read, columns, queries=queries, cached=cached)

    def _read_alternatives(
        self,
        alternatives: int | Alternatives | None,
        survival: SurvivalLike | None,
        at_least: float | None,
        pareto: bool,
    ) -> Alternatives | None:
        """Validate the parameter `alternatives` of `plan`."""
        settings = read_alternatives(alternatives)
        if settings is None:
            return None
        if not self.uses_alternatives:
            raise SettingError(
                f"planner '{self.name}' finds one plan for each person; for alternatives, plan with auto, exact, "
                "guided or card"
            )
        if pareto:
            raise SettingError("a front of cost and duration has no alternatives: leave out 'pareto' or 'alternatives'")
        if read_weight(survival) or at_least is not None:
            raise SettingError("alternatives are compared by cost: leave out either 'alternatives' or 'survival'")
        return settings

    def ignores(self, goal: SurvivalGoal) -> bool:
        """Whether plans do not take a survival goal into account although it demands that."""
        return goal.changes_plans and not self.uses_survival

    def _goal(
        self,
        people: People,
        survival: SurvivalLike | None,
        at_least: float | None,
        execution: ExecutionLike | None,
    ) -> SurvivalGoal | None:
        """The survival goal of a call of `plan`; None if nothing is known about survival and nothing was demanded."""
        none = NoEstimate("", "create the planner with Recourse.planner, which has one")
        noise = None if execution is None else ExecutionNoise.read(self.problem, execution)
        estimator = none if self.survival is None else self.survival
        goal = survival_goal(estimator, survival, at_least)
        if goal.changes_plans:
            estimator.require(self.problem, people)
        if self.survival is None:
            return None
        prepared = estimator.prepare(people)
        if at_least is not None and at_least > prepared.largest + 1e-9:
            raise SettingError(
                f"'survival_at_least' is {at_least:g}, and the estimate by {prepared.source} never states more than "
                f"{prepared.largest:g}"
            )
        return replace(goal, estimator=prepared if noise is None else ExecutionEstimator(prepared, noise))

    def _plan(self, task: PlanningTask) -> PlanColumns:
        """Query people as they are, unless they are known to be refused, and search for those who are.

        With a budget of 0, everybody is assumed to be refused, and nothing is proved.
        """
        people, budget = task.people, task.budget
        if len(people) and (task.refused or budget == 0):
            columns = self._search(task)
            if not task.refused:
                columns.lower_bound[:] = 0.0
                unproved = {Status.INFEASIBLE: Status.NOT_FOUND}
                columns.status = [unproved.get(status, status) for status in columns.status]
            return columns
        columns = PlanColumns.empty(len(people), self.problem.max_actions)
        known, favourable = self._query_as_they_are(task)
        for row in np.flatnonzero(favourable).tolist():
            columns.status[row] = Status.ALREADY_FAVOURABLE
        columns.verified[favourable] = columns.optimal[favourable] = True
        rows = np.flatnonzero(known & ~favourable)
        task.progress(len(people) - len(rows))
        if len(rows):
            left = None if budget is None else budget - 1
            columns.put(rows, self._search(replace(task.take(rows), budget=left, refused=True)))
        columns.queries[known] += 1
        return columns

    def _checks(self, columns: PlanColumns) -> Coded[Check] | None:
        """The model [B] that verified plans were checked with; None if there are none."""
        if not columns.verified.any():
            return None
        check = Check(self.box.model.name, self.box.fingerprint(self.problem), planning_date())
        return Coded(np.where(columns.verified, 0, NO_CODE), [check])

    def _search(self, task: PlanningTask) -> PlanColumns:
        """Search in one process, or chunk by chunk in several."""
        local = task.goal is not None and not task.goal.estimator.portable
        if task.jobs == 1 or local or self.box.budget is not None or len(task) <= self.chunk_size:
            with one_blas_thread():
                return self.search_in_time(task)
        return search_chunks(self, task)

    def search_in_time(self, task: PlanningTask) -> PlanColumns:
        """Search; plans of a planner without deadlines that take too long are removed.

        Parameters
        ----------
        task : PlanningTask
            The people, and the constraints on their plans.

        Returns
        -------
        PlanColumns
            One row per person, in the same order.
        """
        columns = self.search(task)
        if task.deadline is not None and not self.uses_deadline:
            remove_late(self.problem, task.people, columns, task.deadline)
        return columns

    @property
    def chunk_size(self) -> int:
        """Number of people that one of several processes searches for at a time.

        If results depend on the people who are searched for at the same time, it is a multiple of their number.
        """
        return 64

    def _query_as_they_are(self, task: PlanningTask) -> tuple[Bools, Bools]:
        """Which people [B] could be queried, and which of them are favourable."""
        people = task.people
        try:
            session = self.box.session(self.problem, people, scores=self.uses_scores)
            favourable = session(people.states, np.arange(len(people)))
            return np.ones(len(people), bool), favourable
        except QueryBudgetExceeded as stop:
            return stop.known, stop.answers

    def expect(self, people: int) -> None:  # noqa: B027 -- most planners do not depend on it
        """Announce how many people will be planned for, in one or more calls of `plan`."""

    @property
    def uses_scores(self) -> bool:
        """Whether the planner uses the model's scores, so that they are obtained about people as they are, too."""
        return False

    @property
    def repeated_queries(self) -> int:
        """Queries of the last search that the planner answered itself, because it had queried the state before."""
        return 0

    @abstractmethod
    def search(self, task: PlanningTask) -> PlanColumns:
        """Plan for the people of `task`, all refused.

        Parameters
        ----------
        task : PlanningTask
            The people, and the constraints on their plans.

        Returns
        -------
        PlanColumns
            One row per person, in the same order.
        """


def remove_late(problem: Problem, people: People, columns: PlanColumns, deadline: float) -> None:
    """Remove plans that take longer than `deadline`, in place."""
    makespan = schedule(problem.transitions, people.states, columns.actions).makespan
    late = np.flatnonzero(to_units(makespan) > to_units(deadline))
    if not len(late):
        return
    columns.actions[late] = NO_ACTION
    columns.verified[late] = columns.optimal[late] = False
    texts: list[str | None] = [None] * len(columns)
    if columns.cautions is not None:
        texts = [columns.cautions.get(row) for row in range(len(columns))]
    for row in late.tolist():
        columns.status[row] = Status.NOT_FOUND
        takes, most = (limit_text(number, problem.time_unit) for number in (makespan[row], deadline))
        texts[row] = f"A plan was found, but it takes {takes}, longer than {most}."
    columns.cautions = Coded.of(texts)


def search_chunks(planner: Planner, task: PlanningTask) -> PlanColumns:
    """Search for chunks of the people of `task` in `task.jobs` processes; queries are sent by this one.

    Parameters
    ----------
    planner : Planner
    task : PlanningTask

    Returns
    -------
    PlanColumns
    """
    box, problem, people = planner.box, planner.problem, task.people
    chunks = [
        (chunk, replace(task.take(chunk.rows), people=chunk.people, progress=no_progress, jobs=1))
        for chunk in people_chunks(box, problem, people, planner.chunk_size)
    ]
    columns = PlanColumns.empty(len(people), problem.max_actions)
    serve = answering(box, problem, people)
    results = run_chunks(_search_chunk, planner, chunks, task.jobs, serve=serve, progress=task.progress)
    for (chunk, _), (part, cached) in zip(chunks, results, strict=True):
        columns.put(chunk.rows, part)
        box.cached += cached
    return columns


def _search_chunk(
    planner: Planner, chunk: tuple[PeopleChunk, PlanningTask], link: WorkerLink
) -> tuple[PlanColumns, int]:
    """In a worker process: the plans of a chunk, and the number of cache hits."""
    (_, known), task = chunk
    box = planner.box
    box.add_to_cache(planner.problem, known)
    before = box.cached
    columns = planner.search_in_time(replace(task, progress=link.progress))
    return columns, box.cached - before
