"""Contrasts: a step explained by the consequences of leaving it out, or of a cheaper argument.

Applicants read the sentences; they are plain on purpose.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from counterplan.blackbox import BlackBox, QueryBudgetExceeded
from counterplan.explanation.arrays import PlanGroup, states_before, states_of, stopped
from counterplan.plans import Coded, Reason, StepReason
from counterplan.problem import Problem
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.search.orders import NO_ACTION
from counterplan.surrogate import Surrogate

_EPSILON = 1e-9
Clause = tuple[str, dict[str, Any]]
"""Part of a reason, as words and as data."""


class VariedPlans(NamedTuple):
    """n plans that differ from a person's plan in one step."""

    row: Ints
    """[n] the person, within the group."""
    t: Ints
    """[n] the step."""
    action: Ints
    """[n] the action instead; NO_ACTION leaves the step out."""
    costs: Floats
    """[n, T] costs of the steps."""
    legal: Bools
    """[n, T] whether each step is legal, given those before it."""
    states: Floats
    """[n, F] final states."""

    @property
    def feasible(self) -> Bools:
        """[n] whether all steps are legal."""
        return np.asarray(self.legal.all(axis=1))

    def take(self, which: Ints | Bools) -> VariedPlans:
        """A selection of them."""
        row, t, action, costs, legal, states = self
        return VariedPlans(row[which], t[which], action[which], costs[which], legal[which], states[which])


class Contrasts:
    """Reasons for the open steps of a group of plans.

    Parameters
    ----------
    problem : Problem
    group : PlanGroup
        The plans.
    box : BlackBox
        The model, whose cached answers are used.
    surrogate : Surrogate or None
        For estimates where no answer is known.
    ask : bool
        Whether to query the black box about each plan without one of its steps.
    """

    def __init__(
        self, problem: Problem, group: PlanGroup, box: BlackBox, surrogate: Surrogate | None, ask: bool
    ) -> None:
        self.problem, self.transitions, self.group = problem, problem.transitions, group
        goal = problem.outcome.goal
        self.missed = "be unfavourable" if goal == "favourable" else f"not be {goal}"
        """What the decision would do if the plan failed."""
        self.oracle = box.session(problem, group.people)
        self.costs = group.step_costs[:, : group.actions.shape[1]]
        self.total = group.plans.costs[group.rows]
        self.lengths = group.plans.lengths[group.rows]
        self.row, self.t = np.nonzero(group.open)
        self.without = self._varied(self.row, self.t, np.full(len(self.row), NO_ACTION))
        self.answers = self._answers(self.without, ask)
        self.cheaper_failures = self._cheaper_failures()
        self.estimates = self._estimates(surrogate)

    def reasons(self) -> tuple[Ints, Ints, Coded[StepReason]]:
        """People [n] and steps [n] among all plans, and their reasons [n]."""
        made: list[StepReason] = []
        for i in range(len(self.row)):
            clauses = self.clauses(i)
            text = "; ".join(text for text, _ in clauses)
            made.append((text, Reason("contrast", "", tuple(data for _, data in clauses))))
        return self.group.rows[self.row], self.t, Coded(np.arange(len(made)), made)

    def clauses(self, i: int) -> list[Clause]:
        """The parts of the reason for the open step number `i`."""
        return [*self._left_out(i), *self._cheaper_argument(i)]

    def _varied(self, row: Ints, t: Ints, action: Ints) -> VariedPlans:
        """The plans of `row` [n] with another `action` [n] at step `t` [n]."""
        actions = self.group.actions[row]
        actions[np.arange(len(row)), t] = action
        states, costs, legal = self.group.people.states[row], np.zeros(actions.shape), np.ones(actions.shape, bool)
        for place in range(actions.shape[1]):
            chosen = stopped(self.problem, actions[:, place])
            states, costs[:, place], legal[:, place] = self.transitions.step(states, chosen)
        if self.group.weights is not None:
            costs *= self.group.weights[row]
        return VariedPlans(row, t, action, costs, legal, states)

    def _answers(self, others: VariedPlans, ask: bool = False) -> list[bool | None]:
        """Decisions about the final states; None if unknown, or if a plan is not feasible."""
        result: list[bool | None] = [None] * len(others.row)
        rows = np.flatnonzero(others.feasible)
        states, people = others.states[rows], others.row[rows]
        if ask and len(rows):
            try:
                favourable, known = self.oracle(states, people), np.ones(len(rows), bool)
            except QueryBudgetExceeded as stop:
                favourable, known = stop.answers, stop.known
            found = [
                answer if is_known else None
                for answer, is_known in zip(favourable.tolist(), known.tolist(), strict=True)
            ]
        else:
            cached = self.oracle.cached(states, people)
            found = [None if answer is None else answer.favourable for answer in cached]
        for row, answer in zip(rows.tolist(), found, strict=True):
            result[row] = answer
        return result

    def _cheaper_failures(self) -> dict[tuple[int, int], list[tuple[float, int]]]:
        """By person and step: cost and action of cheaper plans with another argument that are known to fail.

        Plans with cost weights have none: the weights of actions that they do not take are unknown here.
        """
        if self.group.weights is not None:
            return {}
        functions = self.transitions.function_of[self.group.actions[self.row, self.t]]
        spans = [self.transitions.spans[int(function)] for function in functions]
        each = np.repeat(np.arange(len(self.row)), [span.stop - span.start for span in spans])
        action = np.concatenate([np.arange(span.start, span.stop) for span in spans])
        others = self._varied(self.row[each], self.t[each], action)
        others = others.take(others.feasible & (others.costs.sum(axis=1) < self.total[others.row] - _EPSILON))
        found: dict[tuple[int, int], list[tuple[float, int]]] = {}
        for i, favourable in enumerate(self._answers(others)):
            if favourable is False:
                place = int(others.row[i]), int(others.t[i])
                found.setdefault(place, []).append((float(others.costs[i].sum()), int(others.action[i])))
        return found

    def _estimates(self, surrogate: Surrogate | None) -> list[tuple[float, float] | None]:
        """By open step: the surrogate's probability of a favourable decision without it, and with it."""
        if surrogate is None:
            return [None] * len(self.row)
        plans, rows = self.group.plans, self.group.rows[self.row]
        if plans.people is None:
            ends = states_of(self.problem, [plans[row].steps[-1].after for row in rows.tolist()])
        else:
            ends = self._final_states()[self.row]
        pairs = zip(surrogate(self.without.states), surrogate(ends), strict=True)
        return [(float(without), float(whole)) for without, whole in pairs]

    def _final_states(self) -> Floats:
        """[n, F] final states of the plans."""
        states = self.group.people.states
        for place in range(self.group.actions.shape[1]):
            states = self.transitions.apply(states, stopped(self.problem, self.group.actions[:, place]))
        return states

    def _left_out(self, i: int) -> Iterator[Clause]:
        """The consequences of leaving the step out."""
        row = int(self.row[i])
        if not self.without.feasible[i]:
            later = int((~self.without.legal[i]).argmax())
            text = self.group.text(row, later)
            yield f"without it, “{text}” would not be possible", {"needed_by": self._name(row, later)}
            return
        savings = list(self._savings(i))
        favourable = self.answers[i]
        if favourable is False:
            yield f"without it the decision would still {self.missed}", {"without": "unfavourable", "by": "model"}
        elif favourable is None and self.lengths[row] == 1:
            yield "it is the whole plan: without it nothing would change", {"without": "as_it_is"}
        elif favourable is None:
            yield self._estimated(i)
        elif not savings or self._costs_more_than_it_saves(i):
            text = f"it is part of the plan, though the decision would be {self.problem.outcome.goal} without it too"
            yield text, {"without": "favourable", "by": "model"}
        yield from savings

    def _estimated(self, i: int) -> Clause:
        """The surrogate's estimate, reported as such; or that the decision is unknown."""
        estimate = self.estimates[i]
        if estimate is None:
            holds = self.group.plans.verified[self.group.rows[self.row[i]]]
            tried = "the plan holds with it, and was not tried without it"
            return tried if holds else "nobody has tried the plan without it", {"without": "unknown"}
        without, whole = estimate
        data = {"without": "unknown", "by": "estimate", "chance": round(without, 4), "chance_with": round(whole, 4)}
        if without < 0.5:
            return f"without it the decision would probably still {self.missed} ({_chance(without)})", data
        if _percent(without) < _percent(whole):
            goal = self.problem.outcome.goal
            likelier = "a favourable decision" if goal == "favourable" else f"the decision {goal}"
            text = f"it makes {likelier} likelier: {_percent(whole)} % rather than {_percent(without)} %"
            return f"{text} (estimated; the model was not asked)", data
        return f"the plan was not tried without it ({_chance(without)})", data

    def _saved(self, i: int) -> list[float]:
        """By later step: how much less it costs because of this one."""
        row, t, end = int(self.row[i]), int(self.t[i]), int(self.lengths[self.row[i]])
        pairs = zip(self.without.costs[i, t + 1 : end].tolist(), self.costs[row, t + 1 : end].tolist(), strict=True)
        return [without - cost for without, cost in pairs]

    def _costs_more_than_it_saves(self, i: int) -> bool:
        """Whether later steps save less than the step costs."""
        return bool(sum(self._saved(i)) < self.costs[self.row[i], self.t[i]] - _EPSILON)

    def _savings(self, i: int) -> Iterator[Clause]:
        """The later step whose cost this one reduces most."""
        saved = self._saved(i)
        best = int(np.argmax(saved)) if saved else 0
        if not saved or saved[best] <= _EPSILON:
            return
        row, later = int(self.row[i]), int(self.t[i]) + 1 + best
        cost = float(self.costs[row, later])
        otherwise = round(cost + saved[best], 9)
        if f"{otherwise:.1f}" != f"{cost:.1f}":
            text = f"it lowers the effort of “{self.group.text(row, later)}” from {otherwise:.1f} to {cost:.1f}"
            yield text, {"cheaper": self._name(row, later), "effort": cost, "otherwise": otherwise}

    def _cheaper_argument(self, i: int) -> Iterator[Clause]:
        """The most expensive of the cheaper plans with another argument that were queried and fail."""
        row, t = int(self.row[i]), int(self.t[i])
        failures = self.cheaper_failures.get((row, t))
        if not failures:
            return
        _, action = max(failures)
        before = states_before(self.problem, self.group.plans, self.group.rows[[row]], np.array([t]))
        text = self.transitions.describe_step(action, before[0], self.transitions.apply(before, np.array([action]))[0])
        others = "is 1 other that costs" if len(failures) == 2 else f"are {len(failures) - 1} others that cost"
        more = f", nor {others} less" if len(failures) > 1 else ""
        name = str(self.transitions.actions[action])
        data = {"tried": name, "decision": "unfavourable", "plans": len(failures)}
        yield f"“{text}” instead was tried with the model and is not enough{more}", data

    def _name(self, row: int, t: int) -> str:
        """A step as `FUNCTION=argument`."""
        return str(self.transitions.actions[self.group.actions[row, t]])


def _percent(chance: float) -> int:
    return round(100 * chance)


def _chance(chance: float) -> str:
    return f"estimated chance {_percent(chance)} %; the model was not asked"
