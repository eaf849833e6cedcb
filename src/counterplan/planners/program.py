"""The program behind the interface of planners: it asks nothing, and gives a reason for every step."""

from __future__ import annotations

from typing import ClassVar

from counterplan.blackbox import BlackBox
from counterplan.errors import PlanError
from counterplan.planners.base import PlanColumns, Planner, Progress
from counterplan.problem import People, Problem
from counterplan.problem.transitions import Bools
from counterplan.program import Program
from counterplan.program.recommendation import columns_of


class ProgramPlanner(Planner):
    """Does what a program says; the plan is not checked with the black box."""

    name: ClassVar[str] = "program"

    def __init__(self, problem: Problem, box: BlackBox | object, program: Program) -> None:
        super().__init__(problem, box)
        if program.problem.fingerprint != problem.fingerprint:
            raise PlanError(
                f"the program was made for another problem ({program.problem.name}), not for {problem.name}"
            )
        self.program = program

    def search(self, people: People, allowed: Bools, budget: int | None, progress: Progress) -> PlanColumns:
        """See `Planner.search`."""
        result = columns_of(self.program, people, allowed)
        progress(len(people))
        return result
