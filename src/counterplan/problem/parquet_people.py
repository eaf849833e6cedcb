"""People in Parquet files: one file, a folder or a pattern, of which parts are read, or a random sample."""

from __future__ import annotations

import fnmatch
import glob
import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from counterplan.errors import PeopleError, SettingError
from counterplan.problem.frames import BadCell
from counterplan.problem.transitions import Ints

if TYPE_CHECKING:
    import pyarrow as pa

ENDINGS = (".parquet", ".pq")
_BATCH = 65_536
"""Rows decoded at once of row groups that are read in part."""
_BUFFER = 1_000_000
"""Bytes of a column chunk that are buffered at once, so that memory does not grow with row groups."""


@dataclass(frozen=True)
class PeopleFile:
    """One Parquet file of people, as its footer describes it.

    Attributes
    ----------
    name : str
        The path as it was given or found.
    path : str
        The absolute path.
    groups : tuple of int
        Number of rows of each row group.
    columns : tuple of str
        Names of the columns.
    types : tuple of str
        Their Arrow types.
    size : int
        Bytes of the file.
    digest : str
        SHA-256 of the content; empty unless `ParquetPeople.with_digests` was called.
    """

    name: str
    path: str
    groups: tuple[int, ...]
    columns: tuple[str, ...]
    types: tuple[str, ...]
    size: int
    digest: str = ""

    @property
    def rows(self) -> int:
        """Number of rows."""
        return sum(self.groups)

    @classmethod
    def of(cls, path: Path) -> PeopleFile:
        """Describe a file; PeopleError if it cannot be read as Parquet."""
        with reporting_errors(path) as (_, pq), pq.ParquetFile(path) as file:
            metadata = file.metadata
            groups = tuple(metadata.row_group(i).num_rows for i in range(metadata.num_row_groups))
            schema = file.schema_arrow
            types = tuple(str(field.type) for field in schema)
            size = path.stat().st_size
            return cls(str(path), str(path.absolute()), groups, tuple(schema.names), types, size)

    def read(
        self, first: int, rows: int, columns: Sequence[str] | None = None, dictionary: Sequence[str] = ()
    ) -> pa.Table:
        """Read some consecutive rows.

        Parameters
        ----------
        first, rows : int
            The first row and the number of rows.
        columns : sequence of str, optional
            The columns to read. Default: all.
        dictionary : sequence of str
            Columns of texts to read as dictionaries, which is faster if values repeat.

        Returns
        -------
        pyarrow.Table

        Raises
        ------
        PeopleError
            If the file cannot be read.
        """
        wanted = None if columns is None else [*columns]
        with (
            reporting_errors(self.name) as (pa, pq),
            pq.ParquetFile(self.path, read_dictionary=[*dictionary] or None, buffer_size=_BUFFER) as file,
        ):
            starts = np.cumsum([0, *self.groups])
            chosen = [g for g, begin in enumerate(starts[:-1]) if begin < first + rows and starts[g + 1] > first]
            if not rows or not chosen:
                return file.read_row_groups([], columns=wanted)
            if starts[chosen[0]] == first and starts[chosen[-1] + 1] == first + rows:
                return file.read_row_groups(chosen, columns=wanted, use_threads=False)
            parts, at = [], int(starts[chosen[0]])
            for batch in file.iter_batches(_BATCH, row_groups=chosen, columns=wanted, use_threads=False):
                low, high = max(first - at, 0), min(first + rows - at, batch.num_rows)
                at += batch.num_rows
                if low < high:
                    parts.append(batch.slice(low, high - low))
                if at >= first + rows:
                    break
            return pa.Table.from_batches(parts)

    def take(self, rows: Ints) -> pa.Table:
        """Read some rows, in ascending order, with memory for a batch besides them."""
        with reporting_errors(self.name) as (pa, pq), pq.ParquetFile(self.path, buffer_size=_BUFFER) as file:
            parts, at = [], 0
            for group, count in enumerate(self.groups):
                if np.searchsorted(rows, at) < np.searchsorted(rows, at + count):
                    begin = at
                    for batch in file.iter_batches(_BATCH, row_groups=[group], use_threads=False):
                        low, high = np.searchsorted(rows, [begin, begin + batch.num_rows])
                        if low < high:
                            parts.append(batch.take(pa.array(rows[low:high] - begin)))
                        begin += batch.num_rows
                at += count
            return pa.Table.from_batches(parts, schema=None if parts else file.schema_arrow)


@dataclass(frozen=True)
class ParquetPeople:
    """People in one or more Parquet files, which are not loaded.

    Attributes
    ----------
    files : tuple of PeopleFile
        The files, in the order of their names.
    """

    files: tuple[PeopleFile, ...]

    @classmethod
    def find(cls, source: str | Path | Sequence[str | Path]) -> ParquetPeople:
        """Find files and read their footers.

        Parameters
        ----------
        source : str, Path or a sequence of them
            Files, folders (all Parquet files in them and below, except names that begin with "_" or "."), or patterns
            such as ``people/*.parquet`` and ``people/**/*.parquet``. A file that is named twice is read once.

        Returns
        -------
        ParquetPeople

        Raises
        ------
        PeopleError
            If there are no such files, or one is not a Parquet file.
        """
        sources = [source] if isinstance(source, (str, Path)) else [*source]
        paths = [path for one in sources for path in _paths(str(one))]
        if not paths:
            raise PeopleError("there are no files of people: name Parquet files, a folder, or a pattern")
        distinct: dict[str, Path] = {}
        for path in paths:
            distinct.setdefault(os.path.realpath(path), path)
        return cls(tuple(map(PeopleFile.of, distinct.values())))

    @property
    def rows(self) -> int:
        """Number of people."""
        return sum(file.rows for file in self.files)

    @property
    def labels(self) -> tuple[str, ...]:
        """The paths of the files relative to the folder that all of them share: the same in any working directory."""
        paths = [os.path.abspath(file.path) for file in self.files]
        try:
            root = os.path.commonpath([os.path.dirname(path) for path in paths])
        except ValueError:  # on several drives
            return tuple(Path(path).as_posix() for path in paths)
        return tuple(Path(os.path.relpath(path, root)).as_posix() for path in paths)

    def with_digests(self) -> ParquetPeople:
        """The same files with digests of their content, each of which is read once.

        Raises
        ------
        PeopleError
            If a file cannot be read.
        """
        return ParquetPeople(tuple(replace(file, digest=_digest(file)) for file in self.files))

    def with_names(self, names: Sequence[str]) -> ParquetPeople:
        """The same files under other names, one for each."""
        pairs = zip(self.files, names, strict=True)
        return ParquetPeople(tuple(replace(file, name=name) for file, name in pairs))

    def sample(self, count: int, seed: int = 0) -> PeopleSample:
        """Read a random sample of people, or everybody if there are no more.

        The sample depends on the seed and the order of the rows, and not on files or row groups.

        Parameters
        ----------
        count : int
            Most people of the sample.
        seed : int, default=0
            Seed of the sample.

        Returns
        -------
        PeopleSample
            The people in the order of the files.

        Raises
        ------
        PeopleError
            If a file cannot be read, or the types of files contradict each other.
        SettingError
            If `count` is not positive.
        """
        if count < 1:
            raise SettingError(f"a sample has at least one person, not {count!r}")
        if self.rows > count:
            chosen = np.random.default_rng(seed).choice(self.rows, count, replace=False, shuffle=False)
        else:
            chosen = np.arange(self.rows)
        rows: Ints = np.sort(chosen)
        starts = np.cumsum([0, *(file.rows for file in self.files)])
        bounds = np.searchsorted(rows, starts)
        own = [rows[bounds[i] : bounds[i + 1]] - starts[i] for i in range(len(self.files))]
        pa = import_pyarrow()
        try:
            parts = [file.take(some) for file, some in zip(self.files, own, strict=True) if len(some)]
            parts = parts or [self.files[0].take(own[0])]
            joined = pa.concat_tables(parts, promote_options="permissive")
        except pa.ArrowException as error:
            raise PeopleError(f"the columns of the files have different types: {error}") from None
        table = joined.to_pandas().reset_index(drop=True)
        return PeopleSample(table, self.files, np.repeat(np.arange(len(own)), [*map(len, own)]), np.concatenate(own))


@dataclass(frozen=True)
class PeopleSample:
    """Some people of Parquet files, and where they were read.

    Attributes
    ----------
    table : pandas.DataFrame
        n people.
    files : tuple of PeopleFile
        The files.
    file_of, row_of : int arrays of shape [n]
        File and row of each person.
    """

    table: pd.DataFrame
    files: tuple[PeopleFile, ...]
    file_of: Ints
    row_of: Ints

    def describe(self, cell: BadCell) -> str:
        """A cell of the table that does not match the problem, with its file and the row there."""
        return f"{self.files[self.file_of[cell.row]].name}: {cell._replace(row=int(self.row_of[cell.row]))}"


def is_parquet_source(source: str | Path) -> bool:
    """Whether people are in several Parquet files: `source` is a folder, or a pattern that is not a file's name."""
    return Path(source).is_dir() or (not Path(source).exists() and glob.has_magic(str(source)))


def would_read(source: str | Path | Sequence[str | Path], path: Path) -> bool:
    """Whether a Parquet file at `path`, if there were one, would be among the files that `source` names."""
    sources = [source] if isinstance(source, (str, Path)) else [*source]
    patterns = [glob.escape(str(one)) if os.path.exists(one) else str(one) for one in sources]
    return any(
        _matches(Path(place(path)).parts, Path(place(pattern)).parts)
        for place in (os.path.abspath, os.path.realpath)
        for pattern in patterns
    )


def import_pyarrow() -> Any:
    """The module `pyarrow`; PeopleError if it is not installed."""
    try:
        import pyarrow
    except ImportError:
        raise PeopleError("reading Parquet needs pyarrow; pip install 'counterplan[parquet]'") from None
    return pyarrow


@contextmanager
def reporting_errors(path: str | Path) -> Iterator[tuple[Any, Any]]:
    """Within this context, errors of reading the file are raised as PeopleError; yields pyarrow and its Parquet."""
    pa = import_pyarrow()
    import pyarrow.parquet as pq

    try:
        yield pa, pq
    except FileNotFoundError:
        raise PeopleError(f"{path}: there is no such file") from None
    except (pa.ArrowException, OSError, ValueError) as error:
        if isinstance(error, PeopleError):
            raise
        reason = error.strerror if isinstance(error, OSError) and error.strerror else " ".join(str(error).split())
        raise PeopleError(f"{path}: cannot be read as Parquet: {reason}") from None


def _paths(source: str) -> list[Path]:
    """The files that one text names, sorted."""
    if os.path.exists(source):
        found = [source]
    else:
        found = glob.glob(source, recursive=True)
        if not found:
            kind = "no file matches this pattern" if glob.has_magic(source) else "there is no such file or folder"
            raise PeopleError(f"{source}: {kind}")
    paths: set[Path] = set()
    for path in map(Path, found):
        if path.is_dir():
            inside = [one for ending in ENDINGS for one in path.rglob(f"*{ending}") if one.is_file()]
            shown = [one for one in inside if not any(p[0] in "._" for p in one.relative_to(path).parts)]
            if not shown and os.path.exists(source):
                raise PeopleError(f"{path}: there is no Parquet file in this folder")
            paths.update(shown)
        elif not path.name.endswith(ENDINGS):
            raise PeopleError(f"{path}: is not a Parquet file: its name should end with .parquet or .pq")
        else:
            paths.add(path)
    return sorted(paths)


def _digest(file: PeopleFile) -> str:
    """SHA-256 of the content of a file."""
    with reporting_errors(file.name), open(file.path, "rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _matches(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Whether a pattern matches a path, or a folder above it, which is read with everything below."""
    if not pattern:
        return not any(part[0] in "._" for part in parts)
    if pattern[0] == "**":
        return any(_matches(parts[i:], pattern[1:]) for i in range(len(parts) + 1))
    return bool(parts) and fnmatch.fnmatchcase(parts[0], pattern[0]) and _matches(parts[1:], pattern[1:])
