"""Directions of edges: the orientation of a graph under which a description of the data is shortest.

The code length of a graph is the sum over its columns of the length given their parents, by a tree or a smooth
function, whichever is shorter. Orientations that imply the same independences get about the same length if dependences
have no structure (any table of counts, linear with normal errors); lengths differ by dependences that an orientation
denies (a collider), or by a mechanism that is simple in one direction only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import product

import numpy as np

from counterplan.causal.columns import DataColumn
from counterplan.causal.smooth import smooth_length
from counterplan.causal.trees import describe

Edge = tuple[str, str]
Flips = tuple[bool, ...]
"""For each edge: whether it is reversed."""

MAX_ENUMERATED = 10
"""In a component of more edges than this, edges are reversed one by one, each time the one that helps most."""


class GraphLengths:
    """Code lengths of columns given their parents, each computed once."""

    def __init__(self, columns: Mapping[str, DataColumn]) -> None:
        self.columns = columns
        self._lengths: dict[tuple[str, frozenset[str]], float] = {}

    def of_column(self, child: str, parents: Iterable[str]) -> float:
        """The code length of a column given others."""
        key = child, frozenset(parents)
        if key not in self._lengths:
            given = [self.columns[name] for name in sorted(key[1])]
            by_tree = describe(self.columns[child], given).length
            self._lengths[key] = min(by_tree, smooth_length(self.columns[child], given))
        return self._lengths[key]

    def of_graph(self, edges: Sequence[Edge]) -> float:
        """The code length of all columns that edges mention."""
        return sum(self.of_column(name, parents) for name, parents in parents_of(edges).items())

    def gain(self, edges: Sequence[Edge], others: Sequence[Edge]) -> float:
        """By how many nats a graph is shorter with `others`, the same edges with other directions."""
        before, after = parents_of(edges), parents_of(others)
        changed = [name for name in before if before[name] != after[name]]
        return sum(self.of_column(name, before[name]) - self.of_column(name, after[name]) for name in changed)


def parents_of(edges: Sequence[Edge]) -> dict[str, frozenset[str]]:
    """The parents of each column that edges mention."""
    names = dict.fromkeys(name for edge in edges for name in edge)
    return {name: frozenset(source for source, target in edges if target == name) for name in names}


@dataclass(frozen=True)
class Orientation:
    """The shortest orientations of a component of the graph.

    Attributes
    ----------
    edges : tuple of (str, str)
        The edges as they are in the file.
    kept, reversed : tuple of tuple of bool
        For each edge, the shortest orientation (whether each edge is reversed) that keeps it, and that reverses it.
    gains : tuple of float
        For each edge, by how many nats the shortest orientation that reverses it is shorter than that which keeps it.
    ambiguous : tuple of int
        The edges of which some have to be reversed, if it cannot be told which; mostly none.
    total_gain : float
        By how many nats the shortest orientation is shorter than that of the file.
    shortest : tuple of bool
        The shortest orientation.
    """

    edges: tuple[Edge, ...]
    kept: tuple[Flips, ...]
    reversed: tuple[Flips, ...]
    gains: tuple[float, ...]
    ambiguous: tuple[int, ...]
    total_gain: float
    shortest: Flips


def orient(
    edges: Sequence[Edge], lengths: GraphLengths, least: float, advance: Callable[[], None] = lambda: None
) -> Orientation:
    """Compare orientations of a connected component; differences below `least` nats do not count."""
    found: dict[Flips, float] = {}
    for flips in _orientations(edges, lengths):
        found[flips] = lengths.of_graph(turned(edges, flips))
        advance()
    unturned = tuple([False] * len(edges))
    best = min(found.values())
    kept, other, gains = [], [], []
    for index in range(len(edges)):
        keeping = min((flips for flips in found if not flips[index]), key=lambda flips: found[flips])
        turning = [flips for flips in found if flips[index]]
        reversing = min(turning, key=lambda flips: found[flips]) if turning else keeping
        kept.append(keeping)
        other.append(reversing)
        gains.append(found[keeping] - found[reversing] if turning else -math.inf)
    near = [flips for flips, length in found.items() if length <= best + least]
    fewest = min(sum(flips) for flips in near)
    ambiguous: tuple[int, ...] = ()
    if found[unturned] - best >= least and all(gain < least for gain in gains):
        ambiguous = tuple(sorted({i for flips in near if sum(flips) == fewest for i in range(len(edges)) if flips[i]}))
    return Orientation(
        tuple(edges),
        tuple(kept),
        tuple(other),
        tuple(gains),
        ambiguous,
        max(found[unturned] - best, 0.0),
        min(found, key=lambda flips: found[flips]),
    )


def turned(edges: Sequence[Edge], flips: Flips) -> list[Edge]:
    """The edges, some of them reversed."""
    return [(edge[1], edge[0]) if flip else edge for edge, flip in zip(edges, flips, strict=True)]


def components(edges: Sequence[Edge]) -> list[list[int]]:
    """The connected components of a graph, as positions of edges."""
    label = {name: name for edge in edges for name in edge}
    for _ in label:
        for source, target in edges:
            label[source] = label[target] = min(label[source], label[target])
    groups: dict[str, list[int]] = {}
    for index, (source, _target) in enumerate(edges):
        groups.setdefault(label[source], []).append(index)
    return list(groups.values())


def halves(count: int, pairs: int, random: np.random.Generator) -> Iterator[np.ndarray]:
    """Both halves of `pairs` random splits of `count` people."""
    for _ in range(pairs):
        order = random.permutation(count)
        yield np.sort(order[: count // 2])
        yield np.sort(order[count // 2 :])


def _orientations(edges: Sequence[Edge], lengths: GraphLengths) -> Iterator[Flips]:
    """The acyclic orientations to compare: all of them, or those near a good one."""
    if len(edges) <= MAX_ENUMERATED:
        yield from (flips for flips in product((False, True), repeat=len(edges)) if _acyclic(turned(edges, flips)))
        return
    here = tuple([False] * len(edges))
    yield here
    tried = {here}
    while True:
        best, start = lengths.of_graph(turned(edges, here)), here
        for first in range(len(edges)):
            flips = tuple(flip ^ (index == first) for index, flip in enumerate(start))
            if not _acyclic(turned(edges, flips)):
                continue
            if flips not in tried:
                tried.add(flips)
                yield flips
            length = lengths.of_graph(turned(edges, flips))
            if length < best:
                best, here = length, flips
        if here == start:
            return


def _acyclic(edges: Sequence[Edge]) -> bool:
    try:
        TopologicalSorter(parents_of(edges)).prepare()
    except CycleError:
        return False
    return True
