"""The one bounded reader for JSON files: regular files of limited size, UTF-8, finite numbers, limited nesting."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from counterplan.errors import StorageError
from counterplan.storage.files import read_bounded

LIMIT = 50_000_000
"""Most bytes of a JSON file."""
MAX_DEPTH = 250
"""Most levels of nesting; deeper data would exceed Python's recursion limit in code that walks them."""
MAX_SEED = 2**32 - 1
"""Largest seed that scikit-learn and numpy's legacy generators accept."""


def read_json(
    path: str | Path,
    *,
    limit: int = LIMIT,
    what: str = "file",
    follow_links: bool = True,
    infinite: bool = False,
    nan: bool = False,
    pairs_hook: Callable[[list[tuple[str, Any]]], Any] | None = None,
) -> Any:
    """Read a JSON file.

    Parameters
    ----------
    path : str or Path
        The file.
    limit : int, default 50,000,000
        Most bytes.
    what : str, default "file"
        What the file holds, for error messages, such as "program".
    follow_links : bool, default True
        Whether `path` may be a symbolic link; False for the files of a workspace.
    infinite : bool, default False
        Accept Infinity and numbers that are too large for a float (1e999), as infinite floats.
    nan : bool, default False
        Accept NaN.
    pairs_hook : callable, optional
        As `object_pairs_hook` of `json.loads`.

    Returns
    -------
    object
        The data: dict, list, str, int, float, bool or None.

    Raises
    ------
    MissingFileError
        If there is no such file.
    StorageError
        If it is not a regular file, too large, not UTF-8, not JSON, nested too deeply, or holds a number that no
        float can hold.
    """
    raw = read_bounded(path, limit, follow_links=follow_links)
    return parse_json(raw, str(path), what=what, infinite=infinite, nan=nan, pairs_hook=pairs_hook)


def parse_json(
    content: bytes | str,
    name: str,
    *,
    what: str = "file",
    infinite: bool = False,
    nan: bool = False,
    pairs_hook: Callable[[list[tuple[str, Any]]], Any] | None = None,
) -> Any:
    """Parse the content of a JSON file called `name`; for the other parameters and errors see `read_json`."""

    def number(text: str) -> float:
        value = float(text)
        if not infinite and not math.isfinite(value):
            raise ValueError(f"the number {_short(text)} is too large")
        return value

    def integer(text: str) -> int | float:
        return int(text) if infinite or len(text) <= 300 else number(text)

    def constant(text: str) -> float:
        if not (nan if text == "NaN" else infinite):
            raise ValueError(f"{text} is not a number")
        return float(text)

    try:
        text = content.decode("utf-8-sig") if isinstance(content, bytes) else content.removeprefix("\ufeff")
    except UnicodeDecodeError:
        raise StorageError(f"{name}: not JSON: the {what} is not text in UTF-8") from None
    try:
        data = json.loads(
            text, parse_float=number, parse_int=integer, parse_constant=constant, object_pairs_hook=pairs_hook
        )
        if _deeper_than(data, MAX_DEPTH):
            raise RecursionError
    except RecursionError:
        raise StorageError(f"{name}: not JSON: it is nested too deeply") from None
    except MemoryError:
        raise StorageError(f"{name}: too large to be read") from None
    except StorageError:
        raise
    except (ValueError, OverflowError) as error:
        raise StorageError(f"{name}: not JSON: {error}") from None
    return data


def valid_seed(value: object, name: str) -> int:
    """Return `value` if it is a seed, an integer from 0 to 2**32 - 1; otherwise raise StorageError about `name`."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_SEED:
        raise StorageError(f"{name}: a seed is an integer from 0 to {MAX_SEED}, not {_short(repr(value))}")
    return value


def _deeper_than(data: Any, levels: int) -> bool:
    """Whether `data` is nested in more than `levels` containers."""
    layer = [data] if isinstance(data, (dict, list)) else []
    for _ in range(levels + 1):
        below: list[Any] = []
        for container in layer:
            values = container.values() if isinstance(container, dict) else container
            below += [value for value in values if isinstance(value, (dict, list))]
        if not below:
            return False
        layer = below
    return True


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:20]}…{text[-10:]}"
