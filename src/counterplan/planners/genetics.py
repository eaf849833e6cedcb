"""Genetic operators of the evolutionary baseline: decoding of random keys, objectives, crossover.

Pure array functions; generations, budgets and queries are in `evolution`.
Axes: B people, P candidates of each, W functions with STOP, n candidates of all people, M mutable features.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from counterplan.problem import Problem
from counterplan.problem.transitions import Bools, Floats, Ints, Transitions
from counterplan.search.costs import ActionCosts
from counterplan.search.orders import NO_ACTION

ACTIVE = 0.5
"""Functions whose order key is at most this are part of the plan."""
FAILED = 100.0
"""Cost of an illegal step, and of every step after it."""
INFEASIBLE = 10.0
"""Factor on the cost of plans that do not lead to a favourable state."""
_DECIMALS = 9
"""Objectives are rounded to this many decimals, so that no two candidates differ by the order of a sum alone."""


class Population(NamedTuple):
    """Candidates: person [n], random keys [n, 2W], actions [n, W], objectives [n], feasibility [n]."""

    person: Ints
    genes: Floats
    actions: Ints
    cost: Floats
    diversity: Floats
    feasible: Bools

    def take(self, rows: Ints | Bools) -> Population:
        """The candidates at `rows`."""
        person, genes, actions, cost, diversity, feasible = self
        return Population(person[rows], genes[rows], actions[rows], cost[rows], diversity[rows], feasible[rows])


def decode(transitions: Transitions, genes: Floats) -> Ints:
    """Plans [n, W], padded with NO_ACTION, of random keys [n, 2W]: W order keys and W value keys.

    Active functions are sorted by their order keys, each at most once; the value key of a position chooses among all
    arguments of its function.
    """
    order, value = np.split(genes, 2, axis=1)
    function = np.argsort(order, axis=1, kind="stable")
    active = np.take_along_axis(order, function, axis=1) <= ACTIVE
    sizes = np.bincount(transitions.function_of)
    starts = np.cumsum(sizes) - sizes
    argument = np.minimum((value * sizes[function]).astype(np.intp), sizes[function] - 1)
    return np.where(active, starts[function] + argument, NO_ACTION)


def well_formed(transitions: Transitions, actions: Ints) -> Bools:
    """Which plans [n, W] end with STOP; an empty plan does not."""
    length = (actions != NO_ACTION).sum(axis=1)
    ended: Bools = (actions[np.arange(len(actions)), length - 1] == transitions.stop) & (length > 0)
    return ended


def evaluate(
    problem: Problem,
    starts: Floats,
    allowed: Bools,
    genes: Floats,
    oracle: Callable[[Floats, Ints], Bools],
    cost_weights: Floats | None = None,
) -> Population:
    """Candidates with `genes` [B, P, 2W] of refused people at `starts` [B, F].

    `oracle` is queried about the final states [n, F] of people [n] whose plans are well-formed, legal and change the
    state. The cost of plans that are not favourable is multiplied by ten. `cost_weights` [B, A] multiply step costs.
    """
    people, size, _ = genes.shape
    person, genes = np.repeat(np.arange(people), size), genes.reshape(people * size, -1)
    actions = decode(problem.transitions, genes)
    costs = ActionCosts(problem.transitions, cost_weights)
    rollouts = roll_out(costs, starts, person, actions, allowed, problem.max_actions)
    queried = np.flatnonzero(well_formed(problem.transitions, actions) & rollouts.legal & rollouts.changed)
    favourable = np.zeros(len(person), bool)
    favourable[queried] = oracle(rollouts.states[queried], person[queried])
    cost = np.round(rollouts.costs.sum(axis=1) * np.where(favourable, 1.0, INFEASIBLE), _DECIMALS)
    visited = rollouts.visited.reshape(people, size, *rollouts.visited.shape[1:])
    return Population(person, genes, actions, cost, diversity(problem.transitions, visited).ravel(), favourable)


class Rollouts(NamedTuple):
    """Executed candidates."""

    states: Floats
    """[n, F] final states."""
    costs: Floats
    """[n, W] cost of each position."""
    legal: Bools
    """[n] whether all steps are legal."""
    changed: Bools
    """[n] whether the final state differs from the initial one."""
    visited: Floats
    """[n, W, M] mutable features after each position."""


def roll_out(
    costs: ActionCosts, starts: Floats, person: Ints, actions: Ints, allowed: Bools, max_actions: int
) -> Rollouts:
    """Execute the `actions` [n, W] of each `person` [n] from `starts` [B, F] up to the first illegal step.

    Steps are illegal that are not `allowed` [B, A] or come after `max_actions` steps. An illegal step and all that
    follow cost 100 each.
    """
    transitions = costs.transitions
    states = starts[person]
    mutable = transitions.mutable
    step_costs = np.zeros(actions.shape)
    legal = np.ones(len(actions), bool)
    steps = np.zeros(len(actions), np.intp)
    visited = np.empty((*actions.shape, len(mutable)))
    for t in range(actions.shape[1]):
        present = actions[:, t] != NO_ACTION
        step_costs[present & ~legal, t] = FAILED
        rows = np.flatnonzero(present & legal)
        chosen = actions[rows, t]
        after, cost, possible = costs.step(states[rows], person[rows], chosen)
        steps[rows] += chosen != transitions.stop
        possible &= allowed[person[rows], chosen] & (steps[rows] <= max_actions)
        step_costs[rows, t] = np.where(possible, cost, FAILED)
        states[rows[possible]] = after[possible]
        legal[rows[~possible]] = False
        visited[:, t] = states[:, mutable]
    before = starts[person]
    changed = ((states != before) & ~(np.isnan(states) & np.isnan(before))).any(axis=1)
    return Rollouts(states, step_costs, legal, changed, visited)


def diversity(transitions: Transitions, visited: Floats) -> Floats:
    """[B, P] diversity of each candidate: the sum of its Gower distances to the other candidates of the person.

    `visited` [B, P, W, M] are the mutable features after each position. The distance of two candidates is the mean
    over positions and features of the difference as a share of the range in the batch, for numbers, and of inequality,
    for categories.
    """
    numbers = [transitions.features[i].is_number for i in transitions.mutable]
    total = _category_distances(visited[..., [not number for number in numbers]])
    for column in np.flatnonzero(numbers):
        total += _number_distances(visited[..., column])
    return np.round(total / np.prod(visited.shape[2:]), _DECIMALS)


def _category_distances(values: Floats) -> Floats:
    """[B, P] number of other candidates with another category [B, P, W, M], over all positions and features."""
    people, size, width, count = values.shape
    code = np.where(np.isnan(values), -1, values).astype(np.intp) + 1
    kinds = int(code.max(initial=0)) + 1
    code += kinds * np.arange(width * count).reshape(width, count)
    code += kinds * width * count * np.arange(people)[:, None, None, None]
    same = np.bincount(code.ravel())[code] if code.size else code
    return np.asarray((size - same).sum(axis=(2, 3)), float)


def _number_distances(values: Floats) -> Floats:
    """[B, P] distances of numbers [B, P, W] to those of the other candidates, in ranges, summed over positions.

    The distance of a missing value to a known one is 1. Sums of differences follow from sums of sorted values.
    """
    size = values.shape[1]
    known = ~np.isnan(values)
    low = np.where(known, values, np.inf).min(axis=(1, 2), keepdims=True)
    spread = np.where(known, values, -np.inf).max(axis=(1, 2), keepdims=True) - low
    shares = np.divide(values - low, spread, out=np.where(known, 0.0, np.nan), where=known & (spread > 0))
    shares = np.ascontiguousarray(shares.swapaxes(1, 2))
    order = np.argsort(shares, axis=2, kind="stable")  # missing values last
    ordered = np.nan_to_num(np.take_along_axis(shares, order, axis=2))
    upto = np.cumsum(ordered, axis=2)
    count = known.sum(axis=1)[:, :, None]
    rank = np.arange(size)
    distance = ordered * (2 * rank + 2 - count) - 2 * upto + upto[:, :, -1:] + (size - count)
    result = np.empty_like(shares)
    np.put_along_axis(result, order, np.where(rank < count, distance, count), axis=2)
    return np.asarray(result.sum(axis=1), float)


def breed(population: Population, elite: Bools, drawn: Floats, bias: float) -> Floats:
    """Biased uniform crossover: genes [B, K, 2W] of children of an elite and a non-elite candidate of the same person.

    Of the random numbers `drawn` [B, K, 2 + 2W], two choose the parents and the others the parent of each gene. If all
    candidates of a person are elite, or none is, both parents are drawn from all of them.
    """
    order = np.lexsort((~elite, population.person))
    count = np.bincount(population.person, minlength=len(drawn))
    first = np.cumsum(count) - count
    elites = np.bincount(population.person[elite], minlength=len(drawn))
    others = count - elites
    elite_range = first + np.where(elites, 0, elites), np.where(elites, elites, others)
    other_range = first + np.where(others, elites, 0), np.where(others, others, elites)
    parents = [
        population.genes[order[start[:, None] + (drawn[:, :, i] * size[:, None]).astype(np.intp)]]
        for i, (start, size) in enumerate((elite_range, other_range))
    ]
    children: Floats = np.where(drawn[:, :, 2:] < bias, *parents)
    return children


def unique(population: Population) -> Population:
    """Candidates sorted by person, without later duplicates of the same plan of the same person."""
    keys = np.concatenate([population.person[:, None], population.actions], axis=1)
    kept = np.sort(np.unique(keys, axis=0, return_index=True)[1])
    return population.take(kept[np.argsort(population.person[kept], kind="stable")])


def join(*parts: Population) -> Population:
    """Concatenate populations."""
    return Population(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
