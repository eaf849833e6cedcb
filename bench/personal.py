"""Alternatives: `python bench/personal.py [--benchmarks NAME …] [--seeds 53 54 55] [--people 100] [--draws 1000]`.

Plans for the first refused, feasible test people with and without `alternatives=3`, by exact search and by guided
planning after a fit, and prints for each benchmark, over seeds:

- found: the share of people with a second (third) way according to exact search for whom it is found;
- same: the share of people whose first plan is the same with alternatives as without;
- queries for each person without and with alternatives, and their ratio; CPU milliseconds for each person;
- regret: for so many draws of personal weights from the prior, with the people in turn, the cost of the best of a
  person's plans under the weights minus the optimum under them, as exact search with these weights finds it; divided
  by the same for the person's three cheapest plans (the cheapest plans to three different favourable states). People
  for whom no plan was found are left out, and draws whose optimum exact search does not find within its limits.

The draws are not those that alternatives are chosen with. `--surrogates DIR` saves what was fitted, for later runs.
`--gain 0.0025` sets `GuideSettings.min_relative_gain`: smaller values mean more queries for the first plan.
"""

import json
import time
from dataclasses import replace
from pathlib import Path

import common  # first: it sets the number of threads
import numpy as np
import pandas as pd

from counterplan import BlackBox, ExactPlanner, GuidedPlanner, Planner, Plans, Surrogate, benchmarks
from counterplan.benchmarks import Benchmark
from counterplan.personal.alternatives import Alternatives
from counterplan.search.frontier import Frontier
from counterplan.search.orders import costs_by_function
from program import fitted

COUNT = 3


def cheapest(benchmark: Benchmark, people: pd.DataFrame) -> list[np.ndarray]:
    """Costs by function [n, G] of the cheapest plans to three different favourable states of each person."""
    problem, read = benchmark.problem, benchmark.problem.read(people)
    session = BlackBox(benchmark.model).session(problem, read)
    result = []
    for row in range(len(read)):
        start = read.states[[row]]
        frontier = Frontier(problem, start, np.ones((1, len(problem.transitions)), bool))
        known: list[tuple[int, np.ndarray]] = []
        while (labels := frontier.advance()) is not None:
            favourable = session(frontier.full_states(labels), np.full(len(labels), row))
            good = labels.take(favourable)
            known += zip(good.cost.tolist(), frontier.actions(good), strict=True)
            bound = frontier.lower_bound[0] / frontier.unit
            if sum(cost <= bound for cost, _ in known) >= COUNT:
                break
        actions = np.array([actions for _, actions in sorted(known, key=lambda one: one[0])[:COUNT]])
        result.append(costs_by_function(problem.transitions, np.repeat(start, len(actions), axis=0), actions))
    return result


def by_function(benchmark: Benchmark, plans: Plans) -> list[np.ndarray]:
    """Costs by function [n, G] of the plans of each person."""
    names = [function.name for function in benchmark.problem.transitions.functions]
    result = []
    for plan in plans:
        every = [plan, *plan.alternatives]
        costs = np.zeros((len(every), len(names)))
        for number, one in enumerate(every):
            for step in one.steps:
                costs[number, names.index(step.function)] += step.cost
        result.append(costs)
    return result


def regret(plans: list[np.ndarray], draws: np.ndarray, optimum: np.ndarray) -> np.ndarray:
    """Cost of the best plan under the weights of each draw above the optimum, with the people in turn."""
    best = [(plans[draw % len(plans)] @ weights).min() for draw, weights in enumerate(draws)]
    return np.array(best) - optimum


def optima(benchmark: Benchmark, people: pd.DataFrame, draws: np.ndarray) -> np.ndarray:
    """The least cost under the weights of each draw, with the people in turn."""
    transitions = benchmark.problem.transitions
    table = people.iloc[np.arange(len(draws)) % len(people)].reset_index(drop=True)
    weights = np.concatenate([draws, np.ones((len(draws), 1))], axis=1)[:, transitions.function_of]
    plans = ExactPlanner(benchmark.problem, BlackBox(benchmark.model)).plan(table, weights=weights, refused=True)
    return np.array([plan.cost for plan in plans])


def measured(planner: Planner, people: pd.DataFrame, alternatives: int | None) -> tuple[Plans, float]:
    """Plans, and CPU milliseconds for each person."""
    start = time.process_time()
    plans = planner.plan(people, alternatives=alternatives)
    return plans, (time.process_time() - start) * 1000 / len(people)


def guided_planner(benchmark: Benchmark, surrogate: Surrogate, gain: float | None) -> GuidedPlanner:
    """A guided planner, with the least gain of a query if one is given."""
    planner = GuidedPlanner(benchmark.problem, BlackBox(benchmark.model), surrogate)
    if gain is not None:
        planner.settings = replace(planner.settings, min_relative_gain=gain)
    return planner


def one(
    benchmark: Benchmark, people: pd.DataFrame, draws: int, surrogates: Path | None, gain: float | None
) -> dict[str, object]:
    problem, model = benchmark.problem, benchmark.model
    surrogate = fitted(benchmark, "guided", surrogates).surrogate_
    random = np.random.default_rng(benchmark.seed)
    spread = Alternatives().spread
    weights = np.clip(np.exp(spread * random.normal(size=(draws, len(problem.transitions.functions)))), 0.01, 100)
    optimum = optima(benchmark, people, weights)
    three = regret(cheapest(benchmark, people), weights, optimum)
    row: dict[str, object] = {"benchmark": benchmark.name, "seed": benchmark.seed, "people": len(people)}
    ways: list[int] = []
    for name in ("exact", "guided"):
        parts = {}
        for count in (None, COUNT):
            exact = ExactPlanner(problem, BlackBox(model))
            planner = exact if name == "exact" else guided_planner(benchmark, surrogate, gain)
            parts[count] = measured(planner, people, count)
        (plain, plain_ms), (plans, ms) = parts[None], parts[COUNT]
        found = [len(plan.alternatives) for plan in plans]
        ways = ways or found
        judge = BlackBox(model)
        solved = np.resize([plan.status == "found" for plan in plans], draws) & np.isfinite(optimum)
        row[name] = {
            "draws": int(solved.sum()),
            "second": share([own >= 1 for own, known in zip(found, ways, strict=True) if known >= 1]),
            "third": share([own >= 2 for own, known in zip(found, ways, strict=True) if known >= 2]),
            "second_exists": sum(known >= 1 for known in ways),
            "third_exists": sum(known >= 2 for known in ways),
            "same": share([a.actions == b.actions for a, b in zip(plain, plans, strict=True)]),
            "holds": share([other.replay(problem, judge).ok for plan in plans for other in plan.alternatives]),
            "queries": plain.queries / len(people),
            "queries_with": plans.queries / len(people),
            "query_ratio": plans.queries / plain.queries,
            "ms": plain_ms,
            "ms_with": ms,
            "regret_ratio": regret(by_function(benchmark, plans), weights, optimum)[solved].sum() / three[solved].sum(),
        }
    return row


def share(truths: list[bool]) -> float:
    return float(np.mean(truths)) if truths else 1.0


def main() -> None:
    parser = common.seeded_parser([53, 54, 55])
    parser.add_argument("--people", type=int, default=common.PEOPLE)
    parser.add_argument("--draws", type=int, default=1_000)
    parser.add_argument("--gain", type=float, help="least gain of a query, as a share of the cost of a plan")
    options = parser.parse_args()
    rows = []
    for name in options.benchmarks:
        group = []
        for seed in options.seeds:
            benchmark = benchmarks.load(name, seed)
            feasible = common.by_feasibility(benchmark.problem, benchmark.model, benchmark.refused_test).feasible
            group.append(one(benchmark, feasible.head(options.people), options.draws, options.surrogates, options.gain))
        rows += group
        for planner in ("exact", "guided"):
            for keys in (
                ("second", "third", "same", "holds", "regret_ratio"),
                ("queries", "queries_with", "query_ratio", "ms", "ms_with"),
            ):
                text = "  ".join(f"{key} {common.interval([row[planner][key] for row in group])}" for key in keys)
                print(f"{name:9} {planner:7} {text}", flush=True)
        counts = [sum(row["exact"][key] for row in group) for key in ("second_exists", "third_exists")]
        people = sum(row["people"] for row in group)
        print(f"{name:9} {people} people, with a second way {counts[0]}, a third {counts[1]}", flush=True)
        if options.out:
            options.out.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
