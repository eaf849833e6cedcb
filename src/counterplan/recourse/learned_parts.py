"""The surrogate, the agent and the program in a workspace."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from counterplan.errors import CounterplanError, SettingError, StorageError
from counterplan.problem import Problem
from counterplan.problem.targets import TargetLike
from counterplan.program import Program
from counterplan.program.io import load as read_program
from counterplan.recourse.quality import Quality
from counterplan.storage.workspace import PROGRAM, SURROGATE, Workspace

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
    workspace = Workspace(folder)
    if target is not None:
        problem = workspace.load_problem() if problem is None else problem
        default = problem.outcome.favourable
        problem = problem.with_target(target)
        if problem.outcome.favourable != default:
            workspace = workspace.for_target(problem.outcome.favourable)
    path = workspace.path(PROGRAM)
    if not path.exists():
        option = "" if target is None else " --target OUTCOME"
        raise StorageError(f"{path}: there is no program yet; make one with 'counterplan distil {folder}{option}'")
    program = Program(*read_program(path, follow_links=False))
    if problem is not None and program.problem.fingerprint != problem.fingerprint:
        raise StorageError(f"{path}: the program was made for another problem than {problem.name}; distil it again")
    return program


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
