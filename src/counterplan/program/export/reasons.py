"""The reasons of a program: the text of the rule of each choice."""

from __future__ import annotations

from counterplan.program.cautions import given_up
from counterplan.program.parts import leaves
from counterplan.program.protocol import ProgramLike


def reasons(program: ProgramLike) -> dict[str, list[list[str]]]:
    """The reason of each choice of each leaf of each node, in their order: `reasons(program)[node][leaf][rank]`.

    A leaf without choices has one sentence, which says that there is no plan.
    """
    return {
        name: [
            [program.rule(name, number, rank).text for rank in range(len(leaf.choices))]
            or [given_up(program, name, number)]
            for number, (_, leaf) in enumerate(leaves(tree))
        ]
        for name, tree in program.trees.items()
    }
