"""The one bounded parser of JSON text: UTF-8, finite numbers, limited nesting."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

from counterplan.errors import StorageError

MAX_DEPTH = 250
"""Most levels of nesting; deeper data would exceed Python's recursion limit in code that walks them."""


def parse_json(
    content: bytes | str,
    name: str,
    *,
    what: str = "file",
    infinite: bool = False,
    nan: bool = False,
    pairs_hook: Callable[[list[tuple[str, Any]]], Any] | None = None,
) -> Any:
    """Parse JSON, whose size the caller has limited.

    Parameters
    ----------
    content : bytes or str
        The text; bytes are UTF-8.
    name : str
        Where it comes from, such as the path of a file, for error messages.
    what : str, default "file"
        What it is, for error messages, such as "program".
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
    StorageError
        If the text is not UTF-8, not JSON, nested too deeply, or holds a number that no float can hold.

    Examples
    --------
    >>> parse_json('{"income": 1000}', "people.json")
    {'income': 1000}
    """

    def number(text: str) -> float:
        value = float(text)
        if not infinite and not math.isfinite(value):
            raise ValueError(f"the number {shortened(text)} is too large")
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


def shortened(text: str) -> str:
    """A number or a value for an error message, in at most 40 characters."""
    return text if len(text) <= 40 else f"{text[:20]}…{text[-10:]}"
