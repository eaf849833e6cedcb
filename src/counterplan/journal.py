"""Answers as they come in, appended to a file, so that a run that is killed has lost next to nothing."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from pathlib import Path

from counterplan.answers import Answers
from counterplan.errors import PlanError
from counterplan.problem import Problem

FILE = "answers.unfinished.csv"
EVERY = 1.0
"""Seconds between two writings."""


class Journal:
    """Notes what a model says about one problem, and writes it to a file in `folder`, if there is one."""

    def __init__(self, problem: Problem, model: str, folder: Path | None) -> None:
        self.problem, self.model = problem, model
        self.path = None if folder is None else folder / FILE
        self.known: dict[bytes, bool] = {}
        self._new: dict[bytes, bool] = {}
        self._begun = False
        self._last = -math.inf

    def __call__(self, problem: str, found: Mapping[bytes, bool]) -> None:
        """Take down new answers about the problem with this fingerprint."""
        if problem == self.problem.fingerprint:
            self.known.update(found)
            self._new.update(found)
            if time.monotonic() - self._last >= EVERY:
                self.flush()

    def flush(self) -> None:
        """Write down what is new; if the file is not this journal's, or was removed, everything."""
        if self.path is None or not self._new:
            return
        going_on = self._begun and self.path.exists()
        answers = Answers.of(self.problem, self._new if going_on else self.known, self.model)
        text = answers.rows(self.problem, header=not going_on)
        try:
            with self.path.open("ab" if going_on else "wb") as file:
                file.write((text if going_on else answers.head(self.problem) + text).encode())
        except OSError as error:
            raise PlanError(f"{self.path}: cannot be written: {error.strerror}") from None
        self._begun, self._new, self._last = True, {}, time.monotonic()

    def take_up(self) -> Answers | None:
        """What a run that was killed has left in the folder, if it was about the same problem and model."""
        if self.path is None or not self.path.exists():
            return None
        try:
            answers = Answers.load(self.path, self.problem)
        except PlanError:  # of another problem, or killed while the first line was written
            return None
        if answers.model != self.model:
            return None
        self(self.problem.fingerprint, answers.by_key)
        return answers

    def close(self) -> None:
        """Remove the file: what it holds is kept elsewhere by now."""
        if self.path is not None and self._begun:
            self.path.unlink(missing_ok=True)
            self._begun, self._new = False, {}
