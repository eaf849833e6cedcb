"""Answers of a model on disk: a compressed CSV file, so that no query is repeated."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd

from counterplan.blackbox import Answer, BlackBox
from counterplan.bounded_json import parse_json
from counterplan.errors import StorageError
from counterplan.problem import Feature, Problem
from counterplan.problem.transitions import Bools, Floats
from counterplan.storage.arrays import DAMAGE
from counterplan.storage.files import read_bounded, write_inside

FILE = "answers.csv.gz"
VERSION = 1
LIMIT = 1_000_000_000
"""Most bytes of a file of answers, compressed or not."""
_LONGEST_LINE = 1_000_000
_MOST_OTHER_COLUMNS = 20
"""Most columns that are not features."""
_RATIO, _SMALL = 200, 64_000_000
"""A file may unpack to `_RATIO` times its size, and always to `_SMALL` bytes; rows of answers compress less."""
_ROWS = 100_000
"""Rows parsed at once."""
_GZIP = b"\x1f\x8b"
_EXTRAS = "counterplan: other columns"
_ANSWER = "counterplan: favourable"
_SCORE = "counterplan: score"
_OUTCOME = "counterplan: outcome"
"""Only in files about problems with three or more outcomes: these answers serve any target."""


@dataclass(frozen=True)
class LabelledStates:
    """States of one problem, labelled by a model. They serve any problem with the same features and outcome.

    Parameters
    ----------
    states : numpy.ndarray of shape (n, F)
        The states that the model was queried about.
    favourable : numpy.ndarray of bool, shape (n,)
        The decisions of the model.
    extras : tuple of str, length n
        The part of each query key for columns besides the features; empty texts if there are none.
    model : str, default=""
        The `model_id` of the black box.
    scores : numpy.ndarray of shape (n,), optional
        The model's scores; NaN where they are unknown.
    outcomes : tuple of str or None, length n, optional
        The outcomes of problems with three or more; None where they are unknown.

    Examples
    --------
    >>> from counterplan import BlackBox, LabelledStates, benchmarks
    >>> german = benchmarks.load("german")
    >>> box = BlackBox(german.model)
    >>> _ = box.favourable(german.problem, german.test.head(5))
    >>> labelled = LabelledStates.from_cache(box, german.problem)
    >>> labelled.states.shape
    (5, 9)
    >>> labelled.favourable
    array([ True,  True,  True,  True, False])
    """

    states: Floats
    favourable: Bools
    extras: tuple[str, ...]
    model: str = ""
    scores: Floats = field(default_factory=lambda: np.empty(0))
    outcomes: tuple[str | None, ...] = ()

    def __post_init__(self) -> None:
        if len(self.scores) != len(self.states):
            object.__setattr__(self, "scores", np.full(len(self.states), np.nan))
        if len(self.outcomes) != len(self.states):
            object.__setattr__(self, "outcomes", (None,) * len(self.states))

    def __len__(self) -> int:
        return len(self.states)

    @classmethod
    def from_cache(cls, box: BlackBox, problem: Problem) -> LabelledStates:
        """Return every answer that `box` has cached for `problem`.

        Parameters
        ----------
        box : BlackBox
            The black box that was queried.
        problem : Problem
            The problem that it was queried about.

        Returns
        -------
        LabelledStates
            One row for each cached answer.

        Examples
        --------
        >>> from counterplan import BlackBox, LabelledStates, benchmarks
        >>> german = benchmarks.load("german")
        >>> box = BlackBox(german.model)
        >>> _ = box.favourable(german.problem, german.test.head(5))
        >>> len(LabelledStates.from_cache(box, german.problem))
        5
        """
        return cls.from_keys(problem, box.cached_answers(problem), box.model_id)

    @classmethod
    def from_keys(cls, problem: Problem, answers: Mapping[bytes, Answer], model: str) -> LabelledStates:
        """Return `answers` by query key, as labelled states of `problem`."""
        width = 8 * len(problem.features)
        states = np.frombuffer(b"".join(key[:width] for key in answers)).reshape(-1, len(problem.features)).copy()
        extras = tuple(key[width:].decode() for key in answers)
        favourable = np.array([answer.favourable for answer in answers.values()], bool)
        scores = np.array([np.nan if answer.score is None else answer.score for answer in answers.values()], float)
        return cls(states, favourable, extras, model, scores, tuple(answer.outcome for answer in answers.values()))

    @property
    def keys(self) -> list[bytes]:
        """The query key of each state."""
        return [state.tobytes() + extra.encode() for state, extra in zip(self.states, self.extras, strict=True)]

    @property
    def by_key(self) -> dict[bytes, Answer]:
        """The answers by query key; the inverse of `from_keys`."""
        scores = (None if math.isnan(score) else score for score in self.scores.tolist())
        return dict(zip(self.keys, map(Answer, self.favourable.tolist(), scores, self.outcomes), strict=True))

    def add_to_cache(self, box: BlackBox, problem: Problem) -> None:
        """Add the answers to the cache of `box`, so that these states are not queried again.

        Parameters
        ----------
        box : BlackBox
            A black box of the same model.
        problem : Problem
            The problem of the states.

        Examples
        --------
        >>> from counterplan import BlackBox, LabelledStates, benchmarks
        >>> german = benchmarks.load("german")
        >>> first, second = BlackBox(german.model), BlackBox(german.model)
        >>> _ = first.favourable(german.problem, german.test.head(5))
        >>> labelled = LabelledStates.from_cache(first, german.problem)
        >>> labelled.add_to_cache(second, german.problem)
        >>> _ = second.favourable(german.problem, german.test.head(5))
        >>> second.queries, second.cached
        (0, 5)
        """
        box.add_to_cache(problem, self.by_key)

    def for_target(self, problem: Problem, target: Problem) -> LabelledStates:
        """The answers about `problem` as answers about `target`, the same problem with another target.

        Answers whose outcome is not known are left out, and so are scores, which are in favour of other outcomes.
        """
        if target.outcome.favourable == problem.outcome.favourable:
            return self
        favourable = problem.outcome.favourable
        names = [next((v for v in problem.outcome.values if (v in favourable) == fav), None) for fav in (False, True)]
        two = len(problem.outcome.values) == 2
        known = [names[int(fav)] if two else value for fav, value in zip(self.favourable, self.outcomes, strict=True)]
        rows = [row for row, value in enumerate(known) if value is not None]
        return LabelledStates(
            self.states[rows],
            np.array([known[row] in target.outcome.favourable for row in rows], bool),
            tuple(self.extras[row] for row in rows),
            self.model,
            outcomes=tuple(self.outcomes[row] for row in rows),
        )

    def save(self, path: str | Path, problem: Problem) -> None:
        """Write a compressed CSV file with mode 0600, whose first line describes the answers as JSON.

        Parameters
        ----------
        path : str or Path
            The file; if it is a link, the link is replaced.
        problem : Problem
            The problem of the states.

        Raises
        ------
        StorageError
            If the file cannot be written.

        Examples
        --------
        >>> from counterplan import BlackBox, LabelledStates, benchmarks
        >>> german = benchmarks.load("german")
        >>> box = BlackBox(german.model)
        >>> _ = box.favourable(german.problem, german.test.head(5))
        >>> labelled = LabelledStates.from_cache(box, german.problem)
        >>> labelled.save("answers.csv.gz", german.problem)
        """
        text = self.head(problem) + self.rows(problem, header=True)
        write_inside(Path(path).parent, Path(path).name, gzip.compress(text.encode(), mtime=0), private=True)

    def head(self, problem: Problem) -> str:
        """Return the first line of a file: version, problem and model."""
        head = {"counterplan_answers": VERSION, "problem": problem.query_fingerprint, "model": self.model}
        return json.dumps(head) + "\n"

    def rows(self, problem: Problem, header: bool) -> str:
        """Return the remaining lines as CSV, with or without the column names."""
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        unknown = _unknown_outcome(problem)
        if header:
            named = [] if unknown is None else [_OUTCOME]
            writer.writerow([*(feature.name for feature in problem.features), _EXTRAS, _ANSWER, _SCORE, *named])
        columns = [_formatted(feature, self.states[:, feature.index]) for feature in problem.features]
        scores = ["" if math.isnan(score) else repr(score) for score in self.scores.tolist()]
        columns += [list(self.extras), self.favourable.astype(int).tolist(), scores]
        if unknown is not None:
            columns.append([unknown if outcome is None else outcome for outcome in self.outcomes])
        writer.writerows(zip(*columns, strict=True))
        return buffer.getvalue()

    @classmethod
    def load(cls, path: str | Path, problem: Problem, *, follow_links: bool = True) -> LabelledStates:
        """Read a file that `save` or a write-ahead log wrote.

        Parameters
        ----------
        path : str or Path
            The file.
        problem : Problem
            The problem that the answers must fit.
        follow_links : bool, default True
            Whether `path` may be a link; False for the files of a workspace.

        Returns
        -------
        LabelledStates
            The answers in the file.

        Raises
        ------
        MissingFileError
            If there is no such file.
        StorageError
            If it is damaged, too large, or belongs to another problem.

        Examples
        --------
        >>> from counterplan import BlackBox, LabelledStates, benchmarks
        >>> german = benchmarks.load("german")
        >>> box = BlackBox(german.model)
        >>> _ = box.favourable(german.problem, german.test.head(5))
        >>> labelled = LabelledStates.from_cache(box, german.problem)
        >>> labelled.save("answers.csv.gz", german.problem)
        >>> len(LabelledStates.load("answers.csv.gz", german.problem))
        5
        """
        raw = read_bounded(path, LIMIT, follow_links=follow_links)
        try:
            # The last line of a write-ahead log may be incomplete.
            content = _unpacked(raw) if raw[:2] == _GZIP else raw[: raw.rfind(b"\n") + 1]
            end = content.index(b"\n")
            head = parse_json(content[:end], str(path))
            version = head["counterplan_answers"]
        except (*DAMAGE, StorageError, OSError, zlib.error) as error:
            raise StorageError(f"{path}: these are not answers of counterplan, or they are damaged ({error})") from None
        if version != VERSION:
            raise StorageError(f"{path}: written by another counterplan (version {version}; this one reads {VERSION})")
        if head.get("problem") not in (problem.query_fingerprint, problem.fingerprint):
            raise StorageError(
                f"{path}: the answers are about another problem than {problem.name}: its features or its outcome differ"
            )
        try:
            _require_columns(content, end + 1, problem)
            rows = io.BytesIO(content)
            rows.seek(end + 1)
            tables = pd.read_csv(rows, dtype=str, keep_default_na=False, chunksize=_ROWS)
            parts = (_parsed(problem, table) for table in tables)
            states, answers, extras, scores, outcomes = zip(*parts, strict=True)
            flat, labels = (tuple(chain.from_iterable(texts)) for texts in (extras, outcomes))
            model = str(head.get("model", ""))
            return cls(np.concatenate(states), np.concatenate(answers), flat, model, np.concatenate(scores), labels)
        except DAMAGE as error:
            raise StorageError(f"{path}: damaged ({error}); remove it to query the model again") from None


def _require_columns(content: bytes, start: int, problem: Problem) -> None:
    """Raise ValueError if a line from `start` on is longer than a row can be, or the first one has more columns.

    pandas limits the rows that it reads at a time, but not their columns.
    """
    header = content[start : content.find(b"\n", start)]
    if header.count(b",") > _MOST_OTHER_COLUMNS + sum(1 + feature.name.count(",") for feature in problem.features):
        raise ValueError("it has more columns than the problem has features")
    breaks = np.flatnonzero(np.frombuffer(content, np.uint8)[start:] == ord("\n"))
    if len(breaks) and np.diff(breaks, prepend=-1).max() > _LONGEST_LINE:
        raise ValueError(f"a line is longer than {_LONGEST_LINE:,} bytes")


def _unpacked(raw: bytes) -> bytes:
    """Decompress at most `_RATIO` times the size of `raw`; ValueError if there is more."""
    limit = min(LIMIT, max(_SMALL, _RATIO * len(raw)))
    with gzip.GzipFile(fileobj=io.BytesIO(raw)) as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise ValueError(f"it unpacks to more than {limit:,} bytes")
    return content


def _parsed(problem: Problem, table: pd.DataFrame) -> tuple[Floats, Bools, list[str], Floats, list[str | None]]:
    """States [n, F], answers, extras, scores and outcomes [n] of some rows of a file.

    Older files have no scores and no outcomes.
    """
    columns = [_read(feature, table[feature.name]) for feature in problem.features]
    states = np.stack(columns, axis=1) if columns else np.empty((len(table), 0))
    answers = np.array([{"0": False, "1": True}[text] for text in table[_ANSWER]], bool)
    texts = table[_SCORE] if _SCORE in table.columns else [""] * len(table)
    scores = np.array([float(text) if text else np.nan for text in texts], float)
    if np.isinf(scores).any():
        raise ValueError("a score is infinite")
    return states, answers, list(table[_EXTRAS]), scores, _read_outcomes(problem, table)


def _read_outcomes(problem: Problem, table: pd.DataFrame) -> list[str | None]:
    """The outcomes [n] of some rows of a file; None where they are unknown."""
    unknown = _unknown_outcome(problem)
    if unknown is None or _OUTCOME not in table.columns:
        return [None] * len(table)
    known: dict[str, str | None] = {value: value for value in problem.outcome.values}
    return [({unknown: None} | known)[text] for text in table[_OUTCOME]]


def _unknown_outcome(problem: Problem) -> str | None:
    """The text of an unknown outcome in a file: one that is not an outcome. None if the file has no outcomes."""
    if problem.label_fingerprint is None:
        return None
    return _absent(problem.outcome.values)


def _missing(feature: Feature) -> str:
    """The text of a missing value: one that is not a value of the feature."""
    return "" if feature.is_number else _absent(feature.values)


def _absent(values: Sequence[str]) -> str:
    """A text that is not among `values`."""
    text = ""
    while text in values:
        text = f"({text or 'missing'})"
    return text


def _formatted(feature: Feature, column: Floats) -> list[str]:
    if feature.is_number:
        return ["" if math.isnan(number) else repr(number) for number in column.tolist()]
    values, missing = feature.values, _missing(feature)
    return [missing if math.isnan(index) else values[int(index)] for index in column.tolist()]


def _read(feature: Feature, column: pd.Series[str]) -> Floats:
    if feature.is_number:
        return np.array([float(text) if text else np.nan for text in column])
    number = {text: float(index) for index, text in enumerate(feature.values)}
    number[_missing(feature)] = np.nan
    return np.array([number[text] for text in column])
