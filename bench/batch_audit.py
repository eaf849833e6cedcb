"""Statistics of an audit of many people: `python bench/batch_audit.py [--people 10000000]`.

Audits 10,000 people of german in a Parquet file, with a column of random numbers, by `batch.audit`, and then reads the
same part again and again, as if it were that of so many people: CPU seconds, bytes for each person, and the peak memory
of the process for all tables and the report. The groups are `sex`, quartiles of the random number, and pairs of them.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from counterplan import AuditResult, AuditSettings, batch, benchmarks
from counterplan.batch.audit_columns import NUMBER
from counterplan.batch.audit_tables import audit_groupings, audit_tables
from counterplan.batch.audit_task import AuditTask
from counterplan.batch.part_files import read_record
from counterplan.batch.running import BatchRun, BatchSettings

PART = 10_000
GROUPS = [("sex",), ("number",), ("sex", "number")]


def peak() -> float:
    """The peak memory of this process until now, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def measure(count: int, work: Path) -> None:
    """Audit one part, and summarise so many people."""
    german = benchmarks.load("german")
    table = pd.concat([german.train, german.test] * (PART // 1000), ignore_index=True).drop(columns="risk")
    table.assign(number=np.random.default_rng(0).random(len(table))).to_parquet(work / "people.parquet")
    started = time.process_time()
    done = batch.audit(
        "german", work / "people.parquet", work / "audit", groups=["*".join(names) for names in GROUPS], relaxations=0
    )
    seconds, before = time.process_time() - started, peak()
    print(f"{PART:,} people: {1000 * seconds / PART:.2f} CPU ms each, with statistics and report", flush=True)
    settings = AuditSettings(planner="exact")
    task = AuditTask("german", settings, (("sex", ""), ("number", NUMBER)))
    run = BatchRun(task, work / "people.parquet", work / "again", BatchSettings())
    folder = work / "audit" / "outcomes"
    record = read_record(folder, run.partitions[0], json.loads((folder / "_manifest.json").read_text())["run"])
    assert record is not None
    records = [record] * max(1, count // PART)
    started = time.process_time()
    tables = audit_tables(run.loaded, folder, records)
    groupings = audit_groupings(run.loaded, folder, records, GROUPS)
    size = tables["outcomes"].memory_usage().sum() + sum(grouping.codes.nbytes for grouping in groupings)
    result = AuditResult(done.result.problem, None, tables, groupings, settings, done.result.about)
    length = len(result.to_html()) + len(result.functions)
    people = len(tables["outcomes"])
    print(
        f"{people:,} people: {size / people:.0f} bytes each; tables and a report of {length:,} characters in "
        f"{time.process_time() - started:.1f} CPU s; peak memory {peak():,.0f} MB, before {before:,.0f} MB"
    )


def main() -> None:
    """Read the options, and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=10_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure(options.people, Path(folder))


if __name__ == "__main__":
    main()
