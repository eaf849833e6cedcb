"""Files that are either whole or not there."""

from __future__ import annotations

import errno
import io
import json
import os
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from counterplan.errors import PlanError


def write_whole(path: str | Path, content: str | bytes, *, private: bool = False) -> None:
    """Write `content` to a temporary file beside `path`, then rename it: a reader never sees half of it.

    A link stays one; what is no file, a folder or a device, is never put away. Only the owner may read a `private` one.
    """
    target = Path(path).resolve()
    if target.exists() and not target.is_file():
        raise OSError(errno.EINVAL, "it is there, and not a file", str(path))
    data = content.encode() if isinstance(content, str) else content
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(name, 0o600 if private else 0o666 & ~umask)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_or_say(path: str | Path, content: str | bytes) -> None:
    """The same as `write_whole`, but a PlanError says so if it cannot be written."""
    try:
        write_whole(path, content)
    except OSError as error:
        raise PlanError(f"{path}: cannot be written: {error.strerror}") from None


def writable(folder: str | Path) -> Path:
    """`folder`, made if need be; a PlanError says so if nothing can be written there."""
    try:
        where = Path(folder)
        where.mkdir(parents=True, exist_ok=True)
    except TypeError:
        raise PlanError(f"a folder is a path, not {folder!r}") from None
    except OSError as error:
        raise PlanError(f"{folder}: cannot be made a folder: {error.strerror}") from None
    try:
        with tempfile.TemporaryFile(dir=where):
            return where
    except OSError as error:
        raise PlanError(f"{where}: nothing can be written there: {error.strerror}") from None


def require_writable(path: str | Path) -> None:
    """A PlanError says so if no file can be written to `path`: before anything is paid for that would be lost."""
    target = Path(path)
    if not target.absolute().parent.is_dir():
        raise PlanError(f"{path}: there is no folder {target.parent}")
    if target.exists() and not target.is_file():
        raise PlanError(f"{path}: cannot be written: it is there, and not a file")
    writable(target.parent)


def named(arrays: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """The arrays whose names begin with `prefix`, by the rest of their names."""
    return {name.removeprefix(prefix): value for name, value in arrays.items() if name.startswith(prefix)}


def write_arrays(path: str | Path, arrays: Mapping[str, npt.NDArray[Any]], facts: Any) -> None:
    """Arrays and plain facts (as JSON) in one .npz file, whole or not at all; nothing in it is executable.

    A PlanError says so if it cannot be written.
    """
    buffer = io.BytesIO()
    text = np.frombuffer(json.dumps(facts).encode(), np.uint8)
    np.savez(buffer, **{"facts": text, **arrays})  # type: ignore[arg-type]
    write_or_say(path, buffer.getvalue())


def read_arrays(path: str | Path) -> tuple[dict[str, npt.NDArray[Any]], Any]:
    """The inverse of `write_arrays`; a PlanError says so if the file is damaged or not there."""
    try:
        if Path(path).exists() and not zipfile.is_zipfile(path):
            raise PlanError(f"{path}: the file is damaged: it is cut off, or never held arrays")
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        return arrays, json.loads(arrays.pop("facts").tobytes())
    except FileNotFoundError:
        raise PlanError(f"{path}: there is no such file") from None
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise PlanError(f"{path}: the file is damaged ({error})") from None
