"""What every planner has in common: people in, plans out, one way to forbid, to limit and to report."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from counterplan.blackbox import BlackBox, BudgetSpent
from counterplan.errors import PlanError
from counterplan.paths.orders import NO_ACTION
from counterplan.plan import Plan, Plans, Status, Step
from counterplan.problem import People, Problem
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.problem.values import is_missing

Forbid = str | Sequence[str] | Mapping[Any, Sequence[str]] | None
"""Functions or actions that nobody may take, or, by person (the index of the table), that one person cannot."""
Progress = Callable[[int], None]
"""Called with the number of people done since the last call."""


@dataclass
class Result:
    """What a search found for B people, as arrays; `Planner.plan` makes plans of it."""

    actions: Ints
    """[B, T] the actions of each plan, filled up with NO_ACTION."""
    status: list[Status]
    verified: Bools
    optimal: Bools
    lower_bound: Floats
    """[B] infinite where it is proved that there is no plan."""
    questions: Ints

    @classmethod
    def empty(cls, people: int, longest: int) -> Result:
        """Nothing found yet."""
        return cls(
            np.full((people, longest), NO_ACTION, np.intp),
            [Status.NOT_FOUND] * people,
            np.zeros(people, bool),
            np.zeros(people, bool),
            np.zeros(people),
            np.zeros(people, np.intp),
        )

    def put(self, rows: Ints, part: Result | None) -> None:
        """Take over what was found for the people `rows`."""
        if part is not None:
            for name in ("actions", "verified", "optimal", "lower_bound", "questions"):
                getattr(self, name)[rows] = getattr(part, name)
            for row, status in zip(rows.tolist(), part.status, strict=True):
                self.status[row] = status


class Planner(ABC):
    """Finds plans for people. A subclass says how, in `search`."""

    name: ClassVar[str]

    def __init__(self, problem: Problem, box: BlackBox | object) -> None:
        self.problem = problem
        self.box = box if isinstance(box, BlackBox) else BlackBox(box)

    def plan(
        self,
        people: pd.DataFrame | People,
        *,
        forbid: Forbid = (),
        allowed: Bools | None = None,
        budget: int | None = None,
        refused: bool = False,
        progress: Progress | None = None,
    ) -> Plans:
        """A plan for each of `people`.

        `forbid` names what cannot be done, `allowed` [B, A] says the same as a mask; `budget` limits the questions
        to the black box for each person. Each person is asked about first as they are, unless it is known that all
        are `refused`; with a budget of 0 that is taken for granted, and no plan is verified. `progress` is told how
        many people are done.
        """
        if budget is not None and (budget < 0 or budget != int(budget)):
            raise PlanError("the budget of questions is a whole number, zero or more")
        read = self.problem.read(people)
        mask = allowed_actions(self.problem, read, forbid, allowed)
        queries, cached = self.box.queries, self.box.cached
        result = self._plan(read, mask, budget, refused, progress or (lambda done: None))
        made = plans_from(self.problem, read, result)
        label = f"{self.problem.name} {self.problem.fingerprint}"
        return Plans(made, label, self.box.queries - queries, self.box.cached - cached)

    def _plan(self, people: People, allowed: Bools, budget: int | None, refused: bool, progress: Progress) -> Result:
        """Ask about people as they are, unless they are known to be refused, and search for those who are.

        If nothing may be asked, everybody is taken to be refused.
        """
        if len(people) and (refused or budget == 0):
            return self.search(people, allowed, budget, progress)
        result = Result.empty(len(people), self.problem.max_actions)
        known, favourable = self._as_they_are(people)
        for row in np.flatnonzero(favourable).tolist():
            result.status[row] = Status.ALREADY_FAVOURABLE
        result.verified[favourable] = result.optimal[favourable] = True
        rows = np.flatnonzero(known & ~favourable)
        progress(len(people) - len(rows))
        left = None if budget is None else budget - 1
        result.put(rows, self.search(people.take(rows), allowed[rows], left, progress) if len(rows) else None)
        result.questions[known] += 1
        return result

    def _as_they_are(self, people: People) -> tuple[Bools, Bools]:
        """Which people [B] could be asked about, and which of them are favourable."""
        try:
            favourable = self.box.about(self.problem, people)(people.states, np.arange(len(people)))
            return np.ones(len(people), bool), favourable
        except BudgetSpent as stop:
            return stop.known, stop.answers

    @abstractmethod
    def search(self, people: People, allowed: Bools, budget: int | None, progress: Progress) -> Result:
        """Plans for `people`, all refused, who may take the actions `allowed` [B, A], at `budget` questions each."""


def allowed_actions(problem: Problem, people: People, forbid: Forbid, allowed: Bools | None) -> Bools:
    """Which actions [B, A] each person may take; STOP always."""
    shape = (len(people), len(problem.transitions))
    if allowed is not None and (np.shape(allowed) != shape or np.asarray(allowed).dtype != bool):
        raise PlanError(f"'allowed' should be a Boolean array of shape {shape}, not {np.shape(allowed)}")
    mask = np.ones(shape, bool) if allowed is None else np.array(allowed)
    if forbid is None:
        forbid = ()
    if not isinstance(forbid, Mapping | Sequence):
        raise PlanError(f"'forbid' names functions or actions, in a list or by person; {forbid!r} is neither")
    if isinstance(forbid, Mapping):
        labels = list(people.table.index)
        for person, wishes in forbid.items():
            rows = [row for row, label in enumerate(labels) if label == person]
            if not rows:
                raise PlanError(f"cannot forbid anything to person {person!r}: there is no such person")
            mask[rows] &= problem.allowed(wishes)
    else:
        mask &= problem.allowed(forbid)
    mask[:, problem.transitions.stop] = True
    return mask


def plans_from(problem: Problem, people: People, result: Result) -> tuple[Plan, ...]:
    """Plans with steps, costs, states and words, from bare actions."""
    transitions = problem.transitions
    longest = result.actions.shape[1]
    states = [people.states]
    costs = []
    for t in range(longest):
        actions = np.where(result.actions[:, t] == NO_ACTION, transitions.stop, result.actions[:, t])
        costs.append(transitions.cost(states[-1])[np.arange(len(people)), actions])
        states.append(transitions.apply(states[-1], actions))
    columns = [_label(name) for name in people.table.columns]
    written = list(people.table.itertuples(index=False, name=None))
    plans = []
    for row, person in enumerate(people.table.index):
        told = [problem.describe(states[0][row])]
        steps = []
        for t in range(longest):
            action = int(result.actions[row, t])
            if action == NO_ACTION:
                break
            told.append(problem.describe(states[t + 1][row]))
            what = transitions.actions[action]
            assert what.argument is not None
            text = transitions.say(action, states[t][row], states[t + 1][row])
            cost = round(float(costs[t][row]), 9)
            steps.append(Step(what.function, what.argument, cost, text, told[t], told[t + 1]))
        bound = float(result.lower_bound[row])
        plans.append(
            Plan(
                person=_label(person),
                status=result.status[row],
                start=told[0],
                steps=tuple(steps),
                verified=bool(result.verified[row]),
                optimal=bool(result.optimal[row]),
                lower_bound=round(bound, 9) if np.isfinite(bound) else None,
                questions=int(result.questions[row]),
                row=tuple((name, _plain(value)) for name, value in zip(columns, written[row], strict=True)),
            )
        )
    return tuple(plans)


def _label(name: Hashable) -> int | str:
    """What a table calls a person or a column: a whole number stays one, all else is text."""
    return int(name) if isinstance(name, (int, np.integer)) and not isinstance(name, bool) else str(name)


def _plain(value: Any) -> Any:
    """A value without numpy around it, None if it is missing."""
    if is_missing(value):
        return None
    return value.item() if isinstance(value, np.generic) else value
