"""A random sample of people in Parquet files, to learn from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from counterplan.problem.parquet_people import ParquetPeople


def sample(people: str | Path | Sequence[str | Path], count: int = 100_000, *, seed: int = 0) -> pd.DataFrame:
    """Read a random sample of people, for `Recourse.fit` and `Recourse.distil`.

    The files are read once, row group by row group, and only the sample is kept. It does not depend on how rows are
    divided into files and row groups.

    Parameters
    ----------
    people : str, Path or a sequence of them
        Parquet files, folders of them, or patterns such as "people/*.parquet".
    count : int, default=100_000
        Most people of the sample.
    seed : int, default=0
        Seed of the sample.

    Returns
    -------
    pandas.DataFrame
        The people, in the order of the files.

    Raises
    ------
    PeopleError
        If files cannot be read.

    Examples
    --------
    >>> from counterplan import batch, benchmarks
    >>> benchmarks.load("german").train.to_parquet("people.parquet")
    >>> batch.sample("people.parquet", 100, seed=1).shape
    (100, 10)
    """
    return ParquetPeople.find(people).sample(count, seed).table
