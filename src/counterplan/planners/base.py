"""What every planner has in common: people in, plans out, one way to forbid, to limit and to report."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from counterplan.blackbox import BlackBox
from counterplan.errors import PlanError
from counterplan.plan import Plan, Plans, Status, Step
from counterplan.problem import People, Problem
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.problem.values import is_missing

Forbid = str | Sequence[str] | Mapping[Any, Sequence[str]]
"""Functions or actions that nobody may take, or, by person (the index of the table), that one person cannot."""
Progress = Callable[[int], None]
"""Called with the number of people done since the last call."""

NO_ACTION = -1


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
        progress: Progress | None = None,
    ) -> Plans:
        """A plan for each of `people`.

        `forbid` names what cannot be done, `allowed` [B, A] says the same as a mask; `budget` limits the questions
        to the black box for each person; `progress` is told how many people are done.
        """
        if budget is not None and budget < 0:
            raise PlanError("the budget of questions is zero or more")
        read = self.problem.read(people)
        mask = allowed_actions(self.problem, read, forbid, allowed)
        queries, cached = self.box.queries, self.box.cached
        result = self.search(read, mask, budget, progress or (lambda done: None))
        made = plans_from(self.problem, read, result)
        label = f"{self.problem.name} {self.problem.fingerprint}"
        return Plans(made, label, self.box.queries - queries, self.box.cached - cached)

    @abstractmethod
    def search(self, people: People, allowed: Bools, budget: int | None, progress: Progress) -> Result:
        """Plans for `people`, who may take the actions `allowed` [B, A], at `budget` questions each."""


def allowed_actions(problem: Problem, people: People, forbid: Forbid, allowed: Bools | None) -> Bools:
    """Which actions [B, A] each person may take; STOP always."""
    shape = (len(people), len(problem.transitions))
    if allowed is not None and (np.shape(allowed) != shape or np.asarray(allowed).dtype != bool):
        raise PlanError(f"'allowed' should be a Boolean array of shape {shape}, not {np.shape(allowed)}")
    mask = np.ones(shape, bool) if allowed is None else np.array(allowed)
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
    extras = people.extras
    others = people.table[extras].to_dict("records") if extras else [{}] * len(people)
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
                others={str(key): _plain(value) for key, value in others[row].items()},
            )
        )
    return tuple(plans)


def _label(person: Hashable) -> int | str:
    return int(person) if isinstance(person, (int, np.integer)) and not isinstance(person, bool) else str(person)


def _plain(value: Any) -> Any:
    """A value that JSON can hold."""
    if is_missing(value):
        return None
    if isinstance(value, np.generic):
        return value.item()
    return value if isinstance(value, (str, bool, int, float)) else str(value)
