"""The commands on programs and cards: `distil`, `show`, `export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from counterplan.cli.common import (
    SAMPLE,
    Agree,
    Jobs,
    Like,
    ModelName,
    RefitNames,
    Sample,
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
from counterplan.inputs import PeopleSampling, folder_or_file, people_of_program, resolve
from counterplan.plans.progress import progress_bar, stage_display
from counterplan.problem.targets import Target
from counterplan.problem.values import did_you_mean
from counterplan.program import Program
from counterplan.program.io import to_json as program_json
from counterplan.program.model_card_text import card_text
from counterplan.recourse import load_card, load_program
from counterplan.scorecard import Scorecard
from counterplan.scorecard.io import is_card
from counterplan.scorecard.io import to_json as card_json
from counterplan.storage.files import MissingFileError, require_writable, write_whole
from counterplan.storage.workspace import CARD, PROGRAM, Workspace

FORMS = {"program": PROGRAM, "card": CARD}
"""What can be distilled, and its file in a folder."""

Form = Annotated[
    str | None,
    typer.Option(help="program (rules) or card (points); default: what there is, a program if both are."),
]


def distil(
    folder: Annotated[str, typer.Argument(help="A folder that 'fit' wrote.")],
    form: Annotated[
        str, typer.Option(help="program: rules, as an automaton of decision trees; card: points for each value.")
    ] = "program",
    people: Annotated[
        Path | None,
        typer.Option(help="People to make the program for, as for 'fit': CSV or Parquet files (a benchmark has some)."),
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
    sample: Sample = SAMPLE,
    jobs: Jobs = 1,
) -> None:
    """Distil a program or a card from a fitted folder, which people can read, and which needs no model."""
    file = FORMS[_checked_form(form)]
    path = folder_or_file(folder)
    if not path.is_dir():
        raise SettingError(f"'{folder}' is not a folder that 'counterplan fit' wrote; fit first, with --out FOLDER")
    workspace = Workspace(path)
    saved_problem = workspace.load_problem()
    chosen = None if target is None else read_target_option(saved_problem, target)
    require_writable(workspace.path(file))
    split = "refused_train" if preset == "paper" else "train"
    inputs = resolve(
        folder,
        people,
        model,
        threshold=threshold,
        split=split,
        like=like,
        refits=refit or (),
        agree=agree,
        sample=PeopleSampling(sample, seed),
    )
    recourse = load_recourse(workspace, inputs.box, refits=inputs.refits or None)
    with recording(recourse, workspace), progress_bar("Distilling") as bar:
        common: dict[str, Any] = {"target": chosen, "traces": traces, "protected": protected, "seed": seed}
        common |= {"jobs": jobs, "progress": stage_display(bar)}
        for_programs: dict[str, Any] = {"rounds": rounds, "max_conditions": max_conditions, "prefer": prefer}
        for_programs |= {"preset": preset, "survival": read_survival_option(survival)}
        made: Program | Scorecard
        if form == "card":
            given = {name: value for name, value in for_programs.items() if value not in (None, "default")}
            made = recourse.distil(inputs.people(), form="card", **common, **given)
        else:
            made = recourse.distil(inputs.people(), **common, **for_programs)
    save = recourse.save_program if form == "program" else recourse.save_card
    saved = save(path, target=chosen)
    option = ("" if form == "program" else " --form card") + ("" if target is None else f" --target '{target}'")
    echo(card_text(made.model_card))
    echo(f"Saved in {saved}. Read it: counterplan show {folder}{option}")
    echo(f"Make a page of it: counterplan export {folder}{option} --to {saved.with_suffix('.html')}")


def show(
    folder: Annotated[str, typer.Argument(help="A folder with a program or a card, or the file of one.")],
    form: Form = None,
    target: TargetName = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the file instead.")] = False,
) -> None:
    """Print a program, rule by rule, or a card, and how it was made."""
    shown = _distilled(folder, form, target)
    if as_json:
        emit((program_json(shown) if isinstance(shown, Program) else card_json(shown)).rstrip("\n"))
        return
    echo(shown.to_text())
    echo(f"\nIts model card:\n{card_text(shown.model_card)}")
    if form is None and isinstance(shown, Program) and _both(folder, target) is not None:
        echo(f"\nThere is a card as well: counterplan show {folder} --form card")


def export(
    folder: Annotated[str, typer.Argument(help="A folder with a program or a card, or the file of one.")],
    to: Annotated[Path, typer.Option(help="The file to write: .html (a page), .py, .svg, .dot (a program) or .json.")],
    form: Annotated[
        str | None, typer.Option(help="program or card; default: what there is, and a page of both if both are.")
    ] = None,
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
    """Write a program or a card as a page, a module, a drawing or a file, or draw the trace of one person."""
    from counterplan.program.export import export as export_program
    from counterplan.program.export import trace_svg
    from counterplan.scorecard.export import export as export_card
    from counterplan.scorecard.export import to_html

    if person is None and (people is not None or forbid):
        raise SettingError("--people and --forbid are for the trace of one person; give --person as well")
    if person is not None and to.suffix.lower() != ".svg":
        raise SettingError(f"{to}: the trace of a person is drawn as SVG; give a file that ends in .svg")
    exported = _distilled(folder, form, target)
    require_writable(to)
    if person is not None:
        if not isinstance(exported, Program):
            raise SettingError(f"{folder}: --person draws the trace of a person through a program, and this is a card")
        row = people_of_program(folder, exported.problem, people).take([person]).people()
        write_whole(to, trace_svg(exported, row, forbid=forbid or ()).encode("utf-8", "replace"))
    elif to.suffix.lower() == ".html" and form is None and (both := _both(folder, target)) is not None:
        write_whole(to, to_html(*both).encode("utf-8", "replace"))
    elif isinstance(exported, Program):
        export_program(exported, to)
    else:
        export_card(exported, to)
    echo(f"Wrote {to}.")


def _checked_form(form: str) -> str:
    if form not in FORMS:
        hint = did_you_mean(form, FORMS) or f"; there are {' and '.join(FORMS)}"
        raise SettingError(f"--form: there is no form '{form}'{hint}")
    return form


def _distilled(name: str, form: str | None, target: str | None) -> Program | Scorecard:
    """Load the program or the card in a folder, for a target if one is given, or in a file."""
    wanted = None if form is None else _checked_form(form)
    if folder_or_file(name).is_dir():
        chosen = None if target is None else read_target_option(Workspace(name).load_problem(), target)
        if wanted is None:
            wanted = "card" if _holds_only_a_card(name, chosen) else "program"
        return load_program(name, target=chosen) if wanted == "program" else load_card(name, target=chosen)
    if target is not None:
        raise SettingError(f"--target chooses among those of a folder; {name} is a file with one program or card")
    if wanted is None:
        wanted = "card" if is_card(name) else "program"
    return Program.load(name) if wanted == "program" else Scorecard.load(name)


def _holds_only_a_card(folder: str, target: Target | None) -> bool:
    workspace = Workspace(folder)
    if target is not None and target != workspace.load_problem().outcome.favourable:
        workspace = workspace.for_target(target)
    return workspace.holds(CARD) and not workspace.holds(PROGRAM)


def _both(name: str, target: str | None) -> tuple[Program, Scorecard] | None:
    """The program and the card of a folder, if it has both."""
    if not folder_or_file(name).is_dir():
        return None
    try:
        program, card = (_distilled(name, form, target) for form in ("program", "card"))
    except MissingFileError:
        return None
    assert isinstance(program, Program)
    assert isinstance(card, Scorecard)
    return program, card
