"""Replaying a plan: check every step, cost and state against the problem, and the decision against the model."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise, takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from counterplan.errors import CounterplanError, SettingError
from counterplan.plans.status import Status
from counterplan.problem import Problem
from counterplan.problem.dtypes import frame_of
from counterplan.problem.transitions import Bools, Floats
from counterplan.problem.values import describe_target
from counterplan.search.orders import NO_ACTION
from counterplan.search.schedule import schedule

if TYPE_CHECKING:
    from counterplan.blackbox import BlackBox
    from counterplan.plans.plan import Plan

TOLERANCE = 1e-6
"""Largest difference of numbers that count as equal."""
HOLDS, DOES_NOT_HOLD, UNCHECKED = "holds", "does not hold", "could not be checked"
"""Outcomes of checking a plan."""
OTHER_START = "the person's row is not the state that the plan starts from"


@dataclass(frozen=True)
class Replay:
    """Result of checking a plan again.

    Parameters
    ----------
    faults : tuple of str
        The faults found, or why the plan could not be checked.
    checked : bool
        False if the plan could not be checked: it does not fit the problem, or the model failed.

    Examples
    --------
    >>> from counterplan import BlackBox, ExactPlanner, benchmarks
    >>> german = benchmarks.load("german")
    >>> box = BlackBox(german.model)
    >>> plan = ExactPlanner(german.problem, box).plan(german.refused_test.head(1))[0]
    >>> replay = plan.replay(german.problem, box)
    >>> replay.outcome
    'holds'
    >>> print(replay)
    The plan holds.
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
            return UNCHECKED
        return DOES_NOT_HOLD if self.faults else HOLDS

    def __str__(self) -> str:
        return "The plan holds." if self.ok else "\n".join(self.faults)


def replay(plan: Plan, problem: Problem, box: BlackBox) -> Replay:
    """Check `plan`; see `Plan.replay`."""
    if not hasattr(box, "session"):
        raise SettingError(f"a plan is replayed with a BlackBox, not {type(box).__name__}: pass BlackBox(model)")
    found: list[str] = []
    try:
        for fault in _faults(plan, problem, box):
            found.append(fault)
    except CounterplanError as error:
        found.append(f"the plan cannot be replayed: {error}")
        return Replay(tuple(found), checked=len(found) > 1)  # a faulty step is one whatever the model decides
    return Replay(tuple(found))


def _faults(plan: Plan, problem: Problem, box: BlackBox) -> Iterator[str]:
    """The faults of the steps of a plan and of its related plans, then those of their claims about the decision."""
    if plan.target:
        problem = problem.with_target(frozenset(plan.target))
        box.require_target(problem)
    plans = [plan, *chain.from_iterable(plan.related.values())]
    places = ["", *_places(plan)]
    replayed = replay_steps(plans, problem)
    for place, faults in zip(places, replayed.faults, strict=True):
        yield from (f"{place}{fault}" for fault in faults)
    complete = np.flatnonzero(replayed.complete)
    if not len(complete):
        return
    people = problem.read(people_table([plan], problem))
    if not same_states(people.states, replayed.starts[:1])[0]:
        yield OTHER_START
    favourable = box.session(problem, people)(replayed.ends[complete], np.zeros(len(complete), np.intp))
    for row, decision in zip(complete.tolist(), favourable.tolist(), strict=True):
        yield from (f"{places[row]}{fault}" for fault in _false_claims(plans[row], problem, decision))
    yield from _false_relations(plan)


def _places(plan: Plan) -> Iterator[str]:
    """Prefixes of messages about the related plans: where they are in `plan.front` and `plan.alternatives`."""
    for kind, others in plan.related.items():
        first = 1 if kind == "front" else 0
        yield from (f"{kind}[{number}]: " for number in range(first, first + len(others)))


def _false_claims(plan: Plan, problem: Problem, favourable: bool) -> Iterator[str]:
    """The claims of a plan that the decision about its final state, or its own numbers, contradict."""
    target = f", that is, decide {describe_target(plan.target)}" if plan.target else ""
    if plan.status in (Status.FOUND, Status.ALREADY_FAVOURABLE) and not favourable:
        yield f"the black box does not find the final state favourable{target}"
    if plan.status in (Status.INFEASIBLE, Status.NOT_FOUND) and favourable:
        yield f"the black box already finds this person favourable{target}"
    if plan.optimal and not plan.verified:
        yield "a plan that was not checked with the black box cannot be called optimal"
    if plan.optimal and abs((plan.lower_bound or 0.0) - plan.cost) > TOLERANCE * max(1.0, plan.cost):
        yield f"it is called optimal at {plan.cost:g}, but the lower bound is {plan.lower_bound}"
    if plan.time_unit and plan.time_unit != problem.time_unit:
        yield f"its times are in '{plan.time_unit}', and those of the problem in '{problem.time_unit}'"
    if plan.deadline is not None and plan.steps and (plan.duration or 0.0) > plan.deadline + TOLERANCE:
        yield f"it takes {plan.duration:g}, longer than its deadline of {plan.deadline:g}"
    for step in plan.steps:
        if plan.constraints is not None and not {step.function, step.action}.isdisjoint(plan.constraints.forbidden):
            yield f"it uses {step.action}, which was ruled out"


def _false_relations(plan: Plan) -> Iterator[str]:
    """The related plans that contradict the plan: all have steps, and one on the front is faster than the last."""
    for place, other in zip(_places(plan), chain.from_iterable(plan.related.values()), strict=True):
        if not plan.steps or not other.steps:
            yield f"{place}a plan without steps has no related plans, and is not one"
        elif plan.deadline is not None and (other.duration or 0.0) > plan.deadline + TOLERANCE:
            yield f"{place}it takes {other.duration:g}, longer than the deadline of {plan.deadline:g}"
    for number, (before, after) in enumerate(pairwise(plan.front), 1):
        slower = (after.duration or 0.0) >= (before.duration or 0.0)
        if after.steps and (slower or after.cost <= before.cost):
            yield f"front[{number}]: it should cost more and be faster than the plan before it"


class ReplayedSteps(NamedTuple):
    """n plans, step by step by the rules of a problem.

    Parameters
    ----------
    faults : list of lists of str, length n
        The faults of the steps of each plan.
    complete : bool array of shape [n]
        Whether the problem has all actions of the plan.
    starts, ends : arrays of shape [n, F]
        The first state and the last; of an incomplete plan, that before its first unknown action.
    """

    faults: list[list[str]]
    complete: Bools
    starts: Floats
    ends: Floats


def replay_steps(plans: Sequence[Plan], problem: Problem, *, costs: bool = True) -> ReplayedSteps:
    """Apply the steps of plans.

    Parameters
    ----------
    plans : sequence of Plan, length n
    problem : Problem
    costs : bool, default=True
        Whether a wrong cost is a fault.

    Returns
    -------
    ReplayedSteps

    Raises
    ------
    PeopleError
        If a state of a plan is not one of the problem.
    """
    transitions = problem.transitions
    by_name = {str(action): action.index for action in transitions.actions}
    known = [list(takewhile(lambda step: step.action in by_name, plan.steps)) for plan in plans]
    claims = (
        (plan.start, *chain.from_iterable((step.before, step.after) for step in steps))
        for plan, steps in zip(plans, known, strict=True)
    )
    claimed = problem.states([*chain.from_iterable(claims)])
    lengths = np.array([len(steps) for steps in known], np.intp)
    first = np.cumsum(1 + 2 * lengths) - 1 - 2 * lengths
    faults: list[list[str]] = [[] for _ in plans]
    for row, plan in enumerate(plans):
        if len(plan.steps) > problem.max_actions:
            faults[row].append(f"the plan has {len(plan.steps)} steps; the problem allows {problem.max_actions}")
    every = np.full((len(plans), int(lengths.max(initial=0))), NO_ACTION, np.intp)
    for row, steps in enumerate(known):
        every[row, : len(steps)] = [by_name[step.action] for step in steps]
    states = claimed[first].copy()
    times = schedule(transitions, states, every)
    for t in range(every.shape[1]):
        rows = np.flatnonzero(lengths > t)
        steps = [known[row][t] for row in rows.tolist()]
        actions, places, before = every[rows, t], np.arange(len(rows)), states[rows]
        cost = transitions.cost(before)[places, actions] * [step.weight for step in steps]
        legal = transitions.legal(before)[places, actions]
        states[rows] = transitions.apply(before, actions)
        connected = same_states(before, claimed[first[rows] + 2 * t + 1])
        reached = same_states(states[rows], claimed[first[rows] + 2 * t + 2])
        for i, (row, step) in enumerate(zip(rows.tolist(), steps, strict=True)):
            place = f"step {t + 1} ({step.action})"
            if not connected[i]:
                faults[row].append(f"{place}: does not start where the step before ended")
            if not legal[i]:
                faults[row].append(f"{place}: is not legal in that state")
            if costs and not math.isclose(cost[i], step.cost, rel_tol=TOLERANCE, abs_tol=TOLERANCE):
                faults[row].append(f"{place}: costs {cost[i]:g}, not {step.cost:g}")
            if step.start is not None and step.duration is not None:
                begin, length = times.start[row, t], times.duration[row, t]
                if not math.isclose(length, step.duration, rel_tol=TOLERANCE, abs_tol=TOLERANCE):
                    faults[row].append(f"{place}: takes {length:g}, not {step.duration:g}")
                elif not math.isclose(begin, step.start, rel_tol=TOLERANCE, abs_tol=TOLERANCE):
                    faults[row].append(f"{place}: starts at {begin:g}, not at {step.start:g}")
            if not reached[i]:
                faults[row].append(f"{place}: leads to another state than the plan says")
    complete = lengths == [len(plan.steps) for plan in plans]
    for row in np.flatnonzero(~complete).tolist():
        step = plans[row].steps[lengths[row]]
        faults[row].append(f"step {lengths[row] + 1} ({step.action}): the problem has no such action")
    return ReplayedSteps(faults, complete, claimed[first], states)


def people_table(plans: Sequence[Plan], problem: Problem) -> pd.DataFrame:
    """The people of plans as a table, with the dtypes that they came with; inferred ones if these are not known.

    All plans have the columns and dtypes of the first; see `table_key`.
    """
    names = [name for name, _ in _row(plans[0])]
    values = [[value for _, value in _row(plan)] for plan in plans]
    if _has_dtypes(plans[0]):
        return frame_of([*zip(*values, strict=True)], plans[0].dtypes)
    numbers = [column in {feature.name for feature in problem.features if feature.is_number} for column in names]
    rows = [
        [math.nan if value is None and number else value for value, number in zip(row, numbers, strict=True)]
        for row in values
    ]
    return pd.DataFrame(rows, columns=names, dtype=object).infer_objects()


def table_key(plan: Plan) -> object:
    """Equal for plans whose people belong in one table; a plan without dtypes has a table of its own."""
    return repr(plan.dtypes) if _has_dtypes(plan) else id(plan)


def _row(plan: Plan) -> tuple[tuple[int | str, Any], ...]:
    return plan.row or tuple(plan.start.items())


def _has_dtypes(plan: Plan) -> bool:
    """Whether the dtypes of the person's columns are known."""
    return bool(plan.dtypes) and [name for name, _ in plan.dtypes] == [name for name, _ in _row(plan)]


def same_states(states: Floats, claimed: Floats) -> Bools:
    """Whether each of `states` [n, F] is the state that a plan claims."""
    return np.asarray(np.isclose(states, claimed, rtol=0, atol=TOLERANCE, equal_nan=True).all(axis=1))
