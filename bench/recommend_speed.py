"""CPU seconds and peak memory of `counterplan recommend --planner program --csv`, against the same plans in Python.

    python bench/recommend_speed.py FOLDER [--people 100000 1000000]

FOLDER is a learned folder of adult with a program. The command works on a copy of it without provenance, so that it
neither loads nor queries the benchmark's model. The target is at most 3 times `program.recommend(people).to_frame()`
for 100,000 people, time linear in their number, and memory that grows with the table of people only.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from counterplan import Program, benchmarks


def in_python(program: Program, people: object) -> float:
    start = time.process_time()
    program.recommend(people).to_frame()  # type: ignore[arg-type]
    return time.process_time() - start


def command(folder: Path, people: Path) -> float:
    before = os.times()
    words = ["recommend", str(folder), "--people", str(people), "--planner", "program", "--csv"]
    output = ["-m", "counterplan", *words, str(folder / "plans.csv")]
    subprocess.run([sys.executable, *output], check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--people", type=int, nargs="+", default=[100_000])
    options = parser.parse_args()
    adult = benchmarks.load("adult")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for name in ("problem.json", "program.json"):
            (folder / name).write_bytes((options.folder / name).read_bytes())
        program = Program.load(folder / "program.json")
        for count in options.people:
            people = adult.refused_test.sample(count, replace=True, random_state=0).reset_index(drop=True)
            people.to_csv(folder / "people.csv", index=False)
            planned, written = in_python(program, people), command(folder, folder / "people.csv")
            peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
            print(
                f"{count:,} people: recommend().to_frame() {planned:.1f} s, command {written:.1f} s "
                f"({written / planned:.1f} times), peak {peak:,.0f} MB"
            )


if __name__ == "__main__":
    main()
