"""Plans as rows of actions: where they lead, what they cost, and their cheapest order."""

from __future__ import annotations

import numpy as np

from counterplan.problem.transitions import Bools, Floats, Ints, Transitions

NO_ACTION = -1
"""Fills up a plan that has fewer actions than there is room for."""


def cheapest_orders(transitions: Transitions, starts: Floats, actions: Ints) -> Ints:
    """Plans `actions` [n, T] in the cheapest legal order that neighbours can swap into, ending in the same states.

    No question is needed for that. Independent neighbours are put in the order of the file.
    """
    actions = actions.copy()
    final, cost, _ = rollout(transitions, starts, actions)
    for _ in range(actions.shape[1] ** 2):
        changed = False
        for k in range(actions.shape[1] - 1):
            rows = np.flatnonzero(actions[:, k + 1] != NO_ACTION)
            if not len(rows):
                break
            swapped = actions[rows]
            swapped[:, [k, k + 1]] = swapped[:, [k + 1, k]]
            functions = transitions.function_of[swapped[:, [k, k + 1]]]
            end, price, legal = rollout(transitions, starts[rows], swapped)
            same = legal & ((end == final[rows]) | (np.isnan(end) & np.isnan(final[rows]))).all(axis=1)
            tidier = transitions.in_order[functions[:, 1], swapped[:, k]] == 0
            tidier &= transitions.in_order[functions[:, 0], swapped[:, k + 1]]
            better = same & ((price < cost[rows] - 1e-9) | (tidier & (price < cost[rows] + 1e-9)))
            actions[rows[better]], cost[rows[better]] = swapped[better], price[better]
            changed |= bool(better.any())
        if not changed:
            break
    return actions


def rollout(transitions: Transitions, starts: Floats, actions: Ints) -> tuple[Floats, Floats, Bools]:
    """The final states [n, F], costs [n] and legality [n] of plans `actions` [n, T] from `starts` [n, F]."""
    states, cost, legal = starts, np.zeros(len(starts)), np.ones(len(starts), bool)
    for t in range(actions.shape[1]):
        chosen = np.where(actions[:, t] == NO_ACTION, transitions.stop, actions[:, t])
        states, price, possible = transitions.step(states, chosen)
        cost, legal = cost + price, legal & possible
    return states, cost, legal
