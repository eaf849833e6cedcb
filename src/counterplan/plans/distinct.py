"""Distinct values of columns: each is computed or formatted once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from counterplan.problem.transitions import Floats, Ints

_NARROW = 2**24
"""Range of integers that are numbers already; times the length of any array, it is below 2**63."""


def rounded(costs: Floats) -> Floats:
    """`costs` rounded to 9 decimals as Python rounds, which numpy does not in the last digit."""
    codes, values = pd.factorize(costs.ravel())
    exact = np.array([round(value, 9) for value in values.tolist()], float)
    return exact[codes].reshape(costs.shape)


def distinct(*arrays: Any) -> tuple[Ints, Ints]:
    """Codes [n] of the distinct combinations of values in arrays [n], and where each occurs first [k]."""
    codes = np.zeros(len(arrays[0]), np.int64)
    for array in arrays:
        new, count = _numbered(np.asarray(array))
        if count > 1:
            codes, _ = pd.factorize(codes * count + new)
    first = np.zeros(codes.max(initial=-1) + 1, np.intp)
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    return codes, first


def _numbered(array: npt.NDArray[Any]) -> tuple[Ints, int]:
    """Numbers [n] from 0 that are equal where the values of `array` are, and a bound on them."""
    if array.dtype.kind in "iu" and len(array):
        low, high = int(array.min()), int(array.max())
        if high - low < _NARROW:
            return array - low, high - low + 1
    codes, values = pd.factorize(array, use_na_sentinel=False)
    return codes, len(values)
