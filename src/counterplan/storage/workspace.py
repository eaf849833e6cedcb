"""What was learned about a problem and a model, in memory and in a folder: whatever is stopped or killed there,
nothing that was paid for is lost."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self, TypeVar

from counterplan.agent import Agent, load_agent, save_agent
from counterplan.blackbox import BlackBox
from counterplan.errors import PlanError, ProblemError, StorageError
from counterplan.problem import Problem
from counterplan.program import Program
from counterplan.program.io import load as read_program
from counterplan.program.io import to_json
from counterplan.storage.answer_cache import FILE as ANSWERS
from counterplan.storage.answer_cache import LabelledStates
from counterplan.storage.checkpoints import LEARNING, TRAINING
from counterplan.storage.files import MissingFileError, write_inside
from counterplan.storage.json_files import read_json
from counterplan.storage.serialization import artifact_files
from counterplan.storage.write_ahead import FILE as JOURNAL
from counterplan.storage.write_ahead import WriteAheadLog
from counterplan.surrogate import Surrogate, load_surrogate, save_surrogate

T = TypeVar("T")
METHODS = ("guided", "search", "both")
PROBLEM = "problem.json"
PROGRAM = "program.json"
QUESTIONS = "questions.json"
KEPT = (
    *(PROBLEM, PROGRAM, QUESTIONS, ANSWERS, JOURNAL),
    *artifact_files("agent"),
    *artifact_files("surrogate"),
    *LEARNING,
    *TRAINING,
)
"""Everything that `fit`, `distil` and `save` write to a folder."""


class Learned:
    """A problem, a model, what was learned about them, and every answer paid for."""

    def __init__(
        self,
        problem: Problem,
        model: BlackBox | object,
        *,
        agent: Agent | None = None,
        surrogate: Surrogate | None = None,
        program: Program | None = None,
    ) -> None:
        self.problem = problem
        self.box = model if isinstance(model, BlackBox) else BlackBox(model)
        self.agent_ = agent
        self.surrogate_ = surrogate
        self._program = program
        self._program_in: Path | None = None
        """The folder whose program was not read yet."""
        self.n_queries_: dict[str, int] = {}
        """How many questions `fit` took, by method."""
        self.holdout_answers_: LabelledStates | None = None
        """Answers that came too late for the surrogate to learn from: what it can be judged by."""
        self.budget_spent_ = False
        """Whether `fit` ended for want of questions: with a larger budget, `resume` goes on."""
        self.foreign_model_: str | None = None
        """Whose answers are kept in the folder, if they are another model's and so were not used."""
        self._journal: WriteAheadLog | None = None
        self._paid: dict[bytes, bool] = {}
        """Answers that `fit` got, whatever the black box remembers."""
        self._afresh = False
        """Whether answers of before are not to be believed any more."""

    @property
    def program_(self) -> Program | None:
        """What `distil` has made, if anything; one that is kept in a folder is read when it is first asked for."""
        if self._program_in is not None:
            self._program, self._program_in = load_program(self._program_in, self.problem), None
        return self._program

    @program_.setter
    def program_(self, program: Program | None) -> None:
        self._program, self._program_in = program, None

    @property
    def _has_program(self) -> bool:
        return self._program is not None or self._program_in is not None

    @property
    def unfinished_(self) -> bool:
        """Whether answers that a killed command has left wait for `save_answers` to put them with the others."""
        return self._journal is not None and self._journal.pending

    @property
    def answers_(self) -> LabelledStates:
        """Every answer that is known about the problem."""
        return LabelledStates.from_keys(
            self.problem, self._paid | self.box.cached_answers(self.problem), self.box.model_id
        )

    def save(self, folder: str | Path) -> None:
        """Keep in `folder` the problem, what was learned, and every answer paid for; the model stays with you."""
        if self.agent_ is None and self.surrogate_ is None and not self._has_program:
            raise PlanError("there is nothing to save yet: call fit first")
        where = Path(folder)
        try:
            where.mkdir(parents=True, exist_ok=True)
            write_inside(where, PROBLEM, json.dumps(self.problem.to_dict(), ensure_ascii=False, indent=1))
            if self.agent_ is not None:
                save_agent(self.agent_, where)
            if self.surrogate_ is not None:
                save_surrogate(self.surrogate_, where)
            if self.n_queries_:
                write_inside(where, QUESTIONS, json.dumps(self.n_queries_))
            if self._program_in is None or self._program_in.resolve() != where.resolve():
                if (program := self.program_) is not None:
                    write_inside(where, PROGRAM, to_json(program))
                else:
                    (where / PROGRAM).unlink(missing_ok=True)
            for what, there in (("agent", self.agent_), ("surrogate", self.surrogate_)):
                for name in artifact_files(what) if there is None else ():  # an earlier one goes with nothing here
                    (where / name).unlink(missing_ok=True)
        except StorageError:
            raise
        except OSError as error:
            raise StorageError(f"{where}: cannot be written: {error.strerror}") from None
        self.save_answers(where)

    def save_answers(self, folder: str | Path) -> int:
        """Keep in `folder` every answer that is known about the problem; says how many there are.

        If answers of before are not believed any more, checkpoints in the folder go, because they hold such.
        """
        where = Path(folder)
        known = self.answers_
        if not len(known):
            return 0
        try:
            if self._afresh:
                drop_checkpoints(where)
            known.save(where / ANSWERS, self.problem)
            if self._afresh:
                (where / JOURNAL).unlink(missing_ok=True)
            if self._journal is not None and self._journal.path == where / JOURNAL:
                self._journal.close()
        except StorageError:
            raise
        except OSError as error:
            raise StorageError(f"{where}: cannot be written: {error.strerror}") from None
        return len(known)

    @classmethod
    def load(cls, folder: str | Path, model: BlackBox | object, *, answers: bool = True) -> Self:
        """What `save` kept, with the model it is to be used with.

        Answers that were kept are not asked again, if they are of the same model: same name, same content. A service
        that has changed behind its address needs `answers=False`: everything is asked afresh.
        """
        learned = cls(load_problem(folder), model)
        learned._load(Path(folder))
        learned._afresh = not answers
        learned.box.model_id  # noqa: B018 -- what the model is, before it is asked anything
        if answers:
            learned._recall(Path(folder))
            learned._journal = WriteAheadLog(learned.problem, learned.box.model_id, Path(folder))
            try:
                learned._take_up(learned._journal)
            except StorageError:  # another's, which stays as it is
                learned._journal = None
        return learned

    @classmethod
    def resuming(cls, folder: str | Path, problem: Problem, model: BlackBox | object, method: str) -> Self:
        """What is kept in `folder` about `problem`, for `fit(…, method=method, resume=True)`.

        A surrogate or agent that cannot be read is no obstacle if `fit` makes it again from its checkpoint.
        """
        learned, where = cls(problem, model), Path(folder)
        checkpoints = {"surrogate": ("guided", LEARNING[0]), "agent": ("search", TRAINING[0])}
        rebuilt = [
            what for what, (how, file) in checkpoints.items() if method in (how, "both") and (where / file).exists()
        ]
        learned._load(where, rebuilt)
        return learned

    def _load(self, folder: Path, rebuilt: Sequence[str] | None = None) -> None:
        """Take over what was learned, as it is kept in `folder`; what is `rebuilt`, if anything is, may be damaged."""
        agent, surrogate = ((folder / artifact_files(what)[1]).exists() for what in ("agent", "surrogate"))
        if (folder / PROGRAM).exists():
            self._program_in = folder
        if agent:
            self.agent_ = _unless("agent" in (rebuilt or ()), load_agent, folder, self.problem)
        if surrogate or (rebuilt is None and not agent and self._program_in is None):
            self.surrogate_ = _unless("surrogate" in (rebuilt or ()), load_surrogate, folder, self.problem)
        self.n_queries_ = _load_questions(folder / QUESTIONS)

    def _take_up(self, journal: WriteAheadLog) -> None:
        """Have the black box remember what a killed command has left; a PlanError says so if it is another's."""
        if left := journal.recover():
            left.add_to_cache(self.box, self.problem)
            self._paid |= journal.known

    @contextmanager
    def keeping_answers(self, folder: str | Path) -> Iterator[None]:
        """Within this, answers are written down in `folder` as they come: whoever is killed has lost next to nothing.

        The next `load` finds them, and `save` or `save_answers` puts them with the others. Nothing is written down in
        a folder that holds another model's answers, or cannot be written to.
        """
        journal = WriteAheadLog(self.problem, self.box.model_id, Path(folder), required=False)
        try:
            if not self._afresh:
                self._take_up(journal)
        except StorageError:
            journal.path = None
        if self.foreign_model_ is not None:
            journal.path = None
        if journal.path is not None:
            self._journal = journal
        with self.box.recording(journal):
            try:
                yield
            finally:
                self._paid |= journal.known
                journal.flush()

    def _recall(self, folder: Path) -> None:
        """Have the black box remember the answers that are kept in `folder`, unless they are another model's."""
        if (folder / ANSWERS).exists():
            told = load_answers(folder, self.problem)
            if told.model == self.box.model_id:
                told.add_to_cache(self.box, self.problem)
            else:
                self.foreign_model_ = told.model


def _unless(rebuilt: bool, load: Callable[[Path, Problem], T], folder: Path, problem: Problem) -> T | None:
    """What `load` gives; nothing if that is damaged and will be `rebuilt`."""
    try:
        return load(folder, problem)
    except StorageError:
        if not rebuilt:
            raise
        return None


def drop_checkpoints(folder: Path) -> None:
    """Remove checkpoints whose answers are not believed any more."""
    for name in (LEARNING[0], TRAINING[0]):
        (folder / name).unlink(missing_ok=True)


def _load_questions(path: Path) -> dict[str, int]:
    """How many questions a fit took, as far as that was written down."""
    try:
        told = read_json(path, follow_links=False)
        return {method: int(told[method]) for method in METHODS if method in told}
    except (OSError, ValueError, TypeError):
        return {}


def load_answers(folder: Path, problem: Problem) -> LabelledStates:
    """The answers kept in `folder`."""
    try:
        return LabelledStates.load(folder / ANSWERS, problem, follow_links=False)
    except StorageError as error:
        raise StorageError(f"{error}. Remove the file: nothing is lost but what its answers cost") from None


def load_program(folder: str | Path, problem: Problem | None = None) -> Program:
    """The program kept in `folder`; a PlanError says so if there is none, or it is about another `problem`."""
    path = Path(folder) / PROGRAM
    if not path.exists():
        raise PlanError(f"{path}: there is no program yet; make one with 'counterplan distil {folder}'")
    program = read_program(path, follow_links=False)
    if problem is not None and program.problem.fingerprint != problem.fingerprint:
        raise PlanError(f"{path}: the program was made for another problem than {problem.name}; distil it again")
    return program


_WRITES_IT = "'counterplan fit' with your problem's own file and --resume writes it again"


def load_problem(folder: str | Path) -> Problem:
    """The problem that a saved Recourse is about."""
    path = Path(folder) / PROBLEM
    try:
        data = read_json(path, what="problem", follow_links=False, infinite=True)
    except MissingFileError:
        raise StorageError(f"{path}: there is no such file; is {folder} what 'counterplan fit' wrote?") from None
    except StorageError as error:
        raise StorageError(f"{error}; {_WRITES_IT}") from None
    try:
        return Problem.from_dict(data, str(path))
    except ProblemError as error:
        raise StorageError(f"{error}\n{path} is damaged or was changed: {_WRITES_IT}") from None
