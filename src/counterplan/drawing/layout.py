"""The layout of a directed graph without cycles: nodes in columns, parents to the left, with few crossings."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from itertools import pairwise
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)
_SWEEPS = 6


@dataclass(frozen=True)
class Layout(Generic[T]):
    """The column of each node, the vertical middle of each node, and where edges over several columns pass.

    Attributes
    ----------
    columns : mapping of node to int
        A node is to the right of all its parents.
    middles : mapping of node to float
        0 is the top of the drawing.
    passages : mapping of edge to list of float
        Of an edge, the vertical place in each column between those of its ends.
    height : float
    """

    columns: Mapping[T, int]
    middles: Mapping[T, float]
    passages: Mapping[tuple[T, T], list[float]]
    height: float


def layout(heights: Mapping[T, float], edges: Sequence[tuple[T, T]], gap: float = 24) -> Layout[T]:
    """Place the nodes of a graph.

    Parameters
    ----------
    heights : mapping of node to float
        All nodes, with the height that each of them needs.
    edges : sequence of (node, node)
        From parents to children, without cycles.
    gap : float, default=24
        The vertical distance between nodes of a column.

    Returns
    -------
    Layout

    Examples
    --------
    >>> placed = layout({"a": 20, "b": 20, "c": 20}, [("a", "b"), ("b", "c"), ("a", "c")])
    >>> dict(placed.columns)
    {'a': 0, 'b': 1, 'c': 2}
    """
    columns = _columns(list(heights), edges)
    chains = {edge: [(edge, place) for place in range(columns[edge[0]] + 1, columns[edge[1]])] for edge in edges}
    sizes: dict[Hashable, float] = dict(heights.items())
    grid: list[list[Hashable]] = [[] for _ in range(max(columns.values(), default=-1) + 1)]
    for node, place in columns.items():
        grid[place].append(node)
    neighbours: dict[Hashable, list[Hashable]] = {node: [] for node in heights}
    for (source, target), chain in chains.items():
        for passage in chain:
            grid[passage[1]].append(passage)
            sizes[passage], neighbours[passage] = gap / 2, []
        steps: list[Hashable] = [source, *chain, target]
        for one, other in pairwise(steps):
            neighbours[one].append(other)
            neighbours[other].append(one)
    middles: dict[Hashable, float] = {}
    for column in grid:
        middles |= _spread(column, [0.0] * len(column), sizes, gap)
    for sweep in range(_SWEEPS):
        for column in grid if sweep % 2 == 0 else grid[::-1]:
            wanted = [
                sum(middles[other] for other in neighbours[node]) / len(neighbours[node])
                if neighbours[node]
                else middles[node]
                for node in column
            ]
            order = sorted(range(len(column)), key=wanted.__getitem__)
            column[:] = [column[i] for i in order]
            middles |= _spread(column, [wanted[i] for i in order], sizes, gap)
    top = min((middles[node] - sizes[node] / 2 for node in middles), default=0.0)
    bottom = max((middles[node] + sizes[node] / 2 for node in middles), default=0.0)
    return Layout(
        columns,
        {node: middles[node] - top for node in heights},
        {edge: [middles[passage] - top for passage in chain] for edge, chain in chains.items()},
        bottom - top,
    )


def _columns(nodes: Sequence[T], edges: Sequence[tuple[T, T]]) -> dict[T, int]:
    """The length of the longest path to each node, in the order of `nodes`."""
    parents: dict[T, list[T]] = {node: [] for node in nodes}
    for source, target in edges:
        parents[target].append(source)
    found: dict[T, int] = {}
    for node in TopologicalSorter(parents).static_order():
        found[node] = max((found[parent] + 1 for parent in parents[node]), default=0)
    return {node: found[node] for node in nodes}


def _spread(
    column: Sequence[Hashable], wanted: Sequence[float], sizes: Mapping[Hashable, float], gap: float
) -> dict[Hashable, float]:
    """Middles as near to those `wanted`, in the squares, as the sizes and gaps of the nodes of a column permit.

    Isotonic regression of the places without the nodes before each one.
    """
    offsets, below = [], 0.0
    for node in column:
        offsets.append(below + sizes[node] / 2)
        below += sizes[node] + gap
    blocks: list[tuple[float, int]] = []
    for place, offset in zip(wanted, offsets, strict=True):
        blocks.append((place - offset, 1))
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (mean, count), (other, more) = blocks[-2:]
            blocks[-2:] = [((mean * count + other * more) / (count + more), count + more)]
    starts = [mean for mean, count in blocks for _ in range(count)]
    return {node: start + offset for node, start, offset in zip(column, starts, offsets, strict=True)}
