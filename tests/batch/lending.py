"""A small problem, people in Parquet files, and a model that logs every query, for runs in several processes."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from counterplan import Problem, Program, Recourse
from counterplan.program import Choice, Leaf, Split, Test
from loans import LOAN

MODEL = """
import os, time
from pathlib import Path

HERE = Path(__file__).parent

def decide(people):
    pause = HERE / "pause"
    with open(HERE / "asked", "a") as file:
        file.write("".join(f"{os.getpid()} {row.income!r} {row.job}\\n" for row in people.itertuples()))
    time.sleep(float(pause.read_text()) if pause.exists() else 0)
    return ["yes" if row.income >= 2000 and row.job != "none" else "no" for row in people.itertuples()]

def deadly(people):
    if ((people["income"] > 1005) & (people["income"] < 1006)).any():
        os.kill(os.getpid(), 9)
    return decide(people)
"""


Query = tuple[float, str]
"""Income and job."""


class Lender:
    """A folder with a learned folder, a model and people."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.learned, self.people, self.out = folder / "learned", folder / "people", folder / "plans"
        self.people.mkdir()
        (folder / "lender.py").write_text(MODEL)
        (folder / "loan.yaml").write_text(LOAN)
        problem = Problem.load(folder / "loan.yaml")
        stop = Leaf((Choice(problem.transitions.stop),))
        begin = Split(Test(0, at_least=500.0), Leaf((Choice(0),)), Leaf((Choice(1), Choice(0))))
        program = Program(problem, {"INTERVENE": begin, "EARN": stop})
        self.problem = problem
        Recourse(problem, lambda people: ["no"] * len(people), program=program).save(self.learned)

    def write(self, tables: list[pd.DataFrame], rows: int = 4) -> None:
        """Write people to files, in row groups of `rows`."""
        for number, table in enumerate(tables):
            pq.write_table(pa.Table.from_pandas(table), self.people / f"part{number}.parquet", row_group_size=rows)

    @property
    def asked(self) -> list[tuple[int, Query]]:
        """Process and state of every query that was sent."""
        path = self.folder / "asked"
        lines = path.read_text().splitlines() if path.exists() else []
        return [(int(pid), (float(income), job)) for pid, income, job in (line.split() for line in lines)]

    @property
    def repeated(self) -> set[Query]:
        """States that were queried more than once."""
        return {query for query, count in Counter(query for _, query in self.asked).items() if count > 1}

    def forget(self) -> None:
        (self.folder / "asked").unlink(missing_ok=True)

    def pause(self, seconds: float | None) -> None:
        """How long a call of the model takes."""
        if seconds is None:
            (self.folder / "pause").unlink(missing_ok=True)
        else:
            (self.folder / "pause").write_text(str(seconds))

    def worker_of_a_query(self, timeout: float = 60) -> int:
        """Wait for a query, and return the process that sent it."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            if self.asked:
                return self.asked[0][0]
            time.sleep(0.02)
        raise TimeoutError("nothing was queried")


def people(count: int, first: int = 0) -> pd.DataFrame:
    """Refused people, all different, of whose states no two are the same."""
    numbers = range(first, first + count)
    return pd.DataFrame(
        {
            "id": [f"p{i}" for i in numbers],
            "income": [1000 + i + i / 1024 for i in numbers],
            "job": ["none" if i % 3 == 0 else "clerk" for i in numbers],
        }
    )


def parts(folder: Path) -> list[Path]:
    return sorted(folder.glob("part-*"))


def contents(folder: Path) -> dict[str, bytes]:
    """The parts of a run, byte for byte."""
    return {path.name: path.read_bytes() for path in parts(folder)}


def manifest(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "_manifest.json").read_text())


def unfinished(folder: Path) -> list[str]:
    """Files that were left half-written."""
    return [name for _, _, names in os.walk(folder) for name in names if name.startswith(".") and name != ".lock"]
