"""Models in ONNX files, run by onnxruntime."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from counterplan.errors import ModelError
from counterplan.models.casting import as_numbers, column_like, columns_like
from counterplan.models.identity import digest_of
from counterplan.models.onnx_labels import labels_in
from counterplan.models.outputs import Array, as_labels, describe_error, favourable_probability, model_errors
from counterplan.problem.values import listed, text_of

NUMERIC = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(bool)": np.bool_,
}


class OnnxModel:
    """A model in an ONNX file: the first output is the label, the second the probabilities; a float output is a score.

    The input is one matrix of all columns in the table's order, or one input per column, matched by name.
    Probabilities are a ZipMap, a matrix, or one output per class. The classes of a matrix are read from the file if a
    node of it lists them.

    Parameters
    ----------
    path : str or Path
        The file. Needs onnxruntime.
    classes : sequence, optional
        The labels that the columns of a matrix of probabilities are about, if the file does not say so.
    batch : int, default=10_000
        The largest number of rows per call.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from pathlib import Path
    >>> from skl2onnx import to_onnx
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from counterplan.models import OnnxModel
    >>> income = np.array([[500], [800], [1500], [2000]], np.float32)
    >>> tree = DecisionTreeClassifier(random_state=0).fit(income, ["no", "no", "yes", "yes"])
    >>> size = Path("loan.onnx").write_bytes(to_onnx(tree, income[:1]).SerializeToString())
    >>> model = OnnxModel("loan.onnx")
    >>> people = pd.DataFrame({"income": [600, 1800]})
    >>> model.labels(people), model.scores(people, {"yes"})
    (array(['no', 'yes'], dtype=object), array([0., 1.]))
    """

    casts = True

    def __init__(self, path: str | Path, *, classes: Sequence[Any] | None = None, batch: int = 10_000) -> None:
        self.name = Path(path).name
        self.batch = batch
        self._path = Path(path)
        self._session = _session(self._path)
        self._outputs = [output.name for output in self._session.get_outputs()]
        named = tuple(name[1:] for name in self._outputs[1:])  # 'sgood' or 'i1' for the classes 'good' and 1
        self.classes: tuple[str, ...] | None = named if len(named) > 1 else labels_in(self._path.read_bytes())
        if classes is not None:
            self.classes = tuple(text_of(label) for label in classes)

    @property
    def identity(self) -> str:
        """A digest of the file and of its external weights, if there are any."""
        files = [self._path, *(self._path.with_name(self._path.name + end) for end in (".data", "_data"))]
        try:
            return digest_of(path.read_bytes() for path in files if path.is_file())
        except OSError:
            return ""

    @property
    def dtypes(self) -> dict[str, Any]:
        """The types of the inputs by column; empty if the input is a matrix."""
        nodes = self._session.get_inputs()
        types = {**NUMERIC, "tensor(string)": object}
        single = len(nodes) == 1 and list(nodes[0].shape[1:]) != [1]
        return {} if single else {node.name: np.dtype(types[node.type]) for node in nodes if node.type in types}

    def labels(self, people: pd.DataFrame) -> Array:
        """The first output [B] of the model."""
        return as_labels(self._run(people, 1)[0], self.name)

    def scores(self, people: pd.DataFrame, favourable: Collection[str]) -> Array:
        """The probability of the favourable labels [B], or the only output if it is numeric."""
        return self._scores(self._run(people), favourable)

    def labels_and_scores(self, people: pd.DataFrame, favourable: Collection[str]) -> tuple[Array, Array | None]:
        """Both, from one run."""
        outputs = self._run(people)
        labels = as_labels(outputs[0], self.name)
        try:
            return labels, self._scores(outputs, favourable)
        except ModelError:
            return labels, None

    def _scores(self, outputs: list[Any], favourable: Collection[str]) -> Array:
        labels = as_labels(outputs[0], self.name)
        if len(outputs) == 1 or not favourable:
            if labels.dtype.kind != "f":
                raise ModelError(f"{self.name} gives labels only, no probabilities, so it has no scores")
            return labels.astype(float)
        if isinstance(outputs[1], list):
            return self._zipped_scores(outputs[1], favourable)
        table = np.column_stack(outputs[1:]) if len(outputs) > 2 else outputs[1]
        return favourable_probability(table, self._classes(labels, table), favourable, self.name)

    def _zipped_scores(self, rows: list[dict[Any, float]], favourable: Collection[str]) -> Array:
        if not rows:
            return np.zeros(0)
        keys = list(rows[0])
        self.classes = tuple(text_of(key) for key in keys)
        table = np.array([[row[key] for key in keys] for row in rows])
        return favourable_probability(table, self.classes, favourable, self.name)

    def _classes(self, labels: Array, probabilities: Array) -> Sequence[str]:
        """The classes of a matrix of probabilities [B, C]; without names they are unambiguous for 0 and 1 only."""
        if self.classes is not None:
            return self.classes
        binary = probabilities.ndim == 2 and probabilities.shape[1] == 2
        if binary and labels.dtype.kind in "iu" and np.isin(labels, (0, 1)).all():
            return ("0", "1")
        raise ModelError(
            f"{self.name} does not say which label each probability is of; export it with ZipMap (the default of "
            "skl2onnx, without the option 'zipmap'), or name them: OnnxModel(path, classes=[...])"
        )

    def _run(self, people: pd.DataFrame, most: int | None = None) -> list[Any]:
        """The first outputs of the model, at most `most`."""
        inputs = self._inputs(people)
        with model_errors(self.name, people):
            return list(self._session.run(self._outputs[:most], inputs))

    def _inputs(self, people: pd.DataFrame) -> dict[str, Array]:
        """The tensor of each input by name: [B, 1] for one column, [B, F] for all."""
        nodes = self._session.get_inputs()
        if len(nodes) == 1 and not (list(nodes[0].shape[1:]) == [1] and columns_like(nodes[0].name, people)):
            return {nodes[0].name: self._matrix(people, nodes[0])}
        chosen = {node: column_like(node.name, people, self.name, "takes a column") for node in nodes}
        return {node.name: self._tensor(people[column], node.type) for node, column in chosen.items()}

    def _matrix(self, people: pd.DataFrame, node: Any) -> Array:
        """The matrix [B, F] of all columns."""
        if len(node.shape) != 2:
            raise ModelError(f"{self.name} takes a tensor of shape {node.shape}, not a row of values per person")
        width, has = node.shape[1], len(people.columns)
        if isinstance(width, int) and width != has:
            columns = listed(map(str, people.columns))
            raise ModelError(f"{self.name} takes {width} values per person, but the people have {has}: {columns}")
        return np.hstack([self._tensor(people[column], node.type) for column in people.columns])

    def _tensor(self, column: pd.Series, wanted: str) -> Array:
        """Convert a column to the type of an input [B, 1]; values that would be changed are refused."""
        prefix = f"{self.name}: column '{column.name}' holds"
        if wanted == "tensor(string)":
            if column.isna().any():
                raise ModelError(f"{prefix} a missing value, but the model takes text")
            return np.array([text_of(value) for value in column], dtype=object).reshape(-1, 1)
        if wanted not in NUMERIC:
            raise ModelError(f"{self.name} takes a {wanted}, which no column of a table can be")
        numbers = as_numbers(column, self.name)
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
