"""Speed of legality and costs: `python bench/transitions.py` (one core; seconds and ratios)."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import time

import numpy as np

from counterplan import benchmarks
from counterplan.problem.transitions import Transitions

PEOPLE = 100_000
TARGET = 1.0
"""Seconds for legal + cost of 100,000 adult people."""


def seconds(transitions: Transitions, states: np.ndarray) -> float:
    start = time.process_time()
    transitions.legal(states)
    transitions.cost(states)
    return time.process_time() - start


def main() -> None:
    for name in benchmarks.NAMES:
        benchmark = benchmarks.load(name)
        states = benchmark.problem.read(benchmark.test).states
        states = np.resize(states, (PEOPLE, states.shape[1]))
        best = min(seconds(benchmark.problem.transitions, states) for _ in range(3))
        actions = len(benchmark.problem.transitions)
        rate = f"{best:.2f} s ({best / TARGET:.0%} of the target)"
        print(f"{name:9} legal + cost, {PEOPLE:,} people × {actions} actions: {rate}")


if __name__ == "__main__":
    main()
