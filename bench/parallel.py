"""Speed-up by several processes: `python bench/parallel.py [--jobs 2] [--only recommend ...]`.

Measures wall time with one process and with several, alternately in one run, and compares the results, which have to
be the same: search training, guided fit (to scores, and to decisions) and distillation on adult, and guided plans for
10,000 people. Run it on a free machine: with other processes on the same cores there is nothing to gain.
"""

import argparse
import hashlib
import json
import time
from collections.abc import Callable
from functools import cache

import numpy as np

from counterplan import LearningSettings, Recourse, benchmarks
from counterplan.benchmarks import Benchmark
from counterplan.program.io import to_json as program_json

NAME, SEED = "adult", 1


@cache
def adult() -> Benchmark:
    return benchmarks.load(NAME, SEED)


@cache
def fitted() -> Recourse:
    return Recourse(adult().problem, adult().model).fit(adult().train, quality=False)


def fresh(recourse: Recourse | None = None) -> Recourse:
    """Without cached answers."""
    surrogate = None if recourse is None else recourse.surrogate_
    return Recourse(adult().problem, adult().model, surrogate=surrogate)


def search_training(jobs: int) -> object:
    agent = fresh().fit(adult().refused_train, method="search", jobs=jobs).agent_
    assert agent is not None
    return {name: value.tolist() for name, value in agent.params.items()}


def guided_fit(jobs: int, scores: bool = True) -> object:
    surrogate = fresh().fit(adult().train, settings=LearningSettings(scores=scores), jobs=jobs).surrogate_
    assert surrogate is not None
    return surrogate.logit(adult().problem.read(adult().test).states).tolist()


def guided_fit_labels(jobs: int) -> object:
    return guided_fit(jobs, scores=False)


def distil(jobs: int) -> object:
    return program_json(fresh(fitted()).distil(adult().train, jobs=jobs))


def recommend(jobs: int) -> object:
    refused = adult().refused_train
    people = refused.iloc[np.resize(np.arange(len(refused)), 10_000)].reset_index(drop=True)
    return fresh(fitted()).recommend(people, "guided", jobs=jobs).to_json()


WORK: dict[str, Callable[[int], object]] = {
    "recommend": recommend,
    "guided_fit": guided_fit,
    "guided_fit_labels": guided_fit_labels,
    "search_training": search_training,
    "distil": distil,
}


def digest(result: object) -> str:
    text = result if isinstance(result, str) else json.dumps(result)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--only", nargs="*", choices=WORK, default=list(WORK))
    options = parser.parse_args()
    fitted()  # compiles, and is the surrogate of `distil` and `recommend`
    started = time.perf_counter()
    fresh(fitted()).recommend(adult().refused_test.head(200), "guided", jobs=options.jobs)
    print(f"200 plans with {options.jobs} new processes: {time.perf_counter() - started:.1f} s")
    for name in options.only:
        seconds: dict[int, list[float]] = {1: [], options.jobs: []}
        digests = set()
        for _ in range(options.repeats):
            for jobs, taken in seconds.items():
                start = time.perf_counter()
                digests.add(digest(WORK[name](jobs)))
                taken.append(time.perf_counter() - start)
        one, several = (min(taken) for taken in seconds.values())
        same = "same results" if len(digests) == 1 else "DIFFERENT RESULTS"
        print(
            f"{name:18} {one:7.1f} s, {several:7.1f} s with {options.jobs} jobs: {one / several:.2f} ×, {same}",
            flush=True,
        )


if __name__ == "__main__":
    main()
