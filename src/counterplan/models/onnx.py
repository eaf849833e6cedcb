"""Models in ONNX files, run by onnxruntime."""

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
from counterplan.models.outputs import Array, as_labels, describe_error, favourable_probability, model_errors
from counterplan.problem.values import cut, did_you_mean, is_missing, listed, text_of

NUMERIC = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(bool)": np.bool_,
}


class OnnxModel:
    """A model in an ONNX file: the first output is the label, the second the probabilities; a float output is a score.

    The input is one matrix of all columns in the table's order, or one input per column, matched by name. Only a ZipMap
    output contains the classes, so `classes` is known after the first call of `scores`.

    Parameters
    ----------
    path : str or Path
        The file. Needs onnxruntime.
    batch : int, default=10_000
        The largest number of rows per call.
    """

    def __init__(self, path: str | Path, *, batch: int = 10_000) -> None:
        self.name = Path(path).name
        self.batch = batch
        self.classes: tuple[str, ...] | None = None
        self._path = Path(path)
        self._session = _session(self._path)

    @property
    def identity(self) -> str:
        """A digest of the file and of its external weights, if there are any."""
        files = [self._path, *(self._path.with_name(self._path.name + end) for end in (".data", "_data"))]
        try:
            return digest_of(path.read_bytes() for path in files if path.is_file())
        except OSError:
            return ""

    def labels(self, people: pd.DataFrame) -> Array:
        """The first output [B] of the model."""
        return as_labels(self._run(people, 1)[0], self.name)

    def scores(self, people: pd.DataFrame, favourable: Collection[str]) -> Array:
        """The probability of the favourable labels [B], from the second output, or the only output if it is numeric."""
        outputs = self._run(people, 2)
        labels = as_labels(outputs[0], self.name)
        if len(outputs) == 1:
            if labels.dtype.kind != "f":
                raise ModelError(f"{self.name} gives labels only, no probabilities, so it has no scores")
            return labels.astype(float)
        probabilities = outputs[1]
        if isinstance(probabilities, list):
            return self._zipped_scores(probabilities, favourable)
        classes = self._assumed_classes(labels, probabilities)
        return favourable_probability(probabilities, classes, favourable, self.name)

    def _zipped_scores(self, rows: list[dict[Any, float]], favourable: Collection[str]) -> Array:
        if not rows:
            return np.zeros(0)
        keys = list(rows[0])
        self.classes = tuple(text_of(key) for key in keys)
        table = np.array([[row[key] for key in keys] for row in rows])
        return favourable_probability(table, self.classes, favourable, self.name)

    def _assumed_classes(self, labels: Array, probabilities: Array) -> Sequence[str]:
        """The classes of a matrix of probabilities [B, C], which does not name them: unambiguous for 0 and 1 only."""
        binary = probabilities.ndim == 2 and probabilities.shape[1] == 2
        if binary and labels.dtype.kind in "iu" and np.isin(labels, (0, 1)).all():
            return ("0", "1")
        raise ModelError(
            f"{self.name} does not say which label each probability is of; "
            "export it with ZipMap (the default of skl2onnx, without the option 'zipmap')"
        )

    def _run(self, people: pd.DataFrame, most: int) -> list[Any]:
        """The first outputs of the model, at most `most`."""
        inputs = self._inputs(people)
        outputs = [output.name for output in self._session.get_outputs()[:most]]
        with model_errors(self.name, people):
            return list(self._session.run(outputs, inputs))

    def _inputs(self, people: pd.DataFrame) -> dict[str, Array]:
        """The tensor of each input by name: [B, 1] for one column, [B, F] for all."""
        nodes = self._session.get_inputs()
        if len(nodes) == 1 and not (list(nodes[0].shape[1:]) == [1] and _columns_like(nodes[0].name, people)):
            return {nodes[0].name: self._matrix(people, nodes[0])}
        return {node.name: self._tensor(people[self._column(node.name, people)], node.type) for node in nodes}

    def _matrix(self, people: pd.DataFrame, node: Any) -> Array:
        """The matrix [B, F] of all columns."""
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
        """Convert a column to the type of an input [B, 1]; values that would be changed are refused."""
        prefix = f"{self.name}: column '{column.name}' holds"
        if wanted == "tensor(string)":
            if column.isna().any():
                raise ModelError(f"{prefix} a missing value, but the model takes text")
            return np.array([text_of(value) for value in column], dtype=object).reshape(-1, 1)
        if wanted not in NUMERIC:
            raise ModelError(f"{self.name} takes a {wanted}, which no column of a table can be")
        if not pd.api.types.is_numeric_dtype(column):
            for value in column:
                if not isinstance(value, (Real, np.bool_)) and not is_missing(value):
                    raise ModelError(f"{prefix} {cut(repr(value))}, but the model takes numbers")
        numbers = column.to_numpy(dtype=float, na_value=np.nan)
        kind = np.dtype(NUMERIC[wanted])
        if kind.kind in "ib":
            unfit = ~np.isfinite(numbers)
            with np.errstate(invalid="ignore"):  # values too large for the type differ after conversion
                unfit |= np.where(unfit, 0, numbers).astype(kind) != numbers
            if unfit.any():
                takes = "true or false" if kind.kind == "b" else "whole numbers"
                raise ModelError(f"{prefix} {numbers[unfit][0]:g}, but the model takes {takes}")
        return numbers.astype(kind).reshape(-1, 1)


def _session(path: Path) -> Any:
    """An onnxruntime session on the CPU that reports errors as exceptions only."""
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
        raise ModelError(f"{path}: not a usable ONNX model: {describe_error(error)}") from error


def _columns_like(name: str, people: pd.DataFrame) -> list[str]:
    """The column `name`, or those with the same name after replacing non-identifier characters by '_'."""
    if name in people.columns:
        return [name]
    return [column for column in people.columns if _identifier(str(column)) == _identifier(name)]


def _identifier(name: str) -> str:
    return re.sub(r"\W", "_", name, flags=re.ASCII)
