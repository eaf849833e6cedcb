"""Exclusive use of a folder by one run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from counterplan.errors import StorageError
from counterplan.storage.files import make_writable

LOCK = ".lock"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold an exclusive lock on `folder`; a StorageError if another run holds it.

    The kernel releases the lock when the process ends. On systems without such locks there is no protection.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    path = make_writable(folder) / LOCK
    try:
        file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600), "a")
    except OSError as error:  # a link too: the folder may come from a stranger
        raise StorageError(f"{path}: cannot be written: {error.strerror}") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StorageError(
                f"{folder}: another run uses this folder; wait until it has ended (or stop it), or choose another --out"
            ) from None
        except OSError:
            pass  # a file system without locks
        yield
