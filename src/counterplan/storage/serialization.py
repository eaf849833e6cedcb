"""How what was learned is kept on disk: arrays in safetensors, all else in JSON, and a hash of both."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import safetensors
import safetensors.numpy

from counterplan.errors import StorageError
from counterplan.problem import Problem
from counterplan.storage.files import write_whole

T = TypeVar("T")
_METHODS = {"agent": "search", "surrogate": "guided"}
"""How what is kept is learned."""


def artifact_files(what: str) -> tuple[str, str]:
    """The names of the two files that hold `what`: arrays, and facts."""
    return f"{what}.safetensors", f"{what}.json"


def save_artifact(
    folder: Path, what: str, version: int, problem: Problem, arrays: Mapping[str, Any], facts: Mapping[str, Any]
) -> None:
    """Keep `what` ("agent") was learned about `problem` in `folder`, in the given version of its format."""
    name, told = artifact_files(what)
    weights = safetensors.numpy.save(dict(arrays))
    written = {f"counterplan_{what}": version, "problem": problem.fingerprint, **facts}
    written["check"] = _check(written, weights)
    write_whole(folder / name, weights)
    write_whole(folder / told, json.dumps(written, indent=1))


def load_artifact(
    folder: Path, what: str, version: int, problem: Problem, build: Callable[[dict[str, Any], dict[str, Any]], T]
) -> T:
    """What `keep` wrote, as `build` makes it of arrays and facts.

    A StorageError says so if it is not there, damaged, of a newer version, or about another problem.
    """
    name, told = artifact_files(what)
    path = folder / told
    try:
        facts = json.loads(path.read_text())
        weights = (folder / name).read_bytes()
    except FileNotFoundError as error:
        raise StorageError(f"{error.filename}: there is no such file; make one with 'counterplan fit'") from None
    except (OSError, ValueError) as error:
        raise StorageError(f"{path}: cannot be read ({error}); {_again(what)}") from None
    found = facts.get(f"counterplan_{what}") if isinstance(facts, dict) else None
    if not isinstance(found, int) or found < 1:
        raise StorageError(f"{path}: this is not {'an' if what[0] in 'aeiou' else 'a'} {what} of counterplan")
    if found > version:
        raise StorageError(f"{path}: written by a newer counterplan (version {found}; this one reads {version})")
    if facts.get("problem") != problem.fingerprint:
        raise StorageError(f"{path}: the {what} was learned for another problem than {problem.name}; fit one for it")
    if facts.pop("check", None) != _check(facts, weights):
        raise StorageError(f"{path}, {name}: damaged or changed since they were written; {_again(what)}")
    try:
        return build(safetensors.numpy.load(weights), facts)
    except (KeyError, TypeError, ValueError, safetensors.SafetensorError) as error:
        raise StorageError(f"{path}: damaged ({error}); {_again(what)}") from None


def _again(what: str) -> str:
    """The way out if `what` is damaged."""
    fit = f"'counterplan fit --method {_METHODS[what]}'"
    return f"{fit} with --resume makes it again from its checkpoint, or with --force from nothing"


def _check(facts: Mapping[str, Any], weights: bytes) -> str:
    """A hash of everything that is kept."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode() + weights).hexdigest()
