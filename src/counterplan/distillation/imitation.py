"""Imitation as in the paper: a scikit-learn decision tree in each node, fitted to the traces of an agent.

Each tree is fitted once to all outgoing (state, action) pairs of its node. Its inputs are binary: thresholds of numbers
and of ordered categories, values of categories. A leaf has one action and no fallbacks: where that action is not legal,
a program has no plan, as in Algorithm 2 of the paper.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from counterplan.distillation.candidate_tests import candidate_tests
from counterplan.problem import Problem
from counterplan.problem.transitions import Floats, Ints
from counterplan.program.parts import Choice, Leaf, Split, Test, Tree, node_names
from counterplan.search.orders import NO_ACTION


@dataclass(frozen=True)
class ImitationSettings:
    """Settings of the trees.

    Parameters
    ----------
    max_depth : int, default=40
        Most tests on the path to a leaf; files hold a hundred.
    min_samples_leaf : int, default=4
        Fewest pairs in a leaf.
    max_thresholds : int, default=100
        Most thresholds of a number.
    """

    max_depth: int = 40
    min_samples_leaf: int = 4
    max_thresholds: int = 100


class Pairs(NamedTuple):
    """State-action pairs of traces: nodes [n], states [n, F] and actions [n]."""

    node: Ints
    states: Floats
    action: Ints


def pairs_of(problem: Problem, starts: Floats, actions: Ints) -> Pairs:
    """The pairs of traces `actions` [B, T] from `starts` [B, F], STOP included; node 0 is INTERVENE."""
    transitions, states = problem.transitions, starts
    node = np.zeros(len(starts), np.intp)
    parts = []
    for t in range(actions.shape[1] + 1):
        given = actions[:, t] if t < actions.shape[1] else np.full(len(actions), NO_ACTION)
        action = np.where(given == NO_ACTION, transitions.stop, given)
        parts.append((node, states, action))
        on = action != transitions.stop
        actions, action = actions[on], action[on]
        states = transitions.apply(states[on], action)
        node = transitions.function_of[action] + 1
    return Pairs(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def imitate(
    problem: Problem,
    pairs: Pairs,
    settings: ImitationSettings | None = None,
    seed: int = 0,
    avoid: tuple[int, ...] = (),
) -> dict[str, Tree]:
    """Fit a tree for each node with pairs; the features `avoid` are not tested."""
    names, settings = node_names(problem), settings or ImitationSettings()
    features = [feature for feature in problem.features if feature.index not in avoid]
    trees = {}
    for node in np.unique(pairs.node).tolist():
        states, actions = pairs.states[pairs.node == node], pairs.action[pairs.node == node]
        tests = candidate_tests(features, states, settings.max_thresholds)
        trees[names[node]] = _tree(tests, states, actions, settings, seed)
    return trees


def _tree(tests: list[Test], states: Floats, actions: Ints, settings: ImitationSettings, seed: int) -> Tree:
    """A tree of `tests` fitted to `states` [n, F] and `actions` [n]; a leaf if there is nothing to distinguish."""
    taken, counts = np.unique(actions, return_counts=True)
    if len(taken) == 1 or not tests:
        return Leaf((Choice(int(taken[counts.argmax()])),))
    from sklearn.tree import DecisionTreeClassifier

    classifier = DecisionTreeClassifier(
        random_state=seed, max_depth=settings.max_depth, min_samples_leaf=settings.min_samples_leaf
    )
    inputs = np.stack([test(states) for test in tests], axis=1)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The number of unique classes")  # a small node has few pairs
        fitted = classifier.fit(inputs, np.searchsorted(taken, actions)).tree_

    def convert(node: int) -> Tree:
        no, yes = int(fitted.children_left[node]), int(fitted.children_right[node])
        if no < 0:
            return Leaf((Choice(int(taken[fitted.value[node][0].argmax()])),))
        then, otherwise = convert(yes), convert(no)
        return then if then == otherwise else Split(tests[int(fitted.feature[node])], then, otherwise)

    return convert(0)
