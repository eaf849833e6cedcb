"""Relaxations for a sample of the people without recourse, whose rows are read again from the files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from counterplan.audit import AuditOutcome, AuditSettings
from counterplan.audit.relaxation_file import RelaxationFile, saved_relaxations
from counterplan.audit.relaxation_section import audit_relaxations, people_to_examine
from counterplan.audit.relaxations import FEWEST_REFERENCES
from counterplan.audit.section import Section
from counterplan.batch.audit_tables import read_columns
from counterplan.batch.audit_task import LoadedAudit
from counterplan.batch.part_files import PartRecord
from counterplan.batch.partitions import Partition
from counterplan.batch.worker import ROW
from counterplan.problem import People, Problem
from counterplan.problem.parquet_people import ParquetPeople
from counterplan.problem.transitions import Bools, Ints

RELAXATIONS = "_relaxations.json"
REFERENCE = 10_000
"""Most people whose values new functions set: a random sample of everybody."""


def sampled_relaxations(
    loaded: LoadedAudit,
    people: ParquetPeople,
    parts: tuple[Path, Sequence[Partition], Sequence[PartRecord]],
    outcomes: pd.DataFrame,
    settings: AuditSettings,
    key: str | None,
) -> tuple[dict[str, Any], Section] | None:
    """Try single relaxations of the problem for a random sample of the people without recourse.

    What they do is saved in the folder of the parts, and read again if the run is resumed.

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
    tuple of (dict, Section), or None
        As `saved_relaxations`; None if nobody is to be examined.
    """
    stuck: Bools = np.asarray(outcomes["outcome"] == AuditOutcome.NO_RECOURSE, bool)
    positions = np.flatnonzero(stuck)
    if settings.relaxations == 0 or not len(positions):
        return None
    sample = people_to_examine(loaded.problem, outcomes, settings)

    def search() -> dict[str, Any]:
        order = np.random.default_rng(settings.seed).permutation(positions)
        own = _read(loaded.problem, parts, np.sort(order[:sample]), key)
        everybody = _without_key(people.sample(REFERENCE, settings.seed).table, loaded.problem, key)
        reference, _ = loaded.problem.read_valid(everybody)
        return audit_relaxations(
            loaded.problem,
            loaded.audit.box,
            own,
            np.ones(len(own), bool),
            settings,
            sample,
            reference=reference if len(reference) >= FEWEST_REFERENCES else None,
            total=len(positions),
        )

    folder, _, records = parts
    facts = {"run": records[0].run, "files": [file.digest for file in people.files], "sample": sample}
    facts |= {"seed": settings.seed, "budget": settings.budget}
    return saved_relaxations(RelaxationFile(folder, RELAXATIONS), facts, search, settings.min_group)


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
