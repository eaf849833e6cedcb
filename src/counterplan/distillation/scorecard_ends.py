"""Ends of plans that a scorecard is fitted to: where plans that work for somebody lead other refused people."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterplan.distillation.demonstrations import Demonstrations
from counterplan.problem import Problem
from counterplan.problem.transitions import Floats, Ints
from counterplan.search.orders import NO_ACTION, rollout
from counterplan.surrogate.acquisition import Logit


class SampledEnds(NamedTuple):
    """n final states of plans, with the predictions of a surrogate."""

    person: Ints
    """[n] row of the person among the demonstrations."""
    states: Floats
    """[n, F]"""
    logits: Floats
    """[n] log odds that the states are favourable."""


def sample_ends(
    problem: Problem,
    demonstrations: Demonstrations,
    logit: Logit,
    random: np.random.Generator,
    *,
    per_person: int,
    max_cost_ratio: float,
) -> SampledEnds:
    """Sample ends of plans that were demonstrated for somebody, with or without one of their steps.

    The ends of a person are different states; plans that are illegal for the person, or cost more than
    `max_cost_ratio` times the least cost, are left out. The demonstrated plans are among them.
    """
    starts, least, plans = demonstrations.starts, demonstrations.least_cost, demonstrations.plans[0]
    library = np.unique(plans, axis=0)
    parts = []
    for draw in range(2 * per_person + 1):
        actions = plans
        if draw:
            actions = library[random.integers(len(library), size=len(starts))]
        if draw % 2:
            actions = actions.copy()
            actions[np.arange(len(actions)), random.integers(actions.shape[1], size=len(actions))] = NO_ACTION
        states, cost, legal = rollout(problem.transitions, starts, actions)
        rows = np.flatnonzero(legal & (cost <= max_cost_ratio * least))
        parts.append((rows, states[rows]))
    person, states = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    changing = np.nan_to_num(states[:, problem.transitions.mutable], nan=-np.inf)
    _, first = np.unique(np.column_stack([person, changing]), axis=0, return_index=True)
    first = np.sort(first)
    person, states = person[first], states[first]
    order = np.argsort(person, kind="stable")
    nth = np.arange(len(order)) - np.searchsorted(person[order], person[order])
    kept = order[nth < per_person]
    return SampledEnds(person[kept], states[kept], logit(states[kept]))
