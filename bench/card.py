"""Success and cost of scorecards: `python bench/card.py [--benchmarks NAME …] [--seeds 30 31 32] [--queries 0 1 2 3]`.

Fits a surrogate for each benchmark and seed, distils a card from it, and plans with the card for the first 100 refused,
feasible test people, with each number of queries and without the guided planner after them; then once with it. Prints
for each benchmark, over seeds: success, mean cost relative to the optimum over people with a plan that holds, queries
and milliseconds a person; entries of the card, and seconds to distil it. The same settings for all. `--surrogates DIR`
saves what was fitted, for later runs.
"""

import json
import time

from common import (
    PEOPLE,
    Refused,
    by_feasibility,
    interval,
    measures,
    seeded_parser,
)  # first: it sets the number of threads

from counterplan import BlackBox, benchmarks
from counterplan.benchmarks import Benchmark
from counterplan.distillation.scorecard_distiller import ScorecardDistiller, ScorecardOptions
from counterplan.planners.card import CardPlanner
from counterplan.surrogate import Surrogate
from program import fitted

QUERIES = (0, 1, 2, 3)
FALL_THROUGH = "3 + guided"


def one(benchmark: Benchmark, surrogate: Surrogate, refused: Refused, queries: list[int]) -> dict[str, object]:
    problem, model = benchmark.problem, benchmark.model
    start = time.process_time()
    options = ScorecardOptions(seed=benchmark.seed)
    card = ScorecardDistiller(problem, problem.read(benchmark.train), BlackBox(model), surrogate, options).run()
    row: dict[str, object] = {"benchmark": benchmark.name, "seed": benchmark.seed, "people": len(refused.optimum)}
    row |= {"distil_cpu": time.process_time() - start, "entries": card.entries, "needed": card.needed}
    row |= {"card": {"success": card.model_card.success, "cost_ratio": card.model_card.cost_ratio}}
    row["card"] |= {"checked": card.model_card.extra["checked"]}
    people = problem.read(refused.feasible)
    for label, count, guide in [*((str(count), count, None) for count in queries), (FALL_THROUGH, 3, surrogate)]:
        planner = CardPlanner(problem, BlackBox(model), card, queries=count, surrogate=guide)
        start = time.process_time()
        plans = planner.plan(people, refused=True)
        milliseconds = (time.process_time() - start) * 1000 / len(people)
        row[label] = measures(plans, refused.optimum, problem, model) | {"ms": milliseconds}
    return row


def main() -> None:
    parser = seeded_parser([30, 31, 32])
    parser.add_argument("--queries", nargs="+", type=int, default=list(QUERIES))
    parser.add_argument("--people", type=int, default=PEOPLE)
    options = parser.parse_args()
    rows = []
    for name in options.benchmarks:
        group = []
        for seed in options.seeds:
            benchmark = benchmarks.load(name, seed)
            found = by_feasibility(benchmark.problem, benchmark.model, benchmark.refused_test)
            refused = Refused(found.feasible.head(options.people), found.optimum[: options.people], found.infeasible)
            surrogate = fitted(benchmark, "guided", options.surrogates).surrogate_
            group.append(one(benchmark, surrogate, refused, options.queries))
        rows += group
        entries, cpu = (interval([row[key] for row in group]) for key in ("entries", "distil_cpu"))
        print(f"{name:9} entries {entries}  distilled in {cpu} CPU s")
        for label in [*map(str, options.queries), FALL_THROUGH]:
            keys = ("success", "ratio", "queries", "ms")
            text = "  ".join(f"{key} {interval([row[label][key] for row in group])}" for key in keys)
            print(f"{name:9} queries {label:10} {text}", flush=True)
        if options.out:
            options.out.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
