"""Query models about the final states of plans that were made with another model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from counterplan.errors import CounterplanError, SettingError
from counterplan.plans.column_source import ColumnSource
from counterplan.plans.plan import Plan
from counterplan.plans.replay import OTHER_START, people_table, replay_steps, same_states, table_key
from counterplan.plans.sources import PlanSource
from counterplan.plans.status import Status
from counterplan.problem import People, Problem
from counterplan.problem.transitions import Floats, Ints

if TYPE_CHECKING:
    from counterplan.blackbox import BlackBox, OracleSession

HOLDS, FAILS, UNKNOWN = 1, 0, -1
"""Codes of the outcomes "holds", "does not hold" and "could not be checked"."""
Codes = npt.NDArray[np.int8]
WITHOUT_PLAN = (Status.INFEASIBLE, Status.NOT_FOUND)
MOST_FAILED_CALLS = 256
MOST_FAILED_SECONDS = 2.0
"""Failed calls of a model, and the seconds that they took, after which no smaller parts are tried."""


@dataclass(frozen=True)
class EndStates:
    """Final states of plans that can be queried together.

    Parameters
    ----------
    problem : Problem
        The problem with the target of these plans.
    people : People
        n people.
    states : array of shape [n, F]
        The final states of their plans.
    positions : int array of shape [n]
        Positions of the plans among all.
    target : tuple of str
        The outcomes to reach; empty for the favourable ones of the problem.
    """

    problem: Problem
    people: People
    states: Floats
    positions: Ints
    target: tuple[str, ...] = ()


@dataclass
class EndStatesOfPlans:
    """The final states of all plans, and the plans that have none.

    Parameters
    ----------
    parts : list of EndStates
    faults : dict of int to str
        Faults of plans whose steps break the rules of the problem, by position.
    misfits : dict of int to str
        Reasons of plans that cannot be read as plans for the problem, by position.
    """

    parts: list[EndStates] = field(default_factory=list)
    faults: dict[int, str] = field(default_factory=dict)
    misfits: dict[int, str] = field(default_factory=dict)


def end_states(source: PlanSource, problem: Problem | None) -> EndStatesOfPlans:
    """The final states of the people who have a plan or need none.

    Parameters
    ----------
    source : PlanSource
    problem : Problem, optional
        Required unless the plans are columns.

    Returns
    -------
    EndStatesOfPlans

    Raises
    ------
    SettingError
        If the problem is required and not given.
    """
    columns = source.columns
    judged = np.flatnonzero([status not in WITHOUT_PLAN for status in columns.status])
    if isinstance(source, ColumnSource) and (problem is None or problem.fingerprint == source.problem.fingerprint):
        people, states, targets = source.people, source.final_states, columns.targets
        codes = np.full(len(columns), -1) if targets is None else targets.codes
        result = EndStatesOfPlans()
        for code in np.unique(codes[judged]).tolist():
            rows = judged[codes[judged] == code]
            target = () if targets is None or code < 0 else targets.values[code]
            part = EndStates(_toward(source.problem, target), people.take(rows), states[rows], rows, target)
            result.parts.append(part)
        return result
    if problem is None:
        raise SettingError(
            "plans that were read from JSON, or made from Plan objects, do not have their problem: pass problem=, on "
            "the command line --problem FILE"
        )
    return _of_objects(list(source.plans(range(len(columns)))), judged, problem)


def _toward(problem: Problem, target: tuple[str, ...]) -> Problem:
    return problem.with_target(frozenset(target)) if target else problem


def _of_objects(plans: Sequence[Plan], judged: Ints, problem: Problem) -> EndStatesOfPlans:
    """The final states of plans as objects, those with the same target and dtypes together."""
    groups: defaultdict[object, list[int]] = defaultdict(list)
    for row in judged.tolist():
        groups[(plans[row].target, table_key(plans[row]))].append(row)
    result = EndStatesOfPlans()
    for rows in groups.values():
        try:
            _add(result, plans, rows, problem)
        except CounterplanError:  # some plan does not fit
            for row in rows:
                try:
                    _add(result, plans, [row], problem)
                except CounterplanError as error:
                    result.misfits[row] = str(error)
    return result


def _add(result: EndStatesOfPlans, plans: Sequence[Plan], rows: list[int], problem: Problem) -> None:
    """Add the plans `rows`, which have one target and one table; CounterplanError if one does not fit the problem."""
    chosen = [plans[row] for row in rows]
    toward = _toward(problem, chosen[0].target)
    replayed = replay_steps(chosen, toward, costs=False)
    people = toward.read(people_table(chosen, toward))
    for i in np.flatnonzero(~same_states(people.states, replayed.starts)).tolist():
        replayed.faults[i].append(OTHER_START)
    sound = np.flatnonzero([not faults for faults in replayed.faults])
    result.faults |= {row: "; ".join(faults) for row, faults in zip(rows, replayed.faults, strict=True) if faults}
    if len(sound):
        positions = np.array(rows, np.intp)[sound]
        part = EndStates(toward, people.take(sound), replayed.ends[sound], positions, chosen[0].target)
        result.parts.append(part)


def judge(box: BlackBox, part: EndStates) -> tuple[Codes, str]:
    """Query a model about final states.

    A call that fails is repeated for halves of the people, so that people that the model does not accept do not prevent
    the others from being checked.

    Parameters
    ----------
    box : BlackBox
    part : EndStates
        Those of n people.

    Returns
    -------
    codes : int array of shape [n]
        Outcomes.
    reason : str
        Why the first of them could not be checked; empty if all could.
    """
    codes = np.full(len(part.positions), UNKNOWN, np.int8)
    try:
        if part.target:
            box.require_target(part.problem)
        session = box.session(part.problem, part.people)
    except CounterplanError as error:
        return codes, str(error)
    keys = session.keys(part.states, np.arange(len(codes)))
    first = {key: row for row, key in reversed([*enumerate(keys)])}
    distinct = np.array([*first.values()], np.intp)
    distinct = distinct[np.lexsort(part.states[distinct].T)]  # similar states are accepted or refused together
    reason = ""
    for rows, answer in _answers(box, session, part.states, distinct):
        if isinstance(answer, str):
            reason = reason or answer
        else:
            codes[rows] = answer
    return codes[[first[key] for key in keys]], reason


def _answers(box: BlackBox, session: OracleSession, states: Floats, rows: Ints) -> Iterator[tuple[Ints, Codes | str]]:
    """Parts of `rows`, each with its outcomes or with the reason why it could not be checked; large parts first."""
    from counterplan.blackbox import QueryBudgetExceeded

    waiting, failed, seconds = [rows], 0, 0.0
    while waiting:
        part, started = waiting.pop(0), box.clock()
        try:
            yield part, session(states[part], part).astype(np.int8)
        except QueryBudgetExceeded as stop:
            yield part, np.where(stop.known, stop.answers, UNKNOWN).astype(np.int8)
            yield part[:0], str(stop)
        except CounterplanError as error:
            failed, seconds = failed + 1, seconds + box.clock() - started
            if len(part) == 1 or failed + len(waiting) >= MOST_FAILED_CALLS or seconds >= MOST_FAILED_SECONDS:
                yield part, str(error)
            else:
                waiting += np.array_split(part, 2)
