"""Named numpy arrays with plain facts in one .npz file, and the validation of arrays that were read from a file."""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from counterplan.bounded_json import parse_json
from counterplan.errors import StorageError
from counterplan.storage.files import read_bounded, write_inside

LIMIT = 2_000_000_000
"""Most bytes of a file of arrays."""
DAMAGE = (
    *(KeyError, IndexError, TypeError, ValueError, AttributeError, AssertionError, ArithmeticError),
    *(RecursionError, MemoryError, EOFError),
)
"""Errors that code raises on data of the wrong type, shape or size."""


@dataclass(frozen=True)
class ArraySpec:
    """Expected dtype, shape and values of an array.

    Parameters
    ----------
    dtype : dtype-like
        The exact dtype.
    shape : tuple of int or str
        The size of each axis. A name stands for a size that all arrays with that name share; "*" for any size.
    low, high : float, optional
        Bounds of the values, inclusive.
    finite : bool, default False
        Whether infinite values and NaN are refused.
    nan : bool, default False
        Whether NaN is accepted, if `finite` is False.
    """

    dtype: npt.DTypeLike
    shape: tuple[int | str, ...]
    low: float | None = None
    high: float | None = None
    finite: bool = False
    nan: bool = False

    @classmethod
    def like(cls, array: npt.ArrayLike, *, finite: bool = False) -> ArraySpec:
        """The dtype and shape of another array."""
        example = np.asarray(array)
        return cls(example.dtype, example.shape, finite=finite)


def validate_arrays(arrays: Mapping[str, Any], spec: Mapping[str, ArraySpec]) -> dict[str, int]:
    """Check that `arrays` are exactly those of `spec`, with the expected dtypes, shapes and values.

    Parameters
    ----------
    arrays : mapping of str to ndarray
        The arrays as they were read.
    spec : mapping of str to ArraySpec
        The expected arrays.

    Returns
    -------
    dict of str to int
        The size of every named axis.

    Raises
    ------
    ValueError
        If an array is missing, unknown, or differs from its specification.

    Examples
    --------
    >>> import numpy as np
    >>> specs = {"weight": ArraySpec(float, (3, "units"))}
    >>> validate_arrays({"weight": np.zeros((3, 2))}, specs)
    {'units': 2}
    """
    for name in spec:
        if name not in arrays:
            raise ValueError(f"the array '{name}' is missing")
    for name in arrays:
        if name not in spec:
            raise ValueError(f"there is an unknown array '{name}'")
    sizes: dict[str, int] = {}
    for name, expected in spec.items():
        _validate(name, np.asarray(arrays[name]), expected, sizes)
    return sizes


def _validate(name: str, array: npt.NDArray[Any], expected: ArraySpec, sizes: dict[str, int]) -> None:
    """Check one array; adds the sizes of named axes to `sizes`."""
    if array.dtype != np.dtype(expected.dtype):
        raise ValueError(f"the array '{name}' has dtype {array.dtype}, expected {np.dtype(expected.dtype)}")
    wanted = tuple(
        size
        if isinstance(axis, str) and axis == "*"
        else sizes.setdefault(axis, size)
        if isinstance(axis, str)
        else axis
        for axis, size in zip(expected.shape, array.shape, strict=False)
    )
    if array.ndim != len(expected.shape) or array.shape != wanted:
        raise ValueError(f"the array '{name}' has shape {array.shape}, expected {expected.shape}")
    if not array.size or array.dtype == bool:
        return
    if array.dtype.kind == "f":
        if expected.finite and not np.isfinite(array).all():
            raise ValueError(f"the array '{name}' holds values that are not finite")
        if not expected.finite and not expected.nan and np.isnan(array).any():
            raise ValueError(f"the array '{name}' holds NaN")
    if expected.low is not None and (array < expected.low).any():
        raise ValueError(f"the array '{name}' holds values below {expected.low:g}")
    if expected.high is not None and (array > expected.high).any():
        raise ValueError(f"the array '{name}' holds values above {expected.high:g}")


def require_integer(facts: Mapping[str, Any], name: str, low: int = 0, high: int = 2**31 - 1) -> int:
    """Return the integer `name` of `facts`; ValueError if it is of another type or out of bounds."""
    value = facts[name]
    if type(value) is not int or not low <= value <= high:
        raise ValueError(f"'{name}' should be an integer from {low} to {high}")
    return value


def require_number(facts: Mapping[str, Any], name: str, *, positive: bool = False) -> float:
    """Return the finite number `name` of `facts`; ValueError if it is of another type or out of bounds."""
    value = facts[name]
    if type(value) not in (int, float) or not math.isfinite(value) or (positive and value <= 0):
        raise ValueError(f"'{name}' should be a {'positive ' if positive else ''}finite number")
    return float(value)


def with_prefix(arrays: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """Select the arrays whose names start with `prefix`, which is removed."""
    return {name.removeprefix(prefix): value for name, value in arrays.items() if name.startswith(prefix)}


def write_arrays(path: str | Path, arrays: Mapping[str, npt.NDArray[Any]], facts: Any) -> None:
    """Write arrays and plain facts (as JSON) to one private .npz file in a workspace, whole or not at all.

    Raises
    ------
    StorageError
        If the file cannot be written.
    """
    buffer = io.BytesIO()
    text = np.frombuffer(json.dumps(facts).encode(), np.uint8)
    np.savez(buffer, **{"facts": text, **arrays})  # type: ignore[arg-type]
    write_inside(Path(path).parent, Path(path).name, buffer.getvalue(), private=True)


def read_arrays(path: str | Path, limit: int = LIMIT) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
    """Read arrays and facts that `write_arrays` wrote, without following links and without pickle.

    Raises
    ------
    MissingFileError
        If there is no such file.
    StorageError
        If the file is damaged, too large, compressed, or a link.
    """
    raw = read_bounded(path, limit, follow_links=False)
    try:
        arrays = dict(_members(raw))
        text = arrays.pop("facts")
        if text.dtype != np.uint8 or text.ndim != 1:
            raise ValueError("the facts are not text")
    except (*DAMAGE, zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError) as error:
        raise StorageError(f"{path}: the file is damaged: truncated, or not a file of arrays ({error})") from None
    facts = parse_json(text.tobytes(), str(path), infinite=True, nan=True)
    if not isinstance(facts, dict):
        raise StorageError(f"{path}: the file is damaged (its facts are not a mapping)")
    return arrays, facts


def _members(raw: bytes) -> list[tuple[str, npt.NDArray[Any]]]:
    """The arrays of an uncompressed .npz file; none may claim more data than the file holds."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        infos = archive.infolist()
        if any(info.compress_type != zipfile.ZIP_STORED for info in infos):
            raise ValueError("compressed arrays are not supported")
        if sum(info.file_size for info in infos) > len(raw):
            raise ValueError("its arrays claim to be larger than the file")
        return [(info.filename.removesuffix(".npy"), _array(archive.read(info))) for info in infos]


def _array(raw: bytes) -> npt.NDArray[Any]:
    """An array in numpy's own format, whose header must agree with the size of the data."""
    stream = io.BytesIO(raw)
    version = np.lib.format.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"unknown version {version} of an array")
    header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = header(stream)
    if dtype.hasobject or dtype.kind not in "biuf":
        raise ValueError(f"an array of dtype {dtype} is not supported")
    if math.prod(shape) * dtype.itemsize != len(raw) - stream.tell() or min(shape, default=0) < 0:
        raise ValueError("the header of an array disagrees with its data")
    stream.seek(0)
    return np.lib.format.read_array(stream, allow_pickle=False)
