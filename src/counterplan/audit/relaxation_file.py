"""A file of what relaxations were found to do, so that an audit that is resumed does not search again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from counterplan.audit.relaxation_section import relaxation_section
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
            content = parse_json(read_inside(self.folder, self.name, MAX_RELAXATIONS), str(self.folder / self.name))
        except MissingFileError:
            return None
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


def saved_relaxations(
    file: RelaxationFile | None, facts: dict[str, Any], search: Callable[[], dict[str, Any]]
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
        return data, relaxation_section(data)
    except (KeyError, TypeError, ValueError, AttributeError) as error:  # a file that was altered
        assert file is not None
        raise file.damaged(error) from None
