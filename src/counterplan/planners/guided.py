"""The guided planner: states in order of cost, a surrogate that says where the black box is worth asking."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from counterplan.blackbox import BlackBox, MeteredOracle
from counterplan.errors import PlanError
from counterplan.planners.base import PlanColumns, Planner, Progress
from counterplan.plans import Status
from counterplan.problem import People, Problem
from counterplan.problem.transitions import Bools
from counterplan.surrogate.acquisition import GuideSettings, Logit, guide
from counterplan.surrogate.surrogate import Surrogate


class GuidedPlanner(Planner):
    """Asks about the state with the largest chance × saving, until no question is worth its price.

    `surrogate` is a Surrogate, or any function that gives the log odds [n] of states [n, F]: a wrong one costs
    questions, never correctness. With a budget of 0 the cheapest state that it is sure of is believed, and the plan is
    not `verified`.
    """

    name: ClassVar[str] = "guided"

    def __init__(
        self, problem: Problem, box: BlackBox | object, surrogate: Surrogate | Logit, *,
        settings: GuideSettings | None = None,
    ) -> None:  # fmt: skip
        super().__init__(problem, box)
        if isinstance(surrogate, Surrogate) and surrogate.problem.fingerprint != problem.fingerprint:
            raise PlanError(
                f"the surrogate was learned for another problem ({surrogate.problem.name}), not for {problem.name}"
            )
        self.surrogate = surrogate
        self.settings = settings or GuideSettings()

    def search(self, people: People, allowed: Bools, budget: int | None, progress: Progress) -> PlanColumns:
        """See `Planner.search`."""
        ask = MeteredOracle(self.box.session(self.problem, people), len(people), known_answers={})
        logit = self.surrogate.logit if isinstance(self.surrogate, Surrogate) else self.surrogate
        hints = self.surrogate.hints if isinstance(self.surrogate, Surrogate) else None
        found = guide(self.problem, people.states, allowed, logit, ask, self.settings, budget, progress, hints)
        result = PlanColumns.empty(len(people), self.problem.max_actions)
        result.actions, result.queries, result.verified = found.actions, found.questions, found.verified
        result.lower_bound = found.lower_bound
        solved = np.isfinite(found.cost)
        result.optimal = found.verified & (found.lower_bound >= found.cost)
        impossible = ~solved & np.isinf(found.lower_bound)
        kinds = np.select([solved, impossible], [0, 1], 2).tolist()
        result.status = [(Status.FOUND, Status.INFEASIBLE, Status.NOT_FOUND)[kind] for kind in kinds]
        return result
