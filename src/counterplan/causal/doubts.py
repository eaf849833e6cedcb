"""Question the causal graph of a problem with a table of people."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from counterplan.causal import wording
from counterplan.causal.columns import DataColumn, to_columns
from counterplan.causal.independence import independence_test, load_test
from counterplan.causal.orientation import Edge, GraphLengths, Orientation, components, halves, orient, turned
from counterplan.causal.settings import LEAST_PEOPLE, GraphSettings, choose_people, favourable
from counterplan.causal.skeleton import find_adjacencies, is_adjacent
from counterplan.problem import Problem
from counterplan.problem.parts import Cause
from counterplan.problem.source import Location

RELAXED = 5
"""Tests of half of the people are at so many times the level."""
POWER = 0.8
"""An edge is doubted for want of a dependence only if the test finds a small one with this probability."""


@dataclass(frozen=True)
class Doubt:
    """A reason to doubt the causal graph of a problem.

    Attributes
    ----------
    kind : {"independence", "direction", "directions", "missing"}
        No dependence where there is an edge; an edge that points the other way, or several of which some do; a
        dependence where there is no edge.
    features : tuple of (str, str)
        The edges, from one feature to another; of a missing edge, a pair without a direction.
    location : tuple of str and int
        The location in the problem file: ("causes", 2).
    message : str
        The doubt as a sentence.
    details : mapping
        The numbers behind it, such as "p_value", "effect", "people", "given", "gain" and "recurs".

    Examples
    --------
    >>> import pandas as pd
    >>> from counterplan import Problem
    >>> from counterplan.causal import question_graph
    >>> problem = Problem.from_dict({
    ...     "counterplan": 1, "name": "loan", "max_actions": 1,
    ...     "outcome": {"column": "loan", "values": ["no", "yes"], "favourable": "yes"},
    ...     "features": {
    ...         "job": {"kind": "category", "values": ["clerk", "pilot"]},
    ...         "house": {"kind": "category", "values": ["rent", "own"]},
    ...     },
    ...     "functions": {"WORK": {"set": "job", "arguments": ["pilot"], "cost": 10}},
    ... })
    >>> job, house = ["clerk", "pilot"] * 150, ["rent", "own"] * 150
    >>> people = pd.DataFrame({"job": job, "house": house})
    >>> report = question_graph(problem, people)
    >>> doubt = report.doubts[0]
    >>> doubt.kind, doubt.features
    ('missing', (('job', 'house'),))
    >>> print(doubt.message)
    an edge between job and house may be missing: they are dependent ...
    """

    kind: str
    features: tuple[Edge, ...]
    location: Location
    message: str
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class GraphReport:
    """Doubts about a causal graph that a table of people gives reason for.

    Attributes
    ----------
    doubts : tuple of Doubt
        In the order of the file; missing edges come last, those with the strongest dependence first.
    people : int
        The number of people that were used.
    notes : tuple of str
        Features and edges that could not be questioned, and cautions.

    Examples
    --------
    >>> from counterplan import benchmarks
    >>> from counterplan.causal import question_graph
    >>> syn = benchmarks.load("syn")
    >>> report = question_graph(syn.problem, syn.train.head(50))
    >>> report.people, report.doubts
    (50, ())
    >>> report.notes
    ('50 people are too few to question the causal graph; it takes at least 100',)
    """

    doubts: tuple[Doubt, ...]
    people: int
    notes: tuple[str, ...] = ()


def question_graph(
    problem: Problem,
    people: pd.DataFrame,
    settings: GraphSettings | None = None,
    progress: Callable[[float], None] = lambda share: None,
) -> GraphReport:
    """Compare the causal graph of a problem with a table of people.

    Parameters
    ----------
    problem : Problem
        The problem, with the causal graph to question.
    people : pandas.DataFrame
        People who were not chosen for their features: columns beyond the features are ignored, except the outcome if
        `settings.share` is given.
    settings : GraphSettings, optional
        Levels, sample and repetitions. Default: `GraphSettings()`.
    progress : callable, optional
        Called with the share of the work that is done.

    Returns
    -------
    GraphReport
        Doubts, never corrections: people alone do not tell causes from effects without assumptions.

    Raises
    ------
    PeopleError
        If the table does not fit the problem.
    SettingError
        If causal-learn is not installed.

    Examples
    --------
    >>> from counterplan import benchmarks
    >>> from counterplan.causal import GraphSettings, question_graph
    >>> syn = benchmarks.load("syn")
    >>> settings = GraphSettings(share=0.31, people=400, halves=2)
    >>> report = question_graph(syn.problem, syn.train, settings)
    >>> report.people, report.doubts
    (400, ())
    """
    settings = settings or GraphSettings()
    load_test()
    states = problem.read(people).states
    notes = list(_sampling_notes(problem, people, settings))
    rows = choose_people(problem, people, settings)
    if len(rows) < LEAST_PEOPLE:
        return GraphReport((), len(rows), (*notes, wording.too_few(len(rows), LEAST_PEOPLE)))
    columns = {column.name: column for column in to_columns(problem.features, states[rows])}
    constant = [name for name, column in columns.items() if column.size < 2]
    if constant:
        notes.append(wording.constant(constant))
    varied = {name: column for name, column in columns.items() if column.size >= 2}
    questioner = _Questioner(problem, varied, settings, progress)
    doubts = questioner.doubts()
    cautions = (wording.CAUTION,) if doubts else ()
    return GraphReport(tuple(doubts), len(rows), (*notes, *questioner.notes, *cautions))


def _sampling_notes(problem: Problem, people: pd.DataFrame, settings: GraphSettings) -> Iterator[str]:
    good = favourable(problem, people)
    asked = settings.share is None and good is not None and len(good) >= LEAST_PEOPLE
    if asked and good is not None and abs(2 * int(good.sum()) - len(good)) <= 1:
        yield wording.BALANCED


class _Questioner:
    def __init__(
        self,
        problem: Problem,
        columns: dict[str, DataColumn],
        settings: GraphSettings,
        progress: Callable[[float], None],
    ) -> None:
        self.problem, self.columns, self.settings, self._progress = problem, columns, settings, progress
        names = [feature.name for feature in problem.features]
        self.causes = {
            (names[cause.source], names[cause.target]): cause
            for cause in problem.transitions.causes
            if names[cause.source] in columns and names[cause.target] in columns
        }
        self.linked = {frozenset(edge) for edge in self.causes}
        for (_, target), cause in self.causes.items():
            read = set() if cause.formula is None else cause.formula.tree.current_names()
            self.linked |= {frozenset((name, target)) for name in read}
        self.mutable = {names[index] for index in problem.transitions.mutable}
        self.notes: list[str] = []

    def doubts(self) -> list[Doubt]:
        """All doubts: about edges in the order of the file, then about pairs without an edge."""
        independent = list(self._independences())
        self._progress(0.05)
        undirected = {edge for doubt in independent for edge in doubt.features}
        edges = [edge for edge in self.causes if edge not in undirected]
        about_edges = [*independent, *self._directions(edges)]
        about_edges.sort(key=lambda doubt: (doubt.location[-1], doubt.kind))
        missing = sorted(self._missing(), key=lambda doubt: -doubt.details["effect"])
        self._progress(1.0)
        return about_edges + missing

    def _independences(self) -> Iterator[Doubt]:
        """Edges without a dependence, given the other parents of the target."""
        weak = []
        for (source, target), cause in self.causes.items():
            others = [first for first, second in self.causes if second == target and first != source]
            given = [self.columns[name] for name in others]
            test = independence_test(self.columns[source], self.columns[target], given)
            if test.p_value <= self.settings.alpha:
                continue
            power = test.power(self.settings.alpha)
            if power < POWER:
                weak.append(f"{source} → {target}")
                continue
            details = {**wording.test_details(test), "power": round(power, 4)}
            message = wording.independent(source, target, test, power, only_costs=not cause.sets)
            yield Doubt("independence", ((source, target),), _location(cause), message, details)
        if weak:
            self.notes.append(wording.too_weak(weak))

    def _directions(self, edges: Sequence[Edge]) -> Iterator[Doubt]:
        """Edges whose reversal shortens the description of the data, in the halves of the people as well."""
        groups = components(edges)
        found: list[tuple[Orientation, dict[str, DataColumn]]] = []
        for number, group in enumerate(groups):
            part = [edges[index] for index in group]
            columns = self._complete({name for edge in part for name in edge})
            if len(next(iter(columns.values())).cells) >= LEAST_PEOPLE:
                found.append((orient(part, GraphLengths(columns), self.settings.least_gain), columns))
            else:
                self.notes.append(wording.incomplete(part))
            self._progress(0.05 + 0.35 * (number + 1) / len(groups))
        gains = [gain for orientation, _ in found for gain in orientation.gains]
        least = _least_gain(gains, self.settings.alpha)
        for orientation, columns in found:
            yield from self._reversals(orientation, columns, least)

    def _reversals(self, orientation: Orientation, columns: dict[str, DataColumn], least: float) -> Iterator[Doubt]:
        people = len(next(iter(columns.values())).cells)
        candidates = [index for index, gain in enumerate(orientation.gains) if gain >= least]
        edges = orientation.edges
        pairs = {i: (turned(edges, orientation.kept[i]), turned(edges, orientation.reversed[i])) for i in candidates}
        if orientation.ambiguous:
            pairs[-1] = (list(edges), turned(edges, orientation.shortest))
        if not pairs:
            return
        recurs = dict.fromkeys(pairs, 0)
        for rows in halves(people, self.settings.halves, np.random.default_rng([self.settings.seed, 1])):
            lengths = GraphLengths({name: column.take(rows) for name, column in columns.items()})
            for index, (before, after) in pairs.items():
                recurs[index] += lengths.gain(before, after) > 0
        total = 2 * self.settings.halves
        for index in pairs:
            if recurs[index] < self.settings.recur * total:
                continue
            chosen = orientation.ambiguous if index < 0 else (index,)
            gain = orientation.total_gain if index < 0 else orientation.gains[index]
            doubted = tuple(edges[i] for i in chosen)
            details = {
                "test": "minimum description length",
                "gain": round(gain, 2),
                "p_bound": math.exp(-min(gain, 700.0)),
                "people": people,
                "recurs": round(recurs[index] / total, 4),
            }
            message = wording.direction(doubted, gain, people, f"{recurs[index]} of {total}")
            kind = "direction" if index >= 0 else "directions"
            yield Doubt(kind, doubted, _location(self.causes[doubted[0]]), message, details)

    def _missing(self) -> Iterator[Doubt]:
        """Pairs without an edge that nothing separates, of which an action can change one, in the halves as well."""
        settings, names = self.settings, list(self.columns)
        pairs = list(combinations(range(len(names)), 2))
        decided = [
            pair
            for pair in pairs
            if {names[i] for i in pair} in self.linked or not self.mutable.intersection(names[i] for i in pair)
        ]
        adjacent = find_adjacencies(
            list(self.columns.values()), settings.alpha, decided, lambda share: self._progress(0.4 + 0.4 * share)
        )
        open_pairs = {
            (names[pair[0]], names[pair[1]]): found for pair, found in adjacent.items() if pair not in decided
        }
        level = _level([adjacency.weakest.p_value for adjacency in open_pairs.values()], settings.alpha, len(pairs))
        open_pairs = {pair: found for pair, found in open_pairs.items() if found.weakest.p_value <= level}
        if not open_pairs:
            return
        level = min(RELAXED * settings.alpha, 0.2)
        recurs = dict.fromkeys(open_pairs, 0)
        count = len(next(iter(self.columns.values())).cells)
        random = np.random.default_rng([settings.seed, 2])
        for number, rows in enumerate(halves(count, settings.halves, random)):
            part = {name: column.take(rows) for name, column in self.columns.items()}
            for pair, adjacency in open_pairs.items():
                recurs[pair] += is_adjacent(part, pair, adjacency.tests, level)
            self._progress(0.8 + 0.2 * (number + 1) / (2 * settings.halves))
        total = 2 * settings.halves
        for pair, adjacency in open_pairs.items():
            if recurs[pair] >= settings.recur * total:
                weakest = adjacency.weakest
                sets = sorted({name for test in adjacency.tests for name in test.given})
                details = {**wording.test_details(weakest), "recurs": round(recurs[pair] / total, 4), "tried": sets}
                message = wording.missing(pair, weakest, sets, f"{recurs[pair]} of {total}")
                yield Doubt("missing", (pair,), ("causes",), message, details)

    def _complete(self, names: set[str]) -> dict[str, DataColumn]:
        """Some columns, of the people who have all their values."""
        chosen = {name: column for name, column in self.columns.items() if name in names}
        known = np.logical_and.reduce([column.cells >= 0 for column in chosen.values()])
        return {name: column.take(known) for name, column in chosen.items()}


def _location(cause: Cause) -> Location:
    return ("causes", cause.position)


def _least_gain(gains: Sequence[float], alpha: float) -> float:
    """The gain from which on directions are doubted, at a false discovery rate of `alpha`."""
    bounds = [math.exp(-max(min(gain, 700.0), 0.0)) for gain in gains]
    level = _level(bounds, alpha, len(bounds))
    return math.log(1 / level) if level else math.inf


def _level(p_values: Sequence[float], alpha: float, tested: int) -> float:
    """The level of Benjamini and Hochberg for `tested` hypotheses, with the least `p_values`; 0 if none passes."""
    ordered = sorted(p_values)
    passed = [rank for rank, p_value in enumerate(ordered, 1) if p_value <= alpha * rank / tested]
    return alpha * passed[-1] / tested if passed else 0.0
