"""Visits: people at nodes of a program, on their way from their initial state to STOP."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from counterplan.problem.transitions import Bools, Floats, Ints


class Visits(NamedTuple):
    """n visits of nodes."""

    node: Ints
    """[n] number of the node."""
    states: Floats
    """[n, F]"""
    steps: Ints
    """[n] actions taken so far."""
    cost: Floats
    """[n] cost so far."""
    person: Ints
    """[n]"""
    forbidden: Ints
    """[n] number of the set of functions that the person cannot use; 0 is the empty set."""

    def take(self, which: Ints | Bools) -> Visits:
        """The visits selected by an index or a mask."""
        rows = np.flatnonzero(which) if which.dtype == bool else which
        node, states, steps, cost, person, forbidden = self
        return Visits(
            node.take(rows),
            states.take(rows, axis=0),
            steps.take(rows),
            cost.take(rows),
            person.take(rows),
            forbidden.take(rows),
        )

    @staticmethod
    def join(parts: Sequence[Visits]) -> Visits:
        """The visits of all parts, in order."""
        if len(parts) == 1:
            return parts[0]
        return Visits(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    @staticmethod
    def at_node(parts: Sequence[Visits], node: int) -> Visits:
        """The visits of one node in all parts, in order."""
        return Visits.join([part.take(np.flatnonzero(part.node == node)) for part in parts])


def sample_rows(random: np.random.Generator, rows: Ints, most: int) -> Ints:
    """A sample of at most `most` of `rows` [n], in order."""
    return rows if len(rows) <= most else np.sort(random.choice(rows, most, replace=False))
