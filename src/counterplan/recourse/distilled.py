"""The program and the card of a `Recourse` object: made by `distil`, passed to it, or read from a folder on access."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from counterplan.problem import Problem
from counterplan.storage.workspace import Workspace

T = TypeVar("T")


class Distilled(Generic[T]):
    """A program or a card, or none.

    Parameters
    ----------
    file : str
        Name of its file in a workspace.
    load : callable
        Returns the one in a folder, for a problem.
    to_json : callable
        Returns the content of its file.
    value : object, optional
        The program or the card itself.
    """

    def __init__(
        self, file: str, load: Callable[[Path, Problem], T], to_json: Callable[[T], str], value: T | None = None
    ) -> None:
        self.file = file
        self._load, self._to_json = load, to_json
        self._value = value
        self._unread: Workspace | None = None

    @property
    def exists(self) -> bool:
        """Whether there is one, read or not."""
        return self._value is not None or self._unread is not None

    def get(self, problem: Problem) -> T | None:
        """Return it; read it first if necessary."""
        if self._unread is not None:
            self._value = self._load(self._unread.folder, problem)
            self._unread = None
        return self._value

    def set(self, value: T | None) -> None:
        """Replace it."""
        self._value, self._unread = value, None

    def find(self, workspace: Workspace) -> None:
        """Use the one in a workspace, if there is any."""
        if workspace.holds(self.file):
            self._unread = workspace

    def save(self, workspace: Workspace, problem: Problem) -> None:
        """Write it to a workspace; without one, remove the file."""
        if self._unread is not None and self._unread.folder.resolve() == workspace.folder.resolve():
            return
        value = self.get(problem)
        if value is None:
            workspace.remove(self.file)
        else:
            workspace.write(self.file, self._to_json(value))
