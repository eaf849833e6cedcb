"""Programs: policies that people can read, audit and run without a model.

They import no model, agent, surrogate or planner; `verification` alone imports the black box, on use.

May import: errors, bounded_json, drawing, problem, blackbox, storage, search, plans.
"""

from counterplan.program.interpreter import ProgramRun
from counterplan.program.model_card import ModelCard
from counterplan.program.parts import INTERVENE, Choice, Leaf, Split, Test, Tree, decide, leaves
from counterplan.program.program import Program

__all__ = [
    "INTERVENE",
    "Choice",
    "Leaf",
    "ModelCard",
    "Program",
    "ProgramRun",
    "Split",
    "Test",
    "Tree",
    "decide",
    "leaves",
]
