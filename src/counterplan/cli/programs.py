"""The commands on programs: `distil`, `show`, `export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from counterplan.cli.common import Like, ModelName, Threshold, load_recourse, recording
from counterplan.cli.terminal import echo, emit
from counterplan.errors import SettingError
from counterplan.inputs import folder_or_file, resolve
from counterplan.plans.progress import progress_bar, stage_display
from counterplan.program import Program
from counterplan.program.card_text import card_text
from counterplan.program.io import to_json as program_json
from counterplan.recourse import load_program
from counterplan.storage.files import require_writable
from counterplan.storage.workspace import PROGRAM, Workspace


def distil(
    folder: Annotated[str, typer.Argument(help="A folder that 'fit' wrote.")],
    people: Annotated[
        Path | None,
        typer.Option(help="People to make the program for, as for 'fit': CSV or Parquet (a benchmark has some)."),
    ] = None,
    model: ModelName = None,
    threshold: Threshold = None,
    like: Like = None,
    prefer: Annotated[
        str | None, typer.Option(help="What matters most: success, effort or short (rules); default: a balance.")
    ] = None,
    preset: Annotated[
        str, typer.Option(help="default; or paper: imitate plans of the agent's search ('fit --preset paper').")
    ] = "default",
    max_conditions: Annotated[int | None, typer.Option(min=1, help="Most features that a rule tests.")] = None,
    traces: Annotated[
        int | None, typer.Option(min=1, help="People, or with --preset paper the agent's plans, to make it from.")
    ] = None,
    rounds: Annotated[int | None, typer.Option(min=1, help="Most rounds of improvement.")] = None,
    protected: Annotated[
        bool | None,
        typer.Option(
            "--protected/--no-protected",
            help="Whether rules may test protected features; default: only with --preset paper.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The same seed, the same program.")] = 0,
) -> None:
    """Distil a program from a fitted folder: rules that people can read, and that need no model."""
    path = folder_or_file(folder)
    if not path.is_dir():
        raise SettingError(f"'{folder}' is not a folder that 'counterplan fit' wrote; fit first, with --out FOLDER")
    workspace = Workspace(path)
    workspace.load_problem()
    require_writable(workspace.path(PROGRAM))
    split = "refused_train" if preset == "paper" else "train"
    inputs = resolve(folder, people, model, threshold=threshold, split=split, like=like)
    recourse = load_recourse(workspace, inputs.box)
    with recording(recourse, workspace), progress_bar("Distilling") as bar:
        program = recourse.distil(
            inputs.people(),
            traces=traces,
            rounds=rounds,
            max_conditions=max_conditions,
            prefer=prefer,
            preset=preset,
            protected=protected,
            seed=seed,
            progress=stage_display(bar),
        )
    saved = recourse.save_program(path)
    echo(_card(program))
    echo(f"Saved in {saved}. Read it: counterplan show {folder}")
    echo(f"Make a page of it: counterplan export {folder} --to {workspace.path('program.html')}")


def show(
    folder: Annotated[str, typer.Argument(help="A folder with a program, or a program's file.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the program's file instead.")] = False,
) -> None:
    """Print a program, rule by rule, and its card."""
    program = _program(folder)
    if as_json:
        emit(program_json(program).rstrip("\n"))
        return
    echo(program.to_text())
    echo(f"\nThe card:\n{_card(program)}")


def export(
    folder: Annotated[str, typer.Argument(help="A folder with a program, or a program's file.")],
    to: Annotated[Path, typer.Option(help="The file to write: .html (a page), .py, .svg, .dot or .json.")],
) -> None:
    """Write a program as a page, a module, a drawing or a file."""
    from counterplan.program.export import export as export_program

    program = _program(folder)
    require_writable(to)
    export_program(program, to)
    echo(f"Wrote {to}.")


def _program(name: str) -> Program:
    """Load the program in a folder or a file."""
    return load_program(name) if folder_or_file(name).is_dir() else Program.load(name)


def _card(program: Program) -> str:
    """A program's card, without the parts that are meant for drawings and forms."""
    return card_text(program.card)
