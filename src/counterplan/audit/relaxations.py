"""`find_relaxations`: which single relaxation of a problem would give recourse to how many of those who have none."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

from counterplan.audit.relaxation_kinds import KINDS, Relaxation, SkippedRelaxation, propose, relaxations_of
from counterplan.audit.relaxation_reach import UNKNOWN, BeyondSearch
from counterplan.audit.relaxation_report import RelaxationReport
from counterplan.blackbox import BlackBox
from counterplan.errors import SettingError
from counterplan.planners import ExactPlanner
from counterplan.planners.task import is_whole
from counterplan.plans.progress import reporting
from counterplan.problem import People, PeopleTable, Problem
from counterplan.problem.transitions import Bools, Ints

__all__ = ["Relaxation", "RelaxationReport", "SkippedRelaxation", "find_relaxations", "relaxations_of"]

STATE_LIMIT = 100_000
FEWEST_REFERENCES = 20
"""People whose values are taken for those that people have."""
FIRST_BATCH = 8
LARGEST_BATCH = 128
"""People searched for at the same time."""
_STATES_AT_ONCE = 1_000_000
"""States of all people who are searched for at the same time, which bounds the memory."""


def find_relaxations(
    problem: Problem,
    box: BlackBox | object,
    people: PeopleTable | People,
    *,
    stuck: npt.ArrayLike | None = None,
    reference: PeopleTable | People | None = None,
    kinds: Collection[str] = KINDS,
    exclude: Collection[str] = (),
    sample: int | None = None,
    budget: int | None = None,
    state_limit: int = STATE_LIMIT,
    seed: int = 0,
    progress: Callable[[int], None] | bool | None = None,
) -> RelaxationReport:
    """Find out which single relaxation of a problem would give recourse to how many people without any.

    For each person who is proved to have no recourse and each relaxation of `relaxations_of`, the states that only the
    relaxed problem makes reachable are searched, those of fewer actions first. Somebody is helped if the black box
    confirms a plan, and not helped if all of the states are known to be refused; if a limit is reached, the outcome is
    unknown.

    Parameters
    ----------
    problem : Problem
        The problem.
    box : BlackBox or model
        The black box. Its cached answers are used, and new ones are added to them.
    people : DataFrame or People
        The people, with recourse or without.
    stuck : bool array of shape [B], optional
        Which of them are proved to have no recourse. By default, exact search decides that.
    reference : DataFrame or People, optional
        The people whose values new functions set, for instance those who were accepted. By default `people`, or if
        these are fewer than 20, the values and cut points of the problem file.
    kinds : collection of {"precondition", "argument", "actions", "function"}
        The kinds of relaxations. By default all.
    exclude : collection of str
        Names of relaxations that make no sense, and of functions: none of them is relaxed or added.
    sample : int, optional
        Most people without recourse who are examined: a random sample of them. By default all.
    budget : int, optional
        Most queries. People are examined in random order; when the budget is spent, those who were not examined are
        left out of the report.
    state_limit : int, default=100_000
        Most states of one person, and most new states of one person in a relaxed problem.
    seed : int, default=0
        Determines the sample and the order of people.
    progress : bool or callable, optional
        True for a progress bar; or a function, which is called with the number of people finished since the last call.

    Returns
    -------
    RelaxationReport
        How many people each relaxation helps, and their plans.

    Raises
    ------
    SettingError
        If a parameter is invalid.
    PeopleError
        If the people do not match the problem.

    See Also
    --------
    relaxations_of : The relaxations of a problem.

    Examples
    --------
    >>> from counterplan import Problem, benchmarks
    >>> from counterplan.audit.relaxations import find_relaxations
    >>> german = benchmarks.load("german")
    >>> problem = Problem.from_dict(german.problem.to_dict() | {"max_actions": 1})
    >>> report = find_relaxations(
    ...     problem, german.model, german.refused_test, kinds=["actions", "argument"]
    ... )
    >>> print(report.to_text())
    19 people without recourse. What would help (an explanation, not advice):
      15 (79%): allow 2 actions instead of 1
      1 (5%): let CHANGE_DURATION go one step further: -30 → -40
    1 relaxation helps nobody.
    4 of 19 people are helped by none of them.
    """
    _check(sample=sample, budget=budget, state_limit=state_limit, seed=seed)
    box = box if isinstance(box, BlackBox) else BlackBox(box)
    read = problem.read(people)
    values = None if reference is None and len(read) < FEWEST_REFERENCES else read
    relaxations, skipped = propose(problem, values if reference is None else problem.read(reference))
    functions = {function.name for function in problem.transitions.functions}
    known = functions | {one.name for one in relaxations} | {one.name for one in skipped}
    relaxations = _chosen(relaxations, kinds, exclude, known)
    before = box.queries
    with _within(box, budget):
        is_stuck, unproved = _stuck(problem, box, read, stuck, state_limit)
        rows = np.flatnonzero(is_stuck)
        order = np.random.default_rng(seed).permutation(rows)[: len(rows) if sample is None else sample]
        search = _Batches(problem, box, read, relaxations, state_limit)
        with reporting(progress, "Relaxing", len(order), display=lambda bar: bar.advance) as done:
            search.run(order, done)
    return RelaxationReport(
        relaxations,
        read.take(search.examined),
        search.outcomes,
        search.actions,
        len(rows),
        [one for one in skipped if one.kind in kinds],
        box.queries - before,
        unproved,
    )


class _Batches:
    """The search for all people, some of them at a time, and its results in the order of the table."""

    def __init__(
        self, problem: Problem, box: BlackBox, people: People, relaxations: Sequence[Relaxation], state_limit: int
    ) -> None:
        self.problem, self.box, self.people = problem, box, people
        self.relaxations, self.state_limit = relaxations, state_limit
        self.examined: Ints = np.empty(0, np.intp)
        self.outcomes: Ints = np.empty((0, len(relaxations)), np.intp)
        self.actions: list[Ints] = [np.empty((0, one.problem.max_actions), np.intp) for one in relaxations]

    def run(self, order: Ints, done: Callable[[int], None]) -> None:
        """Examine the people `order` [n], until the budget of the black box is spent."""
        first, size = 0, FIRST_BATCH
        while first < len(order) and self.box.remaining_budget != 0:
            rows = order[first : first + size]
            most = self._batch(rows)
            first += len(rows)
            size = int(np.clip(_STATES_AT_ONCE // most, 1, LARGEST_BATCH))
            done(len(rows))
        back = np.argsort(self.examined, kind="stable")
        self.examined, self.outcomes = self.examined[back], self.outcomes[back]
        self.actions = [actions[back] for actions in self.actions]

    def _batch(self, rows: Ints) -> int:
        """Examine some people; returns the most states that one of them had at a time."""
        people = self.people.take(rows)
        search = BeyondSearch(self.problem, people.states, self.state_limit)
        most = max(1, int(np.bincount(search.reached.person).max(initial=1)))
        outcomes = np.full((len(rows), len(self.relaxations)), UNKNOWN)
        session = self.box.session(self.problem, people)
        for number, relaxation in enumerate(self.relaxations):
            beyond = search.run(relaxation.problem, relaxation.function, session)
            outcomes[:, number] = beyond.outcome
            self.actions[number] = np.concatenate([self.actions[number], beyond.actions])
            most = max(most, beyond.states)
        self.examined = np.concatenate([self.examined, rows])
        self.outcomes = np.concatenate([self.outcomes, outcomes])
        return most


def _stuck(
    problem: Problem, box: BlackBox, people: People, stuck: npt.ArrayLike | None, state_limit: int
) -> tuple[Bools, int]:
    """Which people [B] are proved to have no recourse, and for how many neither a plan nor a proof was found."""
    if stuck is None:
        statuses = ExactPlanner(problem, box, state_limit=state_limit).plan(people).statuses
        return np.asarray(statuses == "infeasible"), int((statuses == "not_found").sum())
    given = np.asarray(stuck)
    if given.dtype != bool or given.shape != (len(people),):
        shape = f"{given.dtype} of shape {given.shape}"
        raise SettingError(f"'stuck' must be a bool array of shape ({len(people)},), one for each person; not {shape}")
    return given, 0


def _chosen(
    relaxations: Sequence[Relaxation], kinds: Collection[str], exclude: Collection[str], names: set[str]
) -> list[Relaxation]:
    """The relaxations of these kinds that are not excluded by their name or function; `names` may be excluded."""
    if isinstance(kinds, str) or not {*kinds} <= {*KINDS}:
        raise SettingError(f"'kinds' must be some of {', '.join(KINDS)}; not {kinds!r}")
    if isinstance(exclude, str) or not {*exclude} <= names:
        unknown = exclude if isinstance(exclude, str) else ", ".join(sorted({*exclude} - names))
        raise SettingError(f"'exclude' must be a list of names of relaxations or functions; not {unknown}")
    return [one for one in relaxations if one.kind in kinds and one.name not in exclude and one.function not in exclude]


def _check(**numbers: int | None) -> None:
    """Validate parameters: two may be None, and two may be 0."""
    for name, number in numbers.items():
        least = 0 if name in ("budget", "seed") else 1
        if not is_whole(number, least) and (number is not None or name in ("state_limit", "seed")):
            raise SettingError(f"'{name}' must be an integer, {least} or more; not {number!r}")


@contextmanager
def _within(box: BlackBox, budget: int | None) -> Iterator[None]:
    """Within this context, the black box answers at most `budget` more queries, and no more than its own budget."""
    own = box.budget
    if budget is not None:
        box.budget = box.queries + budget if own is None else min(own, box.queries + budget)
    try:
        yield
    finally:
        box.budget = own
