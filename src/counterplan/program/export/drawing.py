"""The layout of a drawing of the automaton: nodes in causal order, and transitions with their counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from counterplan.problem.parts import STOP
from counterplan.program.parts import INTERVENE, leaves
from counterplan.program.protocol import ProgramLike


class Edge(NamedTuple):
    """A transition between nodes, by name; `taken` is 0 if it is only a fallback or was never taken."""

    source: str
    target: str
    taken: int


class Drawing(NamedTuple):
    """Nodes from INTERVENE to STOP, edges, and whether counts are people rather than rules."""

    nodes: tuple[str, ...]
    edges: tuple[Edge, ...]
    people: bool


def drawing(program: ProgramLike) -> Drawing:
    """The nodes that a run can reach, causal parents first, and every transition between them."""
    transitions = program.problem.transitions
    first: Counter[tuple[str, str]] = Counter()
    for name, tree in program.trees.items():
        for _, leaf in leaves(tree):
            edges_of_leaf = [(name, transitions.actions[choice.action].function) for choice in leaf.choices]
            first.update(edges_of_leaf[:1])
            first.update(dict.fromkeys(edges_of_leaf[1:], 0))
    counted = program.model_card.to_data().get("transitions")
    seen = (
        {edge: n for edge, n in counted.items() if isinstance(n, int) and n >= 0}
        if isinstance(counted, Mapping)
        else {}
    )
    counts = {edge: seen.get(">".join(edge), 0) for edge in first} if seen else first
    order = (INTERVENE, *(transitions.functions[i].name for i in transitions.parents_first), STOP)
    reached, waiting = {INTERVENE, STOP}, [INTERVENE]
    while waiting:
        node = waiting.pop()
        new = {target for source, target in first if source == node} - reached
        reached |= new
        waiting += new
    nodes = tuple(name for name in order if name in reached)
    place = {name: i for i, name in enumerate(nodes)}
    edges = [Edge(*edge, count) for edge, count in counts.items() if edge[0] in place]
    return Drawing(nodes, tuple(sorted(edges, key=lambda edge: (place[edge.source], place[edge.target]))), bool(seen))
