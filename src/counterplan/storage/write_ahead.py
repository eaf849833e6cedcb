"""Answers as they come in, appended to a file, so that a run that is killed has lost next to nothing."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from pathlib import Path

from counterplan.errors import StorageError
from counterplan.problem import Problem
from counterplan.storage.answer_cache import LabelledStates

FILE = "answers.unfinished.csv"
FLUSH_SECONDS = 1.0
"""Seconds between two writings."""


class WriteAheadLog:
    """Notes what a model says about one problem, and writes it to a file in `folder`, if there is one.

    One that cannot be written is an error if it is `required`, else nothing is written down any more.
    """

    def __init__(self, problem: Problem, model: str, folder: Path | None, required: bool = True) -> None:
        self.problem, self.model, self.required = problem, model, required
        self.path = None if folder is None else folder / FILE
        self.known: dict[bytes, bool] = {}
        self._new: dict[bytes, bool] = {}
        self._begun = self._taken = False
        self._last = -math.inf

    def __call__(self, problem: str, found: Mapping[bytes, bool]) -> None:
        """Take down new answers about the problem with this `asking_fingerprint`."""
        if problem == self.problem.query_fingerprint:
            self.known.update(found)
            self._new.update(found)
            if time.monotonic() - self._last >= FLUSH_SECONDS:
                self.flush()

    def flush(self) -> None:
        """Write down what is new; if the file is not this journal's, or was removed, everything."""
        if self.path is None or not self._new:
            return
        going_on = self._begun and self.path.exists()
        answers = LabelledStates.from_keys(self.problem, self._new if going_on else self.known, self.model)
        text = answers.rows(self.problem, header=not going_on)
        try:
            with self.path.open("ab" if going_on else "wb") as file:
                file.write((text if going_on else answers.head(self.problem) + text).encode())
        except OSError as error:
            if self.required:
                raise StorageError(f"{self.path}: cannot be written: {error.strerror}") from None
            self.path = None
        self._begun, self._new, self._last = True, {}, time.monotonic()

    def recover(self) -> LabelledStates | None:
        """What a run that was killed has left in the folder, if anything.

        A StorageError says so if it is damaged, or was about another problem or another model: it is not to be lost.
        """
        if self.path is None or not _holds_something(self.path):
            return None
        answers = LabelledStates.load(self.path, self.problem)
        if answers.model != self.model:
            raise StorageError(f"{self.path}: holds answers of {answers.model}, not of {self.model}")
        self.known.update(answers.by_key)
        self._taken = True
        return answers

    @property
    def pending(self) -> bool:
        """Whether there is something in the file, of this run or one that was killed, to be kept elsewhere."""
        return self.path is not None and (self._begun or self._taken)

    def close(self) -> None:
        """Remove the file: what it holds is kept elsewhere by now."""
        if self.path is not None and self.pending:
            self.path.unlink(missing_ok=True)
            self._begun, self._taken, self._new = False, False, {}


def _holds_something(path: Path) -> bool:
    """Whether more was written than the head and the names of the columns."""
    try:
        return path.read_bytes().count(b"\n") > 2
    except OSError:
        return False
