"""Time one distillation by phase, in CPU seconds.

python bench/distil_speed.py FOLDER                    a folder that 'counterplan fit' wrote for a benchmark
python bench/distil_speed.py FOLDER --traces 4000
python bench/distil_speed.py FOLDER --profile 30       and list the functions with the largest own time
"""

from __future__ import annotations

import argparse
import cProfile
import hashlib
import json
import pstats
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from counterplan import Recourse, benchmarks
from counterplan.distillation import distiller, policy_search
from counterplan.program.io import to_json

PHASES: list[tuple[str, Any, str]] = [
    ("demonstrations", distiller, "demonstrate"),
    ("policy search", policy_search.PolicySearch, "run"),
    ("  imitation", policy_search.PolicySearch, "imitate"),
    ("  rounds", policy_search.PolicySearch, "improve"),
    ("    outcomes of choices", policy_search.Evaluator, "outcomes"),
    ("    trees refined", policy_search.TreeGrower, "refine"),
    ("    trees grown", policy_search.TreeGrower, "grow"),
    ("  fallbacks", policy_search.PolicySearch, "with_fallbacks"),
    ("trial", distiller.ProgramDistiller, "with_card"),
]
"""Name of each phase, and where the function is that it is spent in; indented phases are parts of those above."""


@contextmanager
def timed(seconds: dict[str, float]) -> Iterator[None]:
    """Add up the CPU seconds of every phase while the block runs."""

    def wrap(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            begun = time.process_time()
            try:
                return function(*args, **kwargs)
            finally:
                seconds[name] += time.process_time() - begun

        return call

    originals = [(owner, attribute, getattr(owner, attribute)) for _, owner, attribute in PHASES]
    for (name, owner, attribute), (_, _, function) in zip(PHASES, originals, strict=True):
        setattr(owner, attribute, wrap(name, function))
    try:
        yield
    finally:
        for owner, attribute, function in originals:
            setattr(owner, attribute, function)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--benchmark", help="default: the one that the folder was fitted on")
    parser.add_argument("--traces", type=int, default=None)
    parser.add_argument("--rounds", type=int, default=None)
    parser.add_argument("--profile", type=int, default=0, metavar="LINES")
    given = parser.parse_args()
    name = given.benchmark or json.loads((given.folder / "origin.json").read_text("utf-8"))["benchmark"]
    benchmark = benchmarks.load(name)
    recourse = Recourse.load(given.folder, benchmark.model)
    seconds: dict[str, float] = defaultdict(float)
    profile = cProfile.Profile() if given.profile else None
    begun = time.process_time()
    with timed(seconds):
        if profile:
            profile.enable()
        program = recourse.distil(benchmark.train, traces=given.traces, rounds=given.rounds)
        if profile:
            profile.disable()
    total = time.process_time() - begun
    for name, _, _ in PHASES:
        print(f"{name:<26}{seconds[name]:8.1f}")
    print(f"{'all':<26}{total:8.1f} CPU seconds")
    print(f"program {hashlib.sha256(to_json(program).encode()).hexdigest()[:16]}")
    if profile:
        pstats.Stats(profile).sort_stats("tottime").print_stats(given.profile)


if __name__ == "__main__":
    main()
