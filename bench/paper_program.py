"""Programs by the paper's preset: `python bench/paper_program.py [BENCHMARK …] [--first 20] [--seeds 3] [--out FILE]`.

Trains an agent by the paper's preset on the refused training people of each benchmark and seed, distils a program from
`--traces` of its traces (the paper: 250), and runs it for the first 100 refused, feasible test people: success, cost
ratio, leaves, features in a rule. `--curve` also distils from 100 to 700 traces. `--agents DIR` saves the agents for
later runs. `--validation` reports the success on the people that `distil` holds out instead, to choose settings; it is
higher than on test people, because people for whom the agent's own search finds no plan do not count.
"""

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common import Refused, by_feasibility, interval, measures

from counterplan import BlackBox, Recourse, benchmarks
from counterplan.benchmarks import Benchmark
from counterplan.program.rule_lengths import mean_rule_length

CURVE = (100, 200, 300, 400, 500, 600, 700)


def trained(benchmark: Benchmark, saved: Path | None) -> Recourse:
    """Train an agent by the paper's preset, or load an earlier one."""
    folder = None if saved is None else saved / f"{benchmark.name}-{benchmark.seed}"
    if folder is not None and (folder / "problem.json").exists():
        return Recourse.load(folder, BlackBox(benchmark.model), answers=False)
    recourse = Recourse(benchmark.problem, BlackBox(benchmark.model))
    recourse.fit(benchmark.refused_train, method="search", settings="paper", seed=benchmark.seed)
    if folder is not None:
        recourse.save(folder)
    return recourse


def one(benchmark: Benchmark, recourse: Recourse, refused: Refused | None, traces: int) -> dict[str, Any]:
    """Distil a program and run it for the test people, or only report its card."""
    start = time.process_time()
    program = recourse.distil(benchmark.refused_train, preset="paper", traces=traces, seed=benchmark.seed)
    row: dict[str, Any] = {"benchmark": benchmark.name, "seed": benchmark.seed, "traces": traces}
    row |= {"distil_cpu": time.process_time() - start, "leaves": program.model_card.leaves}
    row |= {"queries": program.model_card.queries, "rule": program.model_card.rule_length_mean}
    if refused is None:
        return row | {"success": program.model_card.success, "ratio": program.model_card.cost_ratio}
    people = benchmark.problem.read(refused.feasible)
    found = measures(program.recommend(people), refused.optimum, benchmark.problem, benchmark.model)
    return row | {"people": len(people), "rule": mean_rule_length(program, program.run(people.states))} | found


def report(rows: Sequence[dict[str, Any]]) -> None:
    """Print success by seed, and the means over seeds."""
    by_seed = ", ".join(f"{row['seed']}: {row['success']:.2f}" for row in rows)
    means = "  ".join(f"{key} {interval([row[key] for row in rows])}" for key in ("success", "ratio", "leaves", "rule"))
    print(f"{rows[0]['benchmark']:9} {rows[0]['traces']:4} traces: {means}  success by seed {by_seed}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=20, help="the first seed (settings were chosen on 0 to 2)")
    parser.add_argument("--traces", type=int, default=250)
    parser.add_argument("--curve", action="store_true", help="also 100, 200, … 700 traces")
    parser.add_argument("--validation", action="store_true", help="success on held-out training people")
    parser.add_argument("--agents", type=Path, help="a folder for trained agents")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for name in options.names or ("german", "adult", "syn", "syn_long"):
        counts = [options.traces, *(CURVE if options.curve else ())]
        groups: dict[int, list[dict[str, Any]]] = {count: [] for count in counts}
        for seed in range(options.first, options.first + options.seeds):
            benchmark = benchmarks.load(name, seed)
            refused = None
            if not options.validation:
                refused = by_feasibility(benchmark.problem, benchmark.model, benchmark.refused_test)
            recourse = trained(benchmark, options.agents)
            for count, group in groups.items():
                group.append(one(benchmark, recourse, refused, count))
        for group in groups.values():
            report(group)
            rows += group
        if options.out:
            options.out.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
