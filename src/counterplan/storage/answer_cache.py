"""Answers that were paid for, kept so that no question is asked twice: a compressed table that anybody can read."""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from counterplan.blackbox import BlackBox
from counterplan.errors import StorageError
from counterplan.problem import Feature, Problem
from counterplan.problem.transitions import Bools, Floats
from counterplan.storage.files import write_whole

FILE = "answers.csv.gz"
VERSION = 1
_GZIP = b"\x1f\x8b"
_EXTRAS = "counterplan: other columns"
_ANSWER = "counterplan: favourable"


@dataclass(frozen=True)
class LabelledStates:
    """What a model said about states of one problem, or of any that has the same features and the same outcome."""

    states: Floats
    """[n, F]"""
    favourable: Bools
    """[n]"""
    extras: tuple[str, ...]
    """[n] what the model saw of a person besides the features; empty if nothing."""
    model: str = ""
    """What the model calls itself."""

    def __len__(self) -> int:
        return len(self.states)

    @classmethod
    def from_cache(cls, box: BlackBox, problem: Problem) -> LabelledStates:
        """Everything that `box` remembers about `problem`."""
        return cls.from_keys(problem, box.cached_answers(problem), box.model_id)

    @classmethod
    def from_keys(cls, problem: Problem, known: Mapping[bytes, bool], model: str) -> LabelledStates:
        """What `model` said about `problem`, by what identifies each question to a black box."""
        width = 8 * len(problem.features)
        states = np.frombuffer(b"".join(key[:width] for key in known)).reshape(-1, len(problem.features)).copy()
        extras = tuple(key[width:].decode() for key in known)
        return cls(states, np.array(list(known.values()), bool), extras, model)

    @property
    def keys(self) -> list[bytes]:
        """What identifies each question to a black box."""
        return [state.tobytes() + other.encode() for state, other in zip(self.states, self.extras, strict=True)]

    @property
    def by_key(self) -> dict[bytes, bool]:
        """The inverse of `of`."""
        return dict(zip(self.keys, self.favourable.tolist(), strict=True))

    def add_to_cache(self, box: BlackBox, problem: Problem) -> None:
        """Have `box` remember them: they will not be asked again."""
        box.add_to_cache(problem, self.by_key)

    def save(self, path: str | Path, problem: Problem) -> None:
        """Write them as a compressed CSV, below one line that says what they are about."""
        text = self.head(problem) + self.rows(problem, header=True)
        write_whole(path, gzip.compress(text.encode(), mtime=0))

    def head(self, problem: Problem) -> str:
        """The first line of a file: what the answers are about."""
        head = {"counterplan_answers": VERSION, "problem": problem.query_fingerprint, "model": self.model}
        return json.dumps(head) + "\n"

    def rows(self, problem: Problem, header: bool) -> str:
        """The other lines, with or without the names of the columns."""
        columns = {feature.name: _written(feature, self.states[:, feature.index]) for feature in problem.features}
        table = pd.DataFrame(columns | {_EXTRAS: list(self.extras), _ANSWER: self.favourable.astype(int)})
        return table.to_csv(index=False, header=header, lineterminator="\n")

    @classmethod
    def load(cls, path: str | Path, problem: Problem) -> LabelledStates:
        """What `save` wrote, or a journal; a StorageError says so if it is damaged, or about another problem."""
        try:
            raw = Path(path).read_bytes()
            # The last line of a journal may be half written.
            text = (gzip.decompress(raw) if raw[:2] == _GZIP else raw[: raw.rfind(b"\n") + 1]).decode()
            first, rest = text.split("\n", 1)
            head = json.loads(first)
            version = head["counterplan_answers"]
        except FileNotFoundError:
            raise StorageError(f"{path}: there is no such file") from None
        except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError) as error:
            raise StorageError(f"{path}: these are not answers of counterplan, or they are damaged ({error})") from None
        if version != VERSION:
            raise StorageError(f"{path}: written by another counterplan (version {version}; this one reads {VERSION})")
        if head.get("problem") not in (problem.query_fingerprint, problem.fingerprint):
            raise StorageError(
                f"{path}: the answers are about another problem than {problem.name}: its features or its outcome differ"
            )
        try:
            table = pd.read_csv(io.StringIO(rest), dtype=str, keep_default_na=False)
            columns = [_read(feature, table[feature.name]) for feature in problem.features]
            states = np.stack(columns, axis=1) if columns else np.empty((len(table), 0))
            answers = np.array([{"0": False, "1": True}[text] for text in table[_ANSWER]], bool)
            return cls(states, answers, tuple(table[_EXTRAS]), str(head.get("model", "")))
        except (ValueError, KeyError, TypeError) as error:
            raise StorageError(f"{path}: damaged ({error}); remove it to ask the model again") from None


def _missing(feature: Feature) -> str:
    """How a missing value is written: as a text that is no value."""
    return next(text for text in ("", "(missing)", "((missing))") if feature.is_number or text not in feature.values)


def _written(feature: Feature, column: Floats) -> list[str]:
    if feature.is_number:
        return ["" if np.isnan(number) else repr(number) for number in column.tolist()]
    texts = [*feature.values, _missing(feature)]
    return [texts[int(index)] for index in np.nan_to_num(column, nan=len(feature.values)).tolist()]


def _read(feature: Feature, column: pd.Series[str]) -> Floats:
    if feature.is_number:
        return np.array([float(text) if text else np.nan for text in column])
    number = {text: float(index) for index, text in enumerate(feature.values)}
    number[_missing(feature)] = np.nan
    return np.array([number[text] for text in column])
