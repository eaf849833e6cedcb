"""The exact planner: uniform-cost search, which finds the cheapest plan there is or proves that there is none."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from counterplan.blackbox import BlackBox, QueryBudgetExceeded
from counterplan.errors import PlanError
from counterplan.planners.base import PlanColumns, Planner, Progress
from counterplan.plans import Status
from counterplan.problem import People, Problem
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.search.frontier import Frontier, Labels, Longs

STATE_LIMIT = 1_000_000
LEAST_ROOM = 4_096
"""So many actions are taken at once for one person, even if fewer states may be examined: many lead to known ones."""
TOGETHER = 64
"""People searched at the same time: enough to make arrays long, few enough to keep memory small."""


class ExactPlanner(Planner):
    """The cheapest legal plan within `max_actions`, or a proof that none exists.

    Ties go to the plan with fewer steps, then to the one whose actions come first in the file. `state_limit` bounds
    the states examined for one person; beyond it, or when the budget is spent, the plan is `not_found`, with the
    lower bound on cost that was proved so far.
    """

    name: ClassVar[str] = "exact"

    def __init__(
        self,
        problem: Problem,
        box: BlackBox | object,
        *,
        state_limit: int = STATE_LIMIT,
        together: int = TOGETHER,
    ) -> None:
        super().__init__(problem, box)
        if state_limit < 1 or together < 1:
            raise PlanError("'state_limit' and 'together' are one or more")
        self.state_limit = state_limit
        self.together = together

    def search(self, people: People, allowed: Bools, budget: int | None, progress: Progress) -> PlanColumns:
        """See `Planner.search`."""
        result = PlanColumns.empty(len(people), self.problem.max_actions)
        for first in range(0, len(people), self.together):
            rows = np.arange(first, min(first + self.together, len(people)))
            _Group(self, people, allowed, rows, budget, result, progress).run()
        return result


class _Group:
    """The search for some people at once."""

    def __init__(
        self,
        planner: ExactPlanner,
        people: People,
        allowed: Bools,
        rows: Ints,
        budget: int | None,
        result: PlanColumns,
        progress: Progress,
    ) -> None:
        self.planner = planner
        self.rows = rows
        self.most = planner.state_limit if budget is None else min(budget, planner.state_limit)
        self.result = result
        self.progress = progress
        self.ask = planner.box.session(planner.problem, people)
        self.frontier = Frontier(planner.problem, people.states[rows], allowed[rows])
        self.unit = self.frontier.unit
        self.active = self.frontier.growing

    def run(self) -> None:
        """Advance bucket by bucket until everybody has a plan, a proof, or no budget left."""
        self.make_room()
        while (labels := self.frontier.advance()) is not None:
            if not self.question(labels):
                return
            self.make_room()
        self.finish(np.flatnonzero(self.active), Status.INFEASIBLE, math.inf)

    def make_room(self) -> None:
        """Let nobody take many more actions of one cost than states may be examined for them."""
        self.frontier.room = np.maximum(self.most + 1 - self.result.queries[self.rows], LEAST_ROOM)

    def question(self, labels: Labels) -> bool:
        """Ask about new states, cheapest first; whoever has a favourable one is done. False if the budget is spent."""
        labels = labels.take(self.frontier.order(labels))
        wave = _waves(labels.person, labels.cost)
        for number in range(int(wave.max(initial=-1)) + 1):
            asked = labels.take((wave == number) & self.active[labels.person])
            beyond = self.beyond_budget(asked)
            given_up = np.unique(asked.person[beyond])
            asked = asked.take(~beyond)
            spent = False
            try:
                favourable = self.ask(self.frontier.full_states(asked), self.rows[asked.person])
            except QueryBudgetExceeded as stop:
                spent = True
                asked, favourable = asked.take(stop.known), stop.answers[stop.known]
                given_up = np.arange(len(self.rows))
            self.answered(asked, favourable)
            given_up = given_up[self.active[given_up]]
            if len(given_up):
                self.finish(given_up, Status.NOT_FOUND, self.cheapest_open(given_up, labels.take(wave >= number)))
            if spent:
                return False
        return True

    def beyond_budget(self, labels: Labels) -> Bools:
        """Which questions [n] exceed what may be asked about, or examined for, their person."""
        room = self.most - self.result.queries[self.rows[labels.person]]
        beyond: Bools = _nth_of_person(labels.person) >= room
        return beyond

    def cheapest_open(self, people: Ints, labels: Labels) -> Floats:
        """[n] the cheapest unanswered cost of each of `people`."""
        least = self.frontier.least_waiting()
        np.minimum.at(least, labels.person, labels.cost * self.unit)
        return least[people]

    def answered(self, labels: Labels, favourable: Bools) -> None:
        """Count the questions, and settle whoever got a favourable answer; labels come in order of preference."""
        self.result.queries[self.rows] += np.bincount(labels.person, minlength=len(self.rows))
        winners = labels.take(favourable)
        people, first = np.unique(winners.person, return_index=True)
        rows = self.rows[people]
        self.result.actions[rows] = self.frontier.actions(winners.take(first))
        self.result.verified[rows] = self.result.optimal[rows] = True
        self.finish(people, Status.FOUND, np.asarray(winners.cost[first] * self.unit, float))

    def finish(self, people: Ints, status: Status, bound: float | Floats) -> None:
        """Nothing more is to be done for `people`."""
        rows = self.rows[people]
        self.result.lower_bound[rows] = bound
        for row in rows.tolist():
            self.result.status[row] = status
        self.active[people] = False
        self.frontier.done[people] = True
        if len(people):
            self.progress(len(people))


def _waves(person: Ints, cost: Longs) -> Ints:
    """[n] for labels in order of cost: the how-maniest distinct cost of its person each one has."""
    order = np.argsort(person, kind="stable")
    p, c = person[order], cost[order]
    step = np.zeros(len(p), np.intp)
    step[1:] = (p[1:] == p[:-1]) & (c[1:] != c[:-1])
    total = np.cumsum(step)
    start = np.ones(len(p), bool)
    start[1:] = p[1:] != p[:-1]
    wave = np.empty(len(p), np.intp)
    wave[order] = total - np.maximum.accumulate(np.where(start, total, 0))
    return wave


def _nth_of_person(person: Ints) -> Ints:
    """[n] how many earlier entries have the same person."""
    return _waves(person, np.arange(len(person)))
