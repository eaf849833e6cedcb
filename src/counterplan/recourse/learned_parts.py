"""The surrogate, the agent, the program and the card in a workspace."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from counterplan.errors import CounterplanError, SettingError, StorageError
from counterplan.problem import Problem
from counterplan.problem.targets import TargetLike
from counterplan.program import Program
from counterplan.program.io import load as read_program
from counterplan.recourse.quality import Quality
from counterplan.scorecard import Scorecard
from counterplan.scorecard.io import load as read_card
from counterplan.storage.files import MissingFileError
from counterplan.storage.workspace import CARD, PROGRAM, SURROGATE, Workspace

if TYPE_CHECKING:
    from counterplan.surrogate import Surrogate

T = TypeVar("T")


def load_program(folder: str | Path, problem: Problem | None = None, *, target: TargetLike | None = None) -> Program:
    """Load the program in a learned folder.

    Parameters
    ----------
    folder : str or pathlib.Path
        A folder in which a program was distilled.
    problem : Problem, optional
        The problem that the program has to be about.
    target : str, number, bool or set of these, optional
        Load the program that was distilled for this target.

    Returns
    -------
    Program

    Raises
    ------
    StorageError
        If there is no program, it is damaged, or it is about another problem.
    """
    path = _distilled(PROGRAM, "program", "", folder, problem, target)
    return _checked(Program(*read_program(path, follow_links=False)), path, "program", problem, target)


def load_card(folder: str | Path, problem: Problem | None = None, *, target: TargetLike | None = None) -> Scorecard:
    """Load the card in a learned folder.

    Parameters
    ----------
    folder : str or pathlib.Path
        A folder in which a card was distilled.
    problem : Problem, optional
        The problem that the card has to be about.
    target : str, number, bool or set of these, optional
        Load the card that was distilled for this target.

    Returns
    -------
    Scorecard

    Raises
    ------
    StorageError
        If there is no card, it is damaged, or it is about another problem.
    """
    path = _distilled(CARD, "card", " --form card", folder, problem, target)
    return _checked(Scorecard(*read_card(path, follow_links=False)), path, "card", problem, target)


def _distilled(
    file: str, what: str, form: str, folder: str | Path, problem: Problem | None, target: TargetLike | None
) -> Path:
    """The path of a program or a card in a learned folder, for a target if one is given."""
    workspace = Workspace(folder)
    if target is not None:
        problem = workspace.load_problem() if problem is None else problem
        goal = problem.with_target(target)
        if goal.outcome.favourable != problem.outcome.favourable:
            workspace = workspace.for_target(goal.outcome.favourable)
    path = workspace.path(file)
    if not path.exists():
        option = "" if target is None else " --target OUTCOME"
        command = f"counterplan distil {folder}{form}{option}"
        raise MissingFileError(f"{path}: there is no {what} yet; make one with '{command}'")
    return path


class _OfProblem(Protocol):
    @property
    def problem(self) -> Problem: ...


D = TypeVar("D", bound=_OfProblem)


def _checked(loaded: D, path: Path, what: str, problem: Problem | None, target: TargetLike | None) -> D:
    """What was loaded; a StorageError if it is about another problem."""
    if problem is not None:
        goal = problem if target is None else problem.with_target(target)
        if loaded.problem.fingerprint != goal.fingerprint:
            raise StorageError(f"{path}: the {what} was made for another problem than {goal.name}; distil it again")
    return loaded


def load_quality(workspace: Workspace) -> Quality | None:
    """The assessment of the plans in a workspace; None if there is none, or it is damaged."""
    facts = workspace.load_quality()
    try:
        return None if facts is None else Quality.from_dict(facts)
    except (KeyError, ValueError):
        return None


def load_part(load: Callable[[Path, Problem], T], folder: Path, problem: Problem, damaged_ok: bool) -> T | None:
    """Load an agent or a surrogate; None if it is damaged and that is acceptable."""
    try:
        return load(folder, problem)
    except CounterplanError:
        if not damaged_ok:
            raise
        return None


def load_surrogate_for(problem: Problem, workspace: Workspace, saved: Problem) -> Surrogate | None:
    """The surrogate in a workspace for another problem over the same features and outcome, if there is one."""
    if problem.query_fingerprint != saved.query_fingerprint:
        raise SettingError(
            f"{workspace} was fitted to features or an outcome that differ from those of {problem.name}; only costs, "
            "limits, conditions and actions may change without a new fit"
        )
    if not workspace.holds(SURROGATE[1]):
        return None
    from counterplan.surrogate import load_surrogate

    return load_surrogate(workspace.folder, saved).with_problem(problem)
