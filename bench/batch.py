"""Many people: `python bench/batch.py [--people 100000 10000000] [--guided 1000000]`.

Plans for synthetic people in Parquet files with `counterplan recommend --out`, each time in fresh processes: a program
for adult, and guided planning for german, by one process and by two. Prints wall time, people per second and per CPU
second (of one core), the peak memory of each process (VmHWM), and bytes. The start of a process, with everything that
is imported or computed once, is measured by a run for few people, and subtracted. People are crossed from the refused
people of the benchmarks, so that few are equal. Run it on a free machine; fitted folders and people are kept in --work,
and used again.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import json
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from counterplan import LabelledStates, Recourse, benchmarks
from counterplan.storage.workspace import Origin, Workspace

GROUP, FILE = 50_000, 1_000_000
"""Rows of a row group, and of a file."""
MEMORY = 2e9
"""Most bytes of a process."""
SPEEDUP, SPREAD = 1.7, 0.1
"""Least speed-up by a second process, and most difference of the throughput between the fewest and the most people."""


class Measured(NamedTuple):
    """One run of the command."""

    wall: float
    cpu: float
    memory: list[float]
    """Peak memory of each process, the largest first, in bytes."""
    written: int
    """Bytes of the parts."""
    counts: dict[str, float]


def fitted(name: str, work: Path) -> Path:
    """A learned folder with a surrogate and a program."""
    folder = work / name
    if not (folder / "program.json").exists():
        print(f"fitting {name} …", flush=True)
        data = benchmarks.load(name)
        recourse = Recourse(data.problem, data.model).fit(data.train, quality=False)
        recourse.distil(data.train)
        recourse.save(folder)
        Workspace(folder).save_origin(Origin(name, 0))
    return folder


def people(name: str, count: int, work: Path) -> Path:
    """A folder with so many synthetic people: each feature is that of one of two refused people."""
    folder = work / f"{name}-{count}"
    if (folder / "_done").exists():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    data, random = benchmarks.load(name), np.random.default_rng(1)
    refused = pd.concat([data.refused_train, data.refused_test], ignore_index=True)
    refused = refused[[feature.name for feature in data.problem.features]]
    columns = [pa.array(refused[column]) for column in refused]
    for first in range(0, count, FILE):
        rows = min(FILE, count - first)
        with pq.ParquetWriter(folder / f"people-{first // FILE:04}.parquet", _schema(refused, columns)) as writer:
            for start in range(0, rows, GROUP):
                size = min(GROUP, rows - start)
                parents = random.integers(0, len(refused), (2, size))
                ids = pa.array(np.arange(first + start, first + start + size))
                own = [column.take(pa.array(parents[random.integers(0, 2, size), range(size)])) for column in columns]
                writer.write_table(pa.table([ids, *own], schema=_schema(refused, columns)), row_group_size=GROUP)
    (folder / "_done").touch()
    return folder


def _schema(refused: pd.DataFrame, columns: list[pa.Array]) -> pa.Schema:
    kinds = zip(refused, (column.type for column in columns), strict=True)
    return pa.schema([("id", pa.int64()), *kinds])


def run(learned: Path, source: Path, out: Path, *words: str) -> Measured:
    """Run the command in fresh processes, and measure it."""
    shutil.rmtree(out, ignore_errors=True)
    command = [sys.executable, "-m", "counterplan", "recommend", str(learned), "--people", str(source)]
    started = time.perf_counter()
    process = subprocess.Popen(
        [*command, "--out", str(out), "--key", "id", "--no-record", *words], stdout=subprocess.DEVNULL
    )
    peaks: dict[int, float] = {}
    ended = threading.Event()
    watcher = threading.Thread(target=_watch, args=(process.pid, peaks, ended))
    watcher.start()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    ended.set()
    watcher.join()
    if status:
        raise SystemExit(f"{' '.join(map(str, command))} failed")
    counts = json.loads((out / "_manifest.json").read_text())["summary"]
    written = sum(path.stat().st_size for path in out.glob("part-*"))
    shutil.rmtree(out)
    return Measured(wall, usage.ru_utime + usage.ru_stime, sorted(peaks.values(), reverse=True), written, counts)


def _watch(root: int, peaks: dict[int, float], ended: threading.Event) -> None:
    """Record the peak memory of a process and of all that it starts."""
    while not ended.wait(0.2):
        try:
            processes = [psutil.Process(root), *psutil.Process(root).children(recursive=True)]
        except psutil.NoSuchProcess:
            return
        for process in processes:
            try:
                lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
            except OSError:
                continue
            for line in lines:
                if line.startswith("VmHWM:"):
                    peaks[process.pid] = max(peaks.get(process.pid, 0.0), float(line.split()[1]) * 1024)


def measure(
    title: str, learned: Path, sizes: list[int], work: Path, *words: str, few: int, two: tuple[str, ...]
) -> None:
    """Measure one planner: the throughput of one process by number of people, and two processes for the most."""
    name = learned.name
    start = run(learned, people(name, few, work), work / "plans", *words)
    print(f"{title}: {few:,} people, one process: {start.wall:.1f} s, {start.cpu:.1f} CPU s", flush=True)
    rates: dict[int, float] = {}
    for size in sizes:
        one = run(learned, people(name, size, work), work / "plans", *words)
        rates[size] = (size - few) / (one.cpu - start.cpu)
        print(
            f"{title}: {size:,} people, one process: {one.wall:,.1f} s, "
            f"{(size - few) / (one.wall - start.wall):,.0f} people/s, "
            f"{rates[size]:,.0f} for each CPU second; {_memory(one)}; {one.counts['queries'] / size:.2f} queries and "
            f"{one.written / size:.0f} bytes each",
            flush=True,
        )
    several = run(learned, people(name, sizes[-1], work), work / "plans", *words, *two)
    print(
        f"{title}: {sizes[-1]:,} people, {' '.join(two)}: {several.wall:,.1f} s, "
        f"{sizes[-1] / several.wall:,.0f} people/s, {several.cpu:,.1f} CPU s after {one.cpu:,.1f} of one process; "
        f"{_memory(several)}",
        flush=True,
    )
    assert several.counts == one.counts, "two processes give other plans"
    spread = max(rates.values()) / min(rates.values()) - 1
    speedup = one.wall / several.wall
    largest = max(one.memory[0], several.memory[0])
    _bar(title, "memory of a process", f"{largest / 1e9:.2f} GB", "< 2 GB", largest < MEMORY)
    _bar(title, "speed-up", f"{speedup:.2f} ×", f">= {SPEEDUP} ×", speedup >= SPEEDUP)
    if len(sizes) > 1:
        _bar(title, "throughput per core differs by", f"{spread:.1%}", f"<= {SPREAD:.0%}", spread <= SPREAD)


def _memory(measured: Measured) -> str:
    return "peak memory " + ", ".join(f"{peak / 1e6:,.0f} MB" for peak in measured.memory[:4])


def _bar(title: str, what: str, value: str, bar: str, holds: bool) -> None:
    print(f"{title}: {what} {value} ({bar}: {'holds' if holds else 'DOES NOT HOLD'})", flush=True)


def measure_answers(count: int, work: Path) -> None:
    """The cost of a file with so many answers about german."""
    data, random = benchmarks.load("german"), np.random.default_rng(1)
    table = pq.read_table(people("german", count, work)).to_pandas()
    states = data.problem.read(table).states
    answers = LabelledStates(states, random.random(count) < 0.5, ("",) * count, "model", random.random(count))
    path, process = work / "answers.csv.gz", psutil.Process()
    started = time.process_time()
    answers.save(path, data.problem)
    saved = time.process_time()
    del table, states, answers
    before = process.memory_info().rss
    known = LabelledStates.load(path, data.problem).by_key
    loaded, memory = time.process_time(), process.memory_info().rss - before
    print(
        f"{len(known):,} distinct of {count:,} answers: {path.stat().st_size / 1e6:.0f} MB, saved in "
        f"{saved - started:.1f} CPU s, loaded in {loaded - saved:.1f} CPU s with {memory / 1e6:,.0f} MB of memory"
    )
    path.unlink()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, nargs="*", default=[100_000, 1_000_000, 10_000_000], help="by program")
    parser.add_argument("--guided", type=int, nargs="*", default=[100_000, 1_000_000], help="by guided planning")
    parser.add_argument("--work", type=Path, default=Path("bench-batch"), help="folder for what is kept")
    parser.add_argument("--cluster", action="store_true", help="two processes of a local Dask cluster")
    parser.add_argument("--answers", type=int, help="measure a file with so many answers")
    options = parser.parse_args()
    if options.answers:
        measure_answers(options.answers, options.work)
    two = ("--cluster", "local", "--jobs", "2") if options.cluster else ("--jobs", "2")
    if options.people:
        words = ("--planner", "program", "--refused")
        measure(
            "adult by program", fitted("adult", options.work), options.people, options.work, *words, few=10_000, two=two
        )
    if options.guided:
        words = ("--planner", "guided")
        measure(
            "german guided", fitted("german", options.work), options.guided, options.work, *words, few=1_000, two=two
        )


if __name__ == "__main__":
    main()
