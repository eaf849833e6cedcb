"""Plans of cards by the planner, and of exported modules, in one form."""

from __future__ import annotations

from random import Random
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd

from counterplan.planners.card import CardPlanner
from counterplan.problem import People, Problem
from counterplan.scorecard import Scorecard
from counterplan.scorecard.export import to_python

Planned = list[tuple[str, list[tuple[str, Any, float, str]], float | None]]


def module_of(card: Scorecard) -> ModuleType:
    """The exported module, as a Python file would be."""
    module = ModuleType("exported")
    exec(compile(to_python(card), "exported.py", "exec"), module.__dict__)  # only here: a test runs what it wrote
    return module


def wishes(problem: Problem, people: int, seed: int) -> tuple[dict[int, list[str]], pd.DataFrame | None]:
    """What some of the people cannot do, functions and actions, and the weights of some, from 0.01 to 100."""
    random = Random(seed)
    functions = [function.name for function in problem.transitions.functions]
    actions = [str(action) for action in problem.transitions.actions[:-1]]
    forbid = {
        row: [random.choice(functions), *random.sample(actions, min(2, len(actions)))]
        for row in range(people)
        if random.random() < 0.3
    }
    weights = [
        [round(10 ** random.uniform(-2, 2), random.choice([2, 6])) if row % 3 == 0 else 1.0 for _ in functions]
        for row in range(people)
    ]
    return forbid, pd.DataFrame(np.maximum(weights, 0.01), columns=functions)


def best_plans(card: Scorecard, people: People, forbid: Any = (), weights: pd.DataFrame | None = None) -> Planned:
    """The plans of the card without queries."""
    planner = CardPlanner(card.problem, None, card, queries=0)
    plans = planner.plan(people, forbid=forbid, weights=weights, refused=True)
    return [
        (
            plan.status.value,
            [(step.function, step.argument, step.cost, step.text, step.start, step.duration) for step in plan.steps],
            plan.cost if plan.steps else None,
        )
        for plan in plans
    ]


def exported_plans(card: Scorecard, people: People, forbid: Any = (), weights: pd.DataFrame | None = None) -> Planned:
    """The same by the exported module, one person at a time."""
    module, found = module_of(card), []
    for row, state in enumerate(people.states):
        cannot = forbid.get(row, ()) if isinstance(forbid, dict) else forbid
        factors = {} if weights is None else weights.iloc[row].to_dict()
        plan = module.plan(card.problem.describe(state), cannot, factors)
        keys = ("function", "argument", "cost", "text", "start", "duration")
        steps = [tuple(step.get(key) for key in keys) for step in plan["steps"]]
        assert plan.get("time_unit", "") == card.problem.time_unit * bool(steps)
        found.append((plan["status"], steps, plan["cost"]))
        points = module.points(card.problem.describe(state))
        assert points["points"] == card.points(state[None])[0] == sum(points["parts"].values())
    return found
