"""The command `recommend`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from counterplan.cli.common import ModelName, ProblemName, Threshold, recording, warn_of_foreign_answers
from counterplan.cli.progress import progress_bar
from counterplan.cli.terminal import echo, emit
from counterplan.errors import CounterplanError, ModelError, SettingError, StorageError
from counterplan.inputs import resolve
from counterplan.plans.plan import Plans
from counterplan.recourse import PLANNERS, Recourse
from counterplan.storage.files import require_writable, write_or_say

MOST_PRINTED = 20
CHUNK = 64
"""People planned at a time: an interrupt loses the current chunk only."""


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
        typer.Option(help=f"How to plan: {', '.join(PLANNERS)} (default: guided or cascade if fitted, else exact)."),
    ] = None,
    people: Annotated[
        Path | None, typer.Option(help="The people: CSV or Parquet (a benchmark brings its refused test people).")
    ] = None,
    model: ModelName = None,
    threshold: Threshold = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Plan for the first so many people only.")] = None,
    person: Annotated[
        list[int] | None, typer.Option(help="Plan for this row only, counted from 0; repeatable.")
    ] = None,
    forbid: Annotated[
        list[str] | None, typer.Option(help="A function, or FUNCTION=argument, that cannot be done; repeatable.")
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
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the plans as JSON; - for the screen.")] = None,
    csv_file: Annotated[
        Path | None, typer.Option("--csv", help="Write the plans as CSV, one row per step; - for the screen.")
    ] = None,
) -> None:
    """Compute plans: which actions, in which order, would overturn the model's decision."""
    for target in (json_file, csv_file):
        if target is not None and str(target) != "-":
            require_writable(target)
    if json_file is not None and json_file == csv_file:
        raise SettingError(f"--json and --csv cannot both go to {json_file}")
    model_required = planner != "program" or model is not None
    inputs = resolve(
        problem,
        people,
        model,
        threshold=threshold,
        seed=seed,
        model_required=model_required,
        problem=other_problem,
    )
    if not inputs.has_model:
        budget, refused = 0, True  # a program needs no model, and everybody is assumed to be refused
    recourse = Recourse(inputs.problem, inputs.box)
    if inputs.workspace is not None:
        recourse = Recourse.load(
            inputs.workspace.folder,
            inputs.box,
            answers=inputs.has_model and not ask_again,
            problem=None if other_problem is None else inputs.problem,
        )
        warn_of_foreign_answers(recourse, inputs.workspace)
    method = recourse.planner(planner or ("exact" if inputs.workspace is None else None), price=price)
    table = inputs.take(person, limit).people()
    plans = Plans(())
    stopped: BaseException | None = None
    with recording(recourse, inputs.workspace, ask_again), progress_bar("Planning", len(table)) as bar:
        try:
            for first in range(0, len(table), CHUNK):
                chunk = table.take(slice(first, first + CHUNK))
                plans += method.plan(chunk, forbid=forbid or (), budget=budget, refused=refused, progress=bar.advance)
        except (KeyboardInterrupt, ModelError) as error:
            stopped = error
    if inputs.workspace is not None:
        plans = _explained(recourse, plans)
    if stopped is None or len(plans):
        _write(plans, json_file, csv_file)
    if stopped is not None:
        echo(f"Stopped: {len(plans):,} of {len(table):,} people have been planned for; these plans are kept.", err=True)
        if isinstance(stopped, ModelError):
            raise stopped
        raise typer.Exit(130)


def _explained(recourse: Recourse, plans: Plans) -> Plans:
    """Plans with reasons if there is a program; a damaged program does not prevent plans."""
    try:
        return plans if recourse.program_ is None else recourse.explain(plans)
    except CounterplanError as error:
        echo(f"The plans have no reasons: {error}", err=True)
        return plans


def _write(plans: Plans, json_file: Path | None, csv_file: Path | None) -> None:
    """Write plans to files, and print them as text unless JSON or CSV is printed.

    A file that cannot be written, because the disk is full, does not prevent the other output.
    """
    printed = "-" not in (str(json_file), str(csv_file))
    errors: list[CounterplanError] = []
    for target, text in ((json_file, plans.to_json), (csv_file, lambda: plans.to_frame().to_csv(index=False))):
        if target is not None and str(target) == "-":
            emit(text().rstrip("\n"))
        elif target is not None:
            try:
                write_or_say(target, text())
            except CounterplanError as error:
                errors.append(error)
    if printed:
        echo(plans.to_text(MOST_PRINTED))
    if errors:
        raise StorageError("\n".join(map(str, errors)))
