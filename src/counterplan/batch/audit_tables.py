"""The parts of an audit as compact columns: what statistics need of each person, and nothing else.

A person takes about 25 bytes, and one more for each grouping.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from counterplan.audit import AuditOutcome
from counterplan.audit.carriers import WITHOUT_COLUMNS, function_names
from counterplan.audit.comparison import FAILED, HELD
from counterplan.audit.groups import Grouping, by_code, by_feature, by_number, group_people
from counterplan.batch.audit_columns import INTEGER, NULLABLE
from counterplan.batch.audit_task import GROUP, OTHER, WITHOUT_COST, WITHOUT_OUTCOME, LoadedAudit
from counterplan.batch.part_files import PartRecord, part_name
from counterplan.errors import StorageError
from counterplan.problem.transitions import Ints

if TYPE_CHECKING:
    import pyarrow as pa

_OUTCOMES = [outcome.value for outcome in AuditOutcome]
_TYPES: dict[str, Any] = {"steps": np.float32, "optimal": np.bool_, "queries": np.int32}
"""Types of columns of numbers; by default float64."""


class PartColumns:
    """Columns of all parts, of B people.

    Parameters
    ----------
    folder : Path
        The folder of the parts.
    records : sequence of PartRecord
        The parts, in order.
    names : sequence of str
        The columns to read.

    Attributes
    ----------
    columns : dict of str to array of shape [B]
        Numbers; of texts, codes, -1 for a missing one.
    texts : dict of str to list of str
        The texts of the codes.

    Raises
    ------
    StorageError
        If a part is damaged.
    """

    def __init__(self, folder: Path, records: Sequence[PartRecord], names: Sequence[str]) -> None:
        self._places: dict[str, dict[str, int]] = {}
        pieces: dict[str, list[npt.NDArray[Any]]] = {name: [] for name in names}
        for record in records:
            table = read_columns(folder, record, names)
            for name in names:
                pieces[name].append(self._piece(name, table.column(name)))
        self.columns = {name: np.concatenate(pieces.pop(name)) for name in names}

    @property
    def texts(self) -> dict[str, list[str]]:
        """See the class."""
        return {name: [*places] for name, places in self._places.items()}

    def _piece(self, name: str, column: Any) -> npt.NDArray[Any]:
        """The numbers of one part, or the codes of its texts, which get a place when they occur first."""
        import pyarrow as pa

        if not pa.types.is_dictionary(column.type):
            numbers: npt.NDArray[Any] = column.to_numpy()
            return numbers.astype(_TYPES.get(name.removeprefix(OTHER), np.float64), copy=False)
        own = column.combine_chunks()
        own = own.chunk(0) if isinstance(own, pa.ChunkedArray) else own
        places = self._places.setdefault(name, {})
        known = [places.setdefault(text, len(places)) for text in own.dictionary.to_pylist()]
        codes: Ints = own.indices.fill_null(len(known)).to_numpy(zero_copy_only=False)
        return np.array([*known, -1], np.int32)[codes]

    def category(self, name: str, categories: Sequence[str] | None = None) -> pd.Categorical[str]:
        """A column of texts as a category; a StorageError if it has others than `categories`."""
        texts = self.texts.get(name, [])
        wanted = texts if categories is None else [*categories]
        if not {*texts} <= {*wanted}:
            raise StorageError(f"the parts are damaged: unknown texts in the column '{name}'")
        place = np.array([*(wanted.index(text) for text in texts), -1], np.int32)
        codes: Ints = place[self.columns[name]]
        return pd.Categorical.from_codes(codes, pd.Index(wanted, dtype=object))


def read_columns(folder: Path, record: PartRecord, names: Sequence[str]) -> pa.Table:
    """Some columns of a part; a StorageError if it is damaged."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / part_name(record.number)
    try:
        table = pq.ParquetFile(path).read(columns=[*names], use_threads=False)
    except (pa.ArrowException, OSError) as error:
        raise StorageError(f"{path}: cannot be read: {error}; remove it, and go on with --resume") from None
    if {*table.column_names} != {*names}:
        raise StorageError(f"{path}: damaged: columns are missing; remove it, and go on with --resume")
    return table


def audit_tables(loaded: LoadedAudit, folder: Path, records: Sequence[PartRecord]) -> dict[str, pd.DataFrame]:
    """The tables of an `AuditResult`, of all parts.

    Parameters
    ----------
    loaded : LoadedAudit
    folder : Path
        The folder of the parts.
    records : sequence of PartRecord

    Returns
    -------
    dict of str to DataFrame
    """
    names = ["outcome", "cost", "steps", "optimal", "queries", "functions"]
    has_survival = loaded.audit.estimator is not None
    names += ["survival"] if has_survival else []
    names += [f"{OTHER}outcome", f"{OTHER}cost", "plan_holds"] if loaded.audit.against is not None else []
    parts = PartColumns(folder, records, names)
    closed = {"outcome": _OUTCOMES, f"{OTHER}outcome": _OUTCOMES, "plan_holds": ["", *HELD.values(), FAILED]}
    frame = pd.DataFrame(
        {
            name: parts.category(name, closed.get(name)) if name in (*closed, "functions") else parts.columns[name]
            for name in names
        },
        copy=False,
    )
    if not has_survival:
        frame["survival"] = np.float32(np.nan)
    tables = {"outcomes": frame}
    if loaded.task.search.indispensable:
        tables["without"] = _without(loaded, folder, records)
    return tables


def _without(loaded: LoadedAudit, folder: Path, records: Sequence[PartRecord]) -> pd.DataFrame:
    """The results of `plan_without`, of all parts, function by function."""
    found = []
    for name in function_names(loaded.problem):
        outcome, cost = f"{WITHOUT_OUTCOME}{name}", f"{WITHOUT_COST}{name}"
        parts = PartColumns(folder, records, [outcome, cost])
        rows = np.flatnonzero(parts.columns[outcome] >= 0)
        values = np.array([*parts.texts.get(outcome, []), ""], object)[parts.columns[outcome][rows]]
        found.append(
            pd.DataFrame({"row": rows, "function": name, "outcome": values, "cost": parts.columns[cost][rows]})
        )
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame({name: [] for name in WITHOUT_COLUMNS})


def audit_groupings(
    loaded: LoadedAudit, folder: Path, records: Sequence[PartRecord], groups: Sequence[tuple[str, ...]]
) -> list[Grouping]:
    """The groups of all people, by the values in the parts: also quartiles are those of everybody.

    Parameters
    ----------
    loaded : LoadedAudit
    folder : Path
        The folder of the parts.
    records : sequence of PartRecord
    groups : sequence of tuple of str
        One or two columns for each grouping.

    Returns
    -------
    list of Grouping

    Raises
    ------
    SettingError
        If a column has too many values.
    """
    features = {feature.name: feature for feature in loaded.problem.features}
    kinds = dict(loaded.task.columns)

    def compact(name: str) -> Grouping:
        grouping = grouping_of(name)
        return replace(grouping, codes=grouping.codes.astype(np.int8))  # there are at most 100 groups

    def grouping_of(name: str) -> Grouping:
        stored = f"{GROUP}{name}"
        parts = PartColumns(folder, records, [stored])
        column = parts.columns[stored]
        texts = parts.texts.get(stored)
        if name in features and texts is not None:
            places = [features[name].values.index(text) for text in texts]
            return by_feature(features[name], np.array([*places, np.nan])[column])
        if name in features:
            return by_feature(features[name], column)
        if texts is not None:
            return by_code(name, sorted(texts), _sorted_codes(texts)[column])
        whole = kinds[name] == NULLABLE or (kinds[name] == INTEGER and not bool(np.isnan(column).any()))
        return by_number(name, column, whole)

    found = group_people(groups, compact)
    return [replace(grouping, codes=grouping.codes.astype(np.int8)) for grouping in found]


def _sorted_codes(texts: Sequence[str]) -> Ints:
    """The position of each text in their order, and at the end that of a missing one."""
    ordered = {text: code for code, text in enumerate(sorted(texts))}
    return np.array([*(ordered[text] for text in texts), len(texts)], np.intp)
