"""Resolve names of problems, people and models, as users write them, into objects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import pandas as pd

from counterplan import benchmarks
from counterplan.blackbox import BlackBox
from counterplan.errors import ModelError, PeopleError, ProblemError, SettingError, StorageError
from counterplan.models import referenced
from counterplan.problem import People, PeopleTable, Problem, read_table
from counterplan.problem.frames import describe_bad_cells
from counterplan.problem.intake import as_pandas
from counterplan.problem.parquet_people import ENDINGS, ParquetPeople, PeopleSample, is_parquet_source
from counterplan.problem.tables import count_rows, iter_table
from counterplan.problem.values import did_you_mean
from counterplan.storage.json_files import read_json
from counterplan.storage.workspace import Origin, Workspace
from counterplan.survival.agreement import Agreement


@dataclass(frozen=True)
class PeopleSampling:
    """How many people are read of Parquet files, which may hold any number: at most `most`, chosen by `seed`."""

    most: int
    seed: int = 0


@dataclass(frozen=True)
class Inputs:
    """A problem, people and a model, as `resolve` found them.

    Attributes
    ----------
    problem : Problem
        The problem.
    given_people : DataFrame or Path
        The people: a table, or the file that `table` reads on first access.
    box : BlackBox
        The model; without one, querying it raises a ModelError.
    workspace : Workspace or None
        The learned folder, if the name was that of one.
    origin : Origin
        Provenance to save with anything fitted to these inputs.
    has_model : bool
        Whether there is a model to query.
    source : Path or None
        The file of the people, which error messages name.
    refits : tuple of BlackBox
        Retrained models to estimate survival with.
    sample : PeopleSampling or None
        How many people of Parquet files are read at most.
    """

    problem: Problem
    given_people: pd.DataFrame | Path
    box: BlackBox
    workspace: Workspace | None
    origin: Origin
    has_model: bool = True
    source: Path | None = None
    refits: tuple[BlackBox, ...] = ()
    sample: PeopleSampling | None = None

    @cached_property
    def table(self) -> pd.DataFrame:
        """The people as a table."""
        given = self.given_people
        if isinstance(given, pd.DataFrame):
            return given
        return read_table(given, self.problem.features) if self._sampled is None else self._sampled.table

    @property
    def is_sample(self) -> bool:
        """Whether the people are a sample of Parquet files, which is read now."""
        return self._sampled is not None

    @cached_property
    def _sampled(self) -> PeopleSample | None:
        """The sample of people in Parquet files; None for other tables, and files that are read as a whole."""
        given = self.given_people
        if isinstance(given, pd.DataFrame):
            return None
        several = is_parquet_source(given)
        if self.sample is None:
            if several:
                raise PeopleError(
                    f"{given}: a folder, or a pattern, of Parquet files is for 'fit' and 'distil', which read a "
                    "sample, for 'audit', and for 'recommend' with --out FOLDER, which plans for everybody"
                )
            return None
        if not several and not (given.is_file() and given.name.endswith(ENDINGS)):
            return None
        found = ParquetPeople.find(given)
        if not several and found.rows <= self.sample.most:
            return None
        return found.sample(self.sample.most, self.sample.seed)

    def parts(self, rows: int) -> Iterator[People]:
        """Read the file of people in parts, so that memory does not grow with its length.

        Parameters
        ----------
        rows : int
            Most people of a part.

        Yields
        ------
        People

        Raises
        ------
        PeopleError
            If there is no CSV file, it has to be read as a whole, or a part does not match the problem. `people` then
            succeeds, or reports all mistakes.
        """
        if self.source is None:
            raise PeopleError("there is no file of people")
        for table in iter_table(self.source, self.problem.features, rows):
            yield self.problem.read(table)

    def count_people(self) -> int:
        """Number of people, without reading the table if it is a file; PeopleError if the file cannot be read."""
        given = self.given_people
        return len(given) if isinstance(given, pd.DataFrame) else count_rows(given)

    def people(self) -> People:
        """Read the table as people of the problem.

        Returns
        -------
        People

        Raises
        ------
        PeopleError
            If the table does not match the problem; the message names file, column, row and value.
        """
        if self._sampled is not None:
            people, bad = self.problem.read_valid(self._sampled.table)
            if bad:
                raise PeopleError(describe_bad_cells([self._sampled.describe(cell) for cell in bad]))
            return people
        try:
            return self.problem.read(self.table)
        except PeopleError as error:
            raise PeopleError(str(error) if self.source is None else f"{self.source}: {error}") from None

    def take(self, rows: list[int] | None = None, limit: int | None = None) -> Inputs:
        """Select people.

        Parameters
        ----------
        rows : list of int, optional
            Positions of people in the table, counted from 0.
        limit : int, optional
            Maximum number of people, from the first.

        Returns
        -------
        Inputs
            The same inputs with fewer people.
        """
        table = self.table
        if rows:
            for row in rows:
                if not len(table):
                    raise PeopleError("there is nobody in the table")
                if not 0 <= row < len(table):
                    raise PeopleError(f"there is no person {row}: the rows are 0 to {len(table) - 1}")
            table = table.iloc[rows]
        return replace(self, given_people=table if limit is None else table.head(limit))


def resolve(
    name: str | Path,
    people: str | Path | PeopleTable | None = None,
    model: object | None = None,
    *,
    threshold: float | None = None,
    seed: int = 0,
    split: str = "refused_test",
    model_required: bool = True,
    problem: str | Path | Problem | None = None,
    like: str | Path | None = None,
    lazy: bool = False,
    refits: Sequence[object] = (),
    agree: int | None = None,
    sample: PeopleSampling | None = None,
) -> Inputs:
    """Resolve the names of a problem, people and a model.

    Parameters
    ----------
    name : str or pathlib.Path
        A benchmark, a problem file, or a learned folder. The name of a benchmark takes precedence over a folder of
        the same name, which is written with its place: "./german".
    people : str, pathlib.Path or table, optional
        The people: a CSV or Parquet file, or anything that `Problem.read` accepts. A benchmark, fitted or not,
        provides its own.
    model : object, optional
        The model: "MODULE:ATTR", the path of an ONNX file, a URL, or any other object that `BlackBox` accepts. A
        `BlackBox`, also one named by "MODULE:ATTR", is used as it is. A benchmark, fitted or not, provides its own.
    threshold : float, optional
        Minimum score of a favourable decision. Default: the labels of the model.
    seed : int, default=0
        Seed of a benchmark; a fitted benchmark has its own.
    split : {"train", "test", "refused_train", "refused_test"}, default="refused_test"
        People that a benchmark provides.
    model_required : bool, default=True
        Whether a missing model is an error.
    problem : str, pathlib.Path or Problem, optional
        A problem, or its file, to use in place of the one in a learned folder: other costs, limits or actions over
        the same features.
    like : str or pathlib.Path, optional
        A Parquet file with the dtypes that the model expects, such as its training data.
    lazy : bool, default=False
        Whether a file of people is read on first access of `Inputs.table` only, and can be read in `Inputs.parts`.
    refits : sequence of objects, optional
        Retrained models, in the forms of `model`, with the same `threshold` and `like`.
    agree : int, optional
        Number of the model and its `refits` that have to decide favourably: `Inputs.box` is their `Agreement`, and
        `Inputs.refits` is empty, because models that a plan was made for do not tell whether it lasts.
    sample : PeopleSampling, optional
        Read a random sample of people in Parquet files; `people` may then also be a folder of them or a pattern.

    Returns
    -------
    Inputs

    Raises
    ------
    SettingError
        If a name cannot be resolved, people or a model are missing, or fewer than `agree` models are given.
    ProblemError
        If the problem file is invalid.
    PeopleError
        If the people cannot be read.
    ModelError
        If the model cannot be loaded.

    Examples
    --------
    >>> from counterplan.inputs import resolve
    >>> inputs = resolve("syn", split="test")
    >>> inputs.problem.name
    'syn'
    >>> len(inputs.take(limit=5).people())
    5
    """
    name = str(name)
    dtypes = None if like is None else read_like(like)
    workspace = Workspace(name) if Path(name).is_dir() and name not in benchmarks.NAMES else None
    if problem is not None and workspace is None:
        raise SettingError(f"{name}: another problem is for use with a learned folder, and this is not one")
    changed = problem if problem is None or isinstance(problem, Problem) else load_problem_file(problem)
    origin = Origin(name if name in benchmarks.NAMES else None, seed)
    if workspace is not None:
        origin = workspace.load_origin() or Origin(None, seed)
    if origin.benchmark in benchmarks.NAMES and (workspace is None or model is None or people is None):
        benchmark = benchmarks.load(origin.benchmark, origin.seed)
        provided = workspace is None and people is None and model is None and threshold is None
        used = changed or benchmark.problem
        inputs = Inputs(
            used,
            getattr(benchmark, split) if people is None else _given(people),
            black_box(benchmark.model if model is None else model, threshold, dtypes),
            workspace,
            origin if provided else Origin(None, seed),
            source=_source(people),
            sample=sample,
        )
        inputs = _with_refits(inputs, [black_box(one, threshold, dtypes) for one in refits], agree)
        return inputs if lazy else _with_table(inputs)
    if workspace is None:
        _require_problem_name(name)
    used = changed or (load_problem_file(name) if workspace is None else workspace.load_problem())
    if people is None:
        raise SettingError(f"{name}: no people given; pass a table of them, with --people FILE")
    if model is None and model_required:
        raise SettingError(f"{name}: no model given; pass one, with --model MODULE:ATTR, FILE.onnx or a URL")
    box = BlackBox(_no_model) if model is None else black_box(model, threshold, dtypes)
    source = _source(people)
    inputs = Inputs(used, _given(people), box, workspace, Origin(None, seed), model is not None, source, sample=sample)
    inputs = _with_refits(inputs, [black_box(one, threshold, dtypes) for one in refits], agree)
    return inputs if lazy else _with_table(inputs)


def resolve_problem(name: str | Path) -> Problem:
    """Resolve the name of a problem alone, without people or a model.

    Parameters
    ----------
    name : str or pathlib.Path
        A benchmark, a problem file, or a learned folder, as for `resolve`.

    Returns
    -------
    Problem

    Raises
    ------
    SettingError
        If the name cannot be resolved.
    ProblemError
        If the problem file is invalid.
    """
    name = str(name)
    if name in benchmarks.NAMES:
        return benchmarks.load_problem(name)
    if Path(name).is_dir():
        return Workspace(name).load_problem()
    _require_problem_name(name)
    return load_problem_file(name)


def _require_problem_name(name: str) -> None:
    """Raise a SettingError, with the names of benchmarks, for a name that is neither that of a file nor like one."""
    if not Path(name).exists() and not name.endswith((".yaml", ".yml")):
        known, hint = ", ".join(benchmarks.NAMES), did_you_mean(name, benchmarks.NAMES)
        raise SettingError(f"'{name}' is neither a problem file, a fitted folder nor a benchmark ({known}){hint}")


def load_problem_file(path: str | Path) -> Problem:
    """Load a problem file.

    Parameters
    ----------
    path : str or pathlib.Path
        The file.

    Returns
    -------
    Problem

    Raises
    ------
    ProblemError
        If the file is not a valid problem.
    SettingError
        If the file contains a program; the message names the commands that use one.
    """
    try:
        return Problem.load(path)
    except ProblemError:
        if not _is_program(Path(path)):
            raise
    raise SettingError(
        f"{path}: this is a program, not a problem. Read it with 'counterplan show {path}', make a page of it "
        f"with 'counterplan export {path} --to page.html'; to plan with it, give the folder in which it was "
        "distilled, and --planner program"
    )


def people_of_program(name: str, problem: Problem, people: str | Path | None = None) -> Inputs:
    """Resolve the people to run a program for, without a model.

    Parameters
    ----------
    name : str
        The folder or the file of the program. The folder of a fitted benchmark provides its refused test people.
    problem : Problem
        The problem of the program.
    people : str or pathlib.Path, optional
        The people: a CSV or Parquet file.

    Returns
    -------
    Inputs

    Raises
    ------
    SettingError
        If there are no people.
    """
    if folder_or_file(name).is_dir():
        return resolve(name, people, model_required=False, lazy=True)
    if people is None:
        raise SettingError(f"{name}: no people given; pass a table of them, with --people FILE")
    return Inputs(problem, Path(people), BlackBox(_no_model), None, Origin(None, 0), False, Path(people))


def folder_or_file(name: str) -> Path:
    """Return the path of a learned folder or a file, whose name must not be that of a benchmark.

    Parameters
    ----------
    name : str
        The name of a folder or file.

    Returns
    -------
    pathlib.Path

    Raises
    ------
    SettingError
        If the name is that of a benchmark; a folder of that name is written with its place: "./german".
    """
    if name not in benchmarks.NAMES:
        return Path(name)
    if Path(name).exists():
        raise SettingError(f"'{name}' is a benchmark; write ./{name} for the folder or file of that name")
    raise SettingError(
        f"'{name}' is a benchmark; fit it first with 'counterplan fit {name} --out FOLDER', and give FOLDER"
    )


def black_box(model: object, threshold: float | None = None, dtypes: pd.DataFrame | None = None) -> BlackBox:
    """Make the black box of a model.

    Parameters
    ----------
    model : object
        As in `resolve`; a `BlackBox`, also one named by "MODULE:ATTR", is used as it is.
    threshold : float, optional
        Minimum score of a favourable decision.
    dtypes : pandas.DataFrame, optional
        A table with the dtypes that the model expects.

    Returns
    -------
    BlackBox

    Raises
    ------
    ModelError
        If the model cannot be loaded.
    SettingError
        If a `BlackBox` is given another threshold, or dtypes.
    """
    found = referenced(model) if isinstance(model, str) else None
    box = model if isinstance(model, BlackBox) else found
    if not isinstance(box, BlackBox):
        return BlackBox(model, threshold=threshold, dtypes=dtypes)
    if threshold is not None and threshold != box.threshold:
        raise SettingError(f"{model} is a BlackBox, which has a threshold of its own ({box.threshold}); give no other")
    if dtypes is not None:
        raise SettingError(f"{model} is a BlackBox, which has dtypes of its own; give no others")
    return box


def _given(people: str | Path | PeopleTable) -> pd.DataFrame | Path:
    return Path(people) if isinstance(people, (str, Path)) else as_pandas(people)


def _with_table(inputs: Inputs) -> Inputs:
    """`inputs` with the table of people instead of its file; a sample knows its places, and is read as it is."""
    return inputs if inputs.is_sample else replace(inputs, given_people=inputs.table)


def read_like(path: str | Path) -> pd.DataFrame:
    """Read a Parquet file, which stands for the dtypes of its columns; a SettingError for other files."""
    if not str(path).endswith((".parquet", ".pq")):
        raise SettingError(f"{path}: --like expects a Parquet file, whose columns have dtypes")
    return read_table(path)


def _with_refits(inputs: Inputs, refits: list[BlackBox], agree: int | None) -> Inputs:
    """`inputs` with retrained models to estimate survival with, or, if so many have to `agree`, in the black box."""
    if agree is None:
        return replace(inputs, refits=tuple(refits))
    if not refits:
        raise SettingError(f"--agree {agree}: give retrained models that have to agree with the model, with --refit")
    if not inputs.has_model:
        raise SettingError(f"--agree {agree}: no model given; pass one, with --model MODULE:ATTR, FILE.onnx or a URL")
    count = len(refits) + 1
    if not 1 <= agree <= count:
        raise SettingError(
            f"--agree {agree}: there are {count} models, with the refits; choose a number from 1 to {count}"
        )
    return replace(inputs, box=Agreement([inputs.box, *refits], agree))


def _source(people: str | Path | PeopleTable | None) -> Path | None:
    return Path(people) if isinstance(people, (str, Path)) else None


def _is_program(path: Path) -> bool:
    """Whether a file that is not a problem is a program."""
    try:
        data = read_json(path, infinite=True)
    except StorageError:
        return False
    return isinstance(data, dict) and "counterplan_program" in data


def _no_model(people: pd.DataFrame) -> list[str]:
    """Stands for a model where none is given."""
    raise ModelError("there is no model to query; give one with --model MODULE:ATTR, FILE.onnx or a URL")
