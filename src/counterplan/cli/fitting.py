"""The command `fit`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterplan import benchmarks
from counterplan.cli.common import (
    SAMPLE,
    Agree,
    Jobs,
    Like,
    ModelName,
    RefitNames,
    Sample,
    Threshold,
    printing_notices,
    read_target_option,
)
from counterplan.cli.terminal import echo
from counterplan.errors import CounterplanError, SettingError, StorageError
from counterplan.figures.agent import draw_curve
from counterplan.figures.surrogate import FEWEST_ANSWERS, assess, draw_learning, draw_reliability
from counterplan.inputs import PeopleSampling, resolve
from counterplan.plans.progress import progress_bar
from counterplan.problem.values import count, describe_target
from counterplan.recourse import Recourse
from counterplan.recourse.fit_display import FitDisplay
from counterplan.storage.answer_cache import LabelledStates
from counterplan.storage.arrays import DAMAGE, require_number
from counterplan.storage.workspace import (
    FIGURES,
    LEARNING_FIGURE,
    LEARNING_METRICS,
    RELIABILITY_FIGURE,
    TRAINING_FIGURE,
    TRAINING_METRICS,
    WRITE_AHEAD,
    Workspace,
)

if TYPE_CHECKING:
    from counterplan.surrogate.active_learning import LearningProgress, LearningSettings

Stopped = KeyboardInterrupt | CounterplanError
_OF_TRAINING = ("solved", "cost", "queries")
"""Metrics of an agent's training that are printed."""


def fit(
    problem: Annotated[str, typer.Argument(help="A benchmark's name, or a problem file.")],
    out: Annotated[str, typer.Option(help="The folder to save everything in.")],
    people: Annotated[
        Path | None,
        typer.Option(
            help="People to learn from, at least some of them refused: CSV, Parquet, or a folder or pattern of Parquet "
            "files (a benchmark has some)."
        ),
    ] = None,
    model: ModelName = None,
    threshold: Threshold = None,
    like: Like = None,
    refit: RefitNames = None,
    agree: Agree = None,
    method: Annotated[
        str | None,
        typer.Option(help="What to learn: guided (a surrogate of the model; the default), search (an agent), or both."),
    ] = None,
    target: Annotated[
        list[str] | None,
        typer.Option(help="An outcome that plans are to reach, of several; repeatable (default: the favourable ones)."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The same seed, the same result.")] = 0,
    sample: Sample = SAMPLE,
    budget: Annotated[int | None, typer.Option(min=1, help="Maximum number of queries in total.")] = None,
    answers: Annotated[
        Path | None, typer.Option(help="Known answers of the model: the answers.csv.gz of any folder.")
    ] = None,
    quality: Annotated[
        bool,
        typer.Option(
            "--quality/--no-quality", help="Compare guided plans with exact search on held-out people afterwards."
        ),
    ] = True,
    labels_only: Annotated[
        bool, typer.Option("--labels-only", help="Learn from decisions, not from the scores that the model may give.")
    ] = False,
    preset: Annotated[str, typer.Option(help="How to train an agent: default, or paper.")] = "default",
    jobs: Jobs = 1,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue the fit in the folder, also with another --budget.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the results of an earlier run in the folder, its answers too.")
    ] = False,
) -> None:
    """Learn about the model once, to plan for everybody."""
    if out in benchmarks.NAMES:
        raise SettingError(f"--out {out}: that is a benchmark's name; choose another, or write ./{out} for the folder")
    workspace = Workspace(out)
    if not (resume or force):
        workspace.require_unused()
    replaces = workspace.in_use and not resume
    method = method or ("search" if preset == "paper" else "guided")
    if labels_only and method == "search":
        raise SettingError("--labels-only is about a surrogate, which --method search does not learn")
    settings = (preset, _labels_only()) if labels_only else preset
    split = "refused_train" if method == "search" else "train"
    inputs = resolve(
        problem,
        people,
        model,
        threshold=threshold,
        seed=seed,
        split=split,
        like=like,
        refits=refit or (),
        agree=agree,
        sample=PeopleSampling(sample, seed),
    )
    targets = [read_target_option(inputs.problem, text) for text in target or ()]
    table = inputs.people()
    recourse = Recourse(inputs.problem, inputs.box, refits=inputs.refits or None)
    if resume:
        recourse = Recourse.resuming(out, inputs.problem, inputs.box, method, refits=inputs.refits or None)
    stopped: Stopped | None = None
    with printing_notices(), progress_bar("Learning") as bar:
        display = FitDisplay(bar)
        try:
            recourse.fit_into(
                out,
                table,
                resume=resume,
                force=force,
                origin=inputs.origin,
                progress=display,
                target=targets or None,
                method=method,
                seed=seed,
                settings=settings,
                budget=budget,
                answers=answers,
                quality=quality,
                jobs=jobs,
            )
        except (KeyboardInterrupt, CounterplanError) as error:
            stopped = error
    if stopped is not None and not display.reported:
        _print_saved_answers(recourse, workspace, replaces)
        _end(recourse, stopped)
    title, how = f"{inputs.problem.name}, seed {seed}", "Interrupted" if stopped else "Learned"
    for one in targets:
        part = recourse.for_target(one)
        name = describe_target(sorted(one))
        echo(f"Target {name}:")
        _print_results(part, workspace if part is recourse else workspace.for_target(one), f"{title}, {name}", how)
    if not targets:
        _print_results(recourse, workspace, title, how)
    needed = "" if inputs.origin.benchmark else " --people FILE --model MODEL"
    needed += "".join(f" --refit {one}" for one in refit or ()) + ("" if agree is None else f" --agree {agree}")
    needed += f" --target '{target[0]}'" if target else ""
    echo(f"Saved in {out}. Plan with: counterplan recommend {out}{needed}")
    if stopped is not None and not recourse.budget_spent_:
        echo("The results so far are usable; --resume continues.", err=True)
    _end(recourse, stopped)


def _end(recourse: Recourse, stopped: Stopped | None) -> None:
    """Print how to continue if the budget is exhausted, and exit as the exception that stopped the fit requires."""
    if recourse.budget_spent_:
        echo("The budget leaves no queries for another round; --resume with a larger --budget continues.", err=True)
    if isinstance(stopped, KeyboardInterrupt):
        raise typer.Exit(130)
    if stopped is not None:
        raise stopped


def _print_saved_answers(recourse: Recourse, workspace: Workspace, replaces: bool) -> None:
    """Print where the answers of a fit are that stopped before anything was learned."""
    if not recourse.box.queries or not workspace.folder.is_dir():
        return
    known, log = len(recourse.answers_), workspace.path(WRITE_AHEAD)
    if replaces:
        message = f"Nothing new was learned, so {workspace} is unchanged."
        if known and log.exists():
            message += f" New answers are in {log}: --force --answers {log} does not query them again."
        echo(message, err=True)
    elif known:
        before = recourse.agent_ or recourse.surrogate_
        nothing = "Nothing was learned yet" if before is None else "Nothing new was learned"
        echo(f"{nothing}; {count(known, 'answer')} saved in {workspace}: --resume does not query them again.", err=True)


def _labels_only() -> LearningSettings:
    from counterplan.surrogate.active_learning import LearningSettings

    return LearningSettings(scores=False)


def _print_results(recourse: Recourse, workspace: Workspace, title: str, how: str) -> None:
    """Draw figures of the results, and print a summary."""
    from counterplan.surrogate.active_learning import LearningProgress

    rounds = _metrics(workspace, LEARNING_METRICS, LearningProgress.from_metrics)
    groups = _metrics(workspace, TRAINING_METRICS, lambda row: [require_number(row, name) for name in _OF_TRAINING])
    if recourse.surrogate_ is not None and rounds:
        _draw(draw_learning, rounds, workspace.path(LEARNING_FIGURE), title)
        last = LearningProgress.from_metrics(rounds[-1])
        _warn(last, recourse.budget_spent_, bool(recourse.answers_.favourable.any()))
        echo(f"{how} in {count(len(rounds), 'round')}: {last}.")
        _print_reliability(recourse, workspace.path(RELIABILITY_FIGURE), title)
    if recourse.quality_ is not None:
        echo(recourse.quality_)
    if recourse.agent_ is not None and groups:
        _draw(draw_curve, groups, workspace.path(TRAINING_FIGURE), title)
        latest = groups[-1]
        if not latest["solved"]:
            echo("Warning: no plan was found for anybody in training: the agent has learned nothing.", err=True)
        echo(
            f"{how} by search: {latest['solved']:.1%} of the people in training have a plan, mean cost "
            f"{latest['cost']:.1f}; {latest['queries']:,} {'query' if latest['queries'] == 1 else 'queries'}."
        )
    drawn = [name for name in FIGURES if workspace.holds(name)]
    if drawn:
        echo(f"Look at {', '.join(drawn)}.")


def _warn(report: LearningProgress, budget_spent: bool, favourable: bool) -> None:
    """Print a warning if the surrogate could not be validated, or failed validation."""
    if not favourable and not budget_spent:
        echo(
            "Warning: no answer was favourable, so the surrogate has seen no favourable state; add people with a "
            "favourable decision, or check the favourable outcome of the problem.",
            err=True,
        )
        return
    hint = "raise --budget" if budget_spent else "add more people who were refused"
    if report.success is None and report.error is None:
        few = "queries" if budget_spent else "refused people"
        echo(f"Warning: too few {few} to validate the surrogate: plans may fail, or be unverified; {hint}.", err=True)
    elif report.success == 0:
        echo(
            f"Warning: no plan was found for anybody in the validation set, so the surrogate may be poor; {hint}.",
            err=True,
        )


def _print_reliability(recourse: Recourse, path: Path, title: str) -> None:
    """Assess the surrogate on held-out answers; if they are few, on all answers by cross-validation."""
    surrogate, holdout = recourse.surrogate_, recourse.holdout_answers_
    assert surrogate is not None
    if holdout is None and path.exists():  # nothing new was learned
        return
    enough = holdout is not None and len(holdout) >= FEWEST_ANSWERS
    answers = holdout if enough and holdout is not None else LabelledStates.from_cache(recourse.box, recourse.problem)
    assessment = assess(surrogate, answers.states, answers.favourable, holdout=enough)
    if assessment is None:
        return
    _draw(draw_reliability, assessment, path, title)
    echo(f"The mean error of its probabilities is {assessment.error:.3f}, on {assessment}.")


def _draw(draw: Callable[..., None], *arguments: Any) -> None:
    """Draw a figure; one that cannot be drawn or written does not stop the command."""
    try:
        draw(*arguments)
    except OSError as error:
        echo(f"A figure could not be drawn: {error}", err=True)


def _metrics(workspace: Workspace, name: str, check: Callable[[dict[str, Any]], object]) -> list[dict[str, Any]]:
    """The metrics in a file; none, and a message, if it is damaged. `check` raises ValueError for a damaged row."""
    try:
        rows = workspace.load_metrics(name)
        for row in rows:
            check(row)
    except StorageError as error:
        echo(error, err=True)
    except DAMAGE as error:
        echo(f"{workspace.path(name)}: damaged ({error}); no figure is drawn", err=True)
    else:
        return rows
    return []
