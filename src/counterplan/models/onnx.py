"""A model in an ONNX file, run by onnxruntime."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from counterplan.errors import ModelError
from counterplan.models.identity import digest_of
from counterplan.models.outputs import Array, asking, favourable_share, one_per_person
from counterplan.problem.values import did_you_mean, is_missing, listed, text_of

NUMERIC = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(bool)": np.bool_,
}


class OnnxModel:
    """An ONNX file: its first output is the label, its second the probabilities; one float output is a score.

    It takes either one matrix of all columns in the table's order, or one input per column, matched by name. Only
    a ZipMap output tells the classes, so `classes` is known once scores were asked for.
    """

    def __init__(self, path: str | Path, *, batch: int = 10_000) -> None:
        self.name = Path(path).name
        self.batch = batch
        self.classes: tuple[str, ...] | None = None
        self._path = Path(path)
        self._session = _session(self._path)

    @property
    def identity(self) -> str:
        """A digest of the file, and of the one with its weights, if they are apart."""
        files = [self._path, *(self._path.with_name(self._path.name + end) for end in (".data", "_data"))]
        try:
            return digest_of(path.read_bytes() for path in files if path.is_file())
        except OSError:
            return ""

    def labels(self, people: pd.DataFrame) -> Array:
        """The model's first output [B]."""
        return one_per_person(self._run(people, 1)[0], self.name)

    def scores(self, people: pd.DataFrame, favourable: Collection[str]) -> Array:
        """The probability of the favourable labels [B], from the second output; or the only output, if numbers."""
        outputs = self._run(people, 2)
        labels = one_per_person(outputs[0], self.name)
        if len(outputs) == 1:
            if labels.dtype.kind != "f":
                raise ModelError(f"{self.name} gives labels only, no probabilities, so it has no scores")
            return labels.astype(float)
        shares = outputs[1]
        if isinstance(shares, list):
            return self._zipped_scores(shares, favourable)
        return favourable_share(shares, self._assumed_classes(labels, shares), favourable, self.name)

    def _zipped_scores(self, shares: list[dict[Any, float]], favourable: Collection[str]) -> Array:
        if not shares:
            return np.zeros(0)
        keys = list(shares[0])
        self.classes = tuple(text_of(key) for key in keys)
        table = np.array([[one[key] for key in keys] for one in shares])
        return favourable_share(table, self.classes, favourable, self.name)

    def _assumed_classes(self, labels: Array, shares: Array) -> Sequence[str]:
        """A bare table of probabilities does not say whose they are; only for the labels 0 and 1 is that plain."""
        if labels.dtype.kind in "iu" and shares.ndim == 2 and shares.shape[1] == 2 and np.isin(labels, (0, 1)).all():
            return ("0", "1")
        raise ModelError(
            f"{self.name} does not say which label each probability is of; "
            "export it with ZipMap (the default of skl2onnx, without the option 'zipmap')"
        )

    def _run(self, people: pd.DataFrame, most: int) -> list[Any]:
        """The model's first outputs, at most `most` of them."""
        inputs = self._inputs(people)
        outputs = [output.name for output in self._session.get_outputs()[:most]]
        with asking(self.name, people):
            return list(self._session.run(outputs, inputs))

    def _inputs(self, people: pd.DataFrame) -> dict[str, Array]:
        """Each input's name and the tensor it takes: [B, 1] for one column, [B, F] for all of them."""
        nodes = self._session.get_inputs()
        if len(nodes) == 1 and not (list(nodes[0].shape[1:]) == [1] and _columns_like(nodes[0].name, people)):
            return {nodes[0].name: self._matrix(people, nodes[0])}
        return {node.name: self._tensor(people[self._column(node.name, people)], node.type) for node in nodes}

    def _matrix(self, people: pd.DataFrame, node: Any) -> Array:
        """All columns side by side [B, F]."""
        if len(node.shape) != 2:
            raise ModelError(f"{self.name} takes a tensor of shape {node.shape}, not a row of values per person")
        width, has = node.shape[1], len(people.columns)
        if isinstance(width, int) and width != has:
            columns = listed(map(str, people.columns))
            raise ModelError(f"{self.name} takes {width} values per person, but the people have {has}: {columns}")
        return np.hstack([self._tensor(people[column], node.type) for column in people.columns])

    def _column(self, name: str, people: pd.DataFrame) -> str:
        columns = _columns_like(name, people)
        if len(columns) != 1:
            hint = did_you_mean(name, map(str, people.columns))
            raise ModelError(f"{self.name} takes a column '{name}', which the people lack{hint}")
        return columns[0]

    def _tensor(self, column: pd.Series, wanted: str) -> Array:
        """A column of the table as the model wants it [B, 1]; nothing is rounded or guessed on the way."""
        trouble = f"{self.name}: column '{column.name}' holds"
        if wanted == "tensor(string)":
            if column.isna().any():
                raise ModelError(f"{trouble} a missing value, but the model takes text")
            return np.array([text_of(value) for value in column], dtype=object).reshape(-1, 1)
        if wanted not in NUMERIC:
            raise ModelError(f"{self.name} takes a {wanted}, which no column of a table can be")
        if not pd.api.types.is_numeric_dtype(column):
            for value in column:
                if not isinstance(value, (Real, np.bool_)) and not is_missing(value):
                    raise ModelError(f"{trouble} {value!r}, but the model takes numbers")
        numbers = column.to_numpy(dtype=float, na_value=np.nan)
        kind = np.dtype(NUMERIC[wanted])
        if kind.kind in "ib":
            unfit = ~np.isfinite(numbers)
            with np.errstate(invalid="ignore"):  # too large for the type: it comes back as another number
                unfit |= np.where(unfit, 0, numbers).astype(kind) != numbers
            if unfit.any():
                takes = "true or false" if kind.kind == "b" else "whole numbers"
                raise ModelError(f"{trouble} {numbers[unfit][0]:g}, but the model takes {takes}")
        return numbers.astype(kind).reshape(-1, 1)


def _session(path: Path) -> Any:
    """An onnxruntime session on the CPU that reports its troubles as exceptions only."""
    try:
        import onnxruntime
    except ImportError as error:
        raise ModelError(f"{path.name} needs onnxruntime: pip install 'counterplan[onnx]'") from error
    if not path.is_file():
        raise ModelError(f"{path}: there is no such file")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise ModelError(f"{path}: not a usable ONNX model: {error}") from error


def _columns_like(name: str, people: pd.DataFrame) -> list[str]:
    """The column called `name`, or those that are if what cannot stand in an identifier is read as '_'."""
    if name in people.columns:
        return [name]
    return [column for column in people.columns if _identifier(str(column)) == _identifier(name)]


def _identifier(name: str) -> str:
    return re.sub(r"\W", "_", name, flags=re.ASCII)
