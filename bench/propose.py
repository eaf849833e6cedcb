"""Proposed problem files: `python bench/propose.py [--benchmarks german …] [--seeds 60 61] [--histories] [--out FILE]`.

For each benchmark and seed, the training people are written to a CSV file with their outcome, `counterplan init
--propose` drafts a problem file from it, `counterplan check` checks it, and plans are made, with the file as it is, for
the first refused test people by exact search with a limit on states, or with `--budget` by the guided planner after
learning from so many queries. Printed are the shares of people with a plan that
the benchmark's model confirms, of people for whom exact search proves that there is none, the mean number of steps, and
the error of the proposed costs: the mean absolute difference to the share of people that a person really passes, over
people and their legal actions on numbers, in percentage points.

With `--histories`, people choose by a logit model with random costs for each proposed action instead; the costs are
learned from the histories of 5,000 of them by `init --histories`, and compared with the true ones by rank.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import common  # first: it sets the number of threads
import numpy as np
import pandas as pd
from scipy.stats import spearmanr
from typer.testing import CliRunner

from counterplan import BlackBox, ExactPlanner, GuidedPlanner, Problem, benchmarks
from counterplan.cli.app import app
from counterplan.planners.base import Planner
from counterplan.problem.histories import AFTER, learn_costs, read_histories
from counterplan.problem.values import text_of
from counterplan.surrogate.active_learning import ActiveLearner, LearningSettings

PEOPLE = 120
HISTORIES = 5_000
STATE_LIMIT = 20_000
TRUE_COSTS = (1.5, 6.0)
"""The range of the true costs of simulated people, in the unit of the logit model: no change costs 0."""


def init(table: Path, outcome: str, *options: str) -> Path:
    """The file that `init` writes for a table, after `check` has passed."""
    out = table.with_suffix(".yaml")
    for command in (
        ["init", str(table), "--outcome", outcome, "--out", str(out), "--force", *options],
        ["check", str(out)],
    ):
        result = CliRunner().invoke(app, command)
        if result.exit_code:
            raise SystemExit(f"counterplan {' '.join(command)}: exit code {result.exit_code}\n{result.output}")
    return out


def plan(name: str, seed: int, folder: Path, budget: int | None = None) -> dict[str, Any]:
    """Measures of plans with a proposed file."""
    benchmark = benchmarks.load(name, seed)
    table = folder / f"{name}.csv"
    benchmark.train.to_csv(table, index=False)
    problem = Problem.load(init(table, benchmark.problem.outcome.column, "--propose"))
    people = readable(problem, benchmark.refused_test).head(PEOPLE)
    started = time.process_time()
    if budget is None:
        planner: Planner = ExactPlanner(problem, BlackBox(benchmark.model), state_limit=STATE_LIMIT)
    else:
        train = problem.read(readable(problem, benchmark.train))
        learner = ActiveLearner(problem, train, BlackBox(benchmark.model), LearningSettings(budget=budget), seed)
        planner = GuidedPlanner(problem, BlackBox(benchmark.model), learner.run())
    plans = planner.plan(people, refused=True)
    status = np.array([str(plan.status) for plan in plans])
    held = np.array([plan.status == "found" and plan.replay(problem, BlackBox(benchmark.model)).ok for plan in plans])
    return {
        "benchmark": name,
        "seed": seed,
        "people": len(people),
        "with_plan": float(held.mean()),
        "infeasible": float((status == "infeasible").mean()),
        "steps": float(np.mean([len(plan.steps) for plan, ok in zip(plans, held, strict=True) if ok])),
        "functions": len(problem.transitions.functions),
        "actions": len(problem.transitions) - 1,
        "max_actions": problem.max_actions,
        "cost_error": cost_error(problem, benchmark.train),
        "cpu": time.process_time() - started,
    }


def readable(problem: Problem, people: pd.DataFrame) -> pd.DataFrame:
    """The people whose categories the training people have, too."""
    known = np.ones(len(people), bool)
    for feature in problem.features:
        column = people[feature.name]
        if not feature.is_number:
            known &= (column.isna() | column.map(text_of).isin(feature.values)).to_numpy()
        if not feature.missing:
            known &= column.notna().to_numpy()
    return people[known].reset_index(drop=True)


def cost_error(problem: Problem, people: pd.DataFrame) -> float:
    """The mean absolute difference between costs and the shares of people really passed, in percentage points."""
    states = problem.read(readable(problem, people).drop(columns=[problem.outcome.column])).states
    transitions, errors = problem.transitions, []
    for index, (function, span) in enumerate(zip(transitions.functions, transitions.spans, strict=True)):
        if not problem.features[function.target].is_number:
            continue
        column = states[:, function.target]
        ordered = np.sort(column[~np.isnan(column)])
        legal = transitions.legal_arguments(states, index)
        for place, argument in enumerate(function.arguments):
            rows = legal[:, place]
            passed = np.abs(position(ordered, argument) - position(ordered, column[rows]))
            errors.append(np.abs(100 * passed - transitions.cost(states[rows])[:, span.start + place]))
    return float(np.concatenate(errors).mean())


def position(ordered: np.ndarray, numbers: Any) -> Any:
    """The share of people below each number, half of those with the same number included."""
    return (np.searchsorted(ordered, numbers, "left") + np.searchsorted(ordered, numbers, "right")) / (2 * len(ordered))


def simulate(
    problem: Problem, states: np.ndarray, true: np.ndarray, random: np.random.Generator, once: bool
) -> np.ndarray:
    """The states after choices by a logit model [B, F]: for every feature a legal action or no change; or, if `once`,
    one legal action or no change in all."""
    transitions, after = problem.transitions, states.copy()
    legal = transitions.legal(states)[:, :-1]
    targets = np.array([transitions.functions[f].target for f in transitions.function_of[:-1]])
    groups = [np.arange(len(targets))] if once else [np.flatnonzero(targets == f) for f in np.unique(targets)]
    for actions in groups:
        utility = np.where(legal[:, actions], -true[actions], -np.inf) + random.gumbel(size=(len(states), len(actions)))
        best, stay = utility.argmax(axis=1), random.gumbel(size=len(states))
        moves = utility[np.arange(len(states)), best] > stay
        changed = transitions.apply(states[moves], actions[best[moves]])
        feature = targets[actions[best[moves]]]
        after[np.flatnonzero(moves), feature] = changed[np.arange(len(changed)), feature]
    return after


def learn(name: str, seed: int, folder: Path) -> dict[str, Any]:
    """How well costs are learned from simulated histories: a choice for each feature, and one choice in all."""
    row, once = (_learn(name, seed, folder, only) for only in (False, True))
    return row | {f"once_{key}": once[key] for key in ("spearman", "coverage")}


def _learn(name: str, seed: int, folder: Path, once: bool) -> dict[str, Any]:
    random = np.random.default_rng([seed, 7])
    benchmark = benchmarks.load(name, seed)
    table = folder / f"{name}.csv"
    benchmark.train.to_csv(table, index=False)
    column = benchmark.problem.outcome.column
    problem = Problem.load(init(table, column, "--propose"))
    people = benchmark.train.iloc[random.integers(0, len(benchmark.train), HISTORIES)].drop(columns=[column])
    read = problem.read(people.reset_index(drop=True))
    true = random.uniform(*TRUE_COSTS, len(problem.transitions) - 1)
    after = read.frame(simulate(problem, read.states, true, random, once))
    histories = folder / f"{name}-histories.csv"
    pd.concat([read.table, after.add_suffix(AFTER)], axis=1).to_csv(histories, index=False)
    learned_file = init(table, column, "--histories", str(histories))
    learned = Problem.load(learned_file).transitions
    costs = np.concatenate([function.base for function in learned.functions])
    found = learn_costs(problem, read_histories(histories, problem))
    known = found.learned
    expected = found.unit * np.logaddexp(0.0, true)
    inside = (found.low <= expected) & (expected <= found.high)
    return {
        "benchmark": name,
        "seed": seed,
        "actions": int(known.sum()),
        "spearman": float(spearmanr(costs[known], true[known]).statistic),
        "coverage": float(inside[known].mean()),
        "least_taken": int(found.taken[known].min()),
        "median_taken": float(np.median(found.taken[known])),
        "remarks": len(re.findall(r"\(95 %\), from", learned_file.read_text("utf-8"))),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--benchmarks", nargs="+", default=list(common.BENCHMARKS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[60, 61, 62], help="settings were chosen on 0 and 1")
    parser.add_argument("--histories", action="store_true", help="learn costs from simulated histories instead")
    parser.add_argument("--budget", type=int, help="plan by the guided planner after learning from so many queries")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    measure, first = (learn, "spearman") if options.histories else (partial(plan, budget=options.budget), "with_plan")
    with tempfile.TemporaryDirectory() as folder:
        for name in options.benchmarks:
            group = [measure(name, seed, Path(folder)) for seed in options.seeds]
            rows += group
            rest = {
                key: np.mean([row[key] for row in group]) for key in group[0] if key not in ("benchmark", "seed", first)
            }
            text = "  ".join(f"{key} {mean:.3g}" for key, mean in rest.items())
            print(f"{name:9} {first} {common.interval([row[first] for row in group])}  {text}", flush=True)
            if options.out:
                options.out.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
