"""Alterations of stored arrays and facts, one at a time: what a damaged or forged file may contain."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np

_JUNK: tuple[Any, ...] = (None, -1, 0, 1e9, float("nan"), "x", True, [], {}, [[1.0]], ["1", "1"])
ALLOWED = (KeyError, TypeError, ValueError)
"""Exceptions that a loader reports as damage; every other one would escape it."""


def altered(arrays: dict[str, Any], facts: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """The same arrays and facts with one change each."""
    for name, array in arrays.items():
        others = {key: value for key, value in arrays.items() if key != name}
        yield others, facts
        yield {**arrays, f"{name}.more": array}, facts
        for changed in _variants(array):
            yield {**arrays, name: changed}, facts
    for path in _paths(facts):
        for junk in (*_JUNK, KeyError):
            changed_facts = copy.deepcopy(facts)
            parent: Any = changed_facts
            for key in path[:-1]:
                parent = parent[key]
            if junk is KeyError:
                del parent[path[-1]]
            else:
                parent[path[-1]] = junk
            yield arrays, changed_facts


def _variants(array: np.ndarray) -> Iterator[np.ndarray]:
    yield array[:-1]
    yield array[:0]
    yield np.concatenate([array, array[-1:]])
    yield array[None]
    yield array.ravel()[:1].reshape(())
    yield array.T.copy()
    yield array[..., :-1]
    yield array[::-1].copy()
    yield array.astype(np.float64 if array.dtype != np.float64 else np.float32)
    yield array.astype(np.int64 if array.dtype != np.int64 else np.uint8)
    yield np.full_like(array, np.iinfo(array.dtype).max if array.dtype.kind in "iu" else np.nan)


def _paths(facts: Any, prefix: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something is in nested data, the first items of lists only."""
    items = facts.items() if isinstance(facts, dict) else enumerate(facts[:2]) if isinstance(facts, list) else ()
    for key, value in items:
        yield (*prefix, key)
        yield from _paths(value, (*prefix, key))
