"""The genetics of the evolutionary baseline: what random keys stand for, what that is worth, how it is passed on.

Array functions that know nothing of generations, budgets or meters; see `evolution` for these.
Letters: B people, P candidates of each, W functions with STOP, n candidates of anybody, M changeable features.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from counterplan.problem import Problem
from counterplan.problem.transitions import Bools, Floats, Ints, Transitions
from counterplan.search.orders import NO_ACTION

ACTIVE = 0.5
"""A function whose order key is at most this is part of the plan."""
FAILED = 100.0
"""What a step costs that is not legal, and every step after it."""
INFEASIBLE = 10.0
"""What the cost of a plan is multiplied with that does not lead to a favourable state."""
_DECIMALS = 9
"""Objectives are rounded to so many decimals, so that no two candidates differ by the order of a sum alone."""


class Candidates(NamedTuple):
    """Plans as they are bred: whose [n], random keys [n, 2W], actions [n, W], the objectives [n] and outcome [n]."""

    person: Ints
    genes: Floats
    actions: Ints
    cost: Floats
    diversity: Floats
    feasible: Bools

    def take(self, which: Ints | Bools) -> Candidates:
        """Some of them."""
        person, genes, actions, cost, apart, feasible = self
        return Candidates(person[which], genes[which], actions[which], cost[which], apart[which], feasible[which])


def decode(transitions: Transitions, genes: Floats) -> Ints:
    """The plans [n, W], filled up with NO_ACTION, that random keys [n, 2W] stand for: W order keys, W value keys.

    Active functions come in the order of their keys, each at most once; the value keys belong to the positions of the
    plan, and choose among all arguments of what stands there.
    """
    order, value = np.split(genes, 2, axis=1)
    function = np.argsort(order, axis=1, kind="stable")
    active = np.take_along_axis(order, function, axis=1) <= ACTIVE
    sizes = np.bincount(transitions.function_of)
    starts = np.cumsum(sizes) - sizes
    argument = np.minimum((value * sizes[function]).astype(np.intp), sizes[function] - 1)
    return np.where(active, starts[function] + argument, NO_ACTION)


def well_formed(transitions: Transitions, actions: Ints) -> Bools:
    """Which plans [n, W] end with STOP; an empty one does not."""
    length = (actions != NO_ACTION).sum(axis=1)
    ended: Bools = (actions[np.arange(len(actions)), length - 1] == transitions.stop) & (length > 0)
    return ended


def evaluate(
    problem: Problem, starts: Floats, allowed: Bools, genes: Floats, ask: Callable[[Floats, Ints], Bools]
) -> Candidates:
    """The candidates of refused people in `starts` [B, F] that have these `genes` [B, P, 2W].

    `ask` is told states [n, F] and whose they are [n]: where well-formed, legal plans lead, if that is anywhere new. A
    plan that is not known to be favourable costs ten times as much.
    """
    people, size, _ = genes.shape
    person, genes = np.repeat(np.arange(people), size), genes.reshape(people * size, -1)
    actions = decode(problem.transitions, genes)
    trails = follow(problem.transitions, starts, person, actions, allowed, problem.max_actions)
    asked = np.flatnonzero(well_formed(problem.transitions, actions) & trails.legal & trails.moved)
    favourable = np.zeros(len(person), bool)
    favourable[asked] = ask(trails.states[asked], person[asked])
    cost = np.round(trails.prices.sum(axis=1) * np.where(favourable, 1.0, INFEASIBLE), _DECIMALS)
    apart = diversity(problem.transitions, trails.trail.reshape(people, size, *trails.trail.shape[1:]))
    return Candidates(person, genes, actions, cost, apart.ravel(), favourable)


class Trails(NamedTuple):
    """Where plans lead: final states [n, F], what each position costs [n, W], whether all of it is legal [n] and
    leads away [n], and the changeable features after each position [n, W, M]."""

    states: Floats
    prices: Floats
    legal: Bools
    moved: Bools
    trail: Floats


def follow(
    transitions: Transitions, starts: Floats, person: Ints, actions: Ints, allowed: Bools, longest: int
) -> Trails:
    """Take the `actions` [n, W] of each `person` [n] from `starts` [B, F], as far as they are legal.

    Nothing is legal that is not `allowed` [B, A], or comes after `longest` steps. What is not stops the plan: it and
    all that would follow cost 100 each.
    """
    states = starts[person]
    mutable = transitions.mutable
    prices = np.zeros(actions.shape)
    legal = np.ones(len(actions), bool)
    steps = np.zeros(len(actions), np.intp)
    trail = np.empty((*actions.shape, len(mutable)))
    for t in range(actions.shape[1]):
        there = actions[:, t] != NO_ACTION
        prices[there & ~legal, t] = FAILED
        rows = np.flatnonzero(there & legal)
        chosen = actions[rows, t]
        after, cost, possible = transitions.step(states[rows], chosen)
        steps[rows] += chosen != transitions.stop
        possible &= allowed[person[rows], chosen] & (steps[rows] <= longest)
        prices[rows, t] = np.where(possible, cost, FAILED)
        states[rows[possible]] = after[possible]
        legal[rows[~possible]] = False
        trail[:, t] = states[:, mutable]
    before = starts[person]
    moved = ((states != before) & ~(np.isnan(states) & np.isnan(before))).any(axis=1)
    return Trails(states, prices, legal, moved, trail)


def diversity(transitions: Transitions, trail: Floats) -> Floats:
    """[B, P] how far the way of each candidate is from those of the others: the sum of their Gower distances.

    `trail` [B, P, W, M] has the changeable features after each position. The distance of two is the mean over
    positions and features of: for numbers, the difference as a share of the range that the batch has; for categories,
    whether they differ.
    """
    numbers = [transitions.features[i].is_number for i in transitions.mutable]
    total = _differing(trail[..., [not number for number in numbers]])
    for column in np.flatnonzero(numbers):
        total += _differences(trail[..., column])
    return np.round(total / np.prod(trail.shape[2:]), _DECIMALS)


def _differing(values: Floats) -> Floats:
    """[B, P] over positions and features, how many other candidates have another of the categories [B, P, W, M]."""
    people, size, width, count = values.shape
    code = np.where(np.isnan(values), -1, values).astype(np.intp) + 1
    kinds = int(code.max(initial=0)) + 1
    code += kinds * np.arange(width * count).reshape(width, count)
    code += kinds * width * count * np.arange(people)[:, None, None, None]
    same = np.bincount(code.ravel())[code] if code.size else code
    return np.asarray((size - same).sum(axis=(2, 3)), float)


def _differences(values: Floats) -> Floats:
    """[B, P] over positions, how far numbers [B, P, W] are from those of the other candidates, in ranges.

    A missing one is as far from a known one as can be. In order of size, sums of differences follow from sums.
    """
    size = values.shape[1]
    known = ~np.isnan(values)
    low = np.where(known, values, np.inf).min(axis=(1, 2), keepdims=True)
    spread = np.where(known, values, -np.inf).max(axis=(1, 2), keepdims=True) - low
    shares = np.divide(values - low, spread, out=np.where(known, 0.0, np.nan), where=known & (spread > 0))
    shares = np.ascontiguousarray(shares.swapaxes(1, 2))
    order = np.argsort(shares, axis=2, kind="stable")  # missing ones last
    ordered = np.nan_to_num(np.take_along_axis(shares, order, axis=2))
    upto = np.cumsum(ordered, axis=2)
    there = known.sum(axis=1)[:, :, None]
    rank = np.arange(size)
    apart = ordered * (2 * rank + 2 - there) - 2 * upto + upto[:, :, -1:] + (size - there)
    result = np.empty_like(shares)
    np.put_along_axis(result, order, np.where(rank < there, apart, there), axis=2)
    return np.asarray(result.sum(axis=1), float)


def breed(pool: Candidates, elite: Bools, drawn: Floats, bias: float) -> Floats:
    """Genes [B, K, 2W] of children, each of an elite and of another candidate of the same person.

    Of the random numbers `drawn` [B, K, 2 + 2W], two choose the parents and the others from whom each gene comes. If
    all candidates are of one sort, both parents are.
    """
    order = np.lexsort((~elite, pool.person))
    count = np.bincount(pool.person, minlength=len(drawn))
    first = np.cumsum(count) - count
    elites = np.bincount(pool.person[elite], minlength=len(drawn))
    others = count - elites
    noble = first + np.where(elites, 0, elites), np.where(elites, elites, others)
    common = first + np.where(others, elites, 0), np.where(others, others, elites)
    parents = [
        pool.genes[order[start[:, None] + (drawn[:, :, i] * size[:, None]).astype(np.intp)]]
        for i, (start, size) in enumerate((noble, common))
    ]
    children: Floats = np.where(drawn[:, :, 2:] < bias, *parents)
    return children


def without_copies(pool: Candidates) -> Candidates:
    """The candidates in the order of people, and of a person's that mean the same plan only the first."""
    named = np.concatenate([pool.person[:, None], pool.actions], axis=1)
    kept = np.sort(np.unique(named, axis=0, return_index=True)[1])
    return pool.take(kept[np.argsort(pool.person[kept], kind="stable")])


def join(*parts: Candidates) -> Candidates:
    """All of them, one part after the other."""
    return Candidates(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
