"""`QuestionPlanner`: the next question to a person and their plan, given what they answered."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

from counterplan.personal.alternatives import Alternatives
from counterplan.personal.answer_history import AnswerHistory
from counterplan.personal.elicitation_file import MIN_OPTIONS
from counterplan.personal.personal_planner import PersonalPlanner
from counterplan.personal.question import Question
from counterplan.plans import Plan, Status

DRAWS = 256
"""Particles by which options are chosen."""
_TINY = 1e-12


@dataclass
class QuestionPlanner:
    """Plans questions and the plan under the posterior of a history, and caches both until `clear`.

    Parameters
    ----------
    history : AnswerHistory
    planner : Planner
        Finds the plans.
    options : int
        Most plans of a question.
    max_questions : int
        Most questions, with those that were answered.
    min_gain : float
        Least expected saving of a question, as a share of the cost of the plan.
    deadline : float, optional
        Longest duration of a plan.
    """

    history: AnswerHistory
    planner: PersonalPlanner
    options: int
    max_questions: int
    min_gain: float
    deadline: float | None

    def __post_init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Discard the question and the plan, which depend on the history."""
        self.pending: Question | None = None
        """The question that was planned last."""
        self.has_planned = False
        """Whether the next question was planned, be it None."""
        self._first: Plan | None = None
        """The plan under the current means, if the question needed it."""
        self._plan: Plan | None = None

    def question(self) -> Question | None:
        """The next question; None if there is none worth asking."""
        if not self.has_planned:
            self.pending, self.has_planned = self._next_question(), True
        return self.pending

    def plan(self) -> Plan:
        """The plan with the least expected cost."""
        if self._plan is None:
            self._plan = self._improved(self._first or self._planned(self.history.cannot_do))
        return self._plan

    def _planned(self, forbid: list[str], alternatives: Alternatives | None = None) -> Plan:
        """The cheapest plan without the actions `forbid`, under the current means."""
        weights = dict(zip(self.history.functions, self.history.mean.tolist(), strict=True))
        return self.planner.plan(
            self.history.person, forbid=forbid, weights=weights, alternatives=alternatives, deadline=self.deadline
        )[0]

    def _improved(self, plan: Plan) -> Plan:
        """The cheapest known way if the planner, which need not be exact, missed it; otherwise the `plan`."""
        history, problem = self.history, self.history.problem
        actions = [str(action) for action in problem.transitions.actions[:-1]]
        allowed = problem.allowed(history.cannot_do)[:-1].tolist()
        permitted = {action for action, may in zip(actions, allowed, strict=True) if may}
        known = dict.fromkeys(option for answer in history.answers for option in answer.options)
        ways = [option for option in known if permitted.issuperset(option)]
        if plan.status is not Status.FOUND or not ways:
            return plan
        costs = history.costs(ways) @ history.mean
        best = int(costs.argmin())
        if costs[best] >= plan.cost - 1e-6:
            return plan
        others = [action for action in actions if action not in ways[best]]
        again = self._planned([*history.cannot_do, *others])
        return again if again.status is Status.FOUND and again.cost < plan.cost else plan

    def _next_question(self) -> Question | None:
        """Plan the next question; None if there is none worth asking."""
        history = self.history
        if len(history.answers) >= self.max_questions:
            return None
        pool = self._ways()
        options = [tuple(plan.actions) for plan in pool]
        compared = [frozenset(answer.options) for answer in history.answers]
        costs = history.preferences.costs(history.costs(options))
        best: Question | None = None
        for size in range(min(self.options, len(pool)), MIN_OPTIONS - 1, -1):
            for subset in combinations(range(len(pool)), size):
                plans = frozenset(options[place] for place in subset)
                if plans in compared:
                    continue
                gain = 1 - float(costs[:, subset].min(axis=1).mean() / max(costs[:, 0].mean(), _TINY))
                if gain >= self.min_gain and (best is None or gain > best.gain):
                    best = Question(len(history.answers) + 1, tuple(pool[place] for place in subset), gain)
        return best

    def _ways(self) -> list[Plan]:
        """The plan and other ways, the most useful ones first; none if there is no plan to be made.

        After the first question there is one more than a question has, because some were compared already.
        """
        history = self.history
        draws = history.preferences.weights[:: max(1, history.model.particles // DRAWS)] / history.mean
        count = self.options + bool(history.answers)
        alternatives = Alternatives(count=count, min_gain=self.min_gain, time_value=0.0, draws=draws)
        plan = self._planned(history.cannot_do, alternatives)
        self._first = replace(plan, related={})
        if plan.status is not Status.FOUND:
            return []
        return [way for way in (self._first, *plan.alternatives) if way.verified]
