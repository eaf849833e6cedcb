"""Printing: the one place through which commands write to a terminal."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from counterplan.errors import CounterplanError, StorageError


class OutputError(StorageError):
    """The standard output cannot be written, or its encoding lacks a character."""


def write(text: str, *, exact: bool = False) -> None:
    """Write a line to the standard output.

    Parameters
    ----------
    text : str
        The line, without its end.
    exact : bool, default=False
        Raise an error if the encoding of the output lacks a character, which is otherwise written as an escape
        sequence, such as \\u2026.

    Raises
    ------
    OutputError
        If the output cannot be written.
    BrokenPipeError
        If the reader of the output has gone.
    """
    if sys.stdout is None:
        raise OutputError("the output cannot be written: it is closed")
    try:
        _write(text if exact else _encodable(text, sys.stdout), sys.stdout)
    except UnicodeEncodeError as error:
        character = error.object[error.start]
        raise OutputError(
            f"the output's encoding, {error.encoding}, has no {character!r}; set PYTHONIOENCODING=utf-8, or write "
            "to a file"
        ) from None
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"the output cannot be written: {error.strerror or error}") from None


def echo(text: object = "", *, err: bool = False) -> None:
    """Print text for people to read, with control characters made visible.

    Parameters
    ----------
    text : object
        The text.
    err : bool, default=False
        Print to the standard error stream, whose failures are ignored.
    """
    if not err:
        write(_visible(str(text)))
        return
    if sys.stderr is None:
        return
    with suppress(OSError):
        _write(_encodable(_visible(str(text)), sys.stderr), sys.stderr)


def emit(data: str) -> None:
    """Print data for programs to read: exactly, unless the standard output is a terminal.

    Parameters
    ----------
    data : str
        JSON or CSV.
    """
    if sys.stdout is not None and sys.stdout.isatty():
        write(_visible(data))
    else:
        write(data, exact=True)


@contextmanager
def guarded() -> Iterator[None]:
    """Turn errors that a user can fix into a message and exit code 2, and a broken pipe into exit code 1."""
    try:
        yield
    except BrokenPipeError:
        _discard_output()
        sys.exit(1)
    except OutputError as error:
        _discard_output()
        _fail(error)
    except CounterplanError as error:
        _fail(error)


def _fail(error: object) -> None:
    echo(f"counterplan: {error}", err=True)
    sys.exit(2)


def _discard_output() -> None:
    """Redirect the standard output, so that the interpreter does not fail again when it flushes it at exit."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _encodable(text: str, stream: TextIO) -> str:
    """`text` with escape sequences for the characters that the encoding of `stream` lacks."""
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def _write(text: str, stream: TextIO) -> None:
    stream.write(text + "\n")
    stream.flush()


def _visible(text: str) -> str:
    """Mark control characters; a carriage return, which overwrites the line, is one."""
    from counterplan.problem.values import visible

    return visible(re.sub("\r(?!\n)", "\N{REPLACEMENT CHARACTER}", text))
