"""The card planner: the cheapest way to enough points of a scorecard, checked with a few queries."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, NamedTuple

import numpy as np

from counterplan.blackbox import BlackBox, MeteredOracle
from counterplan.errors import ModelError, SettingError
from counterplan.personal.alternative_search import QueryLimits
from counterplan.planners.alternatives import search_alternatives
from counterplan.planners.base import PlanColumns, Planner, PlanningTask, is_whole
from counterplan.planners.cascade import CascadePlanner
from counterplan.planners.exact import BATCH_SIZE, STATE_LIMIT
from counterplan.planners.guided import GuidedPlanner
from counterplan.planners.task import no_progress
from counterplan.planners.uniform_cost import UniformCostSearch
from counterplan.plans import Coded, Status
from counterplan.plans.time_text import limit_text
from counterplan.problem import Problem
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.scorecard import Scorecard
from counterplan.scorecard.reasons import card_reasons
from counterplan.search.change_sets import ChangeSetSettings, propose
from counterplan.search.few_queries import FewQueries, undominated
from counterplan.search.frontier import Frontier, Labels
from counterplan.search.orders import rollout
from counterplan.search.timed_frontier import open_frontier
from counterplan.surrogate.acquisition import Logit
from counterplan.surrogate.alternatives import LIMITS
from counterplan.surrogate.surrogate import Surrogate

QUERIES = 3
MAX_EXPANSIONS = 460_000
"""Most expansions (states × actions) for one person; beyond it, change sets are proposed."""
_FARTHEST = 6.0
"""Costs of plans without queries, relative to the cheapest likely state, that are considered."""


class CardPlanner(Planner):
    """Find plans with a scorecard, and check them with a few queries about each person.

    A plan is the cheapest legal way to enough points. Without queries, this is the plan that `ExactPlanner` finds if a
    state with `card.required` points or more is favourable, or, where there is none, with the most points within reach,
    if these make a favourable decision as likely as not; it is not `verified`, and needs neither a model nor anything
    learned but the card. Otherwise the log odds of the card select the queries, so that the expected cost of the best
    plan confirmed is least, and a surrogate, if there is one, guides further queries about people without a confirmed
    plan.

    Parameters
    ----------
    problem : Problem
        The problem to plan for.
    box : BlackBox, model or None
        None if no queries are sent.
    card : Scorecard
        Must have been made for the same problem.
    queries : int, default=3
        Most queries about one person that the card selects. With 0, or with a budget of 0, none is sent.
    surrogate : Surrogate or callable, optional
        As for `GuidedPlanner`.
    fall_through : bool, default=True
        Whether the guided planner continues if no plan was confirmed.
    policy : FewQueries, optional
        How the queries are selected.

    Raises
    ------
    SettingError
        If the card was made for another problem, or `queries` is not an integer.

    Examples
    --------
    >>> from counterplan import CardPlanner, Scorecard, benchmarks
    >>> from counterplan.scorecard import CardFeature
    >>> german = benchmarks.load("german")
    >>> savings = CardFeature(4, (), (0, 0, 5, 8, 10))
    >>> purpose = CardFeature(8, (), (0, 0, 0, 0, 0, 0, 0, 8))
    >>> card = Scorecard(german.problem, (savings, purpose), needed=8, slope=0.5, shift=3.0)
    >>> planner = CardPlanner(german.problem, german.model, card)
    >>> plans = planner.plan(german.refused_test.iloc[[0, 2]])
    >>> [plan.actions for plan in plans]
    [['CHANGE_SAVINGS=quite_rich', 'CHANGE_PURPOSE=vacation/others'], ['CHANGE_SAVINGS=quite_rich']]
    >>> plans.queries_per_person
    array([4, 4])
    """

    name: ClassVar[str] = "card"
    requires: ClassVar[tuple[str, ...]] = ("card",)
    uses: ClassVar[tuple[str, ...]] = ("surrogate",)
    uses_deadline: ClassVar[bool] = True
    uses_alternatives: ClassVar[bool] = True

    def __init__(
        self,
        problem: Problem,
        box: BlackBox | object,
        card: Scorecard,
        *,
        queries: int = QUERIES,
        surrogate: Surrogate | Logit | None = None,
        fall_through: bool = True,
        policy: FewQueries | None = None,
    ) -> None:
        super().__init__(problem, _no_model if box is None else box)
        if not isinstance(card, Scorecard):
            raise SettingError(f"'card' must be a Scorecard, as distil(people, form='card') makes it, not {card!r}")
        if card.problem.fingerprint != problem.fingerprint:
            raise SettingError(
                f"the card was made for another problem ({card.problem.name}), not for {problem.name}; distil it again"
            )
        if not is_whole(queries):
            raise SettingError(f"'queries' must be an integer, zero or more, not {queries!r}")
        self.card, self.queries, self.policy = card, int(queries), policy or FewQueries()
        guided = surrogate is not None and fall_through and queries
        self._next = GuidedPlanner(problem, self.box, surrogate) if guided and surrogate is not None else None
        """Plans for people without a plan after these queries."""
        self._explains = surrogate is None
        """Whether the card explains plans that are verified; with a surrogate, `explain` does, by every answer."""

    @property
    def uses_scores(self) -> bool:
        """Whether the planner that continues uses the model's scores."""
        return self._next is not None and self._next.uses_scores

    @property
    def chunk_size(self) -> int:
        """See `Planner.chunk_size`."""
        return BATCH_SIZE

    def search(self, task: PlanningTask) -> PlanColumns:
        """See `Planner.search`."""
        if not self.queries or task.budget == 0:
            return self._unverified(task)
        if self._next is None:
            return self._verified(task)
        alone = CardPlanner(self.problem, self.box, self.card, queries=self.queries, policy=self.policy)
        alone._explains = self._explains
        return CascadePlanner(self.problem, self.box, [alone, self._next]).search(task)

    def _unverified(self, task: PlanningTask) -> PlanColumns:
        """The cheapest plans to enough points, or else to the most within reach, without queries or proofs."""
        starts = task.people.states
        columns, most = self._cheapest(task, self.card.required(starts))
        within = np.array([status is not Status.FOUND for status in columns.status]) & (
            most >= self.card.acceptable(starts)
        )
        if within.any():
            rows = np.flatnonzero(within)
            part, _ = self._cheapest(replace(task.take(rows), progress=no_progress), most[rows])
            columns.put(rows, part)
        found = [status is Status.FOUND for status in columns.status]
        columns.status = [Status.FOUND if is_found else Status.NOT_FOUND for is_found in found]
        steps = f"{self.problem.max_actions} step{'s' * (self.problem.max_actions > 1)}"
        in_time = "" if task.deadline is None else f" and {limit_text(task.deadline, self.problem.time_unit)}"
        nothing = f"There is no way to enough points in at most {steps}{in_time}."
        columns.cautions = Coded.of(
            (_within_reach(self.card.needed, count) if is_within else None) if is_found else nothing
            for is_found, is_within, count in zip(found, within.tolist(), most.tolist(), strict=True)
        )
        columns.verified[:], columns.optimal[:], columns.lower_bound[:], columns.queries[:] = False, False, 0.0, 0
        columns.reasons = card_reasons(self.card, starts, columns.actions)
        if task.alternatives is not None:
            self._add_unverified_alternatives(task, columns)
        return columns

    def _add_unverified_alternatives(self, task: PlanningTask, columns: PlanColumns) -> None:
        """Alternatives with enough points, or with as many as the plans have."""
        starts = task.people.states
        ends, _, _ = rollout(self.problem.transitions, starts, columns.actions)
        goal = np.minimum(self.card.required(starts), self.card.points(ends))

        def never(states: Floats, rows: Ints) -> tuple[Bools, Bools]:
            raise AssertionError("alternatives that are not verified need no query")

        search_alternatives(
            *(self.problem, task, np.arange(len(task)), columns, never),
            lambda people: _PointChances(self.card, goal[people]),
            QueryLimits(confidence=1.0),
        )
        related = columns.related.get("alternatives")
        if related is not None:
            related.columns.reasons = card_reasons(self.card, starts[related.owner], related.columns.actions)

    def _cheapest(self, task: PlanningTask, goal: Ints) -> tuple[PlanColumns, Ints]:
        """The cheapest plans to `goal` [B] points, and the most points [B] of the states enumerated."""
        columns = PlanColumns.empty(len(task), self.problem.max_actions)
        most = np.full(len(task), -1, np.int64)

        def enough(states: Floats, rows: Ints) -> Bools:
            points = self.card.points(states)
            np.maximum.at(most, rows, points)
            return np.asarray(points >= goal[rows])

        for rows, frontier in self._batches(task):
            UniformCostSearch(frontier, enough, rows, STATE_LIMIT, columns, task.progress).run()
        return columns, most

    def _verified(self, task: PlanningTask) -> PlanColumns:
        """The cheapest plans that were confirmed with the queries that the card selects."""
        columns = PlanColumns.empty(len(task), self.problem.max_actions)
        session = self.box.session(self.problem, task.people, scores=self.uses_scores)
        oracle = MeteredOracle(session, len(task), known_answers={})
        most = self.queries if task.budget is None else min(self.queries, task.budget)
        for rows, frontier in self._batches(task):
            _CardSearch(frontier, self.card, self.policy, most).run(oracle, rows, columns)
            task.progress(len(rows))
        if self._explains:
            columns.reasons = card_reasons(self.card, task.people.states, columns.actions, verified=True)
        if task.alternatives is not None:
            search_alternatives(
                *(self.problem, task, np.arange(len(task)), columns, oracle.query),
                lambda people: _LogitChances(self.card),
                LIMITS,
                max_queries=task.budget,
            )
        return columns

    def _batches(self, task: PlanningTask) -> list[tuple[Ints, Frontier]]:
        """Rows of people who are planned for together, with their frontiers."""
        batches = []
        for first in range(0, len(task), BATCH_SIZE):
            rows = np.arange(first, min(first + BATCH_SIZE, len(task)))
            weights = None if task.weights is None else task.weights[rows]
            starts, allowed = task.people.states[rows], task.allowed[rows]
            batches.append((rows, open_frontier(self.problem, starts, allowed, weights, task.deadline)))
        return batches


class _PointChances:
    """1 for states with enough points, those `goal` [B] of each person, and 0 for others."""

    learns = False

    def __init__(self, card: Scorecard, goal: Ints) -> None:
        self._card, self._goal = card, goal
        self._values = np.empty(0)

    def add(self, labels: Labels, states: Floats) -> None:
        """See `Chances.add`."""
        enough = self._card.points(states) >= self._goal[labels.person]
        self._values = np.concatenate([self._values, enough.astype(float)])

    def values(self) -> Floats:
        """See `Chances.values`."""
        return self._values

    def observe(self, at: Ints, states: Floats, favourable: Bools) -> None:
        """See `Chances.observe`."""


class _LogitChances(_PointChances):
    """Chances by the log odds of the card."""

    def __init__(self, card: Scorecard) -> None:
        super().__init__(card, np.empty(0, np.intp))

    def add(self, labels: Labels, states: Floats) -> None:
        """See `Chances.add`."""
        self._values = np.concatenate([self._values, 1 / (1 + np.exp(-self._card.logit(states)))])


def _no_model(people: object) -> object:
    raise ModelError("there is no model to query: pass one, or plan with queries=0 and refused=True")


def _within_reach(needed: int, most: int) -> str:
    return f"No plan leads to {needed:,} points: {most:,} are the most within reach."


@dataclass
class _Person:
    """Candidates of one person, and what is known from the queries so far."""

    belief: Floats
    best_points: Ints
    """[n] the largest numbers of points of states enumerated so far, in increasing order."""
    cost: list[float] = field(default_factory=list)
    logit: list[float] = field(default_factory=list)
    label: list[tuple[int, int]] = field(default_factory=list)
    """Index of the labels, and position in them, of each candidate."""
    queried: list[bool] = field(default_factory=list)
    best: float = np.inf
    best_label: tuple[int, int] | None = None
    reference: float = np.inf
    """Cost of the cheapest likely candidate, or of the most likely one."""


class CheapestStates(NamedTuple):
    """States with more points than every state of the same person that costs no more."""

    person: Ints
    """[n] in increasing order; the states of each person in order of cost."""
    states: Floats
    """[n, F]"""
    points: Ints
    """[n]"""
    cost: Floats
    """[n]"""


def cheapest_by_points(card: Scorecard, starts: Floats) -> CheapestStates:
    """The states that plans of a card may lead people at `starts` [B, F] to, without queries.

    They end at many times the cost of the cheapest likely state.
    """
    policy, problem = FewQueries(failure_cost=_FARTHEST), card.problem
    everybody = np.ones((min(BATCH_SIZE, len(starts)), len(problem.transitions)), bool)
    who: list[int] = []
    states: list[Floats] = [starts[:0]]
    cost: list[float] = []
    for first in range(0, len(starts), BATCH_SIZE):
        own = starts[first : first + BATCH_SIZE]
        search = _CardSearch(Frontier(problem, own, everybody[: len(own)]), card, policy, 1)
        search.certain[:] = np.inf
        search.enumerate()
        for number, person in enumerate(search.people):
            for at in undominated(np.array(person.cost), np.array(person.logit)).tolist():
                who.append(first + number)
                states.append(search.state(person.label[at]))
                cost.append(person.cost[at])
    found = np.concatenate(states)
    return CheapestStates(np.array(who, np.intp), found, card.points(found), np.array(cost))


class _CardSearch:
    """The search for a batch of people with at most `max_queries` queries each.

    A state can only be the best one to query if fewer than that many others have as many points at no greater cost:
    only these candidates are stored.
    """

    def __init__(self, frontier: Frontier, card: Scorecard, policy: FewQueries, max_queries: int) -> None:
        self.frontier, self.card, self.policy, self.max_queries = frontier, card, policy, max_queries
        kept = min(max_queries, policy.max_candidates)
        self.people = [
            _Person(belief, np.full(kept, -1, np.int64)) for belief in policy.refused(card.logit(frontier.starts))
        ]
        self.labels: list[Labels] = []
        beliefs = np.stack([person.belief for person in self.people])
        self.likely, self.certain = policy.likely(beliefs), policy.certain(beliefs)
        """[B] log odds of states that are likely, and almost certain, to be favourable, before any query."""

    def run(self, oracle: MeteredOracle, rows: Ints, columns: PlanColumns) -> None:
        """Enumerate candidates, query them one by one, and write the plans to `columns` at `rows` [B]."""
        self.enumerate()
        active = np.ones(len(self.people), bool)
        for left in range(self.max_queries, 0, -1):
            chosen = {}
            for number in np.flatnonzero(active).tolist():
                at = self.select(self.people[number], left)
                active[number] = at is not None
                if at is not None:
                    chosen[number] = at
            if not chosen or oracle.exhausted:
                break
            who = np.array(list(chosen), np.intp)
            states = np.concatenate([self.state(self.people[number].label[at]) for number, at in chosen.items()])
            favourable, known = oracle.query(states, rows[who])
            columns.queries[rows[who[known]]] += 1
            for (number, at), answer, is_known in zip(chosen.items(), favourable, known, strict=True):
                if is_known:
                    self.observe(self.people[number], at, bool(answer))
                active[number] &= is_known
        for row, person in zip(rows.tolist(), self.people, strict=True):
            if person.best_label is not None:
                part, place = person.best_label
                columns.actions[row] = self.frontier.actions(self.labels[part].take(slice(place, place + 1)))[0]
                columns.status[row], columns.verified[row] = Status.FOUND, True

    def select(self, person: _Person, left: int) -> int | None:
        """The candidate of a person to query next."""
        open_ = np.flatnonzero(~np.array(person.queried, bool))
        if not len(open_):
            return None
        at = self.policy.select(
            np.array(person.cost)[open_],
            np.array(person.logit)[open_],
            person.belief,
            best=person.best,
            reference=person.reference,
            left=left,
        )
        return None if at is None else int(open_[at])

    def observe(self, person: _Person, at: int, favourable: bool) -> None:
        """Store an answer about a candidate of a person."""
        person.queried[at] = True
        person.belief = self.policy.updated(person.belief, person.logit[at], favourable)
        if favourable and person.cost[at] < person.best:
            person.best, person.best_label = person.cost[at], person.label[at]

    def enumerate(self) -> None:
        """Enumerate states in order of cost, until more expensive ones are not worth a query."""
        frontier, count = self.frontier, len(self.people)
        limit = max(1, MAX_EXPANSIONS // len(frontier.transitions))
        states, full = np.zeros(count, np.intp), np.zeros(count, bool)
        while frontier.active.any():
            frontier.limit = np.maximum(limit - states, 1)
            labels = frontier.advance()
            if labels is None:
                break
            states += np.bincount(labels.person, minlength=count)
            self.add(labels.take(frontier.order(labels)))
            full |= frontier.truncated | (states >= limit)
            frontier.finished |= full | self.complete()
            frontier.active = ~frontier.finished
        self.propose(np.flatnonzero(full & ~self.complete()))
        for person in self.people:
            if np.isinf(person.reference) and person.cost:
                person.reference = person.cost[int(np.argmax(person.logit))]

    def complete(self) -> Bools:
        """[B] whether no state beyond the frontier is worth a query."""
        best = np.array([person.best_points[0] for person in self.people])
        certain = (best >= 0) & (self.card.slope * best - self.card.shift >= self.certain)
        horizon = self.policy.failure_cost * np.array([person.reference for person in self.people])
        return np.asarray(certain | (self.frontier.lower_bound > horizon))

    def add(self, labels: Labels) -> None:
        """Store those of the `labels`, in order of cost, that are candidates."""
        if not len(labels):
            return
        points = self.card.points(self.frontier.full_states(labels))
        least = np.array([person.best_points[0] for person in self.people])
        better = np.flatnonzero(points > least[labels.person])
        kept: list[int] = []
        for place in better.tolist():
            person, own = self.people[labels.person[place]], int(points[place])
            if own > person.best_points[0]:
                person.best_points[0] = own
                person.best_points.sort()
                person.cost.append(float(labels.cost[place] * self.frontier.unit))
                person.logit.append(self.card.slope * own - self.card.shift)
                if np.isinf(person.reference) and person.logit[-1] >= self.likely[labels.person[place]]:
                    person.reference = person.cost[-1]
                person.label.append((len(self.labels), len(kept)))
                person.queried.append(False)
                kept.append(place)
        if kept:
            self.labels.append(labels.take(np.array(kept)))

    def propose(self, people: Ints) -> None:
        """Add change sets as candidates, for people with too many states to enumerate."""
        if not len(people):
            return
        frontier = self.frontier
        weights = None if frontier.costs.weights is None else frontier.costs.weights[people]
        starts, allowed = frontier.starts[people], frontier.allowed[people]
        made = propose(frontier.problem, starts, allowed, self.card.logit, ChangeSetSettings(), cost_weights=weights)
        labels = frontier.labels(people[made.person], made.actions, made.states, made.cost)
        labels = labels.take(~frontier.look_up(labels.key)[0] & frontier.within(labels))
        for number in people.tolist():
            self.people[number].best_points[:] = -1
        self.add(labels.take(frontier.order(labels)))

    def state(self, label: tuple[int, int]) -> Floats:
        """The state [1, F] of a candidate."""
        part, place = label
        return self.frontier.full_states(self.labels[part].take(slice(place, place + 1)))
