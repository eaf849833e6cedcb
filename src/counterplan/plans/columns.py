"""From arrays of actions to plans with words, and from wishes to actions that are allowed: for whoever makes plans."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from counterplan.errors import PlanError
from counterplan.plans.plan import Plan, Reason, Status, Step
from counterplan.problem import People, Problem
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.problem.values import is_missing
from counterplan.search.orders import NO_ACTION

Forbid = str | Sequence[str] | Mapping[Any, Sequence[str]] | None
"""Functions or actions that nobody may take, or, by person (the index of the table), that one person cannot."""
StepReason = tuple[str, Reason]
"""Why a step is taken: as a sentence, and as data."""


@dataclass
class PlanColumns:
    """What a search found for B people, as arrays; `plans_from` makes plans of it."""

    actions: Ints
    """[B, T] the actions of each plan, filled up with NO_ACTION."""
    status: list[Status]
    verified: Bools
    optimal: Bools
    lower_bound: Floats
    """[B] infinite where it is proved that there is no plan."""
    queries: Ints
    reasons: dict[int, tuple[StepReason, ...]] = field(default_factory=dict)
    """By row, for those whose steps have any."""
    cautions: dict[int, str] = field(default_factory=dict)
    """By row: what is to be known of a plan that nobody checked."""
    weights: Floats | None = None
    """[B, T] cost weight of each step; None if all are 1."""

    @classmethod
    def empty(cls, people: int, longest: int) -> PlanColumns:
        """Nothing found yet."""
        return cls(
            np.full((people, longest), NO_ACTION, np.intp),
            [Status.NOT_FOUND] * people,
            np.zeros(people, bool),
            np.zeros(people, bool),
            np.zeros(people),
            np.zeros(people, np.intp),
        )

    def put(self, rows: Ints, part: PlanColumns | None) -> None:
        """Take over what was found for the people `rows`."""
        if part is not None:
            for name in ("actions", "verified", "optimal", "lower_bound", "queries"):
                getattr(self, name)[rows] = getattr(part, name)
            for place, (row, status) in enumerate(zip(rows.tolist(), part.status, strict=True)):
                self.status[row] = status
                self.reasons.pop(row, None)
                self.cautions.pop(row, None)
                if place in part.reasons:
                    self.reasons[row] = part.reasons[place]
                if place in part.cautions:
                    self.cautions[row] = part.cautions[place]

    def add_caution(self, caution: str) -> None:
        """Append a sentence to the caution of every plan that was found."""
        for row, status in enumerate(self.status):
            if status is Status.FOUND:
                self.cautions[row] = f"{self.cautions.get(row, '')} {caution}".lstrip()


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


def plans_from(problem: Problem, people: People, result: PlanColumns) -> tuple[Plan, ...]:
    """Plans with steps, costs, states and words, from bare actions."""
    transitions = problem.transitions
    longest = result.actions.shape[1]
    states = [people.states]
    costs = []
    for t in range(longest):
        actions = np.where(result.actions[:, t] == NO_ACTION, transitions.stop, result.actions[:, t])
        costs.append(transitions.cost(states[-1])[np.arange(len(people)), actions])
        states.append(transitions.apply(states[-1], actions))
    columns = [label_of(name) for name in people.table.columns]
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
            weight = 1.0 if result.weights is None else float(result.weights[row, t])
            cost = round(float(costs[t][row]) * weight, 9)
            why, data = result.reasons[row][t] if row in result.reasons else (None, None)
            steps.append(Step(what.function, what.argument, cost, text, told[t], told[t + 1], why, data, weight))
        bound = float(result.lower_bound[row])
        plans.append(
            Plan(
                person=label_of(person),
                status=result.status[row],
                start=told[0],
                steps=tuple(steps),
                verified=bool(result.verified[row]),
                optimal=bool(result.optimal[row]),
                lower_bound=round(bound, 9) if np.isfinite(bound) else None,
                questions=int(result.queries[row]),
                row=tuple((name, _plain(value)) for name, value in zip(columns, written[row], strict=True)),
                caution="" if result.verified[row] else result.cautions.get(row, ""),
            )
        )
    return tuple(plans)


def label_of(name: Hashable) -> int | str:
    """What a table calls a person or a column: a whole number stays one, all else is text."""
    return int(name) if isinstance(name, (int, np.integer)) and not isinstance(name, bool) else str(name)


def _plain(value: Any) -> Any:
    """A value without numpy around it, None if it is missing."""
    if is_missing(value):
        return None
    return value.item() if isinstance(value, np.generic) else value
