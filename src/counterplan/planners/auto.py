"""The default planner: exact or guided, chosen by the speed of the model and the size of the space."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import ClassVar, Literal

import numpy as np

from counterplan.blackbox import BlackBox
from counterplan.errors import NotFittedError, SettingError
from counterplan.planners.base import PlanColumns, Planner, PlanningTask, is_whole
from counterplan.planners.cascade import CascadePlanner, counting_repeats
from counterplan.planners.exact import BATCH_SIZE, STATE_LIMIT, ExactPlanner
from counterplan.planners.registry import HOW_TO_FIT, Learned, create_planner
from counterplan.planners.task import no_progress
from counterplan.plans import Status
from counterplan.plans.progress import duration
from counterplan.problem import Problem
from counterplan.problem.transitions import Bools, Ints
from counterplan.search.state_count import StateCount, count_states
from counterplan.surrogate.acquisition import GuideSettings
from counterplan.survival.goal import SurvivalGoal

STATE_SECONDS = 1e-5
"""CPU time of exact search for one state, without the query."""
GUIDED_SECONDS, GUIDED_QUERIES = 0.03, 4
"""Typical CPU time and number of queries of guided planning for one person."""
_FIRST_ROWS = 32
"""Queries that suffice to time the model."""
_MOST_STATES = 25_000
"""States of one person beyond which a space is not enumerated further."""
_CHUNK = 128
"""People planned for at a time."""
_BATCH_STATES = 5_000_000
"""Most states of the people that exact search plans for at the same time in larger batches."""

_log = logging.getLogger("counterplan")


@dataclass(frozen=True)
class AutoSettings:
    """Settings of the planner "auto".

    Parameters
    ----------
    prefer : {"exact", "guided"}, optional
        Plan with this planner regardless of the model's speed; None to choose.
    cheap_seconds : float, default=1
        Plan with exact search if it is estimated to take at most this long for one person, and at most
        `affordable_seconds` for everybody.
    affordable_seconds : float, default=600
        If there is no surrogate, plan with exact search if it is estimated to take at most this long for everybody.
    proof_seconds : float, default=1
        Time of exact search for one person without a plan from the chosen planner.
    proof_queries : int, default=50
        Queries of this search that are allowed even if they take longer; 0 for none.
    sample : int, default=20
        Most people whose states are counted.
    batch_size : int, default=64
        People that exact search plans for at the same time, if the states of so many people fit into memory; 64
        otherwise. More people are faster, and have the same plans.
    scores : bool, default=True
        Whether to obtain scores even if there is no surrogate yet, so that a later `fit` can learn from the answers.

    Raises
    ------
    SettingError
        If a value is out of range.

    Examples
    --------
    >>> from counterplan import AutoPlanner, AutoSettings, Scorecard, benchmarks
    >>> from counterplan.scorecard import CardFeature
    >>> german = benchmarks.load("german")
    >>> savings = CardFeature(4, (), (0, 0, 5, 8, 10))
    >>> purpose = CardFeature(8, (), (0, 0, 0, 0, 0, 0, 0, 8))
    >>> card = Scorecard(german.problem, (savings, purpose), needed=8, slope=0.5, shift=3.0)
    >>> learned = {"surrogate": lambda: card.logit}  # usually the surrogate of a `Recourse`
    >>> for most in (0, 1_000):  # queries of exact search about the second person
    ...     settings = AutoSettings(prefer="guided", proof_seconds=0, proof_queries=most)
    ...     planner = AutoPlanner(
    ...         german.problem, german.model, learned=learned, settings=settings
    ...     )
    ...     planner.plan(german.refused_test.head(3)).costs
    array([10., nan,  5.])
    array([10., 20.,  5.])
    """

    prefer: Literal["exact", "guided"] | None = None
    cheap_seconds: float = 1.0
    affordable_seconds: float = 600.0
    proof_seconds: float = 1.0
    proof_queries: int = 50
    sample: int = 20
    batch_size: int = BATCH_SIZE
    scores: bool = True

    def __post_init__(self) -> None:
        if self.prefer not in (None, "exact", "guided"):
            raise SettingError(f"'prefer' must be 'exact', 'guided' or None, not {self.prefer!r}")
        for name in ("cheap_seconds", "affordable_seconds", "proof_seconds"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, Real) or not float(value) >= 0:
                raise SettingError(f"'{name}' must be a number of seconds, zero or more, not {value!r}")
        if not is_whole(self.proof_queries) or not is_whole(self.sample, 1):
            raise SettingError(
                "'proof_queries' and 'sample' must be integers, at least 0 and 1; not "
                f"{self.proof_queries!r} and {self.sample!r}"
            )
        if not is_whole(self.batch_size, 1) or not isinstance(self.scores, bool):
            raise SettingError(
                "'batch_size' must be an integer, 1 or more, and 'scores' True or False; not "
                f"{self.batch_size!r} and {self.scores!r}"
            )


@dataclass(frozen=True)
class AutoDecision:
    """Which planner "auto" chose, and why; `str` gives the reason as a sentence.

    Parameters
    ----------
    planner : str
        "exact", "guided" or "cascade"; with a budget, these joined by "+".
    reason : str
        The reason as a sentence.
    people : int
        Number of people who are refused.
    seconds_per_row : float, optional
        Time of one query; None if it was not known.
    states : float, optional
        Mean number of states that a person can reach; None if they were not counted.
    complete : bool
        Whether `states` are all of them; otherwise there are more.
    """

    planner: str
    reason: str
    people: int
    seconds_per_row: float | None = None
    states: float | None = None
    complete: bool = True

    def __str__(self) -> str:
        return self.reason

    @property
    def exact_seconds(self) -> float | None:
        """Estimated time of exact search for one person, at least; None if it is not known."""
        if self.states is None or self.seconds_per_row is None:
            return None
        return self.states * (self.seconds_per_row + STATE_SECONDS)


class AutoPlanner(Planner):
    """Find plans by exact search where that is fast, otherwise guided by a surrogate.

    The time of a query is measured while people are queried as they are, and the size of the space is estimated by
    counting the states of some of them without queries. Exact search is chosen if it is cheap (see `AutoSettings`) or
    takes no longer than guided planning; otherwise guided planning. The estimate is an upper bound, because exact
    search ends at the first favourable state. People without a plan are passed on to exact search, within a limit of
    time or queries, which finds a plan or proves that there is none. Without a surrogate, exact search is chosen if it
    is affordable, otherwise a cascade of what was learned.

    With a budget, guided planning (or the cascade) comes first, and exact search uses the rest of the budget.

    Parameters
    ----------
    problem : Problem
        The problem to plan for.
    box : BlackBox or model
        The model that is queried.
    learned : mapping of str to callable, optional
        Functions that return the "surrogate", the "agent" and the "program", or None.
    guide : GuideSettings, optional
        Settings of guided planning. If they are given, guided planning is chosen, and nobody is passed on.
    settings : AutoSettings, optional
        When exact search is chosen, and its limits. Default: `AutoSettings()`.

    Attributes
    ----------
    decision_ : AutoDecision or None
        The last decision.

    Examples
    --------
    >>> from counterplan import AutoPlanner, benchmarks
    >>> german = benchmarks.load("german")
    >>> planner = AutoPlanner(german.problem, german.model)
    >>> plans = planner.plan(german.refused_test.head(3))
    >>> planner.decision_.planner
    'exact'
    """

    name: ClassVar[str] = "auto"
    chooses: ClassVar[bool] = True
    uses_survival: ClassVar[bool] = True
    uses_alternatives: ClassVar[bool] = True
    uses_deadline: ClassVar[bool] = True
    finds_fronts: ClassVar[bool] = True

    def __init__(
        self,
        problem: Problem,
        box: BlackBox | object,
        *,
        learned: Learned | None = None,
        guide: GuideSettings | None = None,
        settings: AutoSettings | None = None,
    ) -> None:
        super().__init__(problem, box)
        self.learned = learned or {}
        self.guide = guide
        self.settings = settings or AutoSettings()
        self.decision_: AutoDecision | None = None
        self._expected = 0
        self._count: StateCount | None = None
        """States of people without constraints, as counted in an earlier call."""

    @property
    def uses_scores(self) -> bool:
        """Whether scores are obtained: for the surrogate, or for one that may be fitted to the same answers later."""
        if not self._has("surrogate"):
            return self.settings.scores
        return create_planner("guided", self.problem, self.box, self.learned).uses_scores

    def expect(self, people: int) -> None:
        """See `Planner.expect`; by default, those of each call are all."""
        self._expected = people

    def ignores(self, goal: SurvivalGoal) -> bool:
        """See `Planner.ignores`; a cascade of what was learned may."""
        chosen = self.decision_ is not None and self.decision_.planner == "cascade"
        return chosen and create_planner("cascade", self.problem, self.box, self.learned).ignores(goal)

    def _has(self, part: str) -> bool:
        return part in self.learned and self.learned[part]() is not None

    def _query_as_they_are(self, task: PlanningTask) -> tuple[Bools, Bools]:
        """See `Planner`; the first queries time the model, so that the lack of a surrogate is noticed early."""
        known, favourable = np.zeros(len(task), bool), np.zeros(len(task), bool)
        for rows in np.split(np.arange(len(task)), [min(_FIRST_ROWS, len(task))]):
            part = task.take(rows)
            known[rows], favourable[rows] = super()._query_as_they_are(part)
            refused = np.flatnonzero(known[rows] & ~favourable[rows])
            if len(rows) < len(task) and len(refused) and task.budget is None and not self._learned_anything:
                self._decide(part.take(refused), round(len(task) * len(refused) / len(rows)))
        return known, favourable

    def search(self, task: PlanningTask) -> PlanColumns:
        """See `Planner.search`."""
        if not len(task):
            return PlanColumns.empty(0, self.problem.max_actions)
        if task.pareto:
            reason = "all plans on a front of cost and duration: plan with exact"
            self._decided(AutoDecision("exact", reason, len(task), self.box.marginal_seconds))
            return self.exact()._search(task)
        if task.budget is not None:
            return self._within_budget(task)
        run = _Stages(self.box, task, self.problem.max_actions)
        timed = self._time_queries(run)
        self._decided(self._decide(task, len(task)))
        staged = _StagedPlanner(self.problem, self.box, self._chosen(), max(_CHUNK, self._batch_size))
        first = np.arange(min(_CHUNK, len(task)) if timed else 0)
        if timed:
            run.plan_in_stages(staged.planners, first)
            task.progress(len(first))
        others = np.arange(len(first), len(task))
        if len(others):
            run.columns.put(others, staged._search(task.take(others)))
        return run.columns

    def _search(self, task: PlanningTask) -> PlanColumns:
        """Decide in this process; the planners that were chosen search in several."""
        return self.search(task)

    def _decided(self, decision: AutoDecision) -> None:
        self.decision_ = decision
        _log.info("auto: %s", decision)

    def _chosen(self) -> list[Planner]:
        """The chosen planner, and those for people that it finds no plan for."""
        assert self.decision_ is not None
        name = self.decision_.planner
        if name == "exact":
            return [*self._parts("exact"), *(self._parts("guided") if self._has("surrogate") else [])]
        return [*self._parts(name), *([] if self.guide is not None else [self._proof()])]

    def _proof(self) -> _Proof:
        return _Proof(self.problem, self.box, self.settings, self.uses_scores)

    def exact(self, state_limit: int = STATE_LIMIT) -> ExactPlanner:
        """Exact search with at most `state_limit` queries about one person."""
        batch_size = self._batch_size
        return ExactPlanner(
            self.problem, self.box, state_limit=state_limit, batch_size=batch_size, scores=self.uses_scores
        )

    @property
    def _batch_size(self) -> int:
        """People that exact search plans for at the same time: those of the settings, if all their states are few."""
        decision, wanted = self.decision_, self.settings.batch_size
        counted = decision is not None and decision.states is not None and decision.complete
        if wanted <= BATCH_SIZE or (counted and decision.states * wanted <= _BATCH_STATES):  # type: ignore[union-attr,operator]
            return wanted
        return BATCH_SIZE

    def _parts(self, name: str) -> list[Planner]:
        """The planner `name`; those of a cascade one by one."""
        if name == "exact":
            return [self.exact()]
        planner = create_planner(name, self.problem, self.box, self.learned, guide=self.guide)
        return list(planner.planners) if isinstance(planner, CascadePlanner) else [planner]

    def _within_budget(self, task: PlanningTask) -> PlanColumns:
        """Guided planning or a cascade, then exact search, within the budget of each person."""
        names = ["guided"] if self._has("surrogate") else ["cascade"] if self._learned_anything else []
        if self.settings.prefer == "exact":
            names = []
        if self.guide is None or not names:
            names.append("exact")
        reason = f"at most {task.budget:,} queries a person: plan with {' and then '.join(names)}"
        self._decided(AutoDecision("+".join(names), reason, len(task), self.box.marginal_seconds))
        parts = [part for name in names for part in self._parts(name)]
        return CascadePlanner(self.problem, self.box, parts).search(task)

    @property
    def _learned_anything(self) -> bool:
        return any(self._has(part) for part in ("surrogate", "agent", "program"))

    def _time_queries(self, run: _Stages) -> bool:
        """If the model was not called yet, plan for some people, first with queries that are needed in any case.

        Returns whether it was necessary.
        """
        if self.settings.prefer is not None or self.guide is not None or self.box.marginal_seconds is not None:
            return False
        guided = self._parts("guided") if self._has("surrogate") else []
        trials = [(planner, _FIRST_ROWS) for planner in guided]
        trials += [(self.exact(limit), _FIRST_ROWS // limit) for limit in (1, 8, 32)]
        for planner, people in trials:
            if self.box.marginal_seconds is None:
                run.plan(planner, np.arange(min(people, len(run.task))))
        return True

    def _decide(self, task: PlanningTask, people: int) -> AutoDecision:
        """Choose a planner for `people`; `task` has some of them."""
        settings, guided = self.settings, self._has("surrogate")
        people = max(people, self._expected)
        if settings.prefer is not None:
            return AutoDecision(settings.prefer, f"{settings.prefer} planning is preferred by the settings", people)
        if self.guide is not None:
            name = "guided" if guided else "cascade"
            return AutoDecision(name, f"a query has a price: plan with {name}", people)
        seconds = self.box.marginal_seconds
        if seconds is None:
            return AutoDecision("exact", "the answers are cached, so queries cost nothing: plan with exact", people)
        in_all = settings.affordable_seconds / max(1, people)
        cheap = max(min(settings.cheap_seconds, in_all), GUIDED_SECONDS + GUIDED_QUERIES * seconds)
        count = self._count_states(task, cheap / (seconds + STATE_SECONDS))
        decision = AutoDecision("exact", "", people, seconds, count.mean, count.complete)
        exact_seconds = decision.exact_seconds
        assert exact_seconds is not None
        more = "" if count.complete else " or more"
        facts = (
            f"a query takes {duration(seconds)} and a person has about {count.mean:,.0f}{more} states, so exact "
            f"search takes up to {duration(exact_seconds)}{more} a person"
        )
        if count.complete and exact_seconds <= cheap:
            return replace(decision, reason=f"{facts}: plan with exact, which proves its answers")
        if guided:
            return replace(decision, planner="guided", reason=f"{facts}: plan with guided")
        if exact_seconds <= in_all:
            return replace(decision, reason=f"{facts}, which is affordable: plan with exact")
        if self._learned_anything:
            return replace(decision, planner="cascade", reason=f"{facts}: plan with the cascade of what was learned")
        raise NotFittedError(
            f"{facts}, and {duration(people * exact_seconds)}{more} for {people:,} people. A surrogate needs a few "
            f"queries a person: {HOW_TO_FIT}; or pass planner='exact', or a budget of queries a person"
        )

    def _count_states(self, task: PlanningTask, most: float) -> StateCount:
        """Count the states of some people, as far as it is necessary to compare their mean with `most`."""
        most = min(most, _MOST_STATES)
        unconstrained = bool(task.allowed.all())
        known = self._count if unconstrained else None
        if known is not None and (known.complete or known.mean >= most):
            return known
        rows = np.unique(np.linspace(0, len(task) - 1, min(self.settings.sample, len(task))).astype(np.intp))
        limit = max(100, 2 * int(most))
        count = count_states(self.problem, task.people.states[rows], task.allowed[rows], limit=limit)
        if unconstrained:
            self._count = count
        return count


class _Proof(Planner):
    """Exact search within the limits of time and queries for people without a plan, by the speed of the model."""

    name: ClassVar[str] = "proof"
    uses_deadline: ClassVar[bool] = True

    def __init__(self, problem: Problem, box: BlackBox, settings: AutoSettings, scores: bool) -> None:
        super().__init__(problem, box)
        self.settings, self.scores = settings, scores

    def search(self, task: PlanningTask) -> PlanColumns:
        """See `Planner.search`."""
        settings = self.settings
        affordable = settings.proof_seconds / ((self.box.marginal_seconds or 0.0) + STATE_SECONDS)
        limit = int(min(STATE_LIMIT, max(settings.proof_queries, affordable)))
        if not limit:
            return PlanColumns.empty(len(task), self.problem.max_actions)
        return ExactPlanner(self.problem, self.box, state_limit=limit, scores=self.scores).search(task)


class _StagedPlanner(Planner):
    """Several planners in sequence, each for the people that those before it found no plan for."""

    name: ClassVar[str] = "staged"
    uses_deadline: ClassVar[bool] = True

    def __init__(self, problem: Problem, box: BlackBox, planners: Sequence[Planner], chunk_size: int = _CHUNK) -> None:
        super().__init__(problem, box)
        self.planners = tuple(planners)
        self._chunk_size = chunk_size

    @property
    def chunk_size(self) -> int:
        """See `Planner.chunk_size`."""
        return self._chunk_size

    def search(self, task: PlanningTask) -> PlanColumns:
        """See `Planner.search`."""
        run = _Stages(self.box, task, self.problem.max_actions)
        for first in range(0, len(task), self._chunk_size):
            rows = np.arange(first, min(first + self._chunk_size, len(task)))
            run.plan_in_stages(self.planners, rows)
            task.progress(len(rows))
        return run.columns


class _Stages:
    """Plans of several planners for the people of `task`; a state that two of them query counts once."""

    def __init__(self, box: BlackBox, task: PlanningTask, max_actions: int) -> None:
        self.box, self.task = box, task
        self.columns = PlanColumns.empty(len(task), max_actions)
        self.queried: list[set[bytes]] = [set() for _ in range(len(task))]

    def plan(self, planner: Planner, rows: Ints) -> None:
        """Replace the plans of the people `rows`, unless `planner` finds none and there is one."""
        columns, subtask = self.columns, replace(self.task.take(rows), progress=no_progress)
        with counting_repeats(self.box, subtask.people, [self.queried[row] for row in rows.tolist()]) as repeated:
            part = planner.search_in_time(subtask)
        columns.queries[rows] += np.maximum(part.queries - repeated, 0)
        columns.lower_bound[rows] = np.maximum(columns.lower_bound[rows], part.lower_bound)
        part.queries, part.lower_bound = columns.queries[rows], columns.lower_bound[rows]
        found = np.array([status is not Status.NOT_FOUND for status in part.status], bool)
        found |= np.array([columns.status[row] is Status.NOT_FOUND for row in rows.tolist()], bool)
        columns.put(rows[found], part.take(np.flatnonzero(found)))

    def plan_in_stages(self, planners: Sequence[Planner], rows: Ints) -> None:
        """Plan for the people `rows` with the first of `planners`, and for those without a plan with the next ones."""
        for stage, planner in enumerate(planners):
            left = self.unsolved(rows) if stage else rows
            if len(left):
                self.plan(planner, left)

    def unsolved(self, rows: Ints) -> Ints:
        """Those of `rows` without a plan and without a proof that there is none."""
        return rows[[self.columns.status[row] is Status.NOT_FOUND for row in rows.tolist()]]
