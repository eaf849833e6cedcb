"""Files that are written in parts, and are whole or absent all the same."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from counterplan.errors import StorageError
from counterplan.storage.files import is_stream


class WholeFile:
    """A text file that is written in parts, and appears under its name only when it is complete.

    Parts go to a temporary file beside it, which only its owner may read. On success it replaces the file; on any
    exception it is removed. A link is followed; a folder is never replaced. A device or a pipe, such as /dev/stderr, is
    written to directly.

    Parameters
    ----------
    path : str or pathlib.Path
        The file.

    Raises
    ------
    StorageError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from counterplan.storage.streams import WholeFile
    >>> path = Path(tempfile.mkdtemp()) / "lines.txt"
    >>> with WholeFile(path) as file:
    ...     file.write("first\\n")
    ...     path.exists()
    ...     file.write("second\\n")
    False
    >>> path.read_text()
    'first\\nsecond\\n'
    """

    def __init__(self, path: str | Path) -> None:
        self.path = path
        self._target = Path(path).resolve()
        self._temporary: Path | None = None
        if self._target.is_dir():
            raise StorageError(f"{path}: cannot be written: it exists and is not a regular file")
        try:
            if is_stream(path):
                handle = os.open(path, os.O_WRONLY)
            else:
                handle, name = tempfile.mkstemp(dir=self._target.parent, prefix=f".{self._target.name}.")
                self._temporary = Path(name)
        except OSError as error:
            raise self._error(error) from None
        self._file = os.fdopen(handle, "wb")

    def write(self, text: str) -> None:
        """Append a part.

        Parameters
        ----------
        text : str
            The part.

        Raises
        ------
        StorageError
            If it cannot be written.
        """
        try:
            self._file.write(text.encode())
        except OSError as error:
            raise self._error(error) from None

    def commit(self) -> None:
        """Replace the file by what was written.

        Raises
        ------
        StorageError
            If the file cannot be written.
        """
        try:
            self._file.close()
            if self._temporary is not None:
                os.replace(self._temporary, self._target)
        except OSError as error:
            self.discard()
            raise self._error(error) from None

    def discard(self) -> None:
        """Remove the temporary file, if it was not committed."""
        with suppress(OSError):
            self._file.close()
        if self._temporary is not None:
            self._temporary.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is None:
            self.commit()
        else:
            self.discard()

    def _error(self, error: OSError) -> StorageError:
        return StorageError(f"{self.path}: cannot be written: {error.strerror}")
