"""The command line: `counterplan check | init | schema | recommend | benchmarks`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

import counterplan
from counterplan import benchmarks
from counterplan.benchmarks.report import COLUMNS, describe
from counterplan.blackbox import BlackBox
from counterplan.errors import CounterplanError, PeopleError, PlanError
from counterplan.files import write_whole
from counterplan.plan import Plans
from counterplan.planners import ExactPlanner, Planner
from counterplan.problem import Problem, json_schema, read_table
from counterplan.problem.problem import check as check_file
from counterplan.problem.starting import starting_file_from
from counterplan.problem.values import did_you_mean

app = typer.Typer(
    help="Which actions, in which order, would overturn a model's decision at the least effort.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
PLANNERS: dict[str, Callable[..., Planner]] = {"exact": ExactPlanner}
MOST_PRINTED = 20
SLICE = 64
"""People planned between two looks at the keyboard: what is finished by then is kept."""


def main() -> None:
    """Run the command line; whatever the user can put right is a message and exit code 2, never a traceback."""
    try:
        app()
    except CounterplanError as error:
        typer.echo(f"counterplan: {error}", err=True)
        sys.exit(2)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


@app.callback(invoke_without_command=True)
def _version(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        typer.echo(f"counterplan {counterplan.__version__}")
        raise typer.Exit


@app.command()
def check(
    file: Annotated[Path, typer.Argument(help="A problem file.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Say everything that is wrong or doubtful in a problem file, with line numbers."""
    problem, findings = check_file(file)
    errors = [finding for finding in findings if finding.severity == "error"]
    if as_json:
        told = [
            {"severity": f.severity, "line": f.line, "place": list(f.place), "message": f.message} for f in findings
        ]
        typer.echo(json.dumps({"file": str(file), "ok": not errors, "findings": told}, ensure_ascii=False, indent=1))
    else:
        for finding in findings:
            typer.echo(f"{finding.severity}: {finding.text(str(file))}", err=finding.severity == "error")
        warnings = len(findings) - len(errors)
        if problem is not None:
            typer.echo(
                f"{file}: fine: {len(problem.features)} features, {len(problem.transitions.functions)} functions, "
                f"{len(problem.transitions) - 1} actions; {_count(warnings, 'warning')}"
            )
        else:
            typer.echo(f"{file}: {_count(len(errors), 'error')}, {_count(warnings, 'warning')}", err=True)
    if errors:
        raise typer.Exit(2)


@app.command()
def init(
    data: Annotated[Path, typer.Argument(help="A table of people: CSV or Parquet.")],
    outcome: Annotated[str, typer.Option(help="The column that holds the decision.")],
    out: Annotated[Path | None, typer.Option(help="Where to write the file (default: beside the table).")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file if it is there.")] = False,
) -> None:
    """Write a commented problem file to start from, inferred from a table of people."""
    text = starting_file_from(data, outcome)
    name = data.name.split(".")[0]
    target = out if out is not None else data.parent / f"{name}.yaml"
    if target.exists() and not force:
        raise PlanError(f"{target}: is already there; choose another name with --out, or overwrite it with --force")
    _write(target, text)
    typer.echo(f"Wrote {target}. Choose the functions in it, then run: counterplan check {target}")


@app.command()
def schema(
    out: Annotated[Path | None, typer.Option(help="Write it to a file instead of the screen.")] = None,
) -> None:
    """Print the JSON Schema of problem files, with which editors complete and check them."""
    text = json.dumps(json_schema(), indent=1)
    if out is None:
        typer.echo(text)
    else:
        _write(out, text + "\n")


@app.command()
def recommend(
    problem: Annotated[str, typer.Argument(help="A benchmark's name, or a problem file.")],
    planner: Annotated[str, typer.Option(help=f"How to plan: {', '.join(PLANNERS)}.")] = "exact",
    people: Annotated[
        Path | None, typer.Option(help="The people: CSV or Parquet (a benchmark brings its refused test people).")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="Who decides: MODULE:ATTR, FILE.onnx or a URL (a benchmark brings its own).")
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(help="Favourable if the model's score is at least this (default: its own labels).")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Plan for the first so many people only.")] = None,
    person: Annotated[
        list[int] | None, typer.Option(help="Plan for this row only, counted from 0; repeatable.")
    ] = None,
    forbid: Annotated[
        list[str] | None, typer.Option(help="A function, or FUNCTION=argument, that cannot be done; repeatable.")
    ] = None,
    budget: Annotated[int | None, typer.Option(min=0, help="Most questions to the model for each person.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of a benchmark.")] = 0,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the plans as JSON; - for the screen.")] = None,
    csv_file: Annotated[
        Path | None, typer.Option("--csv", help="Write the plans as CSV, one row per step; - for the screen.")
    ] = None,
) -> None:
    """Tell refused people what would change the decision."""
    if planner not in PLANNERS:
        raise PlanError(
            f"there is no planner '{planner}'{did_you_mean(planner, PLANNERS)}; there are {', '.join(PLANNERS)}"
        )
    for target in (json_file, csv_file):
        if target is not None and str(target) != "-" and not target.absolute().parent.is_dir():
            raise PlanError(f"{target}: there is no folder {target.parent}")
    world, table, box = _setting(problem, people, model, threshold, seed)
    table = _chosen(table, person, limit)
    try:
        read = world.read(table)
    except PeopleError as error:
        raise PeopleError(f"{people}: {error}" if people else str(error)) from None
    method = PLANNERS[planner](world, box)
    plans = Plans(())
    interrupted = False
    with _bar("Planning", len(read)) as advance:
        try:
            for first in range(0, len(read), SLICE):
                some = read.take(slice(first, first + SLICE))
                plans += method.plan(some, forbid=forbid or (), budget=budget, progress=advance)
        except KeyboardInterrupt:
            interrupted = True
    _hand_over(plans, json_file, csv_file)
    if interrupted:
        typer.echo(f"Interrupted: {len(plans):,} of {len(read):,} people are planned for, and kept.", err=True)
        raise typer.Exit(130)


def _setting(
    name: str, people: Path | None, model: str | None, threshold: float | None, seed: int
) -> tuple[Problem, pd.DataFrame, BlackBox]:
    """The problem, people and black box that the options of `recommend` ask for."""
    if name in benchmarks.NAMES:
        benchmark = benchmarks.load(name, seed)
        table = benchmark.refused_test if people is None else read_table(people, benchmark.problem.features)
        return benchmark.problem, table, BlackBox(benchmark.model if model is None else model, threshold=threshold)
    if not Path(name).exists() and not name.endswith((".yaml", ".yml")):
        known = ", ".join(benchmarks.NAMES)
        hint = did_you_mean(name, benchmarks.NAMES)
        raise PlanError(f"'{name}' is neither a problem file nor a benchmark ({known}){hint}")
    problem = Problem.load(name)
    if people is None:
        raise PlanError(f"{name}: whom to plan for? Give a table with --people FILE")
    if model is None:
        raise PlanError(f"{name}: who decides? Give a model with --model MODULE:ATTR, FILE.onnx or a URL")
    return problem, read_table(people, problem.features), BlackBox(model, threshold=threshold)


def _chosen(table: pd.DataFrame, rows: list[int] | None, limit: int | None) -> pd.DataFrame:
    if rows:
        for row in rows:
            if not 0 <= row < len(table):
                raise PeopleError(f"there is no person {row}: the rows are 0 to {len(table) - 1}")
        table = table.iloc[rows]
    return table if limit is None else table.head(limit)


def _hand_over(plans: Plans, json_file: Path | None, csv_file: Path | None) -> None:
    """Write plans where they are wanted; on the screen as text unless JSON or CSV goes there."""
    on_screen = "-" not in (str(json_file), str(csv_file))
    for target, text in ((json_file, plans.to_json), (csv_file, lambda: plans.to_frame().to_csv(index=False))):
        if target is not None and str(target) == "-":
            typer.echo(text())
        elif target is not None:
            _write(target, text())
    if on_screen:
        typer.echo(plans.to_text(MOST_PRINTED))


@app.command("benchmarks")
def benchmarks_table(
    names: Annotated[list[str] | None, typer.Argument(help="Which ones (default: all four).")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of samples, splits and networks.")] = 0,
    people: Annotated[int, typer.Option(min=1, help="Refused test people to solve exactly (german: all).")] = 100,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Describe the four benchmark problems, and what an exact search finds possible in them."""
    rows = []
    chosen = names or list(benchmarks.NAMES)
    with _bar("Solving", len(chosen)) as advance:
        for name in chosen:
            rows.append(describe(benchmarks.load(name, seed), people))
            advance(1)
    if as_json:
        typer.echo(json.dumps(rows, indent=1))
        return
    table = Table(title=f"Benchmarks, seed {seed}")
    table.add_column("")
    for row in rows:
        table.add_column(str(row["name"]), justify="right")
    for key, label, form in COLUMNS:
        table.add_row(label, *("–" if row[key] is None else format(row[key], form) for row in rows))
    Console().print(table)


@contextmanager
def _bar(what: str, total: int) -> Iterator[Callable[[int], Any]]:
    """A progress bar on the error stream (nothing if that is no terminal); gives the function that moves it."""
    console = Console(stderr=True)
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(what, total=total)
        yield lambda done: progress.advance(task, done)


def _write(target: Path, text: str) -> None:
    try:
        write_whole(target, text)
    except OSError as error:
        raise PlanError(f"{target}: cannot be written: {error.strerror}") from None


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


if __name__ == "__main__":
    main()
