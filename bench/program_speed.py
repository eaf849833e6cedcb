"""How fast a program plans and loads: `python bench/program_speed.py [--program FILE]` (one core; seconds and ratios).

The program is adult's, as `counterplan distil` made it; without one, it is fitted and distilled here, which takes
minutes. A ratio to work that every machine must do as well, one pass of legality and costs over the same people and
reading the same JSON, says more than seconds do on another machine.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from counterplan import Program, Recourse, benchmarks
from counterplan.benchmarks import Benchmark

PEOPLE = 100_000
RUN = 2.0
"""Seconds to plan for 100,000 people."""
LOAD = 0.050
"""Seconds to load a program."""


def best(work: Callable[[], object], times: int = 3) -> float:
    """CPU seconds of the quickest of some tries, without a first one that imports and caches."""
    work()
    took = []
    for _ in range(times):
        start = time.process_time()
        work()
        took.append(time.process_time() - start)
    return min(took)


def distilled(adult: Benchmark) -> Program:
    """A program for adult, made here."""
    return Recourse(adult.problem, adult.model).fit(adult.train).distil(adult.train)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", type=Path, metavar="FILE", help="adult's program.json")
    file = parser.parse_args().program
    adult = benchmarks.load("adult")
    with tempfile.TemporaryDirectory() as folder:
        if file is None:
            file = Path(folder) / "program.json"
            distilled(adult).save(file)
        loading = best(lambda: Program.load(file), 10)
        reading = best(lambda: json.loads(file.read_text("utf-8")), 10)
        program, size = Program.load(file), file.stat().st_size
    if program.problem.name != "adult":
        parser.error(f"{file}: a program for {program.problem.name}, not for adult")
    refused = pd.concat([adult.refused_train, adult.refused_test], ignore_index=True)
    table = refused.take(np.resize(np.arange(len(refused)), PEOPLE)).reset_index(drop=True)
    transitions, states = program.problem.transitions, program.problem.read(table).states
    running = best(lambda: program.run(states))
    passing = best(lambda: (transitions.legal(states), transitions.cost(states)))
    print(f"{program!r}, {size / 1e3:,.0f} kB")
    print(
        f"plans as arrays, {PEOPLE:,} people: {running:.2f} s ({running / RUN:.0%} of the target of {RUN:g} s; "
        f"{running / passing:.1f} × legality and costs of everybody)"
    )
    print(
        f"loading: {loading * 1e3:.1f} ms ({loading / LOAD:.0%} of the target of {LOAD * 1e3:g} ms; "
        f"{loading / reading:.1f} × reading the JSON)"
    )
    objects = best(lambda: program.recommend(table), 1)
    print(f"plans as objects with words and reasons, from a DataFrame: {objects:.1f} s ({objects / running:.0f} ×)")


if __name__ == "__main__":
    main()
