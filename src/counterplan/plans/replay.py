"""Replaying a plan: check every step, cost and state against the problem, and the decision against the model."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from counterplan.errors import CounterplanError, SettingError
from counterplan.plans.status import Status
from counterplan.problem import Problem
from counterplan.problem.dtypes import frame_of
from counterplan.problem.transitions import Floats
from counterplan.problem.values import describe_target

if TYPE_CHECKING:
    from counterplan.blackbox import BlackBox
    from counterplan.plans.plan import Plan

TOLERANCE = 1e-6
"""Largest difference of numbers that count as equal."""


@dataclass(frozen=True)
class Replay:
    """Result of checking a plan again.

    Parameters
    ----------
    faults : tuple of str
        The faults found, or why the plan could not be checked.
    checked : bool
        False if the plan could not be checked: it does not fit the problem, or the model failed.
    """

    faults: tuple[str, ...] = ()
    checked: bool = True

    @property
    def ok(self) -> bool:
        """Whether the plan was checked and no fault was found."""
        return self.checked and not self.faults

    @property
    def outcome(self) -> str:
        """`"holds"`, `"does not hold"` or `"could not be checked"`."""
        if not self.checked:
            return "could not be checked"
        return "does not hold" if self.faults else "holds"

    def __str__(self) -> str:
        return "The plan holds." if self.ok else "\n".join(self.faults)


def replay(plan: Plan, problem: Problem, box: BlackBox) -> Replay:
    """Check `plan`; see `Plan.replay`."""
    if not hasattr(box, "session"):
        raise SettingError(f"a plan is replayed with a BlackBox, not {type(box).__name__}: pass BlackBox(model)")
    try:
        return Replay(tuple(_faults(plan, problem, box)))
    except CounterplanError as error:
        return Replay((f"the plan cannot be replayed: {error}",), checked=False)


def _faults(plan: Plan, problem: Problem, box: BlackBox) -> Iterator[str]:
    """The faults of the steps, then those of the claims about the decision."""
    if plan.target:
        problem = problem.with_target(frozenset(plan.target))
        box.require_target(problem)
    transitions = problem.transitions
    by_name = {str(action): action.index for action in transitions.actions}
    known = list(takewhile(lambda step: step.action in by_name, plan.steps))
    start, *claimed = problem.states([plan.start, *(values for step in known for values in (step.before, step.after))])
    state = start
    if len(plan.steps) > problem.max_actions:
        yield f"the plan has {len(plan.steps)} steps; the problem allows {problem.max_actions}"
    for number, (step, before, after) in enumerate(zip(known, claimed[::2], claimed[1::2], strict=True), 1):
        place = f"step {number} ({step.action})"
        action = by_name[step.action]
        if not _same_state(state, before):
            yield f"{place}: does not start where the step before ended"
        if not transitions.legal(state[None])[0, action]:
            yield f"{place}: is not legal in that state"
        cost = float(transitions.cost(state[None])[0, action]) * step.weight
        if not math.isclose(cost, step.cost, rel_tol=TOLERANCE, abs_tol=TOLERANCE):
            yield f"{place}: costs {cost:g}, not {step.cost:g}"
        state = transitions.apply(state[None], np.array([action]))[0]
        if not _same_state(state, after):
            yield f"{place}: leads to another state than the plan says"
    if len(known) < len(plan.steps):
        yield f"step {len(known) + 1} ({plan.steps[len(known)].action}): the problem has no such action"
        return
    people = problem.read(_table(plan, problem))
    if not _same_state(people.states[0], start):
        yield "the person's row is not the state that the plan starts from"
    favourable = bool(box.session(problem, people)(state[None], np.array([0]))[0])
    target = f", that is, decide {describe_target(plan.target)}" if plan.target else ""
    if plan.status in (Status.FOUND, Status.ALREADY_FAVOURABLE) and not favourable:
        yield f"the black box does not find the final state favourable{target}"
    if plan.status in (Status.INFEASIBLE, Status.NOT_FOUND) and favourable:
        yield f"the black box already finds this person favourable{target}"
    if plan.optimal and not plan.verified:
        yield "a plan that was not checked with the black box cannot be called optimal"
    if plan.optimal and abs((plan.lower_bound or 0.0) - plan.cost) > TOLERANCE * max(1.0, plan.cost):
        yield f"it is called optimal at {plan.cost:g}, but the lower bound is {plan.lower_bound}"


def _table(plan: Plan, problem: Problem) -> pd.DataFrame:
    """The person as a table of one row, with the dtypes that they came with; inferred ones if these are not known."""
    row = plan.row or tuple(plan.start.items())
    if plan.dtypes and [name for name, _ in plan.dtypes] == [name for name, _ in row]:
        return frame_of([[value] for _, value in row], plan.dtypes)
    numbers = {feature.name for feature in problem.features if feature.is_number}
    values = [math.nan if value is None and name in numbers else value for name, value in row]
    return pd.DataFrame([values], columns=[name for name, _ in row], dtype=object).infer_objects()


def _same_state(state: Floats, claimed: Floats) -> bool:
    """Whether `state` [F] is the state [F] that a plan claims."""
    return bool(np.allclose(state, claimed, rtol=0, atol=TOLERANCE, equal_nan=True))
