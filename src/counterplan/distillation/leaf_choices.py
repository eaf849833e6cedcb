"""The choices of a leaf: a first one, and fallbacks where it is not legal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from counterplan.problem.transitions import Bools, Floats

Losses = npt.NDArray[np.floating]

_ILLEGAL_CHOICE_LOSS = 0.2
"""Added to the loss of the fallback where the first choice of a leaf is not legal. Without it, legality would separate
people at no cost, and the rules would not show it."""


@dataclass(frozen=True)
class LeafChoices:
    """Orders the choices of the leaves of one node.

    After the first choice comes the one that is best for the rows where the first is not legal (the second best of the
    leaf, if there are no such rows), then `defaults`, which all leaves share; none whose mean loss in the leaf is above
    its limit. Choices that lead back to the same node come last, unless the first one does: where the first is not
    legal, they would only repeat the node.
    """

    defaults: Sequence[int]
    """Choices by number, in order."""
    limits: Floats
    """[C] largest mean loss of a fallback."""
    loops: Bools
    """[C] whether the choice leads back to the same node."""
    max_loss: float
    """Loss of having no legal choice."""

    def fill(self, losses: Floats) -> Floats:
        """`losses` [n, C] with the NaN of illegal choices replaced by the loss of the default that is taken instead."""
        others = sorted(self.defaults, key=lambda number: bool(self.loops[number]))
        instead = np.where(self.loops, *(self._first(losses, order)[:, None] for order in (self.defaults, others)))
        return np.where(np.isnan(losses), np.minimum(instead + _ILLEGAL_CHOICE_LOSS, self.max_loss), losses)

    def _first(self, losses: Floats, defaults: Sequence[int]) -> Floats:
        """The loss [n] of the first of `defaults` that is legal and within its limit in that row."""
        loss = np.full(len(losses), np.nan)
        for number in defaults:
            legal = np.where(losses[:, number] <= self.limits[number], losses[:, number], np.nan)
            loss = np.where(np.isnan(loss), legal, loss)
        return np.where(np.isnan(loss), self.max_loss, loss)

    def order(self, first: int, losses: Losses, legal: Bools) -> list[int]:
        """The choices of a leaf by number, `first` in front, from the losses [n, C] and legality [n, C] of its rows."""
        if not len(losses):
            order = [first, *self.defaults]
        else:
            within = losses.mean(axis=0, dtype=float) <= self.limits
            stuck = ~legal[:, first]
            # Rows that can take `first` tell nothing about its alternatives where those are illegal.
            relevant = losses[stuck] if stuck.any() else np.where(legal, losses, self.max_loss)
            mean = relevant.mean(axis=0, dtype=float)
            next_best = [n for n in mean.argsort(kind="stable").tolist() if n != first and within[n]]
            second = [number for number in next_best if self.loops[number] <= self.loops[first]][:1]
            order = [first, *second, *(number for number in self.defaults if within[number])]
        if not self.loops[first]:
            order.sort(key=lambda number: bool(self.loops[number]))
        return list(dict.fromkeys(order))
