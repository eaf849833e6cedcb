"""Writing an artefact in the format that the extension of a path names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from counterplan.errors import SettingError, StorageError
from counterplan.storage.files import write_whole

T = TypeVar("T")


def write_as(formats: Mapping[str, Callable[[T], str]], artefact: T, path: str | Path, what: str) -> None:
    """Write `artefact`, a program or card as `what` says, to `path`, whole or not at all."""
    write = formats.get(Path(path).suffix.lower())
    if write is None:
        raise SettingError(f"{path}: cannot tell what to write; a {what} is exported to {', '.join(formats)}")
    try:
        write_whole(path, write(artefact).encode("utf-8", "replace"))
    except OSError as error:
        raise StorageError(f"{path}: cannot be written: {error.strerror}") from None
