"""Optimal plans by enumeration, to compare planners with."""

from __future__ import annotations

import numpy as np

from counterplan import BlackBox, Plan, Problem
from counterplan.problem import People
from counterplan.search.schedule import schedule

DECIMALS = 7
"""Costs are compared to so many decimals."""


def brute_force(
    problem: Problem, people: People, row: int, box: BlackBox, weights: np.ndarray | None = None
) -> tuple[float, int, list[int]] | None:
    """The best (cost, steps, actions) over every legal sequence, with cost weights [A] or without; None if none."""
    transitions = problem.transitions
    oracle = box.session(problem, people)
    layer = {people.states[row].tobytes(): (0.0, [])}
    best = None
    for depth in range(problem.max_actions + 1):
        successors: dict[bytes, tuple[float, list[int]]] = {}
        for raw, (cost, actions) in layer.items():
            state = np.frombuffer(raw).reshape(1, -1)
            if oracle(state, np.array([row]))[0]:
                found = (round(cost, DECIMALS), depth, actions)
                best = found if best is None or found < best else best
            legal, costs = transitions.legal(state)[0], transitions.cost(state)[0]
            for action in np.flatnonzero(legal[:-1]).tolist():
                after = (transitions.apply(state, np.array([action]))[0] + 0.0).tobytes()
                step = costs[action] if weights is None else round(float(costs[action] * weights[action]), 9)
                candidate = (round(cost + step, DECIMALS), [*actions, action])
                if after not in successors or candidate < successors[after]:
                    successors[after] = candidate
        layer = successors
    return best


def every_plan(
    problem: Problem, people: People, row: int, box: BlackBox, weights: np.ndarray | None = None
) -> list[tuple[float, float, list[int]]]:
    """(cost, duration, actions) of every legal sequence that ends in a favourable state."""
    transitions = problem.transitions
    oracle = box.session(problem, people)
    found = []
    layer: list[tuple[np.ndarray, float, list[int]]] = [(people.states[[row]], 0.0, [])]
    for _ in range(problem.max_actions + 1):
        successors = []
        for state, cost, actions in layer:
            if oracle(state, np.array([row]))[0]:
                plan = np.array([actions], np.intp).reshape(1, -1)
                duration = schedule(transitions, people.states[[row]], plan).makespan[0]
                found.append((round(cost, DECIMALS), round(float(duration), DECIMALS), actions))
            legal, costs = transitions.legal(state)[0], transitions.cost(state)[0]
            for action in np.flatnonzero(legal[:-1]).tolist():
                step = costs[action] if weights is None else round(float(costs[action] * weights[action]), 9)
                successors.append((transitions.apply(state, np.array([action])), cost + step, [*actions, action]))
        layer = successors
    return found


def front_of(plans: list[tuple[float, float, list[int]]]) -> list[tuple[float, float]]:
    """The points of cost and duration that no plan is better than, in order of cost."""
    points: list[tuple[float, float]] = []
    for cost, duration, _ in sorted(plans):
        if not points or duration < points[-1][1] - 1e-9:
            points.append((cost, duration))
    return points


def indices(problem: Problem, plan: Plan) -> list[int]:
    """The actions of a plan by index."""
    names = [str(action) for action in problem.transitions.actions]
    return [names.index(action) for action in plan.actions]
