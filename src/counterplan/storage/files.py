"""Whole-or-absent files, bounded reads, and access to a workspace that never follows symbolic links.

A workspace may come from a stranger, so its files are read and written with `read_inside`, `write_inside` and
`append_inside`, which do not follow links. `write_whole` and `read_bounded` are for paths that the user names.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from counterplan.errors import StorageError

_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_PLAIN = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW | _PLAIN

FileId = tuple[int, int]
"""Device and inode of a file."""


class MissingFileError(StorageError, FileNotFoundError):
    """A file does not exist."""


def write_whole(path: str | Path, content: str | bytes, *, private: bool = False) -> None:
    """Write a file atomically: a reader sees the previous content or the new one, never a part.

    Parameters
    ----------
    path : str or Path
        A path that the user names. If it is a link, the file that it points to is replaced and the link stays.
    content : str or bytes
        The content; text is encoded as UTF-8.
    private : bool, default False
        Create the file with mode 0600, for people's data.

    Raises
    ------
    StorageError
        If the file cannot be written, or `path` is a folder or a device.
    """
    try:
        _replace(Path(path).resolve(), content, private)
    except TypeError:
        raise StorageError(f"a file is a path, not {path!r}") from None
    except (OSError, RuntimeError, ValueError) as error:  # links in a circle, a null character in the path
        raise _wrapped(path, "cannot be written", error) from None


def write_inside(
    folder: str | Path, name: str, content: str | bytes, *, private: bool = False, durable: bool = False
) -> FileId:
    """Write the file `name` in a workspace atomically. A link of that name is replaced, never followed.

    Parameters
    ----------
    folder : str or Path
        The workspace.
    name : str
        A file name without folders.
    content : str or bytes
        The content; text is encoded as UTF-8.
    private : bool, default False
        Create the file with mode 0600, for people's data.
    durable : bool, default False
        Wait until the content is on the disk before the file gets its name, so that it is whole after a power failure.

    Returns
    -------
    tuple of int
        The identity of the file, as `append_inside` expects it.

    Raises
    ------
    StorageError
        If the file cannot be written, or `name` is a folder or a device.
    """
    path = _member(folder, name)
    try:
        return _replace(path, content, private, durable)
    except OSError as error:
        raise _wrapped(path, "cannot be written", error) from None


def append_inside(folder: str | Path, name: str, content: str | bytes, file_id: FileId) -> bool:
    """Append to the file `name` of a workspace if it still is the one that `write_inside` created.

    Returns
    -------
    bool
        False, with nothing written, if the file was removed or replaced since.

    Raises
    ------
    StorageError
        If the file cannot be written.
    """
    path = _member(folder, name)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | _NO_FOLLOW | _PLAIN)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ELOOP, errno.EMLINK, errno.ENXIO, errno.EISDIR):
            return False
        raise _wrapped(path, "cannot be written", error) from None
    try:
        with os.fdopen(handle, "ab") as file:
            if _file_id(handle) != file_id:
                return False
            file.write(_encoded(content))
    except OSError as error:
        raise _wrapped(path, "cannot be written", error) from None
    return True


def restrict_inside(folder: str | Path, name: str) -> None:
    """Set the mode of the file `name` in a workspace to 0600, if it is a regular file and may be changed.

    Earlier versions created files with people's data with the mode of the umask.
    """
    try:
        handle = os.open(_member(folder, name), os.O_RDONLY | _NO_FOLLOW | _PLAIN)
    except OSError:
        return
    try:
        if stat.S_ISREG(os.fstat(handle).st_mode) and hasattr(os, "fchmod"):
            with suppress(OSError):
                os.fchmod(handle, 0o600)
    finally:
        os.close(handle)


def is_stream(path: str | Path) -> bool:
    """Whether a path that the user names is a device, a pipe or a socket, to which data are written directly."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def read_inside(folder: str | Path, name: str, limit: int) -> bytes:
    """Read the file `name` of a workspace without following links.

    Parameters
    ----------
    folder : str or Path
        The workspace.
    name : str
        A file name without folders.
    limit : int
        Most bytes to read.

    Returns
    -------
    bytes
        The content.

    Raises
    ------
    MissingFileError
        If there is no such file.
    StorageError
        If it is a link, not a regular file, larger than `limit`, or cannot be read.
    """
    return read_bounded(_member(folder, name), limit, follow_links=False)


def read_bounded(path: str | Path, limit: int, *, follow_links: bool = True) -> bytes:
    """Read a regular file of at most `limit` bytes; for parameters and errors see `read_inside`."""
    try:
        if not follow_links and Path(path).is_symlink():
            raise OSError(errno.ELOOP, "")
        handle = os.open(path, os.O_RDONLY | _PLAIN | (0 if follow_links else _NO_FOLLOW))
        with os.fdopen(handle, "rb") as file:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode):
                raise StorageError(f"{path}: cannot be read: not a regular file")
            if status.st_size > limit:
                raise _too_large(path, limit)
            content = file.read(limit + 1)
    except FileNotFoundError:
        raise MissingFileError(f"{path}: there is no such file") from None
    except StorageError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a null character in the path
        if isinstance(error, OSError) and error.errno in (errno.ELOOP, errno.EMLINK) and not follow_links:
            raise StorageError(
                f"{path}: is a symbolic link; the files of a workspace are never read through links: replace it by "
                "the file itself"
            ) from None
        if isinstance(error, IsADirectoryError):
            raise StorageError(f"{path}: cannot be read: not a regular file") from None
        raise _wrapped(path, "cannot be read", error) from None
    if len(content) > limit:
        raise _too_large(path, limit)
    return content


def make_writable(folder: str | Path) -> Path:
    """Create `folder` if necessary and return it; StorageError if no file can be written there."""
    try:
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
    except TypeError:
        raise StorageError(f"a folder is a path, not {folder!r}") from None
    except (OSError, ValueError) as error:
        raise _wrapped(folder, "cannot be created as a folder", error) from None
    try:
        with tempfile.TemporaryFile(dir=path):
            return path
    except OSError as error:
        raise _wrapped(path, "no file can be written there", error) from None


def require_writable(path: str | Path) -> None:
    """Raise StorageError if no file can be written to `path`; call it before any query is spent."""
    target = Path(path)
    if not target.absolute().parent.is_dir():
        raise StorageError(f"{path}: there is no folder {target.parent}")
    if target.exists() and not target.is_file():
        raise StorageError(f"{path}: cannot be written: it exists and is not a regular file")
    make_writable(target.parent)


def _member(folder: str | Path, name: str) -> Path:
    """The path of `name` directly in `folder`."""
    if not name or name in (".", "..") or Path(name).name != name:
        raise StorageError(f"{folder}: '{name}' is not the name of a file in it")
    return Path(folder) / name


def _replace(target: Path, content: str | bytes, private: bool, durable: bool = False) -> FileId:
    """Write a new file under a fresh name and rename it to `target`, which a rename never follows."""
    try:
        if not stat.S_ISREG(target.lstat().st_mode) and not target.is_symlink():
            raise OSError(errno.EINVAL, "it exists and is not a regular file")
    except FileNotFoundError:
        pass
    fresh = target.parent / f".{target.name[:100]}.{secrets.token_hex(8)}"
    handle = os.open(fresh, _NEW, 0o600 if private else 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_encoded(content))
            file_id = _file_id(handle)
            if durable:
                file.flush()
                os.fsync(handle)
        os.replace(fresh, target)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
    return file_id


def _encoded(content: str | bytes) -> bytes:
    return content.encode() if isinstance(content, str) else content


def _file_id(handle: int) -> FileId:
    status = os.fstat(handle)
    return status.st_dev, status.st_ino


def _too_large(path: str | Path, limit: int) -> StorageError:
    return StorageError(f"{path}: cannot be read: larger than {limit:,} bytes")


def _wrapped(path: str | Path, problem: str, error: Exception) -> StorageError:
    """A StorageError about `path` with the operating system's reason, which stays its `strerror`."""
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
    wrapped = StorageError(f"{path}: {problem}: {reason}")
    wrapped.strerror = reason
    return wrapped
