"""How well programs do, over seeds: `python bench/program.py [BENCHMARK …] [--seeds 3] [--prefer P …] [--out FILE]`.

Learns a surrogate for each benchmark and seed, distils a program from it, and runs it for the first 100 refused test
people who are reachable: without a question; with one, the guided planner taking over where it fails; and with each
function that plans use switched off in turn. One setting for all. `--prefer` (success, effort, short, balanced;
repeatable) gives a curve; `--preset paper` imitates an agent. `--protected` lets rules test protected features.
`--surrogates DIR` keeps what was fitted, so that another run need not learn it again.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
import pandas as pd
from common import figures, interval, reachable, told

from counterplan import BlackBox, ExactPlanner, Plans, Recourse, benchmarks
from counterplan.benchmarks import Benchmark
from counterplan.program import Program, leaves
from counterplan.program.rule_lengths import longest_rule, mean_rule_length

SWITCHED = 20
"""Most people for whom a function is switched off: a proof that there is no other plan takes seconds."""
PREFER = ("success", "balanced", "effort", "short")


def fitted(benchmark: Benchmark, method: str, kept: Path | None) -> Recourse:
    """What is learned about a benchmark, or was learned before."""
    folder = None if kept is None else kept / f"{benchmark.name}-{benchmark.seed}-{method}"
    if folder is not None and (folder / "problem.json").exists():
        return Recourse.load(folder, BlackBox(benchmark.model), answers=False)
    people = benchmark.refused_train if method == "search" else benchmark.train
    recourse = Recourse(benchmark.problem, BlackBox(benchmark.model)).fit(people, method=method, seed=benchmark.seed)
    if folder is not None:
        recourse.save(folder)
    return recourse


def one(
    benchmark: Benchmark,
    recourse: Recourse,
    people: pd.DataFrame,
    optimum: np.ndarray,
    prefer: str,
    preset: str,
    protected: bool,
) -> dict[str, object]:
    problem, model = benchmark.problem, benchmark.model
    start = time.process_time()
    program = recourse.distil(
        benchmark.refused_train if preset == "paper" else benchmark.train,
        prefer=None if prefer == "balanced" else prefer, preset=preset, protected=protected, seed=benchmark.seed,
    )  # fmt: skip
    row: dict[str, object] = {"benchmark": benchmark.name, "seed": benchmark.seed, "prefer": prefer, "preset": preset}
    row["protected"] = protected
    row |= {"people": len(optimum), "distil_cpu": time.process_time() - start}
    read = problem.read(people)
    run = program.run(read.states)
    plans = program.recommend(read)
    row["program"] = figures(plans, optimum, problem, model)
    row |= {"rule": mean_rule_length(program, run), "longest": longest_rule(program, run), "leaves": count(program)}
    row |= {
        "card": {
            "success": program.card.success,
            "cost_ratio": program.card.cost_ratio,
            "questions": program.card.queries,
        }
    }
    if recourse.surrogate_ is not None:
        fresh = Recourse(problem, BlackBox(model), surrogate=recourse.surrogate_, program=program)
        cascade = fresh.recommend(read, "cascade", refused=True)
        row["cascade"] = figures(cascade, optimum, problem, model)
        guided = Recourse(problem, BlackBox(model), surrogate=recourse.surrogate_, program=program)
        row["reasons"] = {"guided": reasons(guided, guided.recommend(read, "guided", refused=True))}
        row["reasons"] |= {"cascade": reasons(fresh, cascade)}
    row["switched"], row["other_plans"] = switched(benchmark, program, people)
    return row


def switched(benchmark: Benchmark, program: Program, people: pd.DataFrame) -> tuple[float, float]:
    """Each function forbidden in turn to the first of those whose plan uses it: of those who have a plan without it,
    the share to whom the program gives one that holds; and the share that holds of all the plans that it gives."""
    problem, model = benchmark.problem, benchmark.model
    usual = program.recommend(people)
    held = possible = given = 0
    for function in problem.transitions.functions:
        using = people[[any(step.function == function.name for step in plan.steps) for plan in usual]]
        if using.empty:
            continue
        using = using.head(SWITCHED)
        exact = ExactPlanner(problem, BlackBox(model)).plan(using, refused=True, forbid=[function.name])
        possible += exact.counts["found"]
        told = program.verify(using, model, forbid=[function.name])
        held, given = held + told.hold, given + told.plans
    return tuple(held / count if count else float("nan") for count in (possible, given))


def reasons(recourse: Recourse, plans: Plans) -> dict[str, int]:
    return recourse.explain(plans).reasons


def count(program: Program) -> int:
    return sum(1 for tree in program.trees.values() for _ in leaves(tree))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=3, help="the first seed (choices were made looking at 10 to 13)")
    parser.add_argument("--prefer", action="append", choices=PREFER, help="default: balanced")
    parser.add_argument("--preset", choices=("default", "paper"), default="default")
    parser.add_argument("--protected", action="store_true", help="let rules test protected features")
    parser.add_argument("--surrogates", type=Path, help="a folder to keep what was fitted in")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rows = []
    for name in options.names or benchmarks.NAMES:
        mine = []
        for seed in range(options.first, options.first + options.seeds):
            benchmark = benchmarks.load(name, seed)
            people, optimum = reachable(benchmark.problem, benchmark.model, benchmark.refused_test)
            recourse = fitted(benchmark, "search" if options.preset == "paper" else "guided", options.surrogates)
            for prefer in options.prefer or ["balanced"]:
                mine.append(one(benchmark, recourse, people, optimum, prefer, options.preset, options.protected))
        rows += mine
        for prefer in options.prefer or ["balanced"]:
            some = [row for row in mine if row["prefer"] == prefer]
            label = f"{name:9} {prefer:9}{' protected' if options.protected else ''}"
            print(f"{label} program   {told(some, 'program')}")
            if "cascade" in some[0]:
                print(f"{label} cascade   {told(some, 'cascade')}")
            keys = ("rule", "leaves", "switched", "other_plans", "distil_cpu")
            size, ends, around, others, cost = (interval([row[key] for row in some]) for key in keys)
            print(f"{label} rule {size}  leaves {ends}  {cost} CPU s")
            print(f"{label} with a function off: success {around}, of the plans given hold {others}", flush=True)
        if options.out:
            options.out.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
