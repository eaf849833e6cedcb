"""The paper's program: in each node a decision tree of scikit-learn that imitates traces, seen as bits.

Every outgoing (state, action) pair of a node is stored, and its tree is trained once. Bits are intervals of numbers and
values of categories, so a tree over bits becomes one of tests on features.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from counterplan.problem import Encoding, Feature, Problem
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.program.automaton import INTERVENE, Choice, Leaf, Split, Test, Tree
from counterplan.program.domains import Values, passing, possible
from counterplan.search.orders import NO_ACTION

DEEPEST = 40
"""Bits on the way to a leaf; each is two tests at most, and files hold a hundred."""


class Pairs(NamedTuple):
    """What was seen at nodes: which [n], in which state [n, F], and what was done [n]."""

    node: Ints
    states: Floats
    action: Ints


def pairs_of(problem: Problem, starts: Floats, actions: Ints) -> Pairs:
    """The pairs of traces `actions` [B, T] from `starts` [B, F], STOP included; 0 is INTERVENE."""
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
    problem: Problem, encoding: Encoding, pairs: Pairs, seed: int = 0, max_conditions: int | None = None,
    avoid: tuple[int, ...] = (),
) -> dict[str, Tree]:  # fmt: skip
    """A tree for each node that was seen; `max_conditions` limits the bits in a rule, `avoid` names features.

    A node with one outgoing action is a leaf.
    """
    names = (INTERVENE, *(function.name for function in problem.transitions.functions))
    bits = _bits(encoding)
    usable = np.array([feature.index not in avoid for feature, _, _ in bits], bool)
    trees = {}
    for node in np.unique(pairs.node).tolist():
        here = pairs.node == node
        view = encoding(pairs.states[here])[:, usable]
        chosen = [bit for bit, use in zip(bits, usable.tolist(), strict=True) if use]
        depth = min(DEEPEST, max_conditions or DEEPEST)
        trees[names[node]] = _tree(problem, chosen, view, pairs.action[here], seed, depth)
    return trees


_Bit = tuple[Feature, float, float]
"""A feature and an interval of it; of a category, a value and the next; of what is missing, NaN."""


def _bits(encoding: Encoding) -> list[_Bit]:
    """What each bit of an encoding asks, in its order."""
    bits: list[_Bit] = []
    for feature, cuts in zip(encoding.features, encoding.cuts, strict=True):
        if feature.is_number:
            bits += [(feature, low, high) for low, high in zip(cuts, (*cuts[1:], np.inf), strict=False)]
        else:
            bits += [(feature, place, place + 1) for place in range(len(feature.natives))]
        if feature.missing and (cuts or not feature.is_number):
            bits.append((feature, np.nan, np.nan))
    return bits


def _tree(problem: Problem, bits: list[_Bit], view: Bools, actions: Ints, seed: int, depth: int) -> Tree:
    """The tree that scikit-learn makes of `view` [n, K] and `actions` [n], over features."""
    done, counts = np.unique(actions, return_counts=True)
    common = done[np.argsort(-counts, kind="stable")].tolist()
    if len(common) == 1 or not bits:
        return Leaf(tuple(Choice(int(action)) for action in common))
    from sklearn.tree import DecisionTreeClassifier

    learned = DecisionTreeClassifier(random_state=seed, max_depth=depth).fit(view, actions)
    inner = learned.tree_

    def grow(node: int, here: tuple[Values, ...]) -> Tree:
        if inner.children_left[node] < 0:
            share = inner.value[node][0]
            likely = [int(learned.classes_[i]) for i in np.argsort(-share, kind="stable") if share[i] > 0]
            return Leaf(tuple(Choice(action) for action in [*likely, *(a for a in common if a not in likely)]))
        no, yes = int(inner.children_left[node]), int(inner.children_right[node])
        return _asked(bits[int(inner.feature[node])], lambda at: grow(yes, at), lambda at: grow(no, at), here)

    return grow(0, tuple(possible(feature) for feature in problem.features))


_Way = Callable[[tuple[Values, ...]], Tree]


def _asked(bit: _Bit, yes: _Way, no: _Way, here: tuple[Values, ...]) -> Tree:
    """A question about a bit as tests on its feature, where features can be what `here` says."""
    feature, low, high = bit
    if np.isnan(low):
        return _split(feature, Test(feature.index), yes, no, here)
    if not feature.is_number:
        return _split(feature, Test(feature.index, among=(int(low),)), yes, no, here)

    def below(at: tuple[Values, ...]) -> Tree:
        return yes(at) if np.isinf(high) else _split(feature, Test(feature.index, at_least=high), no, yes, at)

    if np.isfinite(low):
        return _split(feature, Test(feature.index, at_least=low), below, no, here)
    return _split(feature, Test(feature.index), no, below, here)  # what is missing sets no bit


def _split(feature: Feature, test: Test, yes: _Way, no: _Way, here: tuple[Values, ...]) -> Tree:
    """A test, unless its answer is known already or makes no difference."""
    place = feature.index
    inside, outside = (here[place] & passing(feature, test, way) for way in (True, False))
    if _none(feature, inside) or _none(feature, outside):
        return no(here) if _none(feature, inside) else yes(here)
    then, otherwise = (
        way((*here[:place], values, *here[place + 1 :])) for way, values in ((yes, inside), (no, outside))
    )
    return then if then == otherwise else Split(test, then, otherwise)


def _none(feature: Feature, values: Values) -> bool:
    return not values.missing and not (values.low < values.high if feature.is_number else values.among)
