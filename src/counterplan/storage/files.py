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

from counterplan.errors import StorageError


def write_whole(path: str | Path, content: str | bytes) -> None:
    """Write `content` to a temporary file beside `path`, then rename it, so that a reader never sees half of it.

    A link stays a link. StorageError if the file cannot be written, or `path` is a folder or a device.
    """
    target = Path(path).resolve()
    data = content.encode() if isinstance(content, str) else content
    try:
        if target.exists() and not target.is_file():
            raise OSError(errno.EINVAL, "it exists and is not a regular file", str(path))
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            umask = os.umask(0)
            os.umask(umask)
            os.chmod(name, 0o666 & ~umask)
            os.replace(name, target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise _storage_error(path, "cannot be written", error) from None


def _storage_error(path: str | Path, problem: str, error: OSError) -> StorageError:
    """A StorageError about `path` that keeps the operating system's `strerror`."""
    wrapped = StorageError(f"{path}: {problem}: {error.strerror}")
    wrapped.strerror = error.strerror
    return wrapped


def make_writable(folder: str | Path) -> Path:
    """`folder`, made if need be; a StorageError says so if nothing can be written there."""
    try:
        where = Path(folder)
        where.mkdir(parents=True, exist_ok=True)
    except TypeError:
        raise StorageError(f"a folder is a path, not {folder!r}") from None
    except OSError as error:
        raise StorageError(f"{folder}: cannot be made a folder: {error.strerror}") from None
    try:
        with tempfile.TemporaryFile(dir=where):
            return where
    except OSError as error:
        raise StorageError(f"{where}: nothing can be written there: {error.strerror}") from None


def require_writable(path: str | Path) -> None:
    """A StorageError says so if no file can be written to `path`: before anything is paid for that would be lost."""
    target = Path(path)
    if not target.absolute().parent.is_dir():
        raise StorageError(f"{path}: there is no folder {target.parent}")
    if target.exists() and not target.is_file():
        raise StorageError(f"{path}: cannot be written: it is there, and not a file")
    make_writable(target.parent)


def with_prefix(arrays: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """The arrays whose names begin with `prefix`, by the rest of their names."""
    return {name.removeprefix(prefix): value for name, value in arrays.items() if name.startswith(prefix)}


def write_arrays(path: str | Path, arrays: Mapping[str, npt.NDArray[Any]], facts: Any) -> None:
    """Arrays and plain facts (as JSON) in one .npz file, whole or not at all; nothing in it is executable.

    A StorageError says so if it cannot be written.
    """
    buffer = io.BytesIO()
    text = np.frombuffer(json.dumps(facts).encode(), np.uint8)
    np.savez(buffer, **{"facts": text, **arrays})  # type: ignore[arg-type]
    write_whole(path, buffer.getvalue())


def read_arrays(path: str | Path) -> tuple[dict[str, npt.NDArray[Any]], Any]:
    """The inverse of `write_arrays`; a StorageError says so if the file is damaged or not there."""
    try:
        if Path(path).exists() and not zipfile.is_zipfile(path):
            raise StorageError(f"{path}: the file is damaged: it is cut off, or never held arrays")
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        return arrays, json.loads(arrays.pop("facts").tobytes())
    except FileNotFoundError:
        raise StorageError(f"{path}: there is no such file") from None
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise StorageError(f"{path}: the file is damaged ({error})") from None
