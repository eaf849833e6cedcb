"""YAML 1.2 scalars: `no`, `on` and `0o7x` are texts.

Scalars that may be meant as names (`007`, `1e3`, `True`) keep their spelling as a `Plain` text; `as_number` and
`as_truth` convert them where a number or a truth value is expected.
"""

from __future__ import annotations

import re
import sys
from typing import Any

_INTEGER = re.compile(r"0|-?[1-9][0-9]*")
_NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INFINITY = {".inf": float("inf"), "+.inf": float("inf"), "-.inf": float("-inf")}


class Plain(str):
    """An unquoted scalar that is neither a simple whole number nor true, false or null, as it was spelled."""

    __slots__ = ()


def scalar(text: str) -> Any:
    """Parse an unquoted scalar; it remains a text where the number would not print the same."""
    if text in ("", "~", "null", "Null", "NULL"):
        return None
    if text in ("true", "false"):
        return text == "true"
    if _INTEGER.fullmatch(text) and len(text) < 16:
        return int(text)
    return Plain(text)


def as_number(value: Any) -> Any:
    """Convert `value` to a number if it is one in YAML 1.2, otherwise return it unchanged."""
    if isinstance(value, Plain):
        if _NUMBER.fullmatch(value):
            return float(value)
        return _INFINITY.get(value.lower(), value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > sys.float_info.max:
        return float("inf") if value > 0 else float("-inf")
    return value


def as_truth(value: Any) -> Any:
    """Convert `value` to True or False if it is one in YAML 1.2, otherwise return it unchanged."""
    if isinstance(value, Plain) and value in ("True", "TRUE", "False", "FALSE"):
        return value.lower() == "true"
    return value
