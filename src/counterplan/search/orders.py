"""Plans as rows of actions: final states, costs, and the cheapest order of the same actions."""

from __future__ import annotations

import numpy as np

from counterplan.problem.transitions import Bools, Floats, Ints, Transitions
from counterplan.search.costs import ActionCosts

NO_ACTION = -1
"""Pads plans that have fewer actions than there are columns."""


def cheapest_orders(
    transitions: Transitions, starts: Floats, actions: Ints, cost_weights: Floats | None = None
) -> Ints:
    """Reorder plans `actions` [n, T] by swapping neighbours while that is cheaper and leads to the same states.

    Needs no query. Independent neighbours are put in file order. `cost_weights` [n, A] are those of each row.
    """
    actions = actions.copy()
    final, cost, _ = rollout(transitions, starts, actions, cost_weights)
    for _ in range(actions.shape[1] ** 2):
        changed = False
        for k in range(actions.shape[1] - 1):
            rows = np.flatnonzero(actions[:, k + 1] != NO_ACTION)
            if not len(rows):
                break
            swapped = actions[rows]
            swapped[:, [k, k + 1]] = swapped[:, [k + 1, k]]
            functions = transitions.function_of[swapped[:, [k, k + 1]]]
            weights = None if cost_weights is None else cost_weights[rows]
            end, new_cost, legal = rollout(transitions, starts[rows], swapped, weights)
            same = legal & ((end == final[rows]) | (np.isnan(end) & np.isnan(final[rows]))).all(axis=1)
            in_file_order = transitions.in_order[functions[:, 1], swapped[:, k]] == 0
            in_file_order &= transitions.in_order[functions[:, 0], swapped[:, k + 1]]
            better = same & ((new_cost < cost[rows] - 1e-9) | (in_file_order & (new_cost < cost[rows] + 1e-9)))
            actions[rows[better]], cost[rows[better]] = swapped[better], new_cost[better]
            changed |= bool(better.any())
        if not changed:
            break
    return actions


def rollout(
    transitions: Transitions, starts: Floats, actions: Ints, cost_weights: Floats | None = None
) -> tuple[Floats, Floats, Bools]:
    """Final states [n, F], costs [n] and legality [n] of plans `actions` [n, T] from `starts` [n, F].

    `cost_weights` [n, A] are those of each row.
    """
    costs, rows = ActionCosts(transitions, cost_weights), np.arange(len(starts))
    states, cost, legal = starts, np.zeros(len(starts)), np.ones(len(starts), bool)
    for t in range(actions.shape[1]):
        chosen = np.where(actions[:, t] == NO_ACTION, transitions.stop, actions[:, t])
        states, step_cost, possible = costs.step(states, rows, chosen)
        cost, legal = cost + step_cost, legal & possible
    return states, cost, legal


def costs_by_function(
    transitions: Transitions, starts: Floats, actions: Ints, cost_weights: Floats | None = None
) -> Floats:
    """Costs [n, G] of plans `actions` [n, T] from `starts` [n, F] by function.

    `cost_weights` [n, A] are those of each row.
    """
    costs, rows = ActionCosts(transitions, cost_weights), np.arange(len(starts))
    states, result = starts, np.zeros((len(starts), len(transitions.functions) + 1))
    for t in range(actions.shape[1]):
        chosen = np.where(actions[:, t] == NO_ACTION, transitions.stop, actions[:, t])
        states, step_cost, _ = costs.step(states, rows, chosen)
        result[rows, transitions.function_of[chosen]] += step_cost
    return result[:, :-1]
