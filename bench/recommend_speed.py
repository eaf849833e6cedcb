"""How fast a program recommends: `python bench/recommend_speed.py [--program FILE] [--people N ...]` (one core).

In one run, side by side: `program.run` (plans as arrays), `program.recommend(...).to_frame()` (plans with words and
reasons as a table), `.to_csv()`, and the command `counterplan recommend FOLDER --people FILE --planner program --csv
FILE`, for N people, who are adult's refused people over and over; CPU seconds, ratios, and the peak of memory. Without
a program, one is fitted and distilled first, which takes minutes. The command runs in a folder without provenance, so
that it neither loads nor queries the benchmark's model.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from counterplan import Program, Recourse, benchmarks

PEOPLE = (100_000,)
MOST = 6.0
"""Target: CPU seconds of recommend().to_frame() over those of run()."""
COMMAND = 3.0
"""Target: CPU seconds of the command over those of recommend().to_frame()."""


_METER = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
"""


def best(work: Callable[[], object], times: int = 3) -> float:
    """CPU seconds of the quickest of some runs, after one that imports and caches."""
    work()
    seconds = []
    for _ in range(times):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return min(seconds)


def refused(people: int) -> pd.DataFrame:
    """As many refused people as wanted, the same ones over and over."""
    adult = benchmarks.load("adult")
    table = pd.concat([adult.refused_train, adult.refused_test], ignore_index=True)
    return table.take(np.resize(np.arange(len(table)), people)).reset_index(drop=True)


def peak(work: Callable[[], object]) -> float:
    """MB by which the resident memory grows at most while `work` runs (Linux; NaN elsewhere)."""
    status, reset = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    if not reset.exists():
        return float("nan")

    def megabytes(name: str) -> float:
        line = next(line for line in status.read_text().splitlines() if line.startswith(name))
        return int(line.split()[1]) / 1024

    reset.write_text("5")  # forget the peak until now
    before = megabytes("VmRSS")
    work()
    return megabytes("VmHWM") - before


def command(file: Path, program: Program, table: pd.DataFrame, times: int = 3) -> tuple[float, float]:
    """CPU seconds of the quickest run of the command that writes the plans as CSV, and MB at its peak.

    As for `best`, there is a run before; it compiles the modules, which are those of an installed package then.
    """
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "program.json").write_bytes(file.read_bytes())
        (folder / "problem.json").write_text(json.dumps(program.problem.to_dict()))
        table.to_csv(folder / "people.csv", index=False)
        words = ["recommend", str(folder), "--people", str(folder / "people.csv"), "--planner", "program"]
        words += ["--csv", str(folder / "plans.csv")]
        # A small process in between: the peak of a child begins with that of the process that starts it.
        arguments = [sys.executable, "-c", _METER, sys.executable, "-m", "counterplan", *words]
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")
        measured = []
        for _ in range(times + 1):
            ran = subprocess.run(arguments, check=True, capture_output=True, text=True, env=environment)
            seconds, megabytes = map(float, ran.stdout.splitlines()[-1].split())
            measured.append((seconds, megabytes))
    return min(measured[1:])


def measure(file: Path, people: int) -> None:
    program, table = Program.load(file), refused(people)
    states = program.problem.read(table).states
    program.recommend(table.head(100)).to_frame()
    memory = peak(lambda: program.recommend(table).to_frame())
    run = best(lambda: program.run(states))
    frame = best(lambda: program.recommend(table).to_frame())
    csv = best(lambda: program.recommend(table).to_csv())
    rows = len(program.recommend(table).to_frame())
    print(f"{people:,} people, {rows:,} rows, {program!r}")
    print(f"  program.run                   {run:7.2f} s")
    print(f"  program.recommend.to_frame    {frame:7.2f} s   {frame / run:4.1f} × (target: at most {MOST:g} ×)")
    print(f"  program.recommend.to_csv      {csv:7.2f} s   {csv / run:4.1f} ×")
    seconds, megabytes = command(file, program, table)
    print(f"  the command, CSV to CSV       {seconds:7.2f} s   {seconds / frame:4.1f} × to_frame (target {COMMAND:g})")
    print(f"  memory of the command         {megabytes:7.0f} MB")
    print(f"  memory of recommend.to_frame  {memory:7.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", type=Path, metavar="FILE", help="adult's program.json")
    parser.add_argument("--people", type=int, nargs="+", default=PEOPLE, metavar="N")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = given.program
        if file is None:
            adult = benchmarks.load("adult")
            file = Path(folder) / "program.json"
            Recourse(adult.problem, adult.model).fit(adult.train).distil(adult.train).save(file)
        for people in given.people:
            measure(file, people)


if __name__ == "__main__":
    main()
