"""Integer keys of states: the mutable features packed so that equal keys mean equal states."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from counterplan.problem import Problem
from counterplan.problem.transitions import Floats, Ints, Transitions
from counterplan.search.orders import NO_ACTION

_LARGEST = 2**62
_DECIMALS = 10**6
_WORD = 31
"""Functions whose use is packed into one integer."""


class Interner:
    """Assign consecutive integers, from 0, to distinct values; a value keeps its integer in later calls."""

    def __init__(self) -> None:
        self._known: npt.NDArray[np.generic] | None = None
        self._ids = np.empty(0, np.int64)

    def __call__(self, values: npt.NDArray[np.generic]) -> npt.NDArray[np.int64]:
        """Integers [n] of `values` [n]."""
        known = values[:0] if self._known is None else self._known
        at = np.minimum(np.searchsorted(known, values), max(len(known) - 1, 0))
        fresh = values if not len(known) else values[known[at] != values]
        if len(fresh):
            new = np.unique(fresh)
            ids = np.arange(len(known), len(known) + len(new))
            merged = np.concatenate([known, new])
            order = np.argsort(merged, kind="stable")
            self._known, self._ids = merged[order], np.concatenate([self._ids, ids])[order]
            at = np.searchsorted(self._known, values)
        return self._ids[at]


class StateKeys:
    """Pack (person, mutable features) into int64 keys that are equal exactly if both are."""

    def __init__(self, problem: Problem, starts: Floats) -> None:
        self._starts = starts
        self._columns: list[tuple[int, int, float | None, Interner | None]] = []
        for index in problem.transitions.mutable.tolist():
            feature = problem.features[index]
            if not feature.is_number:
                self._columns.append((index, len(feature.natives) + 1, None, None))
                continue
            grid, steps = _lattice(problem, index)
            if grid is not None:
                self._columns.append((index, 2 * steps + 2, grid, None))
            else:
                self._columns.append((index, 2**31, None, Interner()))
        self._folds: dict[int, Interner] = {}

    def __call__(self, person: Ints, states: Floats) -> npt.NDArray[np.int64]:
        """Keys [n] of `states` [n, F] of the people `person` [n]."""
        key = person.astype(np.int64)
        size = max(1, len(self._starts))
        for index, radix, grid, interner in self._columns:
            column = states[:, index]
            missing = np.isnan(column)
            if grid is not None:
                moved = np.rint((column - self._starts[person, index]) / grid)
                code = np.where(missing, 0, moved + radix // 2).astype(np.int64)
            elif interner is not None:
                code = np.where(missing, 0, interner(np.where(missing, 0.0, column) + 0.0) + 1)
            else:
                code = np.where(missing, 0, column + 1).astype(np.int64)
            if size * radix > _LARGEST:
                key = self._folds.setdefault(index, Interner())(key)
                size = 2**31
            key = key * radix + code
            size *= radix
        return key


class FunctionSetKeys:
    """Extend int64 keys by the set of functions of a plan, so that they are equal exactly if both are."""

    def __init__(self, transitions: Transitions) -> None:
        self._function_of = transitions.function_of
        self._folds = [Interner() for _ in range(-(-len(transitions.functions) // _WORD))]

    def __call__(self, key: npt.NDArray[np.int64], actions: Ints) -> npt.NDArray[np.int64]:
        """Keys [n] of plans `actions` [n, T] whose states have the keys `key` [n]."""
        function = np.where(actions == NO_ACTION, -1, self._function_of[actions])
        for number, fold in enumerate(self._folds):
            bit = function - number * _WORD
            bits = np.where((bit >= 0) & (bit < _WORD), 1 << np.clip(bit, 0, _WORD - 1), 0)
            key = fold(key) * 2**_WORD + np.bitwise_or.reduce(bits, axis=1)
        return key


def _lattice(problem: Problem, index: int) -> tuple[float | None, int]:
    """Grid of the arguments of a feature that is only added to, and the most grid steps of a plan; None otherwise."""
    transitions = problem.transitions
    changers = [function for function in transitions.functions if function.target == index]
    if any(not function.adds for function in changers) or any(c.sets and c.target == index for c in transitions.causes):
        return None, 0
    arguments = np.concatenate([function.arguments for function in changers])
    whole = np.rint(arguments * _DECIMALS)
    if not np.allclose(whole, arguments * _DECIMALS, rtol=0, atol=1e-3) or np.abs(whole).max() > 2**52:
        return None, 0
    grid = math.gcd(*(int(number) for number in np.abs(whole)))
    return grid / _DECIMALS, int(np.abs(whole).max() // grid) * problem.max_actions
