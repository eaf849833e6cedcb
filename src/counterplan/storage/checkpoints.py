"""Checkpoints of resumable runs, and the check that a checkpoint belongs to the run that is resumed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Any, Protocol

import numpy as np

from counterplan.blackbox import BlackBox
from counterplan.bounded_json import parse_json
from counterplan.errors import ModelError, PeopleError, StorageError
from counterplan.problem import Problem
from counterplan.storage.answer_cache import FILE as ANSWERS
from counterplan.storage.arrays import (
    DAMAGE,
    ArraySpec,
    read_arrays,
    require_integer,
    validate_arrays,
    with_prefix,
    write_arrays,
)
from counterplan.storage.files import MissingFileError, read_inside, restrict_inside, write_inside
from counterplan.storage.json_files import LIMIT
from counterplan.storage.settings import settings_to_dict
from counterplan.storage.write_ahead import FILE as WRITE_AHEAD

LEARNING = ("learning.npz", "learning.jsonl")
"""Checkpoint and metrics of learning a surrogate."""
TRAINING = ("training.npz", "metrics.jsonl")
"""Checkpoint and metrics of training an agent."""


class CheckpointMismatch(StorageError):
    """A checkpoint belongs to another run; `what` names the difference."""

    def __init__(self, message: str, what: str) -> None:
        super().__init__(message)
        self.what = what


class Run(Protocol):
    """The common attributes of runs that learn a surrogate or train an agent."""

    problem: Problem
    box: BlackBox
    settings: Any
    """A dataclass with a `budget`."""
    seed: int
    folder: Path | None
    random: np.random.Generator
    people_hash: str
    """A hash of the people that the run learns from."""
    metrics: list[dict[str, Any]]


@dataclass(frozen=True)
class CheckpointFormat:
    """File names of one kind of run, and the attributes that a checkpoint copies, by the keys that they are stored by.

    Attributes are integers, booleans and arrays.
    """

    file: str
    metrics: str
    plain: Mapping[str, str]
    arrays: Mapping[str, str]

    def write(self, run: Run, arrays: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
        """Write a checkpoint with additional `arrays` and `facts`, and the metrics; each whole or not at all."""
        assert run.folder is not None
        common = {key: getattr(run, name) for name, key in self.plain.items()} | {
            "fingerprint": run.problem.fingerprint,
            "asking": run.problem.query_fingerprint,
            "model": run.box.model_id,
            "people": run.people_hash,
            "seed": run.seed,
            "settings": settings_to_dict(run.settings),
            "random": run.random.bit_generator.state,
            "metrics": run.metrics,
        }
        own = {key: getattr(run, name) for name, key in self.arrays.items()}
        write_arrays(run.folder / self.file, {**own, **arrays}, {**common, **facts})
        self.write_metrics(run)

    def write_metrics(self, run: Run) -> None:
        """Write the metrics, whole or not at all."""
        assert run.folder is not None
        write_inside(run.folder, self.metrics, "".join(json.dumps(line) + "\n" for line in run.metrics))

    def read(self, folder: Path) -> Checkpoint:
        """Read the checkpoint in `folder`.

        Raises
        ------
        MissingFileError
            If there is none.
        StorageError
            If it is damaged.
        """
        path = folder / self.file
        try:
            return Checkpoint(self, path, *read_arrays(path))
        except MissingFileError:
            raise
        except StorageError as error:
            raise StorageError(f"{error}; {restart_hint(folder)}") from None


@dataclass(frozen=True)
class Checkpoint:
    """The content of a checkpoint file."""

    kind: CheckpointFormat
    path: Path
    arrays: dict[str, Any]
    facts: dict[str, Any]

    @contextmanager
    def reporting_damage(self) -> Iterator[None]:
        """Within this context, errors caused by missing or invalid content are raised as StorageError."""
        try:
            yield
        except (ModelError, PeopleError, StorageError):
            raise
        except DAMAGE as error:  # SettingError is one: constructors raise it for arrays that do not fit together
            raise StorageError(f"{self.path}: damaged ({error!r}); {restart_hint(self.path.parent)}") from None

    def require(self, problem: Problem, box: BlackBox, settings: Any, seed: int) -> None:
        """Raise CheckpointMismatch if the checkpoint is of another run; only the query budget may differ."""
        current = json.loads(json.dumps(settings_to_dict(settings)))
        reusable = self.facts.get("asking") == problem.query_fingerprint
        self._require_equal("a different problem", self.facts["fingerprint"], problem.fingerprint, reusable)
        same_model = box.is_model(str(self.facts["model"]), problem)
        self._require_equal("a different model", same_model, True, reusable=False)
        self._require_equal("a different seed", self.facts["seed"], seed)
        stored = self.facts["settings"] | {"budget": 0}
        names = sorted(name for name in {*stored, *current} - {"budget"} if stored.get(name) != current.get(name))
        self._require_equal(f"different settings ({', '.join(names)})", stored, current | {"budget": 0})
        require_integer(self.facts["settings"], "budget", high=2**63)

    def require_people(self, people_hash: str) -> None:
        """Raise CheckpointMismatch if the run learned from other people."""
        self._require_equal("different people", self.facts["people"], people_hash)

    def _require_equal(self, what: str, stored: object, current: object, reusable: bool = True) -> None:
        if stored != current:
            way_out = restart_hint(self.path.parent) if reusable else "start again with --force"
            raise CheckpointMismatch(f"{self.path}: was made with {what}; {way_out}", what)

    @property
    def budget(self) -> int:
        """The query budget of the run."""
        return int(self.facts["settings"]["budget"])

    def validate(self, spec: Mapping[str, ArraySpec]) -> None:
        """Raise ValueError if one of the arrays named in `spec` is missing or differs from its specification."""
        validate_arrays({name: array for name, array in self.arrays.items() if name in spec}, spec)

    def restore(self, run: Run) -> None:
        """Copy the attributes of the format to `run`, which must have them with the same types; rewrite the metrics.

        The checkpoint becomes private (mode 0600), also if the run is complete and does not write it again.
        """
        for name, key in self.kind.plain.items():
            if type(self.facts[key]) is not type(getattr(run, name)):
                raise ValueError(f"'{key}' is of another type than expected")
            if not isinstance(self.facts[key], bool):
                require_integer(self.facts, key, high=2**53)
            setattr(run, name, self.facts[key])
        metrics = self.facts["metrics"]
        if not isinstance(metrics, list) or not all(map(_is_metric, metrics)):
            raise ValueError("'metrics' should be a list of mappings with plain values")
        run.metrics = metrics
        for name, key in self.kind.arrays.items():
            setattr(run, name, self.arrays[key])
        run.random.bit_generator.state = self.facts["random"]
        if run.folder is not None:
            restrict_inside(run.folder, self.kind.file)
            self.kind.write_metrics(run)

    def with_prefix(self, prefix: str) -> dict[str, Any]:
        """Select the arrays whose names start with `prefix`, which is removed."""
        return with_prefix(self.arrays, prefix)


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """Read a metrics file of a workspace; empty if there is none.

    Raises
    ------
    StorageError
        If it is damaged or a link.
    """
    try:
        raw = read_inside(path.parent, path.name, LIMIT)
    except MissingFileError:
        return []
    metrics = [parse_json(line, str(path), infinite=True, nan=True) for line in raw.splitlines()]
    if not all(map(_is_metric, metrics)):
        raise StorageError(f"{path}: damaged: every line should be a mapping with plain values")
    return metrics


def _is_metric(line: object) -> bool:
    """Whether `line` is a mapping with plain values."""
    return isinstance(line, dict) and all(isinstance(value, (int, float, str, NoneType)) for value in line.values())


def restart_hint(folder: Path) -> str:
    """Say how to start again without repeating queries."""
    answers = next((folder / name for name in (ANSWERS, WRITE_AHEAD) if (folder / name).exists()), None)
    return "start again with --force" + (f" (--answers {answers} reuses its queries)" if answers else "")
