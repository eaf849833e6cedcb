"""Plans: `recommend`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from counterplan.cli.common import ModelName, ProblemName, Threshold, bar, keeping, load, people_of, setting_of
from counterplan.errors import ModelError, PeopleError, PlanError
from counterplan.plans import Plans
from counterplan.recourse import PLANNERS, Recourse
from counterplan.storage.files import require_writable, write_or_say

MOST_PRINTED = 20
SLICE = 64
"""People planned between two looks at the keyboard: what is finished by then is kept."""


def recommend(
    problem: ProblemName,
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
    budget: Annotated[int | None, typer.Option(min=0, help="Most questions to the model for each person.")] = None,
    refused: Annotated[
        bool, typer.Option("--refused", help="The people are known to be refused: do not ask about them as they are.")
    ] = False,
    ask_again: Annotated[
        bool, typer.Option("--ask-again", help="The model has changed: ignore and replace the answers in the folder.")
    ] = False,
    price: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="What a question costs in units of effort: guided asks if it may save more (default: 1.5 %).",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of a benchmark.")] = 0,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the plans as JSON; - for the screen.")] = None,
    csv_file: Annotated[
        Path | None, typer.Option("--csv", help="Write the plans as CSV, one row per step; - for the screen.")
    ] = None,
) -> None:
    """Tell refused people what would change the decision."""
    for target in (json_file, csv_file):
        if target is not None and str(target) != "-":
            require_writable(target)
    if json_file is not None and json_file == csv_file:
        raise PlanError(f"--json and --csv cannot both go to {json_file}")
    alone = planner == "program" and model is None
    setting = setting_of(problem, people, model, threshold, seed, model_needed=not alone)
    if not setting.asks:
        budget, refused = 0, True  # the program needs no model, and everybody is taken to be refused
    recourse = Recourse(setting.problem, setting.box)
    if setting.folder is not None:
        recourse = load(setting.folder, setting.box, ask_again, asks=setting.asks)
    method = recourse.planner(planner or ("exact" if setting.folder is None else None), price=price)
    setting.table = _chosen(setting.table, person, limit)
    read = people_of(setting, people)
    plans = Plans(())
    stopped: BaseException | None = None
    with keeping(recourse, setting.folder, ask_again), bar("Planning", len(read)) as advance:
        try:
            for first in range(0, len(read), SLICE):
                some = read.take(slice(first, first + SLICE))
                plans += method.plan(some, forbid=forbid or (), budget=budget, refused=refused, progress=advance)
        except (KeyboardInterrupt, ModelError) as error:
            stopped = error
    if setting.folder is not None:
        plans = _explained(recourse, plans)
    if stopped is None or len(plans):
        _hand_over(plans, json_file, csv_file)
    if stopped is not None:
        typer.echo(f"Stopped: {len(plans):,} of {len(read):,} people are planned for, and kept.", err=True)
        if isinstance(stopped, ModelError):
            raise stopped
        raise typer.Exit(130)


def _explained(recourse: Recourse, plans: Plans) -> Plans:
    """Plans with reasons, if there is a program to give them; a damaged one is no reason to withhold plans."""
    try:
        return plans if recourse.program_ is None else recourse.explain(plans)
    except PlanError as error:
        typer.echo(f"The plans have no reasons: {error}", err=True)
        return plans


def _chosen(table: pd.DataFrame, rows: list[int] | None, limit: int | None) -> pd.DataFrame:
    if rows:
        for row in rows:
            if not len(table):
                raise PeopleError("there is nobody in the table")
            if not 0 <= row < len(table):
                raise PeopleError(f"there is no person {row}: the rows are 0 to {len(table) - 1}")
        table = table.iloc[rows]
    return table if limit is None else table.head(limit)


def _hand_over(plans: Plans, json_file: Path | None, csv_file: Path | None) -> None:
    """Write plans where they are wanted; on the screen as text unless JSON or CSV goes there.

    What cannot be written, because the disk is full, is no reason to withhold the rest.
    """
    on_screen = "-" not in (str(json_file), str(csv_file))
    failed: list[PlanError] = []
    for target, text in ((json_file, plans.to_json), (csv_file, lambda: plans.to_frame().to_csv(index=False))):
        if target is not None and str(target) == "-":
            typer.echo(text().rstrip("\n"))
        elif target is not None:
            try:
                write_or_say(target, text())
            except PlanError as error:
                failed.append(error)
    if on_screen:
        typer.echo(plans.to_text(MOST_PRINTED))
    if failed:
        raise PlanError("\n".join(map(str, failed)))
