"""Speed of running and loading a program: `python bench/program_speed.py [--program FILE]` (one core).

The program is one for adult, by `counterplan distil`; without one, it is fitted and distilled first, which takes
minutes. Times are also given relative to reference work on the same machine: legality and costs of the same people, and
parsing the same JSON.
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
    """CPU seconds of the fastest of several runs, after one that imports and caches."""
    work()
    took = []
    for _ in range(times):
        start = time.process_time()
        work()
        took.append(time.process_time() - start)
    return min(took)


def distilled(adult: Benchmark) -> Program:
    """Fit and distil a program for adult."""
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
        f"{running / passing:.1f} × legality and costs)"
    )
    print(
        f"loading: {loading * 1e3:.1f} ms ({loading / LOAD:.0%} of the target of {LOAD * 1e3:g} ms; "
        f"{loading / reading:.1f} × parsing the JSON)"
    )
    objects = best(lambda: program.recommend(table), 1)
    print(f"plans as objects with texts and reasons, from a DataFrame: {objects:.1f} s ({objects / running:.0f} ×)")


if __name__ == "__main__":
    main()
