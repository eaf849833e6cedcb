"""The one bounded reader for JSON files: regular files of limited size, parsed with `bounded_json`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from counterplan.bounded_json import parse_json, shortened
from counterplan.errors import StorageError
from counterplan.storage.files import read_bounded

LIMIT = 50_000_000
"""Most bytes of a JSON file."""
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
    follow_links : bool, default True
        Whether `path` may be a symbolic link; False for the files of a workspace.
    what, infinite, nan, pairs_hook
        As in `parse_json`.

    Returns
    -------
    object
        As of `parse_json`.

    Raises
    ------
    MissingFileError
        If there is no such file.
    StorageError
        If it is not a regular file, if it is too large, or as of `parse_json`.
    """
    try:
        raw = read_bounded(path, limit, follow_links=follow_links)
    except TypeError:
        raise StorageError(f"a file is a path, not {shortened(repr(path))}") from None
    return parse_json(raw, str(path), what=what, infinite=infinite, nan=nan, pairs_hook=pairs_hook)


def valid_seed(value: object, name: str) -> int:
    """Return `value` if it is a seed, an integer from 0 to 2**32 - 1; otherwise raise StorageError about `name`."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_SEED:
        raise StorageError(f"{name}: a seed is an integer from 0 to {MAX_SEED}, not {shortened(repr(value))}")
    return value
