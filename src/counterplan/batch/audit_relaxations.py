"""Relaxations for a sample of the people without recourse, whose rows are read again from the files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from counterplan.audit import AuditOutcome, AuditSettings
from counterplan.audit.relaxation_section import audit_relaxations
from counterplan.audit.relaxations import FEWEST_PEOPLE
from counterplan.batch.audit_tables import read_columns
from counterplan.batch.audit_task import LoadedAudit
from counterplan.batch.part_files import PartRecord
from counterplan.batch.partitions import Partition
from counterplan.batch.worker import ROW
from counterplan.problem import People, Problem
from counterplan.problem.parquet_people import ParquetPeople
from counterplan.problem.transitions import Bools, Ints

REFERENCE = 10_000
"""Most people whose values new functions set: a random sample of everybody."""


def sampled_relaxations(
    loaded: LoadedAudit,
    people: ParquetPeople,
    parts: tuple[Path, Sequence[Partition], Sequence[PartRecord]],
    outcomes: pd.DataFrame,
    settings: AuditSettings,
    key: str | None,
) -> dict[str, Any] | None:
    """Try single relaxations of the problem for a random sample of the people without recourse.

    Parameters
    ----------
    loaded : LoadedAudit
    people : ParquetPeople
        The files of everybody.
    parts : tuple of (Path, sequence of Partition, sequence of PartRecord)
        The folder of the parts, the partitions, and their records.
    outcomes : DataFrame
        The outcomes of everybody in the parts.
    settings : AuditSettings
    key : str or None
        Column with the key of each person, which models do not get.

    Returns
    -------
    dict or None
        As `audit_relaxations`; None if nobody is to be examined.
    """
    stuck: Bools = np.asarray(outcomes["outcome"] == AuditOutcome.NO_RECOURSE, bool)
    positions = np.flatnonzero(stuck)
    if not settings.relaxations or not len(positions):
        return None
    order = np.random.default_rng(settings.seed).permutation(positions)
    chosen = np.sort(order[: settings.relaxations])
    own = _read(loaded.problem, parts, chosen, key)
    everybody = _without_key(people.sample(REFERENCE, settings.seed).table, loaded.problem, key)
    reference, _ = loaded.problem.read_valid(everybody)
    return audit_relaxations(
        loaded.problem,
        loaded.audit.box,
        own,
        np.ones(len(own), bool),
        settings,
        reference=reference if len(reference) >= FEWEST_PEOPLE else None,
        total=len(positions),
    )


def _read(
    problem: Problem,
    parts: tuple[Path, Sequence[Partition], Sequence[PartRecord]],
    positions: Ints,
    key: str | None,
) -> People:
    """The people at these positions among all rows of the parts, in ascending order."""
    folder, partitions, records = parts
    tables: list[pd.DataFrame] = []
    first = 0
    for partition, record in zip(partitions, records, strict=True):
        count = int(record.counts["people"])
        inside = positions[(positions >= first) & (positions < first + count)] - first
        first += count
        if len(inside):
            rows = read_columns(folder, record, [ROW]).column(ROW).to_numpy()[inside]
            tables.append(_without_key(partition.file.take(rows).to_pandas(), problem, key))
    return problem.read(pd.concat(tables, ignore_index=True))


def _without_key(table: pd.DataFrame, problem: Problem, key: str | None) -> pd.DataFrame:
    """A table without the key, unless it is a feature, as worker processes read it."""
    is_feature = any(feature.name == key for feature in problem.features)
    return table if key is None or is_feature else table.drop(columns=key)
