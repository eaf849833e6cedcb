"""Learned objects on disk: arrays in safetensors, facts in JSON, and a hash over both."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import safetensors
import safetensors.numpy

from counterplan.bounded_json import parse_json
from counterplan.errors import StorageError
from counterplan.problem import Problem
from counterplan.storage.arrays import DAMAGE
from counterplan.storage.files import MissingFileError, read_inside, write_inside
from counterplan.storage.json_files import LIMIT

T = TypeVar("T")
WEIGHTS_LIMIT = 1_000_000_000
"""Most bytes of a file of weights."""
_METHODS = {"agent": "search", "surrogate": "guided", "survival": "guided"}
"""The `--method` of 'counterplan fit' that learns each kind of artifact."""


def artifact_files(kind: str) -> tuple[str, str]:
    """Return the names of the two files of an artifact ("agent", "surrogate", "survival"): arrays and facts."""
    return f"{kind}.safetensors", f"{kind}.json"


def save_artifact(
    folder: Path, kind: str, version: int, problem: Problem, arrays: Mapping[str, Any], facts: Mapping[str, Any]
) -> None:
    """Write the arrays and facts of an artifact to `folder`.

    Parameters
    ----------
    folder : Path
        The workspace.
    kind : str
        "agent", "surrogate" or "survival".
    version : int
        Version of the format.
    problem : Problem
        The problem that it was learned for.
    arrays : mapping of str to ndarray
        Contiguous arrays.
    facts : mapping of str to object
        Plain data.

    Raises
    ------
    StorageError
        If a file cannot be written.
    """
    weights_file, facts_file = artifact_files(kind)
    weights = safetensors.numpy.save(dict(arrays))
    stored = {f"counterplan_{kind}": version, "problem": problem.fingerprint, **facts}
    stored["check"] = _checksum(stored, weights)
    write_inside(folder, weights_file, weights)
    write_inside(folder, facts_file, json.dumps(stored, indent=1))


def load_artifact(
    folder: Path, kind: str, version: int, problem: Problem, build: Callable[[dict[str, Any], dict[str, Any]], T]
) -> T:
    """Read an artifact that `save_artifact` wrote.

    Parameters
    ----------
    folder : Path
        The workspace.
    kind : str
        "agent", "surrogate" or "survival".
    version : int
        Newest version of the format that `build` understands.
    problem : Problem
        The problem that it must have been learned for.
    build : callable
        Makes the artifact of arrays and facts; it validates them, and may raise any error in `arrays.DAMAGE`.

    Returns
    -------
    object
        The value of `build`.

    Raises
    ------
    StorageError
        If the artifact is missing, damaged, of a newer version, or belongs to another problem.
    """
    weights_file, facts_file = artifact_files(kind)
    path = Path(folder) / facts_file
    try:
        raw_facts = read_inside(folder, facts_file, LIMIT)
        weights = read_inside(folder, weights_file, WEIGHTS_LIMIT)
    except MissingFileError as error:
        raise MissingFileError(f"{error}; make one with 'counterplan fit'") from None
    except StorageError as error:
        raise StorageError(f"{error}; {_way_out(kind)}") from None
    try:
        facts = parse_json(raw_facts, str(path), infinite=True)
    except StorageError as error:
        raise StorageError(
            f"{path}: cannot be read ({str(error).removeprefix(f'{path}: ')}); {_way_out(kind)}"
        ) from None
    found = facts.get(f"counterplan_{kind}") if isinstance(facts, dict) else None
    if type(found) is not int or found < 1:
        raise StorageError(f"{path}: this is not {'an' if kind[0] in 'aeiou' else 'a'} {kind} of counterplan")
    if found > version:
        raise StorageError(f"{path}: written by a newer counterplan (version {found}; this one reads {version})")
    if facts.get("problem") != problem.fingerprint:
        raise StorageError(f"{path}: the {kind} was learned for another problem than {problem.name}; fit one for it")
    if facts.pop("check", None) != _checksum(facts, weights):
        raise StorageError(f"{path}, {weights_file}: damaged or changed since they were written; {_way_out(kind)}")
    try:
        return build(safetensors.numpy.load(weights), facts)
    except (*DAMAGE, safetensors.SafetensorError) as error:
        raise StorageError(f"{path}: damaged ({_described(error)}); {_way_out(kind)}") from None


def _described(error: Exception) -> str:
    return f"{error!r}" if isinstance(error, KeyError) else str(error) or type(error).__name__


def _way_out(kind: str) -> str:
    """How to recover from a damaged artifact."""
    fit = f"'counterplan fit --method {_METHODS[kind]}'"
    return f"{fit} with --resume restores it from its checkpoint, or with --force starts again"


def _checksum(facts: Mapping[str, Any], weights: bytes) -> str:
    """A hash of everything that is stored."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode() + weights).hexdigest()
