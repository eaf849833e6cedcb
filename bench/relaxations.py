"""What would help people without recourse, and its CPU time: `python bench/relaxations.py [CASE …] [--people 1000]`.

A case is a benchmark, or a benchmark with fewer actions in a plan, such as `adult-2`, where more people have no
recourse; `hmda` is a table that nothing was tuned on, and needs the packages named in `hmda/table.py`. The first
refused test people are planned for by exact search; for those without recourse, every single relaxation is searched.
`--check` compares each outcome with exact search in the relaxed problem, which takes longer.
"""

from __future__ import annotations

import argparse
import time
from typing import NamedTuple

import common  # noqa: F401 -- first: it sets the number of threads
import numpy as np
import pandas as pd
from hmda import table

from counterplan import BlackBox, ExactPlanner, Problem, benchmarks
from counterplan.audit.relaxations import RelaxationReport, find_relaxations

CASES = ("taiwan", "german-1", "adult-1", "adult-2", "syn-3")


class Case(NamedTuple):
    """A problem, a model and people, accepted and refused."""

    problem: Problem
    model: object
    people: pd.DataFrame


def load(name: str, seed: int) -> Case:
    """The test people of a case."""
    if name == "hmda":
        problem, model, _, test = table.load(seed)
        return Case(problem, model, test)
    benchmark = benchmarks.load(name.split("-")[0], seed)
    problem = benchmark.problem
    if "-" in name:
        problem = Problem.from_dict(problem.to_dict() | {"max_actions": int(name.split("-")[1])})
    return Case(problem, benchmark.model, benchmark.test)


def measure(name: str, seed: int, count: int, check: bool) -> None:
    """Print the times and the table of one case."""
    problem, model, people = load(name, seed)
    box = BlackBox(model)
    refused = people[~box.favourable(problem, people)].head(count)
    started = time.process_time()
    stuck = ExactPlanner(problem, box).plan(refused, refused=True).statuses == "infeasible"
    exact = time.process_time() - started
    started = time.process_time()
    report = find_relaxations(problem, box, refused, stuck=stuck, reference=people)
    spent = time.process_time() - started
    each, pairs = max(1, report.stuck), max(1, report.outcomes.size)
    print(f"\n{name}, seed {seed}: {len(refused):,} refused, {report.stuck:,} without recourse", end="; ")
    print(f"{len(report.relaxations)} relaxations; {report.queries / each:,.0f} queries a person without recourse")
    print(f"CPU ms: exact search {1000 * exact / max(1, len(refused)):.1f} a refused person", end="; ")
    print(f"relaxations {1000 * spent / each:.1f} a person without recourse, {1000 * spent / pairs:.2f} each")
    print(report.to_text(most=12))
    print(report.best.to_string(index=False))
    if check:
        started = time.process_time()
        wrong = compare(box, report)
        spent = 1000 * (time.process_time() - started) / pairs
        print(f"{wrong:,} of {pairs:,} outcomes differ from exact search, which takes {spent:.2f} ms each")


def compare(box: BlackBox, report: RelaxationReport) -> int:
    """The number of outcomes that exact search in the relaxed problems contradicts."""
    wrong = 0
    for number, relaxation in enumerate(report.relaxations):
        found = ExactPlanner(relaxation.problem, box).plan(report.people, refused=True).statuses == "found"
        wrong += int((report.outcomes[:, number] != np.where(found, 1, 0)).sum())
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("cases", nargs="*", default=CASES)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--people", type=int, default=1_000, help="refused people of each case")
    parser.add_argument("--check", action="store_true", help="compare with exact search in the relaxed problems")
    options = parser.parse_args()
    for name in options.cases:
        for seed in options.seeds:
            measure(name, seed, options.people, options.check)


if __name__ == "__main__":
    main()
