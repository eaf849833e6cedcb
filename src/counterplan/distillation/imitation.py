"""Imitation as in the paper: a scikit-learn decision tree in each node, fitted to the traces of an agent.

Each tree is fitted once to all outgoing (state, action) pairs of its node. Its inputs are binary features, intervals of
numbers and values of categories, so that it can be converted to tests of features.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from counterplan.problem import Encoding, Feature, Problem
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.program.domains import Values, passing, possible
from counterplan.program.parts import Choice, Leaf, Split, Test, Tree, node_names
from counterplan.search.orders import NO_ACTION

DEEPEST = 40
"""Most binary features on the path to a leaf; each becomes two tests at most, and files hold a hundred."""


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
    encoding: Encoding,
    pairs: Pairs,
    seed: int = 0,
    max_conditions: int | None = None,
    avoid: tuple[int, ...] = (),
) -> dict[str, Tree]:
    """Fit a tree for each node with pairs; `max_conditions` limits the depth, the features `avoid` are not tested.

    A node with one outgoing action is a leaf.
    """
    names = node_names(problem)
    bits = _bits(encoding)
    usable = np.array([feature.index not in avoid for feature, _, _ in bits], bool)
    trees = {}
    for node in np.unique(pairs.node).tolist():
        at_node = pairs.node == node
        inputs = encoding(pairs.states[at_node])[:, usable]
        chosen = [bit for bit, use in zip(bits, usable.tolist(), strict=True) if use]
        depth = min(DEEPEST, max_conditions or DEEPEST)
        trees[names[node]] = _tree(problem, chosen, inputs, pairs.action[at_node], seed, depth)
    return trees


_Bit = tuple[Feature, float, float]
"""A feature and an interval of it; a value and the next one of a category; NaN for a missing value."""


def _bits(encoding: Encoding) -> list[_Bit]:
    """The binary features of an encoding, in its order."""
    bits: list[_Bit] = []
    for feature, cuts in zip(encoding.features, encoding.cuts, strict=True):
        if feature.is_number:
            bits += [(feature, low, high) for low, high in zip(cuts, (*cuts[1:], np.inf), strict=False)]
        else:
            bits += [(feature, place, place + 1) for place in range(len(feature.natives))]
        if feature.missing and (cuts or not feature.is_number):
            bits.append((feature, np.nan, np.nan))
    return bits


def _tree(problem: Problem, bits: list[_Bit], inputs: Bools, actions: Ints, seed: int, depth: int) -> Tree:
    """A tree fitted to binary features [n, K] and `actions` [n], as tests of features."""
    done, counts = np.unique(actions, return_counts=True)
    common = done[np.argsort(-counts, kind="stable")].tolist()
    if len(common) == 1 or not bits:
        return Leaf(tuple(Choice(int(action)) for action in common))
    from sklearn.tree import DecisionTreeClassifier

    fitted = DecisionTreeClassifier(random_state=seed, max_depth=depth).fit(inputs, actions)
    inner = fitted.tree_

    def convert(node: int, domain: tuple[Values, ...]) -> Tree:
        if inner.children_left[node] < 0:
            share = inner.value[node][0]
            likely = [int(fitted.classes_[i]) for i in np.argsort(-share, kind="stable") if share[i] > 0]
            return Leaf(tuple(Choice(action) for action in [*likely, *(a for a in common if a not in likely)]))
        no, yes = int(inner.children_left[node]), int(inner.children_right[node])
        bit = bits[int(inner.feature[node])]
        return _test_bit(bit, lambda at: convert(yes, at), lambda at: convert(no, at), domain)

    return convert(0, tuple(possible(feature) for feature in problem.features))


_Branch = Callable[[tuple[Values, ...]], Tree]


def _test_bit(bit: _Bit, yes: _Branch, no: _Branch, domain: tuple[Values, ...]) -> Tree:
    """Tests of a feature that are equivalent to a binary feature, where features have values in `domain`."""
    feature, low, high = bit
    if np.isnan(low):
        return _split(feature, Test(feature.index), yes, no, domain)
    if not feature.is_number:
        return _split(feature, Test(feature.index, among=(int(low),)), yes, no, domain)

    def below(at: tuple[Values, ...]) -> Tree:
        return yes(at) if np.isinf(high) else _split(feature, Test(feature.index, at_least=high), no, yes, at)

    if np.isfinite(low):
        return _split(feature, Test(feature.index, at_least=low), below, no, domain)
    return _split(feature, Test(feature.index), no, below, domain)  # a missing value is in no interval


def _split(feature: Feature, test: Test, yes: _Branch, no: _Branch, domain: tuple[Values, ...]) -> Tree:
    """A split, unless the outcome of its test is known already or makes no difference."""
    place = feature.index
    inside, outside = (domain[place] & passing(feature, test, way) for way in (True, False))
    if _none(feature, inside) or _none(feature, outside):
        return no(domain) if _none(feature, inside) else yes(domain)
    then, otherwise = (
        way((*domain[:place], values, *domain[place + 1 :])) for way, values in ((yes, inside), (no, outside))
    )
    return then if then == otherwise else Split(test, then, otherwise)


def _none(feature: Feature, values: Values) -> bool:
    return not values.missing and not (values.low < values.high if feature.is_number else values.among)
