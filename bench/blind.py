"""The cost of ignoring protected features: `python bench/blind.py [BENCHMARK …] [--seeds 3] [--first 3]`.

For each refused, feasible test person, all reachable states are enumerated and evaluated by the model with the
protected features of other people: the twins of a person, which a program without protected features cannot
distinguish. The plan with the least expected loss over all twins, weighted by their frequency, bounds what such a
program can achieve with full knowledge of the model, if protected features are independent of the others. Another
penalty for failures gives another point between success and cost.
"""

import argparse
from dataclasses import dataclass

import common  # first: it sets the number of threads
import numpy as np

from counterplan import Problem, benchmarks
from counterplan.benchmarks import Benchmark
from counterplan.distillation.evaluation import MAX_COST_LOSS
from counterplan.distillation.policy_search import PolicySearchSettings


@dataclass(frozen=True)
class Twins:
    """The most frequent values of the protected features [K, P], and their frequencies [K]."""

    features: list[int]
    values: np.ndarray
    share: np.ndarray

    @classmethod
    def among(cls, problem: Problem, states: np.ndarray, limit: int) -> "Twins":
        """Those of the people `states` [B, F], at most `limit`."""
        features = [feature.index for feature in problem.features if feature.protected]
        needed = {name for function in problem.transitions.functions for name in function.when.tree.names()}
        if needed & {problem.features[index].name for index in features}:
            raise SystemExit(
                f"{problem.name}: preconditions depend on protected features, so that twins have other actions"
            )
        values, counts = np.unique(states[:, features], axis=0, return_counts=True)
        top = np.argsort(-counts)[:limit]
        return cls(features, values[top], counts[top] / len(states))

    def of(self, person: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The twins of a person [T, P], the person first, and their weights [T]."""
        own = person[self.features]
        same = (self.values == own).all(axis=1)
        weight = self.share[same].sum() or self.share.min()
        return np.concatenate([own[None], self.values[~same]]), np.concatenate([[weight], self.share[~same]])


def reachable_states(problem: Problem, person: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The states [n, F] that plans lead to, and their costs [n]; states may repeat."""
    transitions, now, cost = problem.transitions, person[None], np.zeros(1)
    states, costs = [], []
    for _ in range(problem.max_actions):
        legal = transitions.legal(now)
        legal[:, transitions.stop] = False
        row, action = np.nonzero(legal)
        after, step_cost, _ = transitions.step(now[row], action)
        order = np.argsort(cost[row] + step_cost, kind="stable")  # so that the first of equal states is the cheapest
        _, first = np.unique(np.nan_to_num(after[order], nan=-np.inf), axis=0, return_index=True)
        now, cost = after[order][first], (cost[row] + step_cost)[order][first]
        states.append(now)
        costs.append(cost)
    return np.concatenate(states), np.concatenate(costs)


def one(benchmark: Benchmark, twins: Twins, person: np.ndarray, penalty: float) -> tuple[bool, float]:
    """Whether the plan with the least loss over all twins succeeds for a person, and its cost ratio."""
    states, cost = reachable_states(benchmark.problem, person)
    loss = np.zeros(len(cost))
    values, weights = twins.of(person)
    for place, (value, weight) in enumerate(zip(values, weights, strict=True)):
        ends, start = states.copy(), person[None].copy()
        ends[:, twins.features] = start[:, twins.features] = value
        favourable, refused = benchmark.model.favourable(ends), not benchmark.model.favourable(start)[0]
        optimum = cost[favourable].min() if favourable.any() else np.inf
        if place == 0:
            own_favourable, own_optimum = favourable, optimum
        if refused and np.isfinite(optimum):
            loss += weight * np.where(favourable, np.clip(cost / optimum - 1, 0, MAX_COST_LOSS), penalty)
    best = int(loss.argmin())
    return bool(own_favourable[best]), float(cost[best] / own_optimum)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", default=["german"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=3)
    parser.add_argument("--twins", type=int, default=8, help="maximal number of twins of a person")
    options = parser.parse_args()
    penalty = PolicySearchSettings().failure_penalty
    for name in options.names:
        success, ratio = [], []
        for seed in range(options.first, options.first + options.seeds):
            benchmark = benchmarks.load(name, seed)
            problem = benchmark.problem
            twins = Twins.among(problem, problem.read(benchmark.train).states, options.twins)
            refused = common.by_feasibility(problem, benchmark.model, benchmark.refused_test)
            found = [one(benchmark, twins, person, penalty) for person in problem.read(refused.feasible).states]
            success.append(float(np.mean([solved for solved, _ in found])))
            ratio.append(float(np.mean([value for solved, value in found if solved])))
            print(f"{name:9} seed {seed}: success {success[-1]:.3f}  ratio {ratio[-1]:.3f} ({refused})", flush=True)
        print(
            f"{name:9} without protected features: success {common.interval(success)}  ratio {common.interval(ratio)}",
            flush=True,
        )


if __name__ == "__main__":
    main()
