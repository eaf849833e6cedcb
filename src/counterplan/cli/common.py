"""What commands have in common: whom and what they are about, progress, and files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from counterplan import benchmarks
from counterplan.blackbox import BlackBox
from counterplan.errors import ModelError, PeopleError, PlanError, ProblemError, StorageError
from counterplan.problem import People, Problem, read_table
from counterplan.problem.values import did_you_mean
from counterplan.recourse import Recourse
from counterplan.storage.answer_cache import FILE as ANSWERS
from counterplan.storage.checkpoints import LEARNING, TRAINING
from counterplan.storage.files import MissingFileError
from counterplan.storage.json_files import read_json, valid_seed
from counterplan.storage.workspace import load_answers, load_problem

ORIGIN = "origin.json"
"""In the folder of a fitted benchmark: which one it is, so that its people and model come along."""

ProblemName = Annotated[str, typer.Argument(help="A benchmark's name, a problem file, or a folder that 'fit' wrote.")]
ModelName = Annotated[
    str | None, typer.Option(help="Who decides: MODULE:ATTR, FILE.onnx or a URL (a benchmark brings its own).")
]
Threshold = Annotated[
    float | None, typer.Option(help="Favourable if the model's score is at least this (default: its own labels).")
]


@dataclass
class Setting:
    """What a command works on: the problem, the people, who decides, and the folder that was fitted, if any."""

    problem: Problem
    table: pd.DataFrame
    box: BlackBox
    folder: Path | None = None
    asks: bool = True
    """Whether there is anybody to ask."""


def setting_of(
    name: str, people: Path | None, model: str | None, threshold: float | None, seed: int, own: str = "refused_test",
    model_needed: bool = True,
) -> Setting:  # fmt: skip
    """What the words of a command ask for; a benchmark, fitted or not, brings its `own` people and model."""
    folder = Path(name) if Path(name).is_dir() and name not in benchmarks.NAMES else None
    benchmark_name, seed = (name, seed) if folder is None else _origin(folder, seed)
    if benchmark_name in benchmarks.NAMES and (folder is None or model is None or people is None):
        benchmark = benchmarks.load(benchmark_name, seed)
        table = getattr(benchmark, own) if people is None else read_table(people, benchmark.problem.features)
        box = BlackBox(benchmark.model if model is None else model, threshold=threshold)
        return Setting(benchmark.problem, table, box, folder)
    if folder is None and not Path(name).exists() and not name.endswith((".yaml", ".yml")):
        known = ", ".join(benchmarks.NAMES)
        hint = did_you_mean(name, benchmarks.NAMES)
        raise PlanError(f"'{name}' is neither a problem file, a fitted folder nor a benchmark ({known}){hint}")
    problem = _problem_in(name) if folder is None else load_problem(folder)
    if people is None:
        raise PlanError(f"{name}: whom to plan for? Give a table with --people FILE")
    if model is None and model_needed:
        raise PlanError(f"{name}: who decides? Give a model with --model MODULE:ATTR, FILE.onnx or a URL")
    box = BlackBox(model, threshold=threshold) if model is not None else BlackBox(_nobody)
    return Setting(problem, read_table(people, problem.features), box, folder, model is not None)


def _problem_in(name: str) -> Problem:
    """The problem in a file; if a program is in it, a PlanError says what that is good for."""
    try:
        return Problem.load(name)
    except ProblemError:
        if _holds_program(Path(name)):
            raise PlanError(
                f"{name}: this is a program, not a problem. Read it with 'counterplan show {name}', make a page of it "
                f"with 'counterplan export {name} --to page.html'; to plan with it, give the folder in which it was "
                "distilled, and --planner program"
            ) from None
        raise


def _holds_program(path: Path) -> bool:
    try:
        data = read_json(path)
    except StorageError:
        return False
    return isinstance(data, dict) and "counterplan_program" in data


def path_named(name: str) -> Path:
    """Where the folder or file `name` is; a benchmark's name means the benchmark in every command, never a folder."""
    if name not in benchmarks.NAMES:
        return Path(name)
    if Path(name).exists():
        raise PlanError(f"'{name}' is a benchmark; write ./{name} for the folder or file of that name")
    raise PlanError(
        f"'{name}' is a benchmark; fit it first with 'counterplan fit {name} --out FOLDER', and give FOLDER"
    )


def _nobody(people: pd.DataFrame) -> list[str]:
    """In the place of a model where none is asked."""
    raise ModelError("there is no model to ask; give one with --model MODULE:ATTR, FILE.onnx or a URL")


def _origin(folder: Path, seed: int) -> tuple[str, int]:
    """The benchmark, and its seed, that a folder was fitted on, if it was one."""
    try:
        facts = read_json(folder / ORIGIN, follow_links=False)
        return str(facts["benchmark"]), valid_seed(facts["seed"], str(folder / ORIGIN))
    except MissingFileError:
        return "", seed
    except (KeyError, TypeError):
        raise StorageError(f"{folder / ORIGIN}: damaged; remove it, and name people and model") from None


def people_of(setting: Setting, file: Path | None) -> People:
    """The people of a setting, read; `file` is where they come from, if they were handed in."""
    try:
        return setting.problem.read(setting.table)
    except PeopleError as error:
        raise PeopleError(f"{file}: {error}" if file else str(error)) from None


def load(folder: Path, box: BlackBox, ask_again: bool = False, asks: bool = True) -> Recourse:
    """What is kept in `folder`, and a word if the answers in it are another model's; they are of no use where nobody
    `asks`."""
    recourse = Recourse.load(folder, box, answers=asks and not ask_again)
    if recourse.foreign_model_ is not None:
        tell_of_others(recourse, folder, ", and new ones are not added; recommend with --ask-again replaces them")
    return recourse


def tell_of_others(recourse: Recourse, folder: Path, more: str = "") -> None:
    """Say that the answers in `folder` were of no use."""
    typer.echo(
        f"The answers kept in {folder} are those of {recourse.foreign_model_}, not of {recourse.box.model_id}: "
        f"they are not used{more}.",
        err=True,
    )


def add_answers(recourse: Recourse, folder: Path, ask_again: bool = False) -> None:
    """Keep new answers with those in `folder`, so that no command asks twice; another model's stay as they are.

    A folder that cannot be written to is no reason to withhold plans.
    """
    box = recourse.box
    if not box.queries and (ask_again or not recourse.unfinished_):
        if ask_again:
            typer.echo(f"Nothing was asked, so the answers in {folder} stay as they are.", err=True)
        return
    if (folder / ANSWERS).exists() and not ask_again:
        before = load_answers(folder, recourse.problem)  # read again: another command may have added some
        if before.model != box.model_id:
            return
        before.add_to_cache(box, recourse.problem)
    checkpoints = [name for name in (LEARNING[0], TRAINING[0]) if ask_again and (folder / name).exists()]
    try:
        recourse.save_answers(folder)
    except StorageError as error:
        typer.echo(f"The answers could not be kept: {error}", err=True)
        return
    if checkpoints:
        typer.echo(
            f"Removed {' and '.join(checkpoints)} from {folder}, which held earlier answers: fit again to learn from "
            "the new ones.",
            err=True,
        )


@contextmanager
def keeping(recourse: Recourse, folder: Path | None, ask_again: bool = False) -> Iterator[None]:
    """Within this, answers are written down in `folder` as they come; however it ends, they are kept there."""
    if folder is None:
        yield
        return
    try:
        with recourse.keeping_answers(folder):
            yield
    finally:
        add_answers(recourse, folder, ask_again)


@contextmanager
def bar(what: str, total: int) -> Iterator[Callable[[int], Any]]:
    """A progress bar on the error stream (nothing if that is no terminal); gives the function that moves it."""
    console = Console(stderr=True)
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(what, total=total)
        yield lambda done: progress.advance(task, done)


def count(number: int, what: str) -> str:
    """So many of something, in words."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"
