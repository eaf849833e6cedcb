"""How fast the agent's search is, in CPU time of one core, on syn: `python bench/search_speed.py`."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import time
import tracemalloc
from dataclasses import replace

import numpy as np
import pandas as pd

from counterplan import BlackBox, ExactPlanner, SearchPlanner, benchmarks
from counterplan.agent import Agent, NetworkConfig, SearchSettings
from counterplan.agent.training import AgentTrainer, TrainingSettings

PUBLIC = 305.0
"""Milliseconds a person that the method's public implementation takes, as measured elsewhere."""


def main() -> None:
    benchmark = benchmarks.load("syn")
    problem, people = benchmark.problem, benchmark.refused_test
    training = AgentTrainer(
        problem, problem.read(benchmark.refused_train), BlackBox(benchmark.model), TrainingSettings(), 0
    )
    agent = training.run()
    read = problem.read(people)

    def milliseconds(count: int, settings: SearchSettings, repeat: int = 3) -> float:
        times = []
        for i in range(repeat):
            some = read.take(np.arange(i * count, (i + 1) * count) % len(read))
            planner = SearchPlanner(problem, BlackBox(benchmark.model), agent, settings=settings)
            start = time.process_time()
            planner.search(some, np.ones((count, len(problem.transitions)), bool), None, lambda done: None)
            times.append((time.process_time() - start) * 1000 / count)
        return min(times)

    usual = SearchSettings()
    print("people at once, ms each (and how many times faster than the public implementation)")
    for count in (1, 32, 256, 1_024):
        each = milliseconds(count, usual, 10 if count == 1 else 3)
        print(f"{count:6,}: {each:6.2f} ms  ({PUBLIC / each:,.0f} ×)")
    print("most simulations, ms each in a batch of 256")
    for simulations in (16, 32, 64, 128, 256):
        each = milliseconds(256, replace(usual, simulations=simulations, patience=1_000))
        print(f"{simulations:6,}: {each:6.2f} ms")
    print("actions, ms each in a batch of 256, 64 simulations, untrained agents")
    for name in ("syn", "german", "syn_long", "adult"):
        other = benchmarks.load(name)
        table = pd.concat([other.refused_test] * 4, ignore_index=True).head(256)
        some = other.problem.read(table)
        untrained = Agent.new(other.problem, some, NetworkConfig(), np.random.default_rng(0))
        settings = replace(usual, simulations=64, patience=1_000, again=0)
        planner = SearchPlanner(other.problem, BlackBox(other.model), untrained, settings=settings)
        start = time.process_time()
        planner.search(some, np.ones((256, len(other.problem.transitions)), bool), None, lambda done: None)
        each = (time.process_time() - start) * 1000 / 256
        print(f"{len(other.problem.transitions):6}: {each:6.2f} ms  ({name})")
    tracemalloc.start()
    milliseconds(256, usual, 1)
    print(f"memory at the peak, batch of 256: {tracemalloc.get_traced_memory()[1] / 1e6:.0f} MB")
    tracemalloc.stop()
    planner = ExactPlanner(problem, BlackBox(benchmark.model, remember=0))
    start = time.process_time()
    planner.plan(people.head(256))
    print(f"beside it, the exact planner: {(time.process_time() - start) * 1000 / 256:.2f} ms each in a batch of 256")


if __name__ == "__main__":
    main()
