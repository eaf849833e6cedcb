"""The program behind the interface of planners: it asks nothing, and gives a reason for every step."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import pandas as pd

from counterplan.blackbox import BlackBox
from counterplan.errors import PlanError
from counterplan.plan import Plan, Plans, Status
from counterplan.planners.base import Forbid, Planner, Progress, Result
from counterplan.problem import People, Problem
from counterplan.problem.transitions import Bools
from counterplan.program import Program, Run
from counterplan.results import allowed_actions


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

    def plan(
        self, people: pd.DataFrame | People, *, forbid: Forbid = (), allowed: Bools | None = None, **wishes: Any
    ) -> Plans:
        """See `Planner.plan`; every step has the rule by which it was taken."""
        read = self.problem.read(people)
        plans = super().plan(read, forbid=forbid, allowed=allowed, **wishes)
        run = self.program.run(read.states, allowed_actions(self.problem, read, forbid, allowed))
        return replace(plans, plans=tuple(self._explained(plan, run, row) for row, plan in enumerate(plans)))

    def _explained(self, plan: Plan, run: Run, row: int) -> Plan:
        rules = [
            self.program.rule(self.program.nodes[run.nodes[row, t]], int(run.leaves[row, t]), int(run.ranks[row, t]))
            for t in range(len(plan.steps))
        ]
        steps = zip(plan.steps, rules, strict=True)
        return replace(plan, steps=tuple(replace(step, reason=r.text, because=r.because) for step, r in steps))

    def search(self, people: People, allowed: Bools, budget: int | None, progress: Progress) -> Result:
        """See `Planner.search`."""
        run = self.program.run(people.states, allowed)
        result = Result.empty(len(people), self.problem.max_actions)
        result.actions = run.actions
        result.status = [Status.FOUND if stopped else Status.NOT_FOUND for stopped in run.stopped.tolist()]
        progress(len(people))
        return result
