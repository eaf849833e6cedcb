"""Answers of one black box about one problem: which are known, and how they get into workspaces and out of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from counterplan.blackbox import Answer, BlackBox
from counterplan.errors import CounterplanError, StorageError
from counterplan.problem import Problem
from counterplan.storage.answer_cache import LabelledStates
from counterplan.storage.workspace import ANSWERS, WRITE_AHEAD, Workspace
from counterplan.storage.write_ahead import WriteAheadLog


@dataclass
class AnswerUpdate:
    """What recording answers changed in a workspace; filled in when recording ends.

    Attributes
    ----------
    saved : int
        Number of answers in the workspace afterwards; 0 if the file was left as it was.
    removed_checkpoints : tuple of str
        Checkpoints that were removed because they contained answers which were replaced.
    error : CounterplanError or None
        The reason why the answers could not be saved, if so.
    """

    saved: int = 0
    removed_checkpoints: tuple[str, ...] = ()
    error: CounterplanError | None = None


class AnswerRecorder:
    """Keeps track of the answers of one black box about one problem, and persists them in workspaces.

    Parameters
    ----------
    problem : Problem
        The problem that the queries are about.
    box : BlackBox
        The black box; answers that are loaded are added to its cache.
    discard_saved : bool, default=False
        Ignore and replace the answers in a workspace, because the model has changed.

    Attributes
    ----------
    foreign_model : str or None
        Identity of the model whose answers the workspace contains, if it is another one: these are not used.
    """

    def __init__(self, problem: Problem, box: BlackBox, discard_saved: bool = False) -> None:
        self.problem = problem
        self.box = box
        self.discard_saved = discard_saved
        self.foreign_model: str | None = None
        self._received: dict[bytes, Answer] = {}
        """Answers received while recording, whether or not the black box caches them."""
        self._log: WriteAheadLog | None = None

    @property
    def answers(self) -> LabelledStates:
        """All known answers."""
        return LabelledStates.from_keys(
            self.problem, self._received | self.box.cached_answers(self.problem), self.box.model_id
        )

    @property
    def pending(self) -> bool:
        """Whether the write-ahead log contains answers that `save` has yet to merge."""
        return self._log is not None and self._log.pending

    def _is_same_model(self, model_id: str) -> bool:
        return self.box.is_model(model_id, self.problem)

    def _new_log(self, folder: Path | None, required: bool = True) -> WriteAheadLog:
        favourable = self.box.favourable_outcomes(self.problem)
        return WriteAheadLog(self.problem, self.box.model_id, folder, required, self._is_same_model, favourable)

    def load(self, workspace: Workspace) -> None:
        """Add the answers in a workspace to the cache, unless another model gave them; also those of a killed run."""
        self._load_saved(workspace)
        log = self._new_log(workspace.folder)
        try:
            self._recover(log)
            self._log = log
        except CounterplanError:  # a log of another model or problem is left as it is
            self._log = None

    def _load_saved(self, workspace: Workspace) -> None:
        if workspace.holds(ANSWERS):
            saved = workspace.load_answers(self.problem)
            if self._is_same_model(saved.model):
                saved.add_to_cache(self.box, self.problem)
            else:
                self.foreign_model = saved.model

    def _recover(self, log: WriteAheadLog) -> None:
        """Add the answers that a killed run left in the log to the cache; raises if another model gave them."""
        if recovered := log.recover():
            recovered.add_to_cache(self.box, self.problem)
            self._received |= log.known

    def save(self, workspace: Workspace) -> int:
        """Save all known answers in a workspace; return their number.

        If earlier answers are discarded, the checkpoints in the workspace are removed, because they contain them.
        """
        known = self.answers
        if not len(known):
            return 0
        try:
            if self.discard_saved:
                workspace.remove_checkpoints()
            known.save(workspace.path(ANSWERS), self.problem)
            if self.discard_saved:
                workspace.remove(WRITE_AHEAD)
            if self._log is not None and self._log.path == workspace.path(WRITE_AHEAD):
                self._log.close()
        except CounterplanError:
            raise
        except OSError as error:
            raise StorageError(f"{workspace}: cannot be written: {error.strerror}") from None
        return len(known)

    @contextmanager
    def fitting(self, workspace: Workspace | None, resume: bool) -> Iterator[WriteAheadLog]:
        """Write answers ahead during a fit; a workspace with answers of another model cannot be resumed."""
        folder = None if workspace is None else workspace.folder
        self._log = log = self._new_log(folder)
        if resume and workspace is not None:
            self._load_saved(workspace)
            if self.foreign_model is not None:
                raise StorageError(
                    f"{workspace.path(ANSWERS)}: holds answers of {self.foreign_model}, not of {self.box.model_id}; "
                    "start again with --force"
                )
            try:
                self._recover(log)
            except CounterplanError as error:
                raise StorageError(f"{error}; start again with --force") from None
        with self._noting(log):
            yield log

    @contextmanager
    def recording(self, workspace: Workspace) -> Iterator[AnswerUpdate]:
        """Write answers ahead while planning or distilling, and merge them into the workspace at the end.

        A workspace that cannot be written, or that belongs to another model, does not prevent planning.
        """
        log = self._new_log(workspace.folder, required=False)
        try:
            if not self.discard_saved:
                self._recover(log)
        except CounterplanError:
            log.path = None
        if self.foreign_model is not None:
            log.path = None
        if log.path is not None:
            self._log = log
        update = AnswerUpdate()
        try:
            with self._noting(log):
                yield update
        finally:
            self._merge(workspace, update)

    @contextmanager
    def _noting(self, log: WriteAheadLog) -> Iterator[None]:
        with self.box.recording(log):
            try:
                yield
            finally:
                self._received |= log.known
                log.flush()

    def _merge(self, workspace: Workspace, update: AnswerUpdate) -> None:
        """Save new answers with those in the workspace; answers of another model are left as they are."""
        if not self.box.queries and (self.discard_saved or not self.pending):
            return
        if workspace.holds(ANSWERS) and not self.discard_saved:
            saved = workspace.load_answers(self.problem)  # another process may have added some since `load`
            if not self._is_same_model(saved.model):
                return
            saved.add_to_cache(self.box, self.problem)
        outdated = workspace.checkpoints if self.discard_saved else ()
        try:
            update.saved = self.save(workspace)
            update.removed_checkpoints = outdated
        except CounterplanError as error:
            update.error = error
