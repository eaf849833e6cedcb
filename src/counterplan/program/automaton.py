"""The program: an automaton with a node for each function, and in each node a decision tree that says what comes next.

A run begins in INTERVENE. The tree of the node where a person is gives a list of choices; the first one that is legal
is taken, and leads to the node of its function. STOP ends the run. Everything is plain data: nothing is executed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from counterplan.problem import Problem
from counterplan.problem.transitions import Bools, Floats, Ints, Transitions, rounded
from counterplan.search.orders import NO_ACTION

if TYPE_CHECKING:
    import pandas as pd

    from counterplan.plans import Forbid, Plans
    from counterplan.problem import People
    from counterplan.program.rules import Rule, Rules
    from counterplan.program.verification import Verification

INTERVENE = "INTERVENE"


@dataclass(frozen=True)
class Test:
    """A question about one feature: at least a number or rank, one of some values, or missing. Missing fails others."""

    __test__ = False

    feature: int
    at_least: float | None = None
    among: tuple[int, ...] | None = None
    """Values of a category, by index."""

    def __call__(self, states: Floats) -> Bools:
        """Whether `states` [n, F] pass."""
        column = states[:, self.feature]
        if self.at_least is not None:
            return np.asarray(column >= self.at_least)
        if self.among is not None:
            return np.isin(column, self.among)
        return np.isnan(column)


@dataclass(frozen=True)
class Choice:
    """What to do: an action by its number; or, of an adding function, the smallest change that brings its feature to at
    least `reach`, or, if the function only lowers it, to at most `reach`; else the largest. STOP is the last action."""

    action: int
    """With `reach`, the first action of the function."""
    reach: float | None = None

    def pick(self, transitions: Transitions, states: Floats, legal: Bools) -> Ints:
        """The action [n] meant in `states` [n, F] where `legal` [n, A]; NO_ACTION where it cannot be done."""
        if self.reach is None:
            return np.where(legal[:, self.action], self.action, NO_ACTION)
        function = int(transitions.function_of[self.action])
        span, target = transitions.spans[function], transitions.functions[function].target
        arguments = transitions.functions[function].arguments
        way = -1.0 if (arguments < 0).all() else 1.0
        after = way * rounded(states[:, target, None] + arguments)
        possible = legal[:, span]
        enough = possible & (after >= way * self.reach)
        smallest = np.where(enough, after, np.inf).argmin(axis=1)
        largest = np.where(possible, after, -np.inf).argmax(axis=1)
        chosen = span.start + np.where(enough.any(axis=1), smallest, largest)
        return np.where(possible.any(axis=1), chosen, NO_ACTION)


@dataclass(frozen=True)
class Leaf:
    """The end of a tree: choices, the best first; the others count where those before cannot be done."""

    choices: tuple[Choice, ...]


@dataclass(frozen=True)
class Split:
    """A test and what follows from it."""

    test: Test
    yes: Tree
    no: Tree


Tree = Leaf | Split


def leaves(
    tree: Tree, path: tuple[tuple[Test, bool], ...] = ()
) -> Iterator[tuple[tuple[tuple[Test, bool], ...], Leaf]]:
    """The leaves of a tree from yes to no, each with the way there."""
    if isinstance(tree, Leaf):
        yield path, tree
    else:
        yield from leaves(tree.yes, (*path, (tree.test, True)))
        yield from leaves(tree.no, (*path, (tree.test, False)))


def decide(tree: Tree, states: Floats) -> Ints:
    """The number [n] of the leaf that each of `states` [n, F] comes to, counted as `leaves` does."""
    number = np.zeros(len(states), np.intp)
    _decide(tree, states, np.arange(len(states)), 0, number)
    return number


def _decide(tree: Tree, states: Floats, rows: Ints, first: int, number: Ints) -> int:
    """Number the leaves of `rows`, from `first` on; gives the next free number."""
    if isinstance(tree, Leaf):
        number[rows] = first
        return first + 1
    passed = tree.test(states[rows])
    first = _decide(tree.yes, states, rows[passed], first, number)
    return _decide(tree.no, states, rows[~passed], first, number)


class Run(NamedTuple):
    """What a program did for B people."""

    actions: Ints
    """[B, T] filled up with NO_ACTION."""
    stopped: Bools
    """[B] whether it ended with STOP after at least one action; otherwise it found no plan."""
    nodes: Ints
    """[B, T + 1] the node that decided each step, STOP included, by number; -1 where there was none."""
    leaves: Ints
    """[B, T + 1] the leaf of its tree."""
    ranks: Ints
    """[B, T + 1] which of the leaf's choices was taken."""
    states: Floats
    """[B, F] where it ended."""


@dataclass(frozen=True, repr=False)
class Program:
    """A tree for each node: `trees["INTERVENE"]`, and one for each function that some choice names."""

    problem: Problem
    trees: Mapping[str, Tree]
    card: Mapping[str, Any] = field(default_factory=dict)
    """How it was made, and what it can do: plain data."""

    @property
    def nodes(self) -> tuple[str, ...]:
        """The names of all nodes, by number: INTERVENE, then the functions."""
        return (INTERVENE, *(function.name for function in self.problem.transitions.functions))

    @classmethod
    def load(cls, path: str | Path) -> Program:
        """Read a program from a file; an error says where it goes wrong. Nothing in the file is executed."""
        from counterplan.program.io import load

        return load(path)

    def save(self, path: str | Path) -> None:
        """Write the program to a file, whole or not at all; equal programs make equal files."""
        from counterplan.program.io import save

        save(self, path)

    def recommend(self, people: pd.DataFrame | People, *, forbid: Forbid = (), allowed: Bools | None = None) -> Plans:
        """A plan for each of `people`, who are taken to be refused, with a reason for every step; nobody is asked.

        `forbid` names what cannot be done, `allowed` [B, A] says the same as a mask.
        """
        from counterplan.program.recommendation import recommend

        return recommend(self, people, forbid, allowed)

    def verify(self, people: pd.DataFrame | People, model: object, *, forbid: Forbid = ()) -> Verification:
        """Ask `model` one question about each of `people` who gets a plan: does it hold?"""
        from counterplan.program.verification import verify

        return verify(self, people, model, forbid)

    def rule(self, node: str, leaf: int, rank: int = 0) -> Rule:
        """When the choice `rank` of a `leaf` of a `node` is taken, as short as it can be said."""
        return self._rules(node, leaf, rank)

    @cached_property
    def _rules(self) -> Rules:
        from counterplan.program.rules import Rules

        return Rules(self)

    def tests_protected(self) -> tuple[str, ...]:
        """The protected features that some tree asks about."""
        asked = {test.feature for tree in self.trees.values() for path, _ in leaves(tree) for test, _ in path}
        return tuple(feature.name for feature in self.problem.features if feature.protected and feature.index in asked)

    def simplified(self) -> Program:
        """The same program without choices, tests and branches that make no difference to anybody."""
        from counterplan.program.simplify import simplified

        return simplified(self)

    def to_text(self) -> str:
        """The whole program as an indented listing in plain words."""
        from counterplan.program.text import program_text

        return program_text(self)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        count = sum(1 for tree in self.trees.values() for _ in leaves(tree))
        return f"Program({self.problem.name!r}: {len(self.trees)} nodes, {count} leaves)"

    def run(self, states: Floats, allowed: Bools | None = None) -> Run:
        """Plans for people in `states` [B, F], who may take the actions `allowed` [B, A]; nobody is asked."""
        transitions, longest, count = self.problem.transitions, self.problem.max_actions, len(states)
        nodes, ends, ranks = (np.full((count, longest + 1), -1, np.intp) for _ in range(3))
        actions = np.full((count, longest), NO_ACTION, np.intp)
        run = Run(actions, np.zeros(count, bool), nodes, ends, ranks, states.copy())
        going, node = np.arange(count), np.zeros(count, np.intp)
        for t in range(longest + 1):
            if not len(going):
                break
            legal = transitions.legal(run.states[going])
            if allowed is not None:
                legal &= allowed[going]
            legal[:, transitions.stop] = t > 0
            if t == longest:
                legal[:, :-1] = False
            leaf, rank, action = self.decide(node, run.states[going], legal)
            run.nodes[going, t], run.leaves[going, t], run.ranks[going, t] = node, leaf, rank
            run.stopped[going[action == transitions.stop]] = True
            on = (action != NO_ACTION) & (action != transitions.stop)
            going, action = going[on], action[on]
            if t < longest:
                run.actions[going, t] = action
                run.states[going] = transitions.apply(run.states[going], action)
            node = transitions.function_of[action] + 1
        run.actions[~run.stopped] = NO_ACTION
        return run

    def decide(self, node: Ints, states: Floats, legal: Bools) -> tuple[Ints, Ints, Ints]:
        """Leaf, rank of the choice and action [n] in `states` [n, F] at `node` [n]; NO_ACTION if none fits."""
        leaf, rank = np.full(len(node), -1, np.intp), np.full(len(node), -1, np.intp)
        action = np.full(len(node), NO_ACTION, np.intp)
        for number in np.unique(node).tolist():
            tree = self.trees.get(self.nodes[number])
            if tree is None:
                continue
            here = np.flatnonzero(node == number)
            leaf[here] = decide(tree, states[here])
            for index, (_, end) in enumerate(leaves(tree)):
                rows = here[leaf[here] == index]
                for place, choice in enumerate(end.choices):
                    open_ = rows[action[rows] == NO_ACTION]
                    if not len(open_):
                        break
                    picked = choice.pick(self.problem.transitions, states[open_], legal[open_])
                    action[open_] = picked
                    rank[open_[picked != NO_ACTION]] = place
        return leaf, rank, action
