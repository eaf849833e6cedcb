"""Learning about a model once, to plan for everybody: `fit`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from counterplan import benchmarks
from counterplan.agent.agent import FACTS as AGENT
from counterplan.cli.common import ORIGIN, ModelName, Threshold, count, people_of, setting_of
from counterplan.errors import CounterplanError, PlanError
from counterplan.figures.agent import draw_curve
from counterplan.figures.surrogate import FEWEST, draw_learning, draw_reliability, judge
from counterplan.problem import People, Problem
from counterplan.recourse import Recourse
from counterplan.storage.answer_cache import LabelledStates
from counterplan.storage.checkpoints import LEARNING, TRAINING, start_again
from counterplan.storage.files import write_or_say
from counterplan.storage.workspace import KEPT, PROGRAM, QUESTIONS, load_problem
from counterplan.storage.write_ahead import FILE as JOURNAL
from counterplan.surrogate.surrogate import FACTS as SURROGATE

LEARNED = (*KEPT, ORIGIN)
"""What a run of 'fit' leaves that another one would overwrite."""
FIGURES = ("learning.png", "reliability.png", "training.png")
OUTDATED = (*LEARNING, *TRAINING, PROGRAM, QUESTIONS, *FIGURES)
"""What an earlier run leaves that another one does not overwrite in any case."""

Stopped = KeyboardInterrupt | CounterplanError


def fit(
    problem: Annotated[str, typer.Argument(help="A benchmark's name, or a problem file.")],
    out: Annotated[str, typer.Option(help="The folder to keep what was learned in.")],
    people: Annotated[
        Path | None,
        typer.Option(
            help="People to learn from, at least some of them refused: CSV or Parquet (a benchmark has some)."
        ),
    ] = None,
    model: ModelName = None,
    threshold: Threshold = None,
    method: Annotated[
        str | None,
        typer.Option(help="What to learn: guided (a surrogate of the model; the default), search (an agent), or both."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The same seed, the same result.")] = 0,
    budget: Annotated[int | None, typer.Option(min=1, help="Most questions to the model in all.")] = None,
    answers: Annotated[
        Path | None, typer.Option(help="Answers of the model paid for earlier: the answers.csv.gz of any folder.")
    ] = None,
    preset: Annotated[str, typer.Option(help="How to train an agent: default, or paper.")] = "default",
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from what is in the folder, also with another --budget.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace what an earlier run left in the folder, its answers too.")
    ] = False,
) -> None:
    """Learn about the model once, to plan for everybody."""
    if out in benchmarks.NAMES:
        raise PlanError(f"--out {out}: that is a benchmark's name; choose another, or write ./{out} for the folder")
    folder = Path(out)
    used = any((folder / name).exists() for name in LEARNED)
    if used and not (resume or force):
        raise PlanError(f"{out}: holds what an earlier run left; go on with --resume, or {start_again(folder)}")
    method = method or ("search" if preset == "paper" else "guided")
    setting = setting_of(problem, people, model, threshold, seed, "refused_train" if method == "search" else "train")
    read = people_of(setting, people)
    recourse = Recourse(setting.problem, setting.box)
    if resume and any((folder / name).exists() for name in (AGENT, SURROGATE)):
        _require_same(folder, setting.problem)
        recourse = Recourse.resuming(folder, setting.problem, setting.box, method)
    own = problem in benchmarks.NAMES and people is None and model is None and threshold is None
    origin = json.dumps({"benchmark": problem if own else None, "seed": seed})

    def keep() -> None:
        recourse.save(folder)
        write_or_say(folder / ORIGIN, origin)

    def begin() -> None:
        """Only now is there something to put in the place of what was there."""
        if used and not resume:
            _remove(folder, OUTDATED)
            keep()

    begun, stopped = _fit(
        recourse, read, begin, method=method, seed=seed, settings=preset, budget=budget, folder=folder, resume=resume,
        answers=answers,
    )  # fmt: skip
    if stopped is not None and not begun:
        _keep_answers(recourse, folder, stays=used and not resume)
        _end(recourse, stopped)
    keep()
    _tell(recourse, folder, f"{setting.problem.name}, seed {seed}", "Interrupted" if stopped else "Learned")
    needed = "" if own else " --people FILE --model MODEL"
    typer.echo(f"Kept in {out}. Plan with: counterplan recommend {out}{needed}")
    if stopped is not None and not recourse.budget_spent_:
        typer.echo("What was learned so far is usable; --resume goes on.", err=True)
    _end(recourse, stopped)


def _require_same(folder: Path, problem: Problem) -> None:
    """Refuse to go on with another problem than the one that `folder` was fitted to, as far as that can be read."""
    try:
        before = load_problem(folder)
    except PlanError:
        return  # what was learned says itself what it is about
    if before.fingerprint != problem.fingerprint:
        same = before.query_fingerprint == problem.query_fingerprint
        way_out = start_again(folder) if same else "start again with --force"
        raise PlanError(f"{folder}: was fitted to another problem than {problem.name}; {way_out}")


def _fit(recourse: Recourse, people: People, begin: Callable[[], None], **how: Any) -> tuple[bool, Stopped | None]:
    """Fit with a progress bar, and call `begin` when something has been learned.

    Gives whether that was so, and what stopped it, if anything did.
    """
    console = Console(stderr=True)
    columns = (TextColumn("ActiveLearner"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[told]}"))
    begun = False
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("learning", total=None, told="")

        def show(report: Any) -> None:
            nonlocal begun
            if not begun:
                begin()
                begun = True
            if hasattr(report, "round"):
                bar.update(task, completed=report.round + 1, told=f"round {report.round + 1}: {report}")
            else:
                told = f"{report.solved:.0%} with a plan, effort {report.cost:.1f}; {report.queries:,} asked"
                bar.update(task, total=report.total, completed=report.done, told=told)

        try:
            recourse.fit(people, progress=show, **how)
        except (KeyboardInterrupt, CounterplanError) as error:
            return begun, error
    return begun, None


def _end(recourse: Recourse, stopped: Stopped | None) -> None:
    """Say how to go on if the budget is spent, and end as whatever stopped the run asks for."""
    if recourse.budget_spent_:
        typer.echo(
            "The budget leaves no questions for another round; --resume with a larger --budget goes on.", err=True
        )
    if isinstance(stopped, KeyboardInterrupt):
        raise typer.Exit(130)
    if stopped is not None:
        raise stopped


def _remove(folder: Path, names: tuple[str, ...]) -> None:
    for name in names:
        try:
            (folder / name).unlink(missing_ok=True)
        except OSError as error:
            raise PlanError(f"{folder / name}: cannot be removed: {error.strerror}") from None


def _keep_answers(recourse: Recourse, folder: Path, stays: bool) -> None:
    """When fitting stopped before anything was learned: what was paid for is not lost.

    If what is in the folder `stays`, because the run was to replace it, new answers are kept beside it.
    """
    if not recourse.box.queries or not folder.is_dir():
        return
    known, path = len(recourse.answers_), folder / JOURNAL
    if stays:
        told = f"Nothing new was learned, so what is in {folder} stays as it is."
        if known and path.exists():
            told += f" What was asked is kept in {path}: --force --answers {path} does not ask it again."
        typer.echo(told, err=True)
        return
    if not known:
        return
    kept = recourse.save_answers(folder)
    before = recourse.agent_ or recourse.surrogate_
    nothing = "Nothing was learned yet" if before is None else "Nothing new was learned"
    typer.echo(
        f"{nothing}; {count(kept, 'answer')} kept in {folder}: --resume does not ask them again.",
        err=True,
    )


def _tell(recourse: Recourse, folder: Path, title: str, how: str) -> None:
    """Draw figures of what came out, and say it in words."""
    from counterplan.surrogate.active_learning import LearningProgress

    rounds, groups = (_metrics(folder / name) for name in (LEARNING[1], TRAINING[1]))
    if recourse.surrogate_ is not None and rounds:
        _draw(draw_learning, rounds, folder / "learning.png", title)
        _warn(rounds[-1]["success"], recourse.budget_spent_, bool(recourse.answers_.favourable.any()))
        typer.echo(f"{how} in {count(len(rounds), 'round')}: {LearningProgress(**rounds[-1])}.")
        _tell_reliability(recourse, folder / "reliability.png", title)
    if recourse.agent_ is not None and groups:
        _draw(draw_curve, groups, folder / "training.png", title)
        last = groups[-1]
        if not last["solved"]:
            typer.echo("Warning: no plan was found for anybody in training: the agent has learned nothing.", err=True)
        typer.echo(
            f"{how} by search: {last['solved']:.1%} of the people in training have a plan, mean effort "
            f"{last['cost']:.1f}; {count(last['queries'], 'question')} asked."
        )
    drawn = [name for name in FIGURES if (folder / name).exists()]
    if drawn:
        typer.echo(f"Look at {', '.join(drawn)}.")


def _warn(success: float | None, budget_spent: bool, favourable: bool) -> None:
    """Say so if it is not known whether the surrogate is of any use, or known that it is not."""
    if not favourable and not budget_spent:
        typer.echo(
            "Warning: not one answer was favourable, so nothing is known of what would be; "
            "hand in people with a favourable decision too, or see whether the favourable outcome is right.",
            err=True,
        )
        return
    way_out = "raise --budget" if budget_spent else "hand in more people who were refused"
    if success is None:
        few = "questions" if budget_spent else "refused people"
        typer.echo(
            f"Warning: too few {few} to validate what was learned: plans may fail, or be left unchecked; {way_out}.",
            err=True,
        )
    elif success == 0:
        typer.echo(
            "Warning: no plan was found for anybody held out to validate, so the surrogate may know little; "
            f"{way_out}.",
            err=True,
        )


def _tell_reliability(recourse: Recourse, path: Path, title: str) -> None:
    """Judge the surrogate by answers that came after it; if they are few, by all, as its parts would without them."""
    surrogate, unseen = recourse.surrogate_, recourse.holdout_answers_
    assert surrogate is not None
    if unseen is None and path.exists():  # nothing new was learned
        return
    fresh = unseen is not None and len(unseen) >= FEWEST
    answers = unseen if fresh and unseen is not None else LabelledStates.remembered(recourse.box, recourse.problem)
    judged = judge(surrogate, answers.states, answers.favourable, unseen=fresh)
    if judged is None:
        return
    _draw(draw_reliability, judged, path, title)
    typer.echo(f"Its chances are off by {100 * judged.error:.0f} points on average, on {judged}.")


def _draw(draw: Callable[..., None], *what: Any, **how: Any) -> None:
    """Draw a figure; one that cannot be written is no reason to stop."""
    try:
        draw(*what, **how)
    except OSError as error:
        typer.echo(f"A figure could not be drawn: {error}", err=True)


def _metrics(path: Path) -> list[dict[str, Any]]:
    try:
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    except (OSError, ValueError):
        typer.echo(f"{path}: damaged, and left out: it is only a record.", err=True)
        return []
