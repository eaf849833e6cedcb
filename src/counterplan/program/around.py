"""What a program's leaves fall back on for people who cannot use a function that they would use.

Trees are grown for people who can change everything. Once they stand, everybody is barred from each function of their
plan in turn, and from several. Wherever somebody cannot do what a leaf says, be it that the function is barred or that
it is not legal, the leaf gets the next choice that is best for them; and none, rather than plans that mostly fail.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from counterplan.paths.orders import NO_ACTION
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.program.automaton import Choice, Leaf, Split, Tree, decide, leaves

if TYPE_CHECKING:
    from counterplan.program.distil import Distillation, Rows

_SETS = 64
"""Of several functions that people may be barred from, half of all on average."""


def go_around(made: Distillation) -> None:
    """Give the leaves of `made.trees` what they fall back on, from the last node to the first."""
    came = _ways(made)
    for node in made.backwards():
        rows = came.take(came.node == node)
        if not len(rows.person):
            continue
        tree = made.trees[node]
        first = {node: _each(tree, iter([Leaf(leaf.choices[:1]) for _, leaf in leaves(tree)]))}
        stuck = np.flatnonzero(made.decide(rows, first, made.legal(rows)) == NO_ACTION)
        rows = rows.take(made.sample(stuck, made.settings.rows))
        open_ = np.flatnonzero(made.open(node))
        losses, failing = (made.losses(node, rows, judge)[:, open_] for judge in (made.losing, made.failing))
        everybody = _Stuck(losses, failing, made.barred.sum(axis=1).clip(max=2)[rows.barred])
        number, choices = decide(tree, rows.states), [made.choices[i] for i in open_]
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

    def take(self, which: Ints | Bools) -> _Stuck:
        return _Stuck(self.losses[which], self.failing[which], self.level[which])


def _ways(made: Distillation) -> Rows:
    """Where everybody comes by: if they can use every function, if they cannot use one that they would use, and if they
    cannot use several, by chance, with one of these among them."""
    seen: list[Rows] = []
    made.finish(made.begin(), made.trees, seen)
    came, count = seen[0].join(seen), len(made.transitions.functions)
    sets = made.random.random((_SETS, count)) < 0.5
    made.barred = np.concatenate([made.barred[:1], np.eye(count, dtype=bool), sets])
    function = made.transitions.function_of[made.decide(came, made.trees, made.legal(came))]
    uses = np.zeros((len(made.starts), count + 1), bool)
    uses[came.person, function] = True
    person, one = np.nonzero(uses[:, :count])
    several = made.random.integers(count + 1, len(made.barred), len(made.starts))
    hit = np.flatnonzero((uses[:, :count] & made.barred[several]).any(axis=1))
    barred = made.begin().take(np.concatenate([person, hit]))
    made.finish(barred._replace(barred=np.concatenate([one + 1, several[hit]])), made.trees, seen)
    return came.join(seen)


def _choices(made: Distillation, leaf: Leaf, choices: list[Choice], stuck: _Stuck) -> Leaf:
    """A leaf with what is best next for those who are `stuck`; then for those of them who cannot do that either, and so
    on. Whoever can use more functions decides first; whoever can use all is not left without a plan that may fail.

    A choice of its own has to be worth its words: else it is what the leaf fell back on before.
    """
    price = made.lost * made.settings.tree.leaf_price * len(made.starts)
    before = [choices.index(choice) for choice in leaf.choices[1:]]
    order: list[int] = []
    while len(stuck.level):
        level = stuck.level.min()
        some, weight = stuck.take(stuck.level == level), made.settings.barred if level else 1.0
        best = int(np.where(np.isnan(some.losses), made.worst, some.losses).sum(axis=0).argmin())
        can = ~np.isnan(some.losses)
        gain = weight * (_first(some.losses, before, made.worst) - some.losses[:, best])[can[:, best]].sum()
        then = best if gain > price else next((number for number in before if can[:, number].any()), None)
        if then is None:
            stuck = stuck.take(stuck.level > level)
            continue
        if level and some.failing[can[:, then], then].mean() > 1 - made.settings.hope:
            break
        order.append(then)
        stuck = stuck.take(np.isnan(stuck.losses[:, then]))
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
