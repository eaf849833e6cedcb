"""Evaluation of programs on a surrogate: rollouts, and the expected loss of every choice at a node."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np

from counterplan.distillation.prediction_cache import groups_of
from counterplan.distillation.visits import Visits
from counterplan.problem import Problem
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.program.interpreter import decide_actions
from counterplan.program.parts import Choice, Tree
from counterplan.search.orders import NO_ACTION

T = TypeVar("T")
MAX_COST_LOSS = 5.0
"""Largest loss of a plan for its cost: six times the least cost is as bad as it gets."""


class RolloutOutcome(NamedTuple):
    """Expected outcome of rollouts."""

    loss: Floats
    """Expected loss: relative cost above the least one if the plan holds, else the penalty of a failure."""
    failure: Floats
    """Probability that there is no plan that holds."""


@dataclass(frozen=True)
class Evaluator:
    """Evaluates programs for people on a surrogate.

    Parameters
    ----------
    problem : Problem
    starts : array of shape [B, F]
        Initial states.
    least_cost : array of shape [B]
        Cost of the cheapest likely plan of each person; infinite for people without one.
    logit : callable
        Log odds [n] that states [n, F] of people [n] are favourable, called with the people and the states.
    failure_penalty : float
        Loss of a plan that fails, for people who have one that is likely to hold.
    useless_penalty : float
        Loss of a plan that fails, for the others; they lose nothing if they get none.
    choices : sequence of Choice
        Choices that leaves may have.
    forbidden_sets : bool array of shape [M, functions]
        Sets of functions that visits refer to; the first one is empty.
    jobs : int, default=1
        Number of threads, on which groups of people are evaluated; results are the same for any number.
    """

    problem: Problem
    starts: Floats
    least_cost: Floats
    logit: Callable[[Ints, Floats], Floats]
    failure_penalty: float
    useless_penalty: float
    choices: Sequence[Choice]
    forbidden_sets: Bools
    jobs: int = 1

    @property
    def max_loss(self) -> float:
        """Loss of a person who gets no plan, but has one; no plan loses more."""
        return MAX_COST_LOSS + self.failure_penalty

    @cached_property
    def no_plan_loss(self) -> Floats:
        """[B] the loss of people who get no plan."""
        return np.where(np.isfinite(self.least_cost), self.max_loss, 0.0)

    @cached_property
    def _penalty(self) -> Floats:
        """[B] the loss of people whose plan fails."""
        return np.where(np.isfinite(self.least_cost), self.failure_penalty, self.useless_penalty)

    def begin(self) -> Visits:
        """Everyone at INTERVENE."""
        count = len(self.starts)
        zeros = np.zeros(count, np.intp)
        return Visits(zeros, self.starts, zeros.copy(), np.zeros(count), np.arange(count), zeros.copy())

    def legal(self, visits: Visits) -> Bools:
        """[n, A] legal actions: STOP except at the start, and nothing else after the longest plan."""
        transitions = self.problem.transitions
        legal = transitions.legal(visits.states)
        if visits.forbidden.any():
            legal[:, :-1] &= ~self.forbidden_sets[visits.forbidden][:, transitions.function_of[:-1]]
        legal[:, transitions.stop] = visits.steps > 0
        legal[visits.steps >= self.problem.max_actions, :-1] = False
        return legal

    def step(self, visits: Visits, action: Ints) -> Visits:
        """`visits` after one action each [n]."""
        transitions = self.problem.transitions
        after, cost, _ = transitions.step(visits.states, action)
        node = transitions.function_of[action] + 1
        return Visits(node, after, visits.steps + 1, visits.cost + cost, visits.person, visits.forbidden)

    def decide(self, trees: Mapping[int, Tree], visits: Visits) -> Ints:
        """The action [n] of a program, with `trees` by node number; NO_ACTION if it has none."""
        return decide_actions(
            self.problem.transitions,
            trees,
            visits.node,
            visits.states,
            can_stop=visits.steps > 0,
            legal=lambda rows: self.legal(visits.take(rows)),
        ).actions

    def follow(self, trees: Mapping[int, Tree], visits: Visits) -> Iterator[tuple[Ints, Visits, Ints]]:
        """Follow a program step by step: the rows of `visits` still on their way, their visits and their actions."""
        stop, running = self.problem.transitions.stop, np.arange(len(visits.person))
        while len(running):
            action = self.decide(trees, visits)
            yield running, visits, action
            going = np.flatnonzero((action != stop) & (action != NO_ACTION))
            running, visits = running[going], self.step(visits.take(going), action[going])

    def rollout(self, trees: Mapping[int, Tree], visits: Visits, passed: list[Visits] | None = None) -> RolloutOutcome:
        """The outcome [n] of following a program from `visits`; `passed` collects the visits on the way."""
        outcome = self._without_plan(visits)
        groups = groups_of(visits.person) if self.jobs > 1 else [np.arange(len(visits.person))]
        steps: list[list[tuple[Ints, Visits]]] = []
        for rows, (part, ways) in zip(
            groups, self._map(lambda rows: self._rollout(trees, visits.take(rows)), groups), strict=True
        ):
            outcome.loss[rows], outcome.failure[rows] = part
            steps += [[] for _ in range(len(ways) - len(steps))]
            for step, (running, current) in zip(steps, ways, strict=False):
                step.append((rows[running], current))
        if passed is not None:
            passed += map(_in_order, steps)
        return outcome

    def _rollout(self, trees: Mapping[int, Tree], visits: Visits) -> tuple[RolloutOutcome, list[tuple[Ints, Visits]]]:
        """The outcome [n] of following a program from `visits`, and at each step the rows on their way, with visits."""
        outcome = self._without_plan(visits)
        rows: list[Ints] = []
        ends: list[Visits] = []
        passed: list[tuple[Ints, Visits]] = []
        for running, current, action in self.follow(trees, visits):
            passed.append((running, current))
            stopped = np.flatnonzero(action == self.problem.transitions.stop)
            rows.append(running[stopped])
            ends.append(current.take(stopped))
        if ends:
            where = np.concatenate(rows)
            outcome.loss[where], outcome.failure[where] = self.outcome_at(Visits.join(ends))
        return outcome, passed

    def _without_plan(self, visits: Visits) -> RolloutOutcome:
        """The outcome [n] of having no plan."""
        return RolloutOutcome(self.no_plan_loss[visits.person], np.ones(len(visits.person)))

    def _map(self, function: Callable[[Ints], T], groups: Sequence[Ints]) -> Iterator[T]:
        """Results of `function` for each of `groups`, on `jobs` threads; arrays are large enough to run in parallel."""
        if len(groups) < 2 or self.jobs == 1:
            yield from map(function, groups)
            return
        with ThreadPoolExecutor(min(self.jobs, len(groups))) as threads:
            yield from threads.map(function, groups)

    def outcome_at(self, ends: Visits) -> RolloutOutcome:
        """The outcome [n] of stopping at `ends`.

        The cost of a plan counts only as far as it holds, so that a plan that fails gains nothing by being cheap.
        """
        excess = np.clip(ends.cost / self.least_cost[ends.person] - 1, 0, MAX_COST_LOSS)
        chance = 1 / (1 + np.exp(-np.clip(self.logit(ends.person, ends.states), -50, 50)))
        return RolloutOutcome(chance * excess + (1 - chance) * self._penalty[ends.person], 1 - chance)

    def picks(self, visits: Visits, open_: Bools | None = None) -> Ints:
        """[n, C] the action that each choice, or each one `open_` [C], means; NO_ACTION where it is not legal."""
        transitions, count = self.problem.transitions, len(visits.person)
        picks = np.full((count, len(self.choices)), NO_ACTION, np.intp)
        numbers = range(len(self.choices)) if open_ is None else np.flatnonzero(open_).tolist()
        for first in range(0, count, transitions.rows_at_once):
            part = visits.take(np.arange(first, min(count, first + transitions.rows_at_once)))
            legal = self.legal(part)
            for number in numbers:
                picks[first : first + len(legal), number] = self.choices[number].pick(transitions, part.states, legal)
        return picks

    def outcomes(self, trees: Mapping[int, Tree], visits: Visits, open_: Bools) -> RolloutOutcome:
        """The outcome [n, C] of each choice `open_` [C] at `visits`, followed by the program; NaN where not legal."""
        if self.jobs == 1:
            return self._outcomes(trees, visits, open_)
        shape = len(visits.person), len(self.choices)
        outcome, groups = RolloutOutcome(*np.full((2, *shape), np.nan)), groups_of(visits.person)
        parts = self._map(lambda rows: self._outcomes(trees, visits.take(rows), open_), groups)
        for rows, part in zip(groups, parts, strict=True):
            outcome.loss[rows], outcome.failure[rows] = part
        return outcome

    def _outcomes(self, trees: Mapping[int, Tree], visits: Visits, open_: Bools) -> RolloutOutcome:
        """See `outcomes`, on one thread."""
        stop, count = self.problem.transitions.stop, len(self.problem.transitions)
        picks = self.picks(visits, open_)
        wanted = np.zeros((len(picks), count + 1), bool)
        np.put_along_axis(wanted, picks, True, axis=1)
        wanted[:, NO_ACTION] = False
        row, action = np.nonzero(wanted)
        by_action = RolloutOutcome(*(np.full(wanted.shape, np.nan) for _ in RolloutOutcome._fields))
        stopped, going = np.flatnonzero(action == stop), np.flatnonzero(action != stop)
        parts = [(stopped, self.outcome_at(visits.take(row[stopped])))] if len(stopped) else []
        after = self.step(visits.take(row[going]), action[going])
        parts.append((going, self._rollout(trees, after)[0]))
        for where, outcome in parts:
            for table, values in zip(by_action, outcome, strict=True):
                table[row[where], action[where]] = values
        return RolloutOutcome(*(np.take_along_axis(table, picks, axis=1) for table in by_action))


def _in_order(parts: Sequence[tuple[Ints, Visits]]) -> Visits:
    """The visits of all parts, in the order of their rows."""
    rows = np.concatenate([rows for rows, _ in parts])
    visits = Visits.join([visits for _, visits in parts])
    return visits if len(parts) == 1 else visits.take(np.argsort(rows))
