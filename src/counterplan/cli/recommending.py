"""The command `recommend`."""

from __future__ import annotations

import gc
from abc import abstractmethod
from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from counterplan.batch.recommend_task import split_column
from counterplan.cli.batching import (
    BatchChoices,
    BatchJobs,
    Memory,
    OutFolder,
    PartitionRows,
    PersonKey,
    Reasons,
    Record,
    Resume,
    SkipBad,
    recommend_batch,
    refuse,
)
from counterplan.cli.common import (
    Agree,
    Cluster,
    Like,
    ModelName,
    ProblemName,
    RefitNames,
    SurvivalWeight,
    TargetName,
    Threshold,
    explained,
    load_recourse,
    read_survival_option,
    read_target_option,
    recording,
)
from counterplan.cli.terminal import echo, emit
from counterplan.errors import CounterplanError, ModelError, PeopleError, SettingError, StorageError
from counterplan.inputs import Inputs, resolve, resolve_problem
from counterplan.personal.alternatives import MAX_COUNT
from counterplan.personal.weights import read_weight_options, read_weights
from counterplan.planners import Planner, ProgramPlanner, TargetPlanner
from counterplan.planners.registry import NAMES as PLANNERS
from counterplan.plans import Plans
from counterplan.plans.progress import progress_bar
from counterplan.plans.text import Summary, plans_text
from counterplan.problem import People, read_table
from counterplan.problem.dtypes import label_of
from counterplan.problem.transitions import Floats
from counterplan.problem.values import count, cut
from counterplan.recourse import Recourse
from counterplan.storage.files import is_stream, require_writable
from counterplan.storage.streams import WholeFile
from counterplan.survival.execution import read_execution_options

MOST_PRINTED = 20
CHUNK = 512
"""People planned at a time: an interrupt loses the current chunk only."""
PROGRAM_CHUNK = 10_000
"""The same for a program, which plans faster."""


def recommend(
    problem: ProblemName,
    other_problem: Annotated[
        Path | None,
        typer.Option(
            "--problem",
            help="Plan with this problem file instead of the folder's: other costs, limits or actions, same features.",
        ),
    ] = None,
    planner: Annotated[
        str | None,
        typer.Option(help=f"How to plan: {', '.join(PLANNERS)} (default: auto, exact where cheap, else guided)."),
    ] = None,
    target: TargetName = None,
    target_column: Annotated[
        str | None, typer.Option(help="Column of the people with the outcome that each is to reach.")
    ] = None,
    people: Annotated[
        Path | None,
        typer.Option(
            help="The people: CSV or Parquet; with --out also a folder or a pattern of Parquet files (a benchmark has "
            "refused test people)."
        ),
    ] = None,
    model: ModelName = None,
    threshold: Threshold = None,
    like: Like = None,
    refit: RefitNames = None,
    agree: Agree = None,
    survival: SurvivalWeight = None,
    survival_at_least: Annotated[
        float | None,
        typer.Option(help="The least chance, above 0 and at most 1, that plans hold after the model is trained again."),
    ] = None,
    execution: Annotated[
        list[str] | None,
        typer.Option(
            help="Share of a change that people may miss, such as 0.06 for 6 %, or FUNCTION=0.06; repeatable. Survival "
            "includes it."
        ),
    ] = None,
    deadline: Annotated[
        float | None,
        typer.Option(min=0, help="The longest time that a plan may take, in the problem's unit, such as 12 months."),
    ] = None,
    pareto: Annotated[
        bool, typer.Option("--pareto", help="Also find all faster plans that cost more: planners exact and auto.")
    ] = False,
    limit: Annotated[int | None, typer.Option(min=1, help="Plan for the first people only, at most this many.")] = None,
    person: Annotated[
        list[int] | None, typer.Option(help="Plan for this row only, counted from 0; repeatable.")
    ] = None,
    forbid: Annotated[
        list[str] | None, typer.Option(help="A function, or FUNCTION=argument, that cannot be done; repeatable.")
    ] = None,
    weight: Annotated[
        list[str] | None,
        typer.Option(
            help="How hard a function is, FUNCTION=2 or FUNCTION=argument=2: a factor from 0.01 to 100; repeatable."
        ),
    ] = None,
    weights: Annotated[
        Path | None,
        typer.Option(
            help="The same for each person: CSV or Parquet, functions or actions as columns, a row per person of the "
            "table: in their order, or with their labels as the index of a Parquet file."
        ),
    ] = None,
    alternatives: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=MAX_COUNT,
            help=f"Most plans per person, up to {MAX_COUNT}: the cheapest, and others that use other functions.",
        ),
    ] = None,
    budget: Annotated[int | None, typer.Option(min=0, help="Maximum number of queries per person.")] = None,
    refused: Annotated[
        bool, typer.Option("--refused", help="The people are known to be refused: do not query their present state.")
    ] = False,
    ask_again: Annotated[
        bool, typer.Option("--ask-again", help="The model has changed: ignore and replace the answers in the folder.")
    ] = False,
    price: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Cost of a query in units of plan cost: guided queries if it may save more (default: 1.5 %).",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of a benchmark.")] = 0,
    jobs: BatchJobs = None,
    out: OutFolder = None,
    cluster: Cluster = None,
    key: PersonKey = None,
    partition_rows: PartitionRows = None,
    memory: Memory = None,
    resume: Resume = False,
    skip_bad: SkipBad = False,
    record: Record = True,
    reasons: Reasons = False,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the plans as JSON; - for the screen.")] = None,
    csv_file: Annotated[
        Path | None, typer.Option("--csv", help="Write the plans as CSV, one row per step; - for the screen.")
    ] = None,
) -> None:
    """Compute plans: which actions, in which order, would overturn the model's decision."""
    further = _survival_options(survival, survival_at_least, execution)
    further |= {"deadline": deadline} if deadline is not None else {}
    further |= {"pareto": True} if pareto else {}
    further |= {"alternatives": alternatives} if alternatives is not None else {}
    further |= {"weights": read_weight_options(weight)} if weight else {}
    choices = BatchChoices(cluster, key, partition_rows, memory, skip_bad, record)
    if out is not None:
        unusable: dict[str, object] = {"--json": json_file, "--csv": csv_file, "--person": person, "--limit": limit}
        refuse(unusable | {"--ask-again": ask_again}, "cannot be used with --out")
        why = "cannot be used with --out; --weight is for everybody, and tables of moderate size work without --out"
        refuse({"--weights": weights}, why)
        recommend_batch(
            problem,
            people,
            out,
            choices,
            jobs,
            resume=resume,
            reasons=reasons,
            planner=planner or "auto",
            model=model,
            problem=other_problem,
            threshold=threshold,
            like=like,
            refits=refit or (),
            agree=agree,
            target=None if target is None else sorted(read_target_option(resolve_problem(problem), target)),
            target_column=target_column,
            price=price,
            seed=seed,
            forbid=tuple(forbid or ()),
            budget=budget,
            refused=refused,
            **further,
        )
        return
    given = {"--cluster": cluster is not None, "--partition-rows": partition_rows is not None, "--resume": resume}
    refuse(given | choices.given | {"--reasons": reasons}, "is for people in Parquet files: give --out FOLDER, too")
    for file in (json_file, csv_file):
        if file is not None and not _is_printed(file) and not is_stream(file):
            require_writable(file)
    if target is not None and target_column is not None:
        raise SettingError("--target is for everybody, and --target-column for each person: use one of them")
    if json_file is not None and json_file == csv_file:
        raise SettingError(f"--json and --csv cannot both go to {json_file}")
    if weight and weights is not None:
        raise SettingError("--weight is for everybody, and --weights for each person: use one of them")
    model_required = planner not in ("program", "card") or model is not None
    inputs = resolve(
        problem,
        people,
        model,
        threshold=threshold,
        seed=seed,
        model_required=model_required,
        problem=other_problem,
        like=like,
        lazy=True,
        refits=refit or (),
        agree=agree,
    )
    if not inputs.has_model:
        budget, refused = 0, True  # programs and cards need no model, and everybody is assumed to be refused
    recourse = Recourse(inputs.problem, inputs.box, refits=inputs.refits or None)
    if inputs.workspace is not None:
        recourse = load_recourse(
            inputs.workspace,
            inputs.box,
            refits=inputs.refits or None,
            answers=inputs.has_model and not ask_again,
            problem=None if other_problem is None else inputs.problem,
        )
    fixed = None if target is None else read_target_option(inputs.problem, target)
    method: Planner | TargetPlanner
    if fixed is None and target_column is None:
        method = recourse.planner(planner, price=price)
    else:
        method = recourse.target_planner(planner, price=price)
    streams = isinstance(method, ProgramPlanner) and json_file is None
    by_person = None if weights is None else _WeightTable(weights, inputs, person, limit)
    size = PROGRAM_CHUNK if isinstance(method, ProgramPlanner) or planner == "program" else CHUNK

    def run(chunks: Iterable[People], total: int) -> None:
        """Plan for people chunk by chunk, and write the plans."""
        writer: _Writer = _StreamWriter(csv_file) if streams else _PlansWriter(json_file, csv_file, recourse)
        stopped: BaseException | None = None
        method.expect(total)
        with writer:
            with recording(recourse, inputs.workspace, ask_again), progress_bar("Planning", total) as bar:
                try:
                    for chunk in chunks:
                        options: dict[str, Any] = {"forbid": forbid or (), "budget": budget, "refused": refused}
                        options |= {"jobs": 1 if jobs is None else jobs, "progress": bar.advance} | further
                        if by_person is not None:
                            options["weights"] = by_person.of(chunk, writer.people)
                        if isinstance(method, TargetPlanner):
                            chunk, wanted = (chunk, fixed) if fixed else split_column(chunk, target_column or "")
                            plans = method.plan(chunk, target=wanted, **options)
                        else:
                            plans = method.plan(chunk, **options)
                        writer.add(plans)
                except (KeyboardInterrupt, ModelError) as error:
                    stopped = error
            if stopped is None or writer.people:
                writer.finish()
        if stopped is not None:
            written = "; their plans are written" if writer.people else ""
            echo(f"Stopped: {writer.people:,} of {total:,} people are planned for{written}.", err=True)
            if isinstance(stopped, ModelError):
                raise stopped
            raise typer.Exit(130)

    gc.freeze()  # what was imported and loaded until now stays: collections need not visit it again and again
    everybody = not person and limit is None and by_person is None
    discardable = csv_file is None or not (_is_printed(csv_file) or is_stream(csv_file))
    if streams and everybody and discardable and not inputs.has_model and not ask_again:
        try:
            run(inputs.parts(size), inputs.count_people())
            return
        except PeopleError:  # the whole table can be read, or has mistakes in several parts, which are reported at once
            pass
    table = inputs.take(person, limit).people()
    run((table.take(slice(first, first + size)) for first in range(0, len(table), size)), len(table))


class _WeightTable:
    """Weights from a file, a row for each of the people of `inputs`; those of the rows `person`, or the first.

    Rows with labels, which only Parquet files have, belong to the people with the same labels; others are in the order
    of the people.
    """

    def __init__(self, path: Path, inputs: Inputs, person: list[int] | None, limit: int | None) -> None:
        self.path, self.problem, table = path, inputs.problem, read_table(path)
        people = inputs.count_people()
        if len(table) != people:
            raise PeopleError(
                f"{path}: {count(len(table), 'row')} of weights for {count(people, 'person', 'people')}; write one for "
                "each person of the table, also with --person or --limit"
            )
        if not _is_unlabelled(table):
            table = self._in_order(table, inputs.table.index)
        self.table = table.iloc[person] if person else table.head(people if limit is None else limit)

    def _in_order(self, table: pd.DataFrame, labels: pd.Index[Any]) -> pd.DataFrame:
        """The rows in the order of the people with these labels; PeopleError if the labels are others."""
        if table.index.equals(labels):
            return table
        way_out = "give rows the labels of the people, or none, with to_parquet(…, index=False), and their order"
        for index, where in ((table.index, "the file"), (labels, "the people")):
            if not index.is_unique:
                twice = label_of(index[index.duplicated()][0])
                raise PeopleError(f"{self.path}: two rows of {where} have the label {cut(repr(twice))}: {way_out}")
        strange = table.index[~table.index.isin(labels)]
        if len(strange):
            shown = cut(repr(label_of(strange[0])))
            raise PeopleError(f"{self.path}: nobody of the people has the label {shown}: {way_out}")
        return table.loc[labels]

    def of(self, people: People, first: int) -> Floats:
        """The weights [B, A] of `people`, who come after the `first` ones; SettingError with the name of the file."""
        table = self.table.iloc[first : first + len(people)]
        try:
            return read_weights(self.problem, people, table, by_position=True)
        except SettingError as error:
            raise SettingError(f"{self.path}: {error}") from None


def _is_unlabelled(table: pd.DataFrame) -> bool:
    """Whether the rows of a table are only numbered."""
    return isinstance(table.index, pd.RangeIndex) and table.index.equals(pd.RangeIndex(len(table)))


def _survival_options(weight: str | None, at_least: float | None, execution: list[str] | None) -> dict[str, Any]:
    """The parameters of `Planner.plan` about survival that were given."""
    options = {"survival": read_survival_option(weight), "survival_at_least": at_least}
    given = {name: value for name, value in options.items() if value is not None}
    return given | ({"execution": read_execution_options(execution)} if execution else {})


def _is_printed(target: Path | None) -> bool:
    """Whether plans go to the standard output, where nothing else is printed then."""
    return str(target) in ("-", "/dev/stdout")


class _Writer(AbstractContextManager[None]):
    """Receives plans in chunks, and writes and prints them."""

    people = 0

    def __exit__(self, *_: object) -> None:
        """Remove temporary files."""

    @abstractmethod
    def add(self, plans: Plans) -> None:
        """Receive the plans of a chunk."""

    @abstractmethod
    def finish(self) -> None:
        """Write and print the plans; raise a StorageError at the end if a file could not be written."""


class _PlansWriter(_Writer):
    """Collects all plans, adds reasons if there is a program or a surrogate, and writes them as JSON, CSV and text.

    A file that cannot be written, because the disk is full, does not prevent the other output.
    """

    def __init__(self, json_file: Path | None, csv_file: Path | None, recourse: Recourse) -> None:
        self.json_file, self.csv_file, self.recourse = json_file, csv_file, recourse
        self.chunks: list[Plans] = []

    def add(self, plans: Plans) -> None:
        self.people += len(plans)
        self.chunks.append(plans)

    def finish(self) -> None:
        plans = explained(self.recourse, Plans.join(self.chunks))
        errors: list[CounterplanError] = []
        for target, text in ((self.json_file, plans.to_json), (self.csv_file, plans.to_csv)):
            if _is_printed(target):
                emit(text().rstrip("\n"))
            elif target is not None:
                try:
                    with WholeFile(target) as file:
                        file.write(text())
                except CounterplanError as error:
                    errors.append(error)
        if not _is_printed(self.json_file) and not _is_printed(self.csv_file):
            echo(plans.to_text(MOST_PRINTED))
        if errors:
            raise StorageError("\n".join(map(str, errors)))


class _StreamWriter(_Writer):
    """Writes plans of a program, which have reasons, as CSV chunk by chunk: memory does not grow with their number."""

    def __init__(self, csv_file: Path | None) -> None:
        self.printed = _is_printed(csv_file)
        self.file = None if csv_file is None or self.printed else WholeFile(csv_file)
        self.error: StorageError | None = None
        self.first = Plans(())
        self.summary = Summary()

    def __exit__(self, *_: object) -> None:
        if self.file is not None:
            self.file.discard()

    def add(self, plans: Plans) -> None:
        if self.printed:
            emit(plans.to_csv(header=not self.people).rstrip("\n"))
        elif self.file is not None and self.error is None:
            try:
                self.file.write(plans.to_csv(header=not self.people))
            except StorageError as error:
                self.error = error
        if len(self.first) < MOST_PRINTED:
            self.first += plans[: MOST_PRINTED - len(self.first)]
        self.people += len(plans)
        self.summary += Summary.of(plans)

    def finish(self) -> None:
        if self.file is not None and self.error is None:
            try:
                self.file.commit()
            except StorageError as error:
                self.error = error
        if not self.printed:
            echo(plans_text(self.first, MOST_PRINTED, self.summary))
        if self.error is not None:
            raise self.error
