"""A reason for every step of every plan, whoever planned it.

Where the program would do the same, its rule is the reason. Elsewhere it is a contrast, true by construction: what
follows if the step is left out, or done by halves. Nobody is asked for that unless it is wished; what the black box
remembers is used, and what a surrogate believes is said to be an estimate.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from counterplan.blackbox import BlackBox, QueryBudgetExceeded
from counterplan.errors import PlanError
from counterplan.plans.plan import Plan, Plans, Reason, Step
from counterplan.problem import People, Problem
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.program import Program
from counterplan.search.orders import NO_ACTION
from counterplan.surrogate import Surrogate

_TINY = 1e-9


def explain(
    plans: Plans, problem: Problem, box: BlackBox, program: Program | None = None, surrogate: Surrogate | None = None,
    *, ask: bool = False,
) -> Plans:  # fmt: skip
    """The same plans with a reason for every step; `ask` allows one question to the black box for each step."""
    if not isinstance(plans, Plans):
        raise PlanError(f"what is explained are Plans, as `recommend` gives them, not {type(plans).__name__}")
    label = f"{problem.name} {problem.fingerprint}"
    if plans.problem not in ("", label):
        raise PlanError(
            f"these plans were made for another problem ({plans.problem.split(' ')[0]}) than {problem.name}"
        )
    before, cached = box.queries, box.cached
    told = list(plans)
    if program is not None:
        told = [*with_rules(plans, program)]
    for rows in _alike(told):
        _Contrasts(problem, [told[row] for row in rows], box, surrogate, ask).into(told, rows)
    queries, cached = plans.queries + box.queries - before, plans.cached + box.cached - cached
    return replace(plans, plans=tuple(told), queries=queries, cached=cached)


def with_rules(plans: Plans, program: Program) -> Plans:
    """The same plans, with the program's rule for each step that the program would take in that state, if it is true.

    A step that has a rule already keeps it.
    """
    problem = program.problem
    open_ = [
        (row, t)
        for row, plan in enumerate(plans)
        for t, step in enumerate(plan.steps)
        if step.because is None or step.because.source != "rule"
    ]
    if not open_:
        return plans
    states = _states(problem, [plans[row].steps[t].before for row, t in open_])
    numbers = {name: number for number, name in enumerate(program.nodes)}
    came = [plans[row].steps[t - 1].function if t else program.nodes[0] for row, t in open_]
    nodes = np.array([numbers.get(name, 0) for name in came], np.intp)
    legal = problem.transitions.legal(states)
    legal[:, problem.transitions.stop] = nodes > 0
    leaf, rank, action = program.decide(nodes, states, legal)
    names = [str(one) for one in problem.transitions.actions]
    made = [list(plan.steps) for plan in plans]
    for i, (row, t) in enumerate(open_):
        step = made[row][t]
        if action[i] != NO_ACTION and names[action[i]] == step.action:
            rule = program.rule(program.nodes[nodes[i]], int(leaf[i]), int(rank[i]))
            if rule(states[i : i + 1])[0]:  # not so if the program itself would never have come to this state
                made[row][t] = replace(step, reason=rule.text, because=rule.because)
    return replace(plans, plans=tuple(replace(plan, steps=tuple(made[i])) for i, plan in enumerate(plans)))


def _alike(plans: Sequence[Plan]) -> Iterator[list[int]]:
    """The plans with steps that still want reasons, by the columns of the tables that the people come from."""
    tables: dict[tuple[Any, ...], list[int]] = {}
    for row, plan in enumerate(plans):
        if any(step.because is None or step.because.source != "rule" for step in plan.steps):
            tables.setdefault(tuple(name for name, _ in plan.row), []).append(row)
    yield from tables.values()


def _states(problem: Problem, told: Sequence[dict[str, Any]]) -> Floats:
    """States [n, F] from what plans say of them."""
    names = [feature.name for feature in problem.features]
    table = pd.DataFrame([[one.get(name) for name in names] for one in told], columns=names, dtype=object)
    return problem.read(table).states


class _Others(NamedTuple):
    """Plans that somebody might take instead: n of them, each with another action at one step, or with none."""

    row: Ints
    t: Ints
    action: Ints
    """[n] what is done at that step; NO_ACTION: nothing."""
    costs: Floats
    """[n, T] of each step."""
    legal: Bools
    """[n, T] whether each step is possible, if those before it were."""
    states: Floats
    """[n, F] where they end."""

    @property
    def possible(self) -> Bools:
        """[n] whether all steps are."""
        return np.asarray(self.legal.all(axis=1))

    def take(self, which: Ints | Bools) -> _Others:
        """Some of them."""
        return _Others(
            self.row[which], self.t[which], self.action[which], self.costs[which], self.legal[which], self.states[which]
        )


class _Contrasts:
    """What the plans of people from one table would come to if they were others."""

    def __init__(
        self, problem: Problem, plans: Sequence[Plan], box: BlackBox, surrogate: Surrogate | None, ask: bool
    ) -> None:
        self.problem, self.transitions = problem, problem.transitions
        self.plans, self.surrogate = plans, surrogate
        self.people = _people(problem, plans)
        self.questions = box.session(problem, self.people)
        self.actions = self.numbered()
        self.wanted = [
            (row, t)
            for row, plan in enumerate(plans)
            for t, step in enumerate(plan.steps)
            if step.because is None or step.because.source != "rule"
        ]
        row, t = np.array(self.wanted, np.intp).T
        self.without = self.others(row, t, np.full(len(row), NO_ACTION))
        self.said = self.answers(self.without, ask)
        self.tried = self.smaller(row, t)
        self.chances = self.estimates()

    def numbered(self) -> Ints:
        """[B, T] the actions of the plans, by number."""
        numbers = {str(action): action.index for action in self.transitions.actions}
        result = np.full((len(self.plans), max(len(plan.steps) for plan in self.plans)), NO_ACTION)
        for row, plan in enumerate(self.plans):
            for t, step in enumerate(plan.steps):
                if step.action not in numbers:
                    raise PlanError(f"the plan of person {plan.person}: the problem has no action {step.action}")
                result[row, t] = numbers[step.action]
        return result

    def others(self, row: Ints, t: Ints, action: Ints) -> _Others:
        """The plans of the people `row` [n] with another `action` [n] at step `t` [n]."""
        actions = self.actions[row]
        actions[np.arange(len(row)), t] = action
        states, costs, legal = self.people.states[row], np.zeros(actions.shape), np.ones(actions.shape, bool)
        for place in range(actions.shape[1]):
            chosen = np.where(actions[:, place] == NO_ACTION, self.transitions.stop, actions[:, place])
            states, costs[:, place], legal[:, place] = self.transitions.step(states, chosen)
        return _Others(row, t, action, costs, legal, states)

    def answers(self, others: _Others, ask: bool = False) -> list[bool | None]:
        """What the black box says where plans end; None if it was not asked, or a plan is not possible."""
        result: list[bool | None] = [None] * len(others.row)
        rows = np.flatnonzero(others.possible)
        states, people = others.states[rows], others.row[rows]
        if ask and len(rows):
            try:
                said, known = self.questions(states, people), np.ones(len(rows), bool)
            except QueryBudgetExceeded as stop:
                said, known = stop.answers, stop.known
            told = [answer if sure else None for answer, sure in zip(said.tolist(), known.tolist(), strict=True)]
        else:
            told = [self.questions.cache.get(key) for key in self.questions.keys(states, people)]
        for row, answer in zip(rows.tolist(), told, strict=True):
            result[row] = answer
        return result

    def smaller(self, row: Ints, t: Ints) -> dict[tuple[int, int], list[tuple[float, int]]]:
        """By person and step: cost and action of plans with another argument that cost less, and are known to fail."""
        spans = [self.transitions.spans[int(f)] for f in self.transitions.function_of[self.actions[row, t]]]
        each = np.repeat(np.arange(len(row)), [span.stop - span.start for span in spans])
        action = np.concatenate([np.arange(span.start, span.stop) for span in spans])
        others = self.others(row[each], t[each], action)
        full = np.array([plan.cost for plan in self.plans])
        others = others.take(others.possible & (others.costs.sum(axis=1) < full[others.row] - _TINY))
        found: dict[tuple[int, int], list[tuple[float, int]]] = {}
        for i, said in enumerate(self.answers(others)):
            if said is False:
                key = int(others.row[i]), int(others.t[i])
                found.setdefault(key, []).append((float(others.costs[i].sum()), int(others.action[i])))
        return found

    def estimates(self) -> list[tuple[float, float] | None]:
        """The chance, by the surrogate, of each plan without a step, and of the plan itself."""
        if self.surrogate is None:
            return [None] * len(self.wanted)
        ends = _states(self.problem, [self.plans[row].steps[-1].after for row, _ in self.wanted])
        pairs = zip(self.surrogate(self.without.states), self.surrogate(ends), strict=True)
        return [(float(alone), float(whole)) for alone, whole in pairs]

    def into(self, plans: list[Plan], rows: Sequence[int]) -> None:
        """Write the reasons into `plans`, of which `rows` are these."""
        made = [list(plan.steps) for plan in self.plans]
        for i, (row, t) in enumerate(self.wanted):
            made[row][t] = self.explained(i, made[row][t])
        for place, row in enumerate(rows):
            plans[row] = replace(plans[row], steps=tuple(made[place]))

    def explained(self, i: int, step: Step) -> Step:
        parts = [*self.left_out(i), *self.done_by_halves(i)]
        text = "; ".join(text for text, _ in parts)
        return replace(step, reason=text, because=Reason("contrast", "", tuple(data for _, data in parts)))

    def left_out(self, i: int) -> Iterator[tuple[str, dict[str, Any]]]:
        """What follows without the step."""
        row, _ = self.wanted[i]
        if not self.without.possible[i]:
            needs = self.plans[row].steps[int((~self.without.legal[i]).argmax())]
            yield f"without it, “{needs.text}” would not be possible", {"needed_by": needs.action}
            return
        cheaper = list(self.cheaper(i))
        if self.said[i] is False:
            yield "without it the decision would still be unfavourable", {"without": "unfavourable", "by": "model"}
        elif self.said[i] is None and len(self.plans[row].steps) == 1:
            yield "it is the whole plan: without it nothing would change", {"without": "as_it_is"}
        elif self.said[i] is None:
            yield self.estimated(i)
        elif not cheaper or self.in_vain(i):
            text = "it is part of the plan, though the decision would be favourable without it too"
            yield text, {"without": "favourable", "by": "model"}
        yield from cheaper

    def estimated(self, i: int) -> tuple[str, dict[str, Any]]:
        """What the surrogate believes, said as such; or that nobody knows."""
        chances = self.chances[i]
        if chances is None:
            holds = self.plans[self.wanted[i][0]].verified
            tried = "the plan holds with it, and was not tried without it"
            return tried if holds else "nobody has tried the plan without it", {"without": "unknown"}
        alone, whole = chances
        data = {"without": "unknown", "by": "estimate", "chance": round(alone, 4), "chance_with": round(whole, 4)}
        if alone < 0.5:
            return f"without it the decision would probably still be unfavourable ({_estimate(alone)})", data
        if _percent(alone) < _percent(whole):
            text = f"it makes a favourable decision likelier: {_percent(whole)} % rather than {_percent(alone)} %"
            return f"{text} (estimated; the model was not asked)", data
        return f"the plan was not tried without it ({_estimate(alone)})", data

    def in_vain(self, i: int) -> bool:
        """Whether later steps save less by the step than it costs."""
        row, t = self.wanted[i]
        steps = self.plans[row].steps
        later = zip(self.without.costs[i, t + 1 :], steps[t + 1 :], strict=False)
        return sum(float(cost) - step.cost for cost, step in later) < steps[t].cost - _TINY

    def cheaper(self, i: int) -> Iterator[tuple[str, dict[str, Any]]]:
        """The later step that costs less after this one, by the most."""
        row, t = self.wanted[i]
        after = self.plans[row].steps[t + 1 :]
        savings = [float(cost) - step.cost for cost, step in zip(self.without.costs[i, t + 1 :], after, strict=False)]
        best = int(np.argmax(savings)) if savings else 0
        if savings and savings[best] > _TINY:
            step, cost = after[best], round(after[best].cost + savings[best], 9)
            if f"{cost:.1f}" == f"{step.cost:.1f}":
                return
            text = f"it lowers the effort of “{step.text}” from {cost:.1f} to {step.cost:.1f}"
            yield text, {"cheaper": step.action, "effort": step.cost, "otherwise": cost}

    def done_by_halves(self, i: int) -> Iterator[tuple[str, dict[str, Any]]]:
        """The dearest plan that does something cheaper here, was asked about, and fails."""
        tried = self.tried.get(self.wanted[i])
        if not tried:
            return
        row, t = self.wanted[i]
        _, action = max(tried)
        before = _states(self.problem, [self.plans[row].steps[t].before])
        text = self.transitions.describe_step(action, before[0], self.transitions.apply(before, np.array([action]))[0])
        others = "is 1 other that costs" if len(tried) == 2 else f"are {len(tried) - 1} others that cost"
        more = f", nor {others} less" if len(tried) > 1 else ""
        data = {"tried": str(self.transitions.actions[action]), "decision": "unfavourable", "plans": len(tried)}
        yield f"“{text}” instead was tried with the model and is not enough{more}", data


def _people(problem: Problem, plans: Sequence[Plan]) -> People:
    """The people of plans, as their table had them."""
    rows = [plan.row or tuple(plan.start.items()) for plan in plans]
    table = pd.DataFrame([[value for _, value in row] for row in rows], columns=[name for name, _ in rows[0]])
    return problem.read(table)


def _percent(chance: float) -> int:
    return round(100 * chance)


def _estimate(chance: float) -> str:
    return f"estimated chance {_percent(chance)} %; the model was not asked"
