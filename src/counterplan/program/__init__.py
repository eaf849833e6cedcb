"""The program: what was learned, written down so that anybody can read it, audit it and run it.

Running one needs `problem`, `paths`, `plan` and `results`, and neither an agent, a planner nor a black box.
"""

from counterplan.program.automaton import INTERVENE, Choice, Leaf, Program, Run, Split, Test, Tree, decide, leaves

__all__ = ["INTERVENE", "Choice", "Leaf", "Program", "Run", "Split", "Test", "Tree", "decide", "leaves"]
