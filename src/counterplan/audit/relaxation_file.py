"""A file of what relaxations were found to do, so that an audit that is resumed does not search again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from counterplan.audit.relaxation_section import relaxation_section, summarized
from counterplan.audit.section import Section
from counterplan.bounded_json import parse_json
from counterplan.errors import StorageError
from counterplan.storage.files import MissingFileError, read_inside, write_inside

MAX_RELAXATIONS = 50_000_000
"""Most bytes of the file."""


class RelaxationFile:
    """The file `name` in `folder`, with the facts that its data depends on."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name

    def read(self, facts: dict[str, Any]) -> dict[str, Any] | None:
        """The data; None if there is none, or it is of other facts. StorageError if the file is damaged."""
        try:
            written = read_inside(self.folder, self.name, MAX_RELAXATIONS)
        except MissingFileError:
            return None
        content = parse_written(written, self.folder / self.name)
        if not isinstance(content, dict) or not isinstance(content.get("data"), dict):
            raise self.damaged("no data")
        return content["data"] if content.get("facts") == facts else None

    def write(self, facts: dict[str, Any], data: dict[str, Any]) -> None:
        """Write data, whole or not at all."""
        write_inside(self.folder, self.name, json.dumps({"facts": facts, "data": data}, allow_nan=False))

    def damaged(self, reason: object) -> StorageError:
        """The error about content that cannot be used."""
        return StorageError(
            f"{self.folder / self.name}: damaged ({reason!r}); remove the file, and run with --resume again"
        )


def parse_written(content: bytes, path: Path) -> Any:
    """Parse the JSON of a file that an audit wrote; a StorageError, such as for a truncated file, says what to do."""
    try:
        return parse_json(content, str(path))
    except StorageError as error:
        raise StorageError(f"{error}; remove the file, and run with --resume again") from None


def saved_relaxations(
    file: RelaxationFile | None,
    facts: dict[str, Any],
    search: Callable[[], dict[str, Any]],
    min_group: int,
) -> tuple[dict[str, Any], Section]:
    """What relaxations do, from the file or else from a search, which is saved there; and its section.

    Parameters
    ----------
    file : RelaxationFile or None
        None: nothing is saved.
    facts : dict
        What the data depends on, as JSON.
    search : callable
        Returns the data, as `audit_relaxations`.
    min_group : int
        Fewest people that shares are given for.

    Returns
    -------
    data : dict
    section : Section

    Raises
    ------
    StorageError
        If the file is damaged.
    """
    data = None if file is None else file.read(facts)
    if data is None:
        data = search()
        if file is not None:
            file.write(facts, data)
    try:
        data = summarized(data, min_group)
        return data, relaxation_section(data)
    except (KeyError, TypeError, ValueError, AttributeError) as error:  # a file that was altered
        assert file is not None
        raise file.damaged(error) from None
