"""Success and cost of programs: `python bench/program.py [BENCHMARK …] [--seeds 3] [--prefer P …] [--out FILE]`.

Fits a surrogate for each benchmark and seed, distils a program from it, and runs it for the first 100 refused, feasible
test people: without queries; verified with one query, with the guided planner where it fails; and with each function
that plans use forbidden in turn. The same settings for all. `--prefer` (short, balanced, success, effort; repeatable)
and `--lines` (repeatable; short programs with listings of at most so many lines) give a curve; `--preset paper`
imitates an agent. `--protected` allows rules to test protected features. `--surrogates DIR` saves what was fitted, for
later runs.
"""

import argparse
import json
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import pandas as pd
from common import Refused, by_feasibility, infeasible_measures, interval, measures, summary

from counterplan import BlackBox, ExactPlanner, Plans, Recourse, benchmarks
from counterplan.benchmarks import Benchmark
from counterplan.distillation.distiller import ProgramDistiller
from counterplan.distillation.options import PREFER, DistillOptions
from counterplan.distillation.policy_search import PolicySearchSettings
from counterplan.program import Program, leaves
from counterplan.program.rule_lengths import longest_rule, mean_rule_length
from counterplan.program.text import PAGE

FORBIDDEN = 20
"""Maximal number of people with a forbidden function: a proof of infeasibility takes seconds."""
LINES = " lines"


def fitted(benchmark: Benchmark, method: str, saved: Path | None) -> Recourse:
    """Fit a benchmark, or load an earlier fit."""
    folder = None if saved is None else saved / f"{benchmark.name}-{benchmark.seed}-{method}"
    if folder is not None and (folder / "problem.json").exists():
        return Recourse.load(folder, BlackBox(benchmark.model), answers=False)
    people = benchmark.refused_train if method == "search" else benchmark.train
    recourse = Recourse(benchmark.problem, BlackBox(benchmark.model)).fit(people, method=method, seed=benchmark.seed)
    if folder is not None:
        recourse.save(folder)
    return recourse


@dataclass(frozen=True)
class Sized(DistillOptions):
    """Options of a short program whose listing has at most `lines`."""

    lines: int = PAGE

    def settings(self) -> PolicySearchSettings:
        """The settings of the policy search."""
        short = super().settings()
        penalty = short.tree.leaf_penalty * (PAGE / self.lines) ** 1.5
        return replace(short, max_lines=self.lines, tree=replace(short.tree, leaf_penalty=penalty))


@dataclass(frozen=True)
class Distillation:
    """How a program is distilled."""

    prefer: str
    """A preference, or `60 lines`."""
    preset: str
    protected: bool

    def __call__(self, benchmark: Benchmark, recourse: Recourse) -> Program:
        """A program for a benchmark that was fitted."""
        people = benchmark.refused_train if self.preset == "paper" else benchmark.train
        if self.prefer.endswith(LINES):
            lines = int(self.prefer.removesuffix(LINES))
            options = Sized(protected=self.protected or None, seed=benchmark.seed, lines=lines)
            read = benchmark.problem.read(people)
            box, surrogate = BlackBox(benchmark.model), recourse.surrogate_
            return ProgramDistiller(benchmark.problem, read, box, None, surrogate, options).run()
        return recourse.distil(
            people,
            prefer=None if self.preset == "paper" else self.prefer,
            preset=self.preset,
            protected=self.protected or None,
            seed=benchmark.seed,
        )


def one(benchmark: Benchmark, recourse: Recourse, refused: Refused, how: Distillation) -> dict[str, object]:
    problem, model = benchmark.problem, benchmark.model
    people, optimum, infeasible = refused
    start = time.process_time()
    program = how(benchmark, recourse)
    row: dict[str, object] = {"benchmark": benchmark.name, "seed": benchmark.seed, **asdict(how)}
    row |= {"people": len(optimum), "distil_cpu": time.process_time() - start}
    read = problem.read(people)
    run = program.run(read.states)
    plans = program.recommend(read)
    row["program"] = measures(plans, optimum, problem, model)
    given = program.recommend(infeasible).counts["found"] if len(infeasible) else 0
    row["infeasible"] = {"people": len(infeasible), "plans": given}
    row |= {"rule": mean_rule_length(program, run), "longest": longest_rule(program, run), "leaves": count(program)}
    row["lines"] = program.to_text().count("\n") + 1
    row |= {
        "card": {
            "success": program.model_card.success,
            "cost_ratio": program.model_card.cost_ratio,
            "questions": program.model_card.queries,
        }
    }
    if recourse.surrogate_ is not None:
        fresh = Recourse(problem, BlackBox(model), surrogate=recourse.surrogate_, program=program)
        cascade = fresh.recommend(read, "cascade", refused=True)
        row["cascade"] = measures(cascade, optimum, problem, model)
        row["cascade"] |= infeasible_measures(infeasible, lambda some: fresh.recommend(some, "cascade", refused=True))
        guided = Recourse(problem, BlackBox(model), surrogate=recourse.surrogate_, program=program)
        row["reasons"] = {"guided": reasons(guided, guided.recommend(read, "guided", refused=True))}
        row["reasons"] |= {"cascade": reasons(fresh, cascade)}
    row["switched"], row["other_plans"] = constrained(benchmark, program, people)
    return row


def constrained(benchmark: Benchmark, program: Program, people: pd.DataFrame) -> tuple[float, float]:
    """Success with each function forbidden in turn to people whose plan uses it: among those who have a plan without
    it, and among those who get one from the program."""
    problem, model = benchmark.problem, benchmark.model
    unconstrained = program.recommend(people)
    successes = existing = returned = 0
    for function in problem.transitions.functions:
        using = people[[any(step.function == function.name for step in plan.steps) for plan in unconstrained]]
        if using.empty:
            continue
        using = using.head(FORBIDDEN)
        exact = ExactPlanner(problem, BlackBox(model)).plan(using, refused=True, forbid=[function.name])
        existing += exact.counts["found"]
        verification = program.verify(using, model, forbid=[function.name])
        successes, returned = successes + verification.hold, returned + verification.plans
    return tuple(successes / count if count else float("nan") for count in (existing, returned))


def reasons(recourse: Recourse, plans: Plans) -> dict[str, int]:
    return recourse.explain(plans).reasons


def count(program: Program) -> int:
    return sum(1 for tree in program.trees.values() for _ in leaves(tree))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=3, help="the first seed (settings were tuned on 10 to 13)")
    parser.add_argument("--prefer", action="append", choices=PREFER, help="default: short")
    parser.add_argument("--lines", type=int, action="append", default=[], help="lengths of listings")
    parser.add_argument("--preset", choices=("default", "paper"), default="default")
    parser.add_argument("--protected", action="store_true", help="allow rules to test protected features")
    parser.add_argument("--surrogates", type=Path, help="a folder for fitted surrogates")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    preferences = [*(options.prefer or ([] if options.lines else PREFER[:1])), *(f"{n}{LINES}" for n in options.lines)]
    rows = []
    for name in options.names or benchmarks.NAMES:
        group = []
        for seed in range(options.first, options.first + options.seeds):
            benchmark = benchmarks.load(name, seed)
            refused = by_feasibility(benchmark.problem, benchmark.model, benchmark.refused_test)
            recourse = fitted(benchmark, "search" if options.preset == "paper" else "guided", options.surrogates)
            for prefer in preferences:
                how = Distillation(prefer, options.preset, options.protected)
                group.append(one(benchmark, recourse, refused, how))
        rows += group
        for prefer in preferences:
            part = [row for row in group if row["prefer"] == prefer]
            label = f"{name:9} {prefer:9}{' protected' if options.protected else ''}"
            print(f"{label} program   {summary(part, 'program')}")
            if "cascade" in part[0]:
                print(f"{label} cascade   {summary(part, 'cascade')}")
            keys = ("rule", "leaves", "lines", "switched", "other_plans", "distil_cpu")
            length, size, lines, existing, returned, cpu = (interval([row[key] for row in part]) for key in keys)
            print(f"{label} rule {length}  leaves {size}  lines {lines}  {cpu} CPU s")
            print(
                f"{label} with a forbidden function: success {existing}, of the plans returned {returned}", flush=True
            )
        if options.out:
            options.out.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
