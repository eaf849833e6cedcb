"""What it costs not to look at protected features: `python bench/blind.py [BENCHMARK …] [--seeds 3] [--first 3]`.

For each refused, reachable test person, every state within reach is enumerated, and the model asked about it as if the
person's protected features were other people's: their twins, whom a program that looks at no protected feature cannot
tell from them. The plan that loses least over all twins, weighed by how frequent they are, is what such a program would
say if it were as long as it likes and knew the model by heart; if, that is, nothing else about people gave their
protected features away. Another penalty for failures gives another point between success and effort.
"""

import argparse
from dataclasses import dataclass

import numpy as np
from common import interval, reachable

from counterplan import Problem, benchmarks
from counterplan.benchmarks import Benchmark
from counterplan.distillation.evaluation import MAX_COST_LOSS
from counterplan.distillation.policy_search import PolicySearchSettings


@dataclass(frozen=True)
class Twins:
    """The most frequent values of the protected features [K, P], and how frequent they are [K]."""

    features: list[int]
    values: np.ndarray
    share: np.ndarray

    @classmethod
    def among(cls, problem: Problem, states: np.ndarray, most: int) -> "Twins":
        """Those of people in `states` [B, F], at most so many."""
        features = [feature.index for feature in problem.features if feature.protected]
        needed = {name for function in problem.transitions.functions for name in function.when.tree.names()}
        if needed & {problem.features[index].name for index in features}:
            raise SystemExit(
                f"{problem.name}: what is possible depends on protected features, so twins can do other things"
            )
        values, counts = np.unique(states[:, features], axis=0, return_counts=True)
        top = np.argsort(-counts)[:most]
        return cls(features, values[top], counts[top] / len(states))

    def of(self, person: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The twins of a person [T, P], the person first, and their weights [T]."""
        own = person[self.features]
        mine = (self.values == own).all(axis=1)
        weight = self.share[mine].sum() or self.share.min()
        return np.concatenate([own[None], self.values[~mine]]), np.concatenate([[weight], self.share[~mine]])


def within_reach(problem: Problem, person: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Every state [n, F] that a plan can lead to, and its effort [n]; a state may come more than once."""
    transitions, now, cost = problem.transitions, person[None], np.zeros(1)
    states, costs = [], []
    for _ in range(problem.max_actions):
        legal = transitions.legal(now)
        legal[:, transitions.stop] = False
        row, action = np.nonzero(legal)
        after, price, _ = transitions.step(now[row], action)
        order = np.argsort(cost[row] + price, kind="stable")  # so that the first of equal states is the cheapest
        _, first = np.unique(np.nan_to_num(after[order], nan=-np.inf), axis=0, return_index=True)
        now, cost = after[order][first], (cost[row] + price)[order][first]
        states.append(now)
        costs.append(cost)
    return np.concatenate(states), np.concatenate(costs)


def one(benchmark: Benchmark, twins: Twins, person: np.ndarray, penalty: float) -> tuple[bool, float]:
    """Whether the plan that suits all twins holds for a person, and its effort beside the least."""
    states, cost = within_reach(benchmark.problem, person)
    lost = np.zeros(len(cost))
    values, weights = twins.of(person)
    for place, (value, weight) in enumerate(zip(values, weights, strict=True)):
        there, here = states.copy(), person[None].copy()
        there[:, twins.features] = here[:, twins.features] = value
        holds, refused = benchmark.model.score(there) >= 0.5, benchmark.model.score(here)[0] < 0.5
        least = cost[holds].min() if holds.any() else np.inf
        if place == 0:
            own_holds, own_least = holds, least
        if refused and np.isfinite(least):
            lost += weight * np.where(holds, np.clip(cost / least - 1, 0, MAX_COST_LOSS), penalty)
    best = int(lost.argmin())
    return bool(own_holds[best]), float(cost[best] / own_least)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", default=["german"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=3)
    parser.add_argument("--twins", type=int, default=8, help="most twins of a person")
    options = parser.parse_args()
    penalty = PolicySearchSettings().failure_penalty
    for name in options.names:
        success, ratio = [], []
        for seed in range(options.first, options.first + options.seeds):
            benchmark = benchmarks.load(name, seed)
            problem = benchmark.problem
            twins = Twins.among(problem, problem.read(benchmark.train).states, options.twins)
            people, _ = reachable(problem, benchmark.model, benchmark.refused_test)
            found = [one(benchmark, twins, person, penalty) for person in problem.read(people).states]
            success.append(float(np.mean([holds for holds, _ in found])))
            ratio.append(float(np.mean([effort for holds, effort in found if holds])))
            print(f"{name:9} seed {seed}: success {success[-1]:.3f}  ratio {ratio[-1]:.3f}", flush=True)
        print(f"{name:9} blind to protected features: success {interval(success)}  ratio {interval(ratio)}", flush=True)


if __name__ == "__main__":
    main()
