"""Programs: policies that people can read, audit and run without a model.

May import `problem`, `storage.files`, `search` and `plans`; no model, black box, agent, surrogate or planner.
"""

from counterplan.program.card import ProgramCard
from counterplan.program.interpreter import ProgramRun
from counterplan.program.parts import INTERVENE, Choice, Leaf, Split, Test, Tree, decide, leaves
from counterplan.program.program import Program

__all__ = [
    "INTERVENE",
    "Choice",
    "Leaf",
    "Program",
    "ProgramCard",
    "ProgramRun",
    "Split",
    "Test",
    "Tree",
    "decide",
    "leaves",
]
