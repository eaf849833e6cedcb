"""Runs that can be stopped at any time: what a checkpoint keeps of a run, and whether it is one of the same run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from counterplan.blackbox import BlackBox
from counterplan.errors import PlanError
from counterplan.problem import Problem
from counterplan.storage.answer_cache import FILE as ANSWERS
from counterplan.storage.files import named, read_arrays, write_arrays, write_or_say
from counterplan.storage.settings import settings_to_dict
from counterplan.storage.write_ahead import FILE as JOURNAL

LEARNING = ("learning.npz", "learning.jsonl")
"""The checkpoint and the metrics of learning a surrogate."""
TRAINING = ("training.npz", "metrics.jsonl")
"""Those of training an agent."""


class OtherRun(PlanError):
    """A checkpoint is of another run; `what` is different."""

    def __init__(self, message: str, what: str) -> None:
        super().__init__(message)
        self.what = what


class Run(Protocol):
    """What learning a surrogate and training an agent have in common."""

    problem: Problem
    box: BlackBox
    settings: Any
    """A dataclass with a `budget`."""
    seed: int
    folder: Path | None
    random: np.random.Generator
    whom: str
    """A hash of the people it learns from."""
    metrics: list[dict[str, Any]]


@dataclass(frozen=True)
class Checkpoints:
    """How runs of one kind are stored: the files, and attributes stored unchanged with the keys they are stored by."""

    file: str
    metrics: str
    plain: Mapping[str, str]
    arrays: Mapping[str, str]

    def write(self, run: Run, arrays: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
        """Write a checkpoint, with more `arrays` and `facts`, and the metrics; each whole or not at all."""
        assert run.folder is not None
        told = {key: getattr(run, name) for name, key in self.plain.items()} | {
            "fingerprint": run.problem.fingerprint,
            "asking": run.problem.query_fingerprint,
            "model": run.box.model_id,
            "people": run.whom,
            "seed": run.seed,
            "settings": settings_to_dict(run.settings),
            "random": run.random.bit_generator.state,
            "metrics": run.metrics,
        }
        own = {key: getattr(run, name) for name, key in self.arrays.items()}
        write_arrays(run.folder / self.file, {**own, **arrays}, {**told, **facts})
        self.write_metrics(run)

    def write_metrics(self, run: Run) -> None:
        """Write the metrics, whole or not at all."""
        assert run.folder is not None
        write_or_say(run.folder / self.metrics, "".join(json.dumps(line) + "\n" for line in run.metrics))

    def read(self, folder: Path) -> Checkpoint:
        """The checkpoint in `folder`; a PlanError says so if it is damaged or not there."""
        path = folder / self.file
        try:
            return Checkpoint(self, path, *read_arrays(path))
        except PlanError as error:
            raise PlanError(f"{error}; {start_again(folder)}" if path.exists() else str(error)) from None


@dataclass(frozen=True)
class Checkpoint:
    """What was read."""

    kind: Checkpoints
    path: Path
    arrays: dict[str, Any]
    facts: dict[str, Any]

    @contextmanager
    def trusted(self) -> Iterator[None]:
        """Within this, what is missing or senseless is told as damage."""
        try:
            yield
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise PlanError(f"{self.path}: damaged ({error!r}); {start_again(self.path.parent)}") from None

    def require(self, problem: Problem, box: BlackBox, settings: Any, seed: int) -> None:
        """Refuse a checkpoint of another run; only the budget of questions may be another one."""
        now = json.loads(json.dumps(settings_to_dict(settings)))
        of_use = self.facts.get("asking") == problem.query_fingerprint
        self._same("a different problem", self.facts["fingerprint"], problem.fingerprint, of_use)
        self._same("a different model", self.facts["model"], box.model_id, of_use=False)
        self._same("a different seed", self.facts["seed"], seed)
        self._same("different settings", self.facts["settings"] | {"budget": 0}, now | {"budget": 0})

    def require_people(self, whom: str) -> None:
        """Refuse a checkpoint of a run on other people."""
        self._same("different people", self.facts["people"], whom)

    def _same(self, what: str, stored: object, now: object, of_use: bool = True) -> None:
        if stored != now:
            way_out = start_again(self.path.parent) if of_use else "start again with --force"
            raise OtherRun(f"{self.path}: was made with {what}; {way_out}", what)

    @property
    def budget(self) -> int:
        """The most questions that the run was allowed."""
        return int(self.facts["settings"]["budget"])

    def restore(self, run: Run) -> None:
        """Give `run` everything that is kept as it is, and write its metrics again: they may have been lost."""
        for name, key in self.kind.plain.items():
            setattr(run, name, self.facts[key])
        for name, key in self.kind.arrays.items():
            setattr(run, name, self.arrays[key])
        run.metrics = self.facts["metrics"]
        run.random.bit_generator.state = self.facts["random"]
        if run.folder is not None:
            self.kind.write_metrics(run)

    def named(self, prefix: str) -> dict[str, Any]:
        """The arrays whose names begin with `prefix`, by the rest of their names."""
        return named(self.arrays, prefix)


def start_again(folder: Path) -> str:
    """How to start again without paying twice."""
    kept = next((folder / name for name in (ANSWERS, JOURNAL) if (folder / name).exists()), None)
    return "start again with --force" + (f" (--answers {kept} keeps what was paid for)" if kept else "")
