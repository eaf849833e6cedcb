"""Programs: `distil`, `show`, `export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from counterplan.cli.common import ModelName, Threshold, keeping, load, path_named, people_of, setting_of
from counterplan.errors import PlanError
from counterplan.program import Program
from counterplan.program.card_text import card_text
from counterplan.program.io import to_json as program_json
from counterplan.storage.files import require_writable
from counterplan.storage.workspace import PROGRAM, load_problem, load_program


def distil(
    folder: Annotated[str, typer.Argument(help="A folder that 'fit' wrote.")],
    people: Annotated[
        Path | None,
        typer.Option(help="People to make the program for, as for 'fit': CSV or Parquet (a benchmark has some)."),
    ] = None,
    model: ModelName = None,
    threshold: Threshold = None,
    prefer: Annotated[
        str | None, typer.Option(help="What matters most: success, effort or short (rules); default: a balance.")
    ] = None,
    preset: Annotated[
        str, typer.Option(help="default; or paper: imitate plans of the agent ('fit --method search').")
    ] = "default",
    max_conditions: Annotated[int | None, typer.Option(min=1, help="Most features that a rule tests.")] = None,
    traces: Annotated[
        int | None, typer.Option(min=1, help="People, or with --preset paper the agent's plans, to make it from.")
    ] = None,
    rounds: Annotated[int | None, typer.Option(min=1, help="Most rounds of improvement.")] = None,
    protected: Annotated[bool, typer.Option("--protected", help="Let rules test protected features too.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="The same seed, the same program.")] = 0,
) -> None:
    """Write what was learned down as a program that people can read, and that needs no model."""
    where = path_named(folder)
    if not where.is_dir():
        raise PlanError(f"'{folder}' is not a folder that 'counterplan fit' wrote; fit first, with --out FOLDER")
    own = "refused_train" if preset == "paper" else "train"
    load_problem(where)
    setting = setting_of(folder, people, model, threshold, 0, own)
    recourse = load(where, setting.box)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    hidden = not console.is_terminal
    with keeping(recourse, where), Progress(*columns, console=console, transient=True, disable=hidden) as bar:
        task = bar.add_task("ProgramDistiller", total=None)

        def show_progress(what: str, done: int, total: int) -> None:
            bar.update(task, description=what.capitalize(), completed=done, total=total)

        program = recourse.distil(
            people_of(setting, people), traces=traces, rounds=rounds, max_conditions=max_conditions, prefer=prefer,
            preset=preset, protected=protected, seed=seed, progress=show_progress,
        )  # fmt: skip
    program.save(where / PROGRAM)
    typer.echo(_card(program))
    typer.echo(f"Kept in {where / PROGRAM}. Read it: counterplan show {folder}")
    typer.echo(f"Make a page of it: counterplan export {folder} --to {where / 'program.html'}")


def show(
    folder: Annotated[str, typer.Argument(help="A folder with a program, or a program's file.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the program's file instead.")] = False,
) -> None:
    """Print a program, rule by rule, and its card."""
    program = _program(folder)
    if as_json:
        typer.echo(program_json(program).rstrip("\n"))
        return
    typer.echo(program.to_text())
    typer.echo(f"\nThe card:\n{_card(program)}")


def export(
    folder: Annotated[str, typer.Argument(help="A folder with a program, or a program's file.")],
    to: Annotated[Path, typer.Option(help="The file to write: .html (a page), .py, .svg, .dot or .json.")],
) -> None:
    """Write a program as a page, a module, a drawing or a file."""
    from counterplan.program.export import export as export_program

    program = _program(folder)
    require_writable(to)
    export_program(program, to)
    typer.echo(f"Wrote {to}.")


def _program(name: str) -> Program:
    """The program in a folder or a file."""
    return load_program(name) if path_named(name).is_dir() else Program.load(name)


def _card(program: Program) -> str:
    """A program's card, without what is there for drawings and forms."""
    return card_text(program.card)
