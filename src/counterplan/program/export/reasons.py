"""The reasons of a program: the text of the rule of each choice."""

from __future__ import annotations

from counterplan.program.parts import leaves
from counterplan.program.protocol import ProgramLike


def reasons(program: ProgramLike) -> dict[str, list[list[str]]]:
    """The reason of each choice of each leaf of each node, in their order: `reasons(program)[node][leaf][rank]`."""
    return {
        name: [
            [program.rule(name, number, rank).text for rank in range(len(leaf.choices))]
            for number, (_, leaf) in enumerate(leaves(tree))
        ]
        for name, tree in program.trees.items()
    }
