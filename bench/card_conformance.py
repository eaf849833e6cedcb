"""Plans of an exported card against exact search with the card as the black box: agreement, and ms a person.

Run `python bench/card_conformance.py german adult --people 2000`; --wishes adds weights and forbidden actions to some
people, for whom exact search is slow.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from counterplan.benchmarks import suite
from scorecard.cards import fitted
from scorecard.planning import best_plans, exported_plans, wishes


def main() -> None:
    """Print a line for each benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("benchmarks", nargs="*", default=["german", "adult", "syn", "syn_long", "taiwan"])
    parser.add_argument("--people", type=int, default=2000)
    parser.add_argument("--wishes", action="store_true")
    options = parser.parse_args()
    for name in options.benchmarks:
        card, world = fitted(name), suite.load(name)
        table = world.refused_test if len(world.refused_test) >= options.people else world.refused_train
        people = card.problem.read(table.head(options.people).reset_index(drop=True))
        forbid, weights = wishes(card.problem, len(people), 1) if options.wishes else ({}, None)
        times = [time.process_time()]
        plans = []
        for plan in (exported_plans, best_plans):
            plans.append(plan(card, people, forbid, weights))
            times.append(time.process_time())
        module, exact = ((end - start) / len(people) * 1000 for start, end in itertools.pairwise(times))
        equal = sum(one == other for one, other in zip(*plans, strict=True))
        print(
            f"{name}: {equal} of {len(people)} equal; module {module:.1f} ms, exact {exact:.1f} ms a person", flush=True
        )


if __name__ == "__main__":
    main()
