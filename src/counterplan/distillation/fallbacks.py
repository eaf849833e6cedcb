"""What a program's leaves fall back on for people who cannot use a function that they would use.

Trees are grown for people who can change everything. Once they stand, everybody is barred from each function of their
plan in turn, and from several. Wherever somebody cannot do what a leaf says, be it that the function is barred or that
it is not legal, the leaf gets the next choice that is best for them; and none, rather than plans that mostly fail.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.program.automaton import Choice, Leaf, Split, Tree, decide, leaves
from counterplan.search.orders import NO_ACTION

if TYPE_CHECKING:
    from counterplan.distillation.policy_search import PolicySearch, Rows

_SETS = 64
"""How many sets of several functions people are barred from; in each is half of all functions, on average."""


def add_fallbacks(made: PolicySearch) -> None:
    """Give the leaves of `made.trees` what they fall back on, from the last node to the first."""
    came = _ways(made)
    for node in made.backwards():
        rows = came.take(came.node == node)
        if not len(rows.person):
            continue
        tree = made.trees[node]
        first = {node: _each(tree, iter([Leaf(leaf.choices[:1]) for _, leaf in leaves(tree)]))}
        stuck = rows.take(made.decide(rows, first, made.legal(rows)) == NO_ACTION)
        rows, weight = _some(made, stuck)
        open_ = np.flatnonzero(made.open(node))
        losses, failing = (made.losses(node, rows, judge)[:, open_] for judge in (made.losing, made.failing))
        level = made.barred_sets.sum(axis=1).clip(max=2)[rows.barred]
        number, everybody = decide(tree, rows.states), _Stuck(losses, failing, level, weight)
        choices = [made.choices[i] for i in open_]
        ends = [_choices(made, leaf, choices, everybody.take(number == i)) for i, (_, leaf) in enumerate(leaves(tree))]
        made.trees[node] = _each(tree, iter(ends))


class _Stuck(NamedTuple):
    """People who cannot do what a leaf says."""

    losses: Floats
    """[n, C] what each choice loses for them; NaN where it cannot be done."""
    failing: Floats
    """[n, C] how likely it then is that they get no plan that holds."""
    level: Ints
    """[n] how many functions they cannot use: 0, 1 or several (2)."""
    weight: Floats
    """[n] what they count."""

    def take(self, which: Ints | Bools) -> _Stuck:
        return _Stuck(self.losses[which], self.failing[which], self.level[which], self.weight[which])


def _ways(made: PolicySearch) -> Rows:
    """Where everybody comes by: if they can use every function, if they cannot use one that they would use, and if they
    cannot use several, by chance, with one of these among them."""
    seen: list[Rows] = []
    made.finish(made.begin(), made.trees, seen)
    came, count = seen[0].join(seen), len(made.transitions.functions)
    sets = made.random.random((_SETS, count)) < 0.5
    made.barred_sets = np.concatenate([made.barred_sets[:1], np.eye(count, dtype=bool), sets])
    function = made.transitions.function_of[made.decide(came, made.trees, made.legal(came))]
    uses = np.zeros((len(made.starts), count + 1), bool)
    uses[came.person, function] = True
    person, one = np.nonzero(uses[:, :count])
    several = made.random.integers(count + 1, len(made.barred_sets), len(made.starts))
    hit = np.flatnonzero((uses[:, :count] & made.barred_sets[several]).any(axis=1))
    barred = made.begin().take(np.concatenate([person, hit]))
    made.finish(barred._replace(barred=np.concatenate([one + 1, several[hit]])), made.trees, seen)
    return came.join(seen)


def _some(made: PolicySearch, stuck: Rows) -> tuple[Rows, Floats]:
    """At most so many of those who can use every function, and of the others; and what each [n] of them counts."""
    found, weights = [], []
    for which, weight in ((stuck.barred == 0, 1.0), (stuck.barred > 0, made.settings.barred_weight)):
        rows = made.sample(np.flatnonzero(which), made.settings.rows)
        found.append(rows)
        weights.append(np.full(len(rows), weight * which.sum() / max(len(rows), 1)))
    return stuck.take(np.concatenate(found)), np.concatenate(weights)


def _choices(made: PolicySearch, leaf: Leaf, choices: list[Choice], stuck: _Stuck) -> Leaf:
    """A leaf with what is best next for those who are `stuck`; then for those of them who cannot do that either, and so
    on. Whoever can use more functions decides first, for everybody who can do the same.

    A choice of its own has to be worth its words: else it is what the leaf fell back on before. The list ends where
    that mostly fails for people who cannot use some function; whoever can use all is only spared a STOP that does.
    """
    price = made.lost * made.settings.tree.leaf_price * len(made.starts)
    before = [choices.index(choice) for choice in leaf.choices[1:]]
    stops = np.array([choice.action == made.transitions.stop for choice in choices])
    order: list[int] = []
    while len(stuck.level):
        level = stuck.level.min()
        some = stuck.take(stuck.level == level)
        can = ~np.isnan(some.losses)
        fails = np.where(can, some.failing, 0.0).sum(axis=0) > (1 - made.settings.least_hope) * can.sum(axis=0)
        fine = can.any(axis=0) & ~(fails & (stops | (level > 0)))
        fallen = [number for number in before if fine[number]]
        best = int(np.where(fine, np.where(can, some.losses, made.worst).sum(axis=0), np.inf).argmin())
        saved = some.weight * (_first(some.losses, fallen, made.worst) - some.losses[:, best])
        if fine[best] and saved[can[:, best]].sum() > price:
            order.append(best)
        elif fallen:
            order.append(fallen[0])
        elif level and can[:, before].any():
            break
        else:
            stuck = stuck.take(stuck.level > level)
            continue
        stuck = stuck.take(np.isnan(stuck.losses[:, order[-1]]))
    else:
        order += before
    return Leaf((leaf.choices[0], *(choices[number] for number in dict.fromkeys(order))))


def _first(table: Floats, order: list[int], nothing: float) -> Floats:
    """What is in `table` [n, C] for the first choice of an `order` that can be done; `nothing` if none can."""
    found = np.full(len(table), np.nan)
    for number in order:
        found = np.where(np.isnan(found), table[:, number], found)
    return np.where(np.isnan(found), nothing, found)


def _each(tree: Tree, ends: Iterator[Leaf]) -> Tree:
    """A tree with other leaves, from yes to no."""
    if isinstance(tree, Leaf):
        return next(ends)
    yes = _each(tree.yes, ends)
    return Split(tree.test, yes, _each(tree.no, ends))
