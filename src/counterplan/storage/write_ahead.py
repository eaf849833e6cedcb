"""Write-ahead log of answers: each is appended to a file as soon as it arrives, so that a killed run loses none."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from counterplan.blackbox import Answer
from counterplan.errors import StorageError
from counterplan.problem import Problem
from counterplan.storage.answer_cache import LIMIT, LabelledStates
from counterplan.storage.files import FileId, append_inside, read_inside, write_inside

FILE = "answers.unfinished.csv"


class WriteAheadLog:
    """Listener for `BlackBox.recording` that logs the answers of a model for one problem.

    Answers are written before the call that delivered them returns. The file is created under a fresh name, with
    mode 0600, and never written through a link.

    Parameters
    ----------
    problem : Problem
        Answers for other problems are ignored.
    model : str
        The `model_id` of the black box.
    folder : Path or None
        The workspace; None logs to memory only.
    required : bool, default True
        Whether a file that cannot be written is an error; otherwise logging to the file stops.
    same_model : callable, optional
        Whether answers of a black box with another `model_id` are those of this model. Default: they are not.
    favourable : collection of str, optional
        The favourable outcomes of the black box, by which answers for other targets are logged. Default: those of the
        problem.

    Attributes
    ----------
    known : dict of bytes to bool
        All answers, by query key.
    """

    def __init__(
        self,
        problem: Problem,
        model: str,
        folder: Path | None,
        required: bool = True,
        same_model: Callable[[str], bool] | None = None,
        favourable: Collection[str] | None = None,
    ) -> None:
        self.problem, self.model, self.required = problem, model, required
        self._favourable = problem.outcome.favourable if favourable is None else favourable
        self._same_model = same_model or (lambda other: other == model)
        self.path = None if folder is None else folder / FILE
        self.known: dict[bytes, Answer] = {}
        self._unwritten: dict[bytes, Answer] = {}
        self._file: FileId | None = None
        """The file that this log created."""
        self._recovered = False

    def __call__(self, problem: str, found: Mapping[bytes, Answer]) -> None:
        """Log new answers for the problem with this `query_fingerprint`, or for another target of it."""
        if problem == self.problem.label_fingerprint:
            found = {key: self._of_outcome(answer) for key, answer in found.items() if key not in self.known}
        if found and problem in (self.problem.query_fingerprint, self.problem.label_fingerprint):
            self.known.update(found)
            self._unwritten.update(found)
            self.flush()

    def _of_outcome(self, answer: Answer) -> Answer:
        """The answer for this log's favourable outcomes; a score in favour of others is dropped."""
        return Answer(answer.outcome in self._favourable, None, answer.outcome)

    def flush(self) -> None:
        """Append unwritten answers to the file; if it was removed or is not this log's, write all answers.

        Raises
        ------
        StorageError
            If the file cannot be written and is `required`.
        """
        if self.path is None or not self._unwritten:
            return
        try:
            if self._file is None or not self._append(self._file):
                answers = LabelledStates.from_keys(self.problem, self.known, self.model)
                text = answers.head(self.problem) + answers.rows(self.problem, header=True)
                self._file = write_inside(self.path.parent, FILE, text, private=True)
        except StorageError:
            if self.required:
                raise
            self.path = None
        self._unwritten = {}

    def _append(self, file: FileId) -> bool:
        """Append unwritten answers to `file`; False if it is gone."""
        assert self.path is not None
        answers = LabelledStates.from_keys(self.problem, self._unwritten, self.model)
        return append_inside(self.path.parent, FILE, answers.rows(self.problem, header=False), file)

    def recover(self) -> LabelledStates | None:
        """Return the answers that a killed run left in the folder, if any.

        Raises
        ------
        StorageError
            If the file is damaged, or belongs to another problem or model; it is left untouched.
        """
        if self.path is None or not _has_rows(self.path):
            return None
        answers = LabelledStates.load(self.path, self.problem, follow_links=False)
        if not self._same_model(answers.model):
            raise StorageError(f"{self.path}: holds answers of {answers.model}, not of {self.model}")
        self.known.update(answers.by_key)
        self._recovered = True
        return answers

    @property
    def pending(self) -> bool:
        """Whether the file holds answers, of this run or a killed one, that are to be saved elsewhere."""
        return self.path is not None and (self._file is not None or self._recovered)

    def close(self) -> None:
        """Remove the file after its answers were saved elsewhere."""
        if self.path is not None and self.pending:
            self.path.unlink(missing_ok=True)
            self._file, self._recovered, self._unwritten = None, False, {}


def _has_rows(path: Path) -> bool:
    """Whether the file has lines after the head and the column names; False if it cannot be read."""
    try:
        return read_inside(path.parent, path.name, LIMIT).count(b"\n") > 2
    except StorageError:
        return False
