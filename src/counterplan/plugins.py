"""Plug-ins: planners and benchmarks of other packages, named by entry point or as MODULE:NAME.

Both forms are words that every process can resolve again. The objects are validated by the registries that use them:
`planners/registry.py` and `benchmarks/registry.py`.
"""

from __future__ import annotations

import hashlib
import re
import sys
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from counterplan.errors import ModelError, SettingError
from counterplan.models.adapters import import_attribute

_WORD = re.compile(r"[\w.-]+(:\w+)?")


@dataclass(frozen=True)
class PluginGroup:
    """Objects of one kind, offered by installed packages as entry points.

    Parameters
    ----------
    kind : str
        Name of the kind in messages, such as "planner".
    group : str
        Entry-point group.
    """

    kind: str
    group: str

    def points(self, name: str) -> list[EntryPoint]:
        """Entry points called `name`."""
        return list(entry_points(group=self.group, name=name))

    def names(self) -> list[str]:
        """Names of all entry points, sorted; nothing is imported."""
        return sorted({point.name for point in entry_points(group=self.group)})

    def load(self, points: list[EntryPoint]) -> Any:
        """The object of entry points that share one name.

        Raises
        ------
        SettingError
            If they disagree, or the import fails.
        """
        name, values = points[0].name, sorted({point.value for point in points})
        if len(values) > 1:
            raise SettingError(
                f"the {self.kind} '{name}' is offered by more than one package, as {' and '.join(values)}: uninstall "
                "one of them"
            )
        try:
            return points[0].load()
        except Exception as error:  # any failure of another package
            raise SettingError(f"the {self.kind} '{name}' is offered as {values[0]}, which fails: {error}") from error

    def find(self, word: str) -> Any | None:
        """The object that a word names: MODULE:NAME, or an entry point. None if there is no such entry point.

        Raises
        ------
        SettingError
            If the word has neither form, or the import fails.
        """
        if not _WORD.fullmatch(word):
            raise SettingError(f"'{word}' is neither the name of a {self.kind} nor MODULE:NAME")
        if ":" in word:
            try:
                return import_attribute(*word.split(":"))
            except ModelError as error:
                raise SettingError(f"the {self.kind} '{word}': {error}") from None
        points = self.points(word)
        return self.load(points) if points else None


PLANNERS = PluginGroup("planner", "counterplan.planners")
BENCHMARKS = PluginGroup("benchmark", "counterplan.benchmarks")


def as_file_name(word: str) -> str:
    """A word as part of a file name on any system."""
    return word.replace(":", "@")


@cache
def source_of(plugin: Any) -> str:
    """Hash of the file in which a class or function is defined, as it was when first called; empty if unknown."""
    file = getattr(sys.modules.get(getattr(plugin, "__module__", "")), "__file__", None)
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()[:16] if file else ""
