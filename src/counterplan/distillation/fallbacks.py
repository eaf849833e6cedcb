"""Fallbacks of leaves for people who cannot take the first choice.

Trees are grown for people who can use every function. Afterwards everyone is forbidden each function of their plan in
turn, and sets of several. Wherever the first choice of a leaf is not possible for a person, because its function is
forbidden or it is not legal, the leaf gets the next choice that is best for such people, or none if that mostly fails.
The leaves of a node share their fallbacks, except where others are worth the words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from counterplan.distillation.choice_space import NodeOrder
from counterplan.distillation.evaluation import Evaluator
from counterplan.distillation.visits import Visits, sample_rows
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.program.parts import Choice, Leaf, Split, Tree, decide, leaves
from counterplan.search.orders import NO_ACTION

_SETS = 64
"""Number of sets of several functions that people are forbidden; each holds half of all functions, on average."""


@dataclass(frozen=True)
class FallbackSettings:
    """Settings of fallbacks; see `PolicySearchSettings`.

    Parameters
    ----------
    max_rows : int
        Most visits of people who can use every function, and of others, for one node.
    forbidden_weight : float
        Weight of people who cannot use some function.
    min_success : float
        Smallest success rate of a fallback among the people who cannot use some function.
    leaf_penalty : float
        Loss that a choice has to save to replace the fallbacks that a leaf has already.
    """

    max_rows: int
    forbidden_weight: float
    min_success: float
    leaf_penalty: float


def add_fallbacks(
    evaluator: Evaluator,
    order: NodeOrder,
    trees: Mapping[int, Tree],
    settings: FallbackSettings,
    random: np.random.Generator,
) -> dict[int, Tree]:
    """Trees, by node number, whose leaves have fallbacks: like `trees` up to the first choice of each leaf."""
    evaluator, visits = constrained_visits(evaluator, trees, random)
    result = dict(trees)
    for node in order.backwards:
        at_node = visits.take(np.flatnonzero(visits.node == node))
        if not len(at_node.person):
            continue
        tree = result[node]
        first = {node: _with_leaves(tree, iter([Leaf(leaf.choices[:1]) for _, leaf in leaves(tree)]))}
        given = np.array([bool(leaf.choices) for _, leaf in leaves(tree)])[decide(tree, at_node.states)]
        stuck = at_node.take(np.flatnonzero(given & (evaluator.decide(first, at_node) == NO_ACTION)))
        sampled, weight = sample_stuck(stuck, settings, random)
        open_ = order.open_choices(node, list(evaluator.choices))
        outcome = evaluator.outcomes(result, sampled, open_)
        level = evaluator.forbidden_sets.sum(axis=1).clip(max=2)[sampled.forbidden]
        everyone = Stuck(outcome.loss[:, open_], outcome.failure[:, open_], level, weight)
        choices = [evaluator.choices[number] for number in np.flatnonzero(open_).tolist()]
        leaf_of = decide(tree, sampled.states)
        context = LeafContext(choices, evaluator.problem.transitions.stop, evaluator.max_loss, settings)
        ends = [leaf for _, leaf in leaves(tree)]
        shared = context.fallbacks([choice for leaf in ends for choice in leaf.choices[1:]], everyone)
        found = [context.leaf(leaf, everyone.take(leaf_of == i), shared) for i, leaf in enumerate(ends)]
        result[node] = _with_leaves(tree, iter(found))
    return result


class Stuck(NamedTuple):
    """People who cannot take the first choice of a leaf."""

    losses: Floats
    """[n, C] expected loss of each choice; NaN where it is not legal."""
    failures: Floats
    """[n, C] probability that it leads to no plan that holds."""
    level: Ints
    """[n] number of functions that they cannot use: 0, 1 or several (2)."""
    weight: Floats
    """[n]"""

    def take(self, which: Ints | Bools) -> Stuck:
        """The people selected by an index or a mask."""
        return Stuck(self.losses[which], self.failures[which], self.level[which], self.weight[which])


def constrained_visits(
    evaluator: Evaluator, trees: Mapping[int, Tree], random: np.random.Generator
) -> tuple[Evaluator, Visits]:
    """The visits of everyone under several constraints, and an evaluator that knows these constraints.

    Everyone can use every function; then, in turn, all but one of those that their plan uses; then all but a random set
    that holds one of these.
    """
    transitions, starts = evaluator.problem.transitions, evaluator.starts
    passed = [visits for _, visits, _ in evaluator.follow(trees, evaluator.begin())]
    free, count = Visits.join(passed), len(transitions.functions)
    sets = random.random((_SETS, count)) < 0.5
    forbidden_sets = np.concatenate([evaluator.forbidden_sets[:1], np.eye(count, dtype=bool), sets])
    evaluator = replace(evaluator, forbidden_sets=forbidden_sets)
    function = transitions.function_of[evaluator.decide(trees, free)]
    uses = np.zeros((len(starts), count + 1), bool)
    uses[free.person, function] = True
    person, one = np.nonzero(uses[:, :count])
    several = random.integers(count + 1, len(forbidden_sets), len(starts))
    hit = np.flatnonzero((uses[:, :count] & forbidden_sets[several]).any(axis=1))
    constrained = evaluator.begin().take(np.concatenate([person, hit]))
    constrained = constrained._replace(forbidden=np.concatenate([one + 1, several[hit]]))
    passed += [visits for _, visits, _ in evaluator.follow(trees, constrained)]
    return evaluator, Visits.join(passed)


def sample_stuck(stuck: Visits, settings: FallbackSettings, random: np.random.Generator) -> tuple[Visits, Floats]:
    """A sample of people who can use every function and one of the others, and the weight [n] of each."""
    found, weights = [], []
    for which, weight in ((stuck.forbidden == 0, 1.0), (stuck.forbidden > 0, settings.forbidden_weight)):
        rows = sample_rows(random, np.flatnonzero(which), settings.max_rows)
        found.append(rows)
        weights.append(np.full(len(rows), weight * which.sum() / max(len(rows), 1)))
    return stuck.take(np.concatenate(found)), np.concatenate(weights)


@dataclass(frozen=True)
class LeafContext:
    """Chooses the fallbacks of the leaves of one node from its `choices`."""

    choices: list[Choice]
    stop: int
    max_loss: float
    settings: FallbackSettings

    def leaf(self, leaf: Leaf, stuck: Stuck, shared: Sequence[int] = ()) -> Leaf:
        """`leaf` with fallbacks for those who are `stuck`: the `shared` ones of its node, its own, or none.

        Its own ones save at least the penalty of a leaf each. It has none where the shared ones mostly fail and all who
        are stuck cannot use some function.
        """
        if not leaf.choices:
            return leaf
        first = self.choices.index(leaf.choices[0])
        own = self.fallbacks(leaf.choices[1:], stuck)
        order = [number for number in shared if number != first]
        if not order or self._saved(own, order, stuck) > self.settings.leaf_penalty * len(own):
            order = own
        elif self._mostly_fails(order, stuck):
            order = own if (stuck.level == 0).any() else []
        return Leaf((leaf.choices[0], *(self.choices[number] for number in order)))

    def _saved(self, own: Sequence[int], shared: Sequence[int], stuck: Stuck) -> float:
        """The loss that the fallbacks `own` save those who are `stuck`, compared with the `shared` ones."""
        saved = _first(stuck.losses, shared, self.max_loss) - _first(stuck.losses, own, self.max_loss)
        return float((stuck.weight * saved).sum())

    def _mostly_fails(self, order: Sequence[int], stuck: Stuck) -> bool:
        """Whether fallbacks mostly fail for people who cannot use some function."""
        failure = _first(stuck.failures, order, np.nan)[stuck.level > 0]
        failure = failure[~np.isnan(failure)]
        return bool(len(failure)) and bool(failure.mean() > 1 - self.settings.min_success)

    def fallbacks(self, before: Sequence[Choice], stuck: Stuck) -> list[int]:
        """The best choice for those who are `stuck`, then for those of them who cannot take it, etc., by number.

        People who can use more functions decide first. A choice that saves less than the penalty of a leaf gives way to
        one of the fallbacks `before`. The list ends where a fallback mostly fails for people who cannot use some
        function; for the others, only a STOP that mostly fails is omitted.
        """
        given = [self.choices.index(choice) for choice in dict.fromkeys(before)]
        stops = np.array([choice.action == self.stop for choice in self.choices])
        order: list[int] = []
        while len(stuck.level):
            level = stuck.level.min()
            least = stuck.take(stuck.level == level)
            legal = ~np.isnan(least.losses)
            limit = (1 - self.settings.min_success) * legal.sum(axis=0)
            fails = np.where(legal, least.failures, 0.0).sum(axis=0) > limit
            usable = legal.any(axis=0) & ~(fails & (stops | (level > 0)))
            kept = [number for number in given if usable[number]]
            total = np.where(legal, least.losses, self.max_loss).sum(axis=0)
            best = int(np.where(usable, total, np.inf).argmin())
            saved = least.weight * (_first(least.losses, kept, self.max_loss) - least.losses[:, best])
            if usable[best] and saved[legal[:, best]].sum() > self.settings.leaf_penalty:
                order.append(best)
            elif kept:
                order.append(kept[0])
            elif level and legal[:, given].any():
                break
            else:
                stuck = stuck.take(stuck.level > level)
                continue
            stuck = stuck.take(np.isnan(stuck.losses[:, order[-1]]))
        else:
            order += given
        return list(dict.fromkeys(order))


def _first(losses: Floats, order: Sequence[int], default: float) -> Floats:
    """The loss [n] of the first legal choice of an `order`; `default` if none is legal."""
    found = np.full(len(losses), np.nan)
    for number in order:
        found = np.where(np.isnan(found), losses[:, number], found)
    return np.where(np.isnan(found), default, found)


def _with_leaves(tree: Tree, ends: Iterator[Leaf]) -> Tree:
    """`tree` with other leaves, from yes to no."""
    if isinstance(tree, Leaf):
        return next(ends)
    yes = _with_leaves(tree.yes, ends)
    return Split(tree.test, yes, _with_leaves(tree.no, ends))
