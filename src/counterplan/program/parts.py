"""The parts of a program: tests, choices, leaves and splits. Plain data; nothing is executed.

A program is an automaton with a node for each function and a decision tree in each node. A run starts in INTERVENE.
The leaf that a state reaches lists choices in order of preference; the first legal one is taken and leads to the node
of its function. STOP ends the run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from counterplan.problem import Problem
from counterplan.problem.transitions import Bools, Floats, Ints, Transitions, rounded
from counterplan.search.orders import NO_ACTION

INTERVENE = "INTERVENE"
_FEW = 8
"""Up to this many values, comparing with each one is faster than `numpy.isin`."""


@dataclass(frozen=True)
class Test:
    """A test of one feature: at least a number or rank, one of a set of values, or missing.

    A missing value fails the first two.

    Parameters
    ----------
    feature : int
        Index of the feature.
    at_least : float, optional
        Threshold of a number, or of the rank of an ordered category.
    among : tuple of int, optional
        Indices of the values of a category. If both are None, the test is whether the value is missing.

    Examples
    --------
    >>> import numpy as np
    >>> Test(0, at_least=30.0)(np.array([[25.0], [30.0], [np.nan]]))
    array([False,  True, False])
    """

    __test__ = False

    feature: int
    at_least: float | None = None
    among: tuple[int, ...] | None = None

    def __call__(self, states: Floats) -> Bools:
        """Whether `states` [n, F] pass."""
        return self.passes(states[:, self.feature])

    def passes(self, column: Floats) -> Bools:
        """Whether values [n] of the feature pass."""
        if self.at_least is not None:
            return np.asarray(column >= self.at_least)
        if self.among is None:
            return np.isnan(column)
        if not 0 < len(self.among) <= _FEW:
            return np.isin(column, self.among)
        passed = column == self.among[0]
        for value in self.among[1:]:
            passed |= column == value
        return np.asarray(passed)


@dataclass(frozen=True)
class Choice:
    """An action, or the value that an adding function should reach.

    Parameters
    ----------
    action : int
        Number of the action; with `reach`, of the first action of the function. STOP is the last action.
    reach : float, optional
        Take the smallest change of the function that brings its feature to at least `reach` (to at most `reach` if the
        function only lowers it), and the largest one if none does.
    """

    action: int
    reach: float | None = None

    def pick(self, transitions: Transitions, states: Floats, legal: Bools, rows: Ints | None = None) -> Ints:
        """The action [n] meant in `states` [n, F] where `legal` [n, A]; NO_ACTION where none is legal.

        With `rows` [k], the same for these rows only [k].
        """
        where = slice(None) if rows is None else rows
        if self.reach is None:
            return np.where(legal[where, self.action], self.action, NO_ACTION)
        function = int(transitions.function_of[self.action])
        span, target = transitions.spans[function], transitions.functions[function].target
        arguments = transitions.functions[function].arguments
        way = -1.0 if (arguments < 0).all() else 1.0
        after = way * rounded(states[where, target][:, None] + arguments)
        possible = legal[where, span]
        enough = possible & (after >= way * self.reach)
        smallest = np.where(enough, after, np.inf).argmin(axis=1)
        largest = np.where(possible, after, -np.inf).argmax(axis=1)
        chosen = span.start + np.where(enough.any(axis=1), smallest, largest)
        return np.where(possible.any(axis=1), chosen, NO_ACTION)


@dataclass(frozen=True)
class Leaf:
    """The end of a tree: choices in order of preference, each a fallback for those before it."""

    choices: tuple[Choice, ...]


@dataclass(frozen=True)
class Split:
    """A test, the tree for states that pass it and the tree for those that fail."""

    test: Test
    yes: Tree
    no: Tree


Tree = Leaf | Split
Path = tuple[tuple[Test, bool], ...]
"""Tests from the root to a leaf, each with its outcome."""


def leaves(tree: Tree, path: Path = ()) -> Iterator[tuple[Path, Leaf]]:
    """Iterate over the leaves of a tree from yes to no, each with the path to it."""
    if isinstance(tree, Leaf):
        yield path, tree
    else:
        yield from leaves(tree.yes, (*path, (tree.test, True)))
        yield from leaves(tree.no, (*path, (tree.test, False)))


def partition(tree: Tree, states: Floats, rows: Ints) -> Iterator[tuple[Leaf, Ints]]:
    """Iterate over the leaves as `leaves` does, each with those of `rows` [n] of `states` that reach it."""
    if isinstance(tree, Leaf):
        yield tree, rows
    elif not len(rows):
        yield from partition(tree.yes, states, rows)
        yield from partition(tree.no, states, rows)
    else:
        passed = tree.test.passes(states[rows, tree.test.feature])
        yield from partition(tree.yes, states, rows[passed])
        yield from partition(tree.no, states, rows[~passed])


def decide(tree: Tree, states: Floats) -> Ints:
    """The index [n] of the leaf that each of `states` [n, F] reaches, in the order of `leaves`."""
    index = np.empty(len(states), np.intp)
    for number, (_, rows) in enumerate(partition(tree, states, np.arange(len(states)))):
        index[rows] = number
    return index


def tested_features(tree: Tree) -> set[int]:
    """The indices of the features that a tree tests."""
    if isinstance(tree, Leaf):
        return set()
    return {tree.test.feature} | tested_features(tree.yes) | tested_features(tree.no)


def node_names(problem: Problem) -> tuple[str, ...]:
    """The names of the nodes of a program by number: INTERVENE, then the functions of `problem`."""
    return (INTERVENE, *(function.name for function in problem.transitions.functions))


def choices_in(trees: Mapping[str, Tree]) -> set[Choice]:
    """Every choice in the leaves of `trees`."""
    return {choice for tree in trees.values() for _, leaf in leaves(tree) for choice in leaf.choices}
