"""The commands on programs: `distil`, `show`, `export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from counterplan.cli.common import (
    Agree,
    Jobs,
    Like,
    ModelName,
    RefitNames,
    SurvivalWeight,
    TargetName,
    Threshold,
    load_recourse,
    read_survival_option,
    read_target_option,
    recording,
)
from counterplan.cli.terminal import echo, emit
from counterplan.errors import SettingError
from counterplan.inputs import folder_or_file, people_of_program, resolve
from counterplan.plans.progress import progress_bar, stage_display
from counterplan.program import Program
from counterplan.program.io import to_json as program_json
from counterplan.program.model_card_text import card_text
from counterplan.recourse import load_program
from counterplan.storage.files import require_writable, write_whole
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
    refit: RefitNames = None,
    agree: Agree = None,
    survival: SurvivalWeight = None,
    target: TargetName = None,
    prefer: Annotated[
        str | None, typer.Option(help="short (default): about a page; success, effort, balanced: hundreds of rules.")
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
    jobs: Jobs = 1,
) -> None:
    """Distil a program from a fitted folder: rules that people can read, and that need no model."""
    path = folder_or_file(folder)
    if not path.is_dir():
        raise SettingError(f"'{folder}' is not a folder that 'counterplan fit' wrote; fit first, with --out FOLDER")
    workspace = Workspace(path)
    saved_problem = workspace.load_problem()
    chosen = None if target is None else read_target_option(saved_problem, target)
    require_writable(workspace.path(PROGRAM))
    split = "refused_train" if preset == "paper" else "train"
    inputs = resolve(
        folder, people, model, threshold=threshold, split=split, like=like, refits=refit or (), agree=agree
    )
    recourse = load_recourse(workspace, inputs.box, refits=inputs.refits or None)
    with recording(recourse, workspace), progress_bar("Distilling") as bar:
        program = recourse.distil(
            inputs.people(),
            target=chosen,
            traces=traces,
            rounds=rounds,
            max_conditions=max_conditions,
            prefer=prefer,
            preset=preset,
            protected=protected,
            survival=read_survival_option(survival),
            seed=seed,
            jobs=jobs,
            progress=stage_display(bar),
        )
    saved = recourse.save_program(path, target=chosen)
    option = "" if target is None else f" --target '{target}'"
    echo(_card(program))
    echo(f"Saved in {saved}. Read it: counterplan show {folder}{option}")
    echo(f"Make a page of it: counterplan export {folder}{option} --to {saved.with_suffix('.html')}")


def show(
    folder: Annotated[str, typer.Argument(help="A folder with a program, or a program's file.")],
    target: TargetName = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the program's file instead.")] = False,
) -> None:
    """Print a program, rule by rule, and its model card."""
    program = _program(folder, target)
    if as_json:
        emit(program_json(program).rstrip("\n"))
        return
    echo(program.to_text())
    echo(f"\nIts model card:\n{_card(program)}")


def export(
    folder: Annotated[str, typer.Argument(help="A folder with a program, or a program's file.")],
    to: Annotated[Path, typer.Option(help="The file to write: .html (a page), .py, .svg, .dot or .json.")],
    person: Annotated[
        int | None, typer.Option(help="Draw the trace of this person instead (.svg): a row, counted from 0.")
    ] = None,
    people: Annotated[
        Path | None,
        typer.Option(help="The people for --person: CSV or Parquet (a benchmark brings its refused test people)."),
    ] = None,
    forbid: Annotated[
        list[str] | None,
        typer.Option(help="With --person: a function, or FUNCTION=argument, that cannot be done; repeatable."),
    ] = None,
    target: TargetName = None,
) -> None:
    """Write a program as a page, a module, a drawing or a file, or draw the trace of one person."""
    from counterplan.program.export import export as export_program
    from counterplan.program.export import trace_svg

    if person is None and (people is not None or forbid):
        raise SettingError("--people and --forbid are for the trace of one person; give --person as well")
    if person is not None and to.suffix.lower() != ".svg":
        raise SettingError(f"{to}: the trace of a person is drawn as SVG; give a file that ends in .svg")
    program = _program(folder, target)
    require_writable(to)
    if person is None:
        export_program(program, to)
    else:
        row = people_of_program(folder, program.problem, people).take([person]).people()
        write_whole(to, trace_svg(program, row, forbid=forbid or ()).encode("utf-8", "replace"))
    echo(f"Wrote {to}.")


def _program(name: str, target: str | None) -> Program:
    """Load the program in a folder, for a target if one is given, or in a file."""
    if folder_or_file(name).is_dir():
        chosen = None if target is None else read_target_option(Workspace(name).load_problem(), target)
        return load_program(name, target=chosen)
    if target is not None:
        raise SettingError(f"--target chooses among the programs of a folder; {name} is a file with one program")
    return Program.load(name)


def _card(program: Program) -> str:
    """A program's model card, without the parts that are meant for drawings and forms."""
    return card_text(program.model_card)
