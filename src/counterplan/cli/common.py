"""Options and messages that several commands share."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from counterplan.blackbox import BlackBox
from counterplan.cli.terminal import echo
from counterplan.errors import CounterplanError, ForeignAnswersWarning
from counterplan.plans import Plans
from counterplan.problem import Problem
from counterplan.problem.targets import Target, read_target
from counterplan.recourse import Recourse
from counterplan.storage.answer_recorder import AnswerUpdate
from counterplan.storage.workspace import Workspace

ProblemName = Annotated[str, typer.Argument(help="A benchmark's name, a problem file, or a folder that 'fit' wrote.")]
ModelName = Annotated[
    str | None,
    typer.Option(
        help="The model: MODULE:ATTR, FILE.onnx, an MLflow folder or URI, or a URL (a benchmark brings its own)."
    ),
]
Threshold = Annotated[
    float | None, typer.Option(help="Favourable if the model's score is at least this (default: its own labels).")
]
Like = Annotated[
    Path | None,
    typer.Option(help="A Parquet file whose columns have the dtypes that the model expects: its training data."),
]

RefitNames = Annotated[
    list[str] | None,
    typer.Option(
        "--refit",
        help="The model, trained again: in the forms of --model; repeatable. Plans can be made to last for them.",
    ),
]
Agree = Annotated[
    int | None,
    typer.Option(help="Plans have to be favourable to at least so many of the model and its refits (--refit)."),
]
SurvivalWeight = Annotated[
    str | None,
    typer.Option(
        "--survival",
        help="Weight of the chance that plans hold after the model is trained again: none, balanced, high or a number.",
    ),
]

Jobs = Annotated[
    int, typer.Option(help="Number of processes; -1: one per core. The result is the same for any number.")
]


Cluster = Annotated[
    str | None,
    typer.Option(help="Run on a Dask cluster: local, or the address of a scheduler, such as tcp://host:8786."),
]

SAMPLE = 100_000
"""Default of `Sample`: learning uses a few thousand of them."""
Sample = Annotated[
    int,
    typer.Option(min=1, help="Most people to read of Parquet files: a random sample, chosen by the seed."),
]

TargetName = Annotated[
    str | None,
    typer.Option(help="The outcome to reach, or several with commas: A,B (default: the favourable ones)."),
]


def read_target_option(problem: Problem, text: str) -> Target:
    """The target that a text on the command line names: an outcome, or several with commas between them."""
    parts = [part.strip() for part in text.split(",")]
    if text in problem.outcome.values or not all(part in problem.outcome.values for part in parts):
        return read_target(problem.outcome, text)
    return read_target(problem.outcome, frozenset(parts))


def read_survival_option(text: str | None) -> str | float | None:
    """The weight of survival that a text on the command line gives: a name, or a number."""
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        return text


def load_recourse(workspace: Workspace, box: BlackBox, **options: Any) -> Recourse:
    """Load a folder, with `options` of `Recourse.load`; print a message if its answers are those of another model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ForeignAnswersWarning)
        recourse = Recourse.load(workspace.folder, box, **options)
    if recourse.foreign_model_ is not None:
        echo(
            f"The answers in {workspace} are those of {recourse.foreign_model_}, not of {recourse.box.model_id}: they "
            "are not used, and new ones are not added; recommend with --ask-again replaces them.",
            err=True,
        )
    return recourse


@contextmanager
def printing_notices() -> Iterator[None]:
    """Print those log records that are meant for users of the command line: their `notice` is True."""
    log, handler = logging.getLogger("counterplan"), _NoticePrinter(logging.INFO)
    level = log.level
    log.addHandler(handler)
    log.setLevel(min(logging.INFO, log.level or logging.INFO))
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)


class _NoticePrinter(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        if getattr(record, "notice", False):
            text = record.getMessage()
            echo(f"{text[0].upper()}{text[1:]}.", err=True)


@contextmanager
def recording(recourse: Recourse, workspace: Workspace | None, ask_again: bool = False) -> Iterator[None]:
    """Record answers in a folder, if there is one, and print what could not be saved or had to be removed."""
    if workspace is None:
        yield
        return
    update = AnswerUpdate()
    try:
        with recourse.recording_answers(workspace.folder) as update:
            yield
    finally:
        if update.error is not None:
            echo(f"The answers could not be saved: {update.error}", err=True)
        elif ask_again and not recourse.box.queries:
            echo(f"No query was sent, so the answers in {workspace} are unchanged.", err=True)
        elif update.removed_checkpoints:
            echo(
                f"Removed {' and '.join(update.removed_checkpoints)} from {workspace}, which contained earlier "
                "answers: fit again to learn from the new ones.",
                err=True,
            )


def explained(recourse: Recourse, plans: Plans) -> Plans:
    """The plans with reasons if there is a program or a surrogate; damaged ones do not prevent plans."""
    try:
        parts = [recourse.for_target(frozenset(one)) if one else recourse for one in {*plans.targets}]
        if all(part.program_ is None and part.surrogate_ is None for part in parts):
            return plans
        return recourse.explain(plans)
    except CounterplanError as error:
        echo(f"The plans have no reasons: {error}", err=True)
        return plans
