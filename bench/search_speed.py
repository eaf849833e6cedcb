"""Speed of tree search on syn, in CPU time of one core: `python bench/search_speed.py`."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import time
import tracemalloc
from dataclasses import replace

import numpy as np
import pandas as pd

from counterplan import BlackBox, ExactPlanner, SearchPlanner, benchmarks
from counterplan.agent import Agent, NetworkConfig, SearchSettings
from counterplan.agent.training import AgentTrainer
from counterplan.agent.training_settings import TrainingSettings
from counterplan.planners import PlanningTask

PUBLIC = 305.0
"""Milliseconds per person of the public implementation of the method, measured separately."""


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
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
            batch = read.take(np.arange(i * count, (i + 1) * count) % len(read))
            planner = SearchPlanner(problem, BlackBox(benchmark.model), agent, settings=settings)
            start = time.process_time()
            planner.search(PlanningTask(batch, np.ones((count, len(problem.transitions)), bool)))
            times.append((time.process_time() - start) * 1000 / count)
        return min(times)

    default = SearchSettings()
    print("batch size, ms per person (and speed-up over the public implementation)")
    for count in (1, 32, 256, 1_024):
        each = milliseconds(count, default, 10 if count == 1 else 3)
        print(f"{count:6,}: {each:6.2f} ms  ({PUBLIC / each:,.0f} ×)")
    print("simulations, ms per person in a batch of 256")
    for simulations in (16, 32, 64, 128, 256):
        each = milliseconds(256, replace(default, simulations=simulations, patience=1_000))
        print(f"{simulations:6,}: {each:6.2f} ms")
    print("actions, ms per person in a batch of 256, 64 simulations, untrained agents")
    for name in ("syn", "german", "taiwan", "syn_long", "adult"):
        other = benchmarks.load(name)
        table = pd.concat([other.refused_test] * 4, ignore_index=True).head(256)
        batch = other.problem.read(table)
        untrained = Agent.new(other.problem, batch, NetworkConfig(), np.random.default_rng(0))
        settings = replace(default, simulations=64, patience=1_000, retry_factor=0)
        planner = SearchPlanner(other.problem, BlackBox(other.model), untrained, settings=settings)
        start = time.process_time()
        planner.search(PlanningTask(batch, np.ones((256, len(other.problem.transitions)), bool)))
        each = (time.process_time() - start) * 1000 / 256
        print(f"{len(other.problem.transitions):6}: {each:6.2f} ms  ({name})")
    tracemalloc.start()
    milliseconds(256, default, 1)
    print(f"peak memory, batch of 256: {tracemalloc.get_traced_memory()[1] / 1e6:.0f} MB")
    tracemalloc.stop()
    planner = ExactPlanner(problem, BlackBox(benchmark.model, cache_size=0))
    start = time.process_time()
    planner.plan(people.head(256))
    print(f"exact planner: {(time.process_time() - start) * 1000 / 256:.2f} ms per person in a batch of 256")


if __name__ == "__main__":
    main()
