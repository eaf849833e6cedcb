"""A program as a planner: no queries, and a reason for every step."""

from __future__ import annotations

from typing import ClassVar

from counterplan.blackbox import BlackBox
from counterplan.errors import SettingError
from counterplan.planners.base import NOT_WEIGHTED, PlanColumns, Planner, PlanningTask
from counterplan.problem import Problem
from counterplan.program import Program
from counterplan.program.recommendation import columns_of
from counterplan.survival.goal import SurvivalGoal


class ProgramPlanner(Planner):
    """Find plans without queries, by running a program.

    Plans are not verified, and do not depend on cost weights.

    Parameters
    ----------
    problem : Problem
        The problem to plan for.
    box : BlackBox or model
        The model, which is queried about people as they are, unless they are known to be refused.
    program : Program
        Must have been distilled for the same problem.

    Examples
    --------
    >>> from counterplan import Program, ProgramPlanner, benchmarks
    >>> from counterplan.program import Choice, Leaf
    >>> german = benchmarks.load("german")
    >>> save, stop = Leaf((Choice(3),)), Leaf((Choice(german.problem.transitions.stop),))
    >>> program = Program(german.problem, {"INTERVENE": save, "CHANGE_SAVINGS": stop})
    >>> planner = ProgramPlanner(german.problem, german.model, program)
    >>> plans = planner.plan(german.refused_test.head(2))
    >>> [plan.actions for plan in plans]
    [['CHANGE_SAVINGS=quite_rich'], ['CHANGE_SAVINGS=quite_rich']]
    >>> plans.verified
    array([False, False])
    """

    name: ClassVar[str] = "program"
    requires: ClassVar[tuple[str, ...]] = ("program",)
    uses_weights: ClassVar[bool] = False

    def __init__(self, problem: Problem, box: BlackBox | object, program: Program) -> None:
        super().__init__(problem, box)
        if program.problem.fingerprint != problem.fingerprint:
            raise SettingError(
                f"the program was made for another problem ({program.problem.name}), not for {problem.name}; distil it "
                "again"
            )
        self.program = program

    def ignores(self, goal: SurvivalGoal) -> bool:
        """See `Planner.ignores`; a program that was distilled toward survival with the same weight does not."""
        card = self.program.model_card
        made_with = None if card is None else card.made_with
        weight = None if made_with is None else made_with.get("survival")
        return goal.changes_plans and (goal.at_least is not None or weight != goal.weight)

    def search(self, task: PlanningTask) -> PlanColumns:
        """See `Planner.search`."""
        columns = columns_of(self.program, task.people, task.allowed)
        if task.weights is not None:
            columns.add_caution(NOT_WEIGHTED)
        task.progress(len(task))
        return columns
