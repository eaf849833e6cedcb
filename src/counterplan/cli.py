"""The command line: `counterplan check | init | schema | fit | recommend | distil | show | export | benchmarks`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

import counterplan
from counterplan import benchmarks
from counterplan.agent.agent import FACTS as AGENT
from counterplan.agent.curve import draw_curve
from counterplan.answers import FILE as ANSWERS
from counterplan.answers import Answers
from counterplan.benchmarks.report import COLUMNS, describe
from counterplan.blackbox import BlackBox
from counterplan.errors import CounterplanError, ModelError, PeopleError, PlanError
from counterplan.files import write_whole
from counterplan.plan import Plans
from counterplan.problem import People, Problem, json_schema, read_table
from counterplan.problem.problem import check as check_file
from counterplan.problem.starting import starting_file_from
from counterplan.problem.values import did_you_mean
from counterplan.program import Program
from counterplan.program.keeping import to_json as program_json
from counterplan.program.text import card_text
from counterplan.recourse import PLANNERS, PROGRAM, QUESTIONS, Recourse, load_answers, load_problem, load_program
from counterplan.surrogate.report import FEWEST, draw_learning, draw_reliability, error_of
from counterplan.surrogate.surrogate import FACTS as SURROGATE

app = typer.Typer(
    help="Which actions, in which order, would overturn a model's decision at the least effort.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
ORIGIN = "origin.json"
"""In the folder of a fitted benchmark: which one it is, so that its people and model come along."""
LEARNED = (
    AGENT, SURROGATE, ANSWERS, PROGRAM, QUESTIONS, "learning.npz", "learning.jsonl", "training.npz", "metrics.jsonl",
)  # fmt: skip
"""What a run of 'fit' leaves that another one would overwrite."""
FIGURES = ("learning.png", "reliability.png", "training.png")
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


_Problem = Annotated[str, typer.Argument(help="A benchmark's name, a problem file, or a folder that 'fit' wrote.")]
_Model = Annotated[
    str | None, typer.Option(help="Who decides: MODULE:ATTR, FILE.onnx or a URL (a benchmark brings its own).")
]
_Threshold = Annotated[
    float | None, typer.Option(help="Favourable if the model's score is at least this (default: its own labels).")
]


@app.command()
def fit(
    problem: Annotated[str, typer.Argument(help="A benchmark's name, or a problem file.")],
    out: Annotated[Path, typer.Option(help="The folder to keep what was learned in.")],
    people: Annotated[
        Path | None,
        typer.Option(
            help="People to learn from, at least some of them refused: CSV or Parquet (a benchmark has some)."
        ),
    ] = None,
    model: _Model = None,
    threshold: _Threshold = None,
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
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint in the folder.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite what an earlier run left in the folder, its answers too.")
    ] = False,
) -> None:
    """Learn about the model once, to plan for everybody."""
    if str(out) in benchmarks.NAMES:
        raise PlanError(f"--out {out}: that is a benchmark's name; choose another folder")
    if not (resume or force) and any((out / name).exists() for name in LEARNED):
        raise PlanError(f"{out}: holds what an earlier run learned; go on with --resume, or overwrite it with --force")
    method = method or ("search" if preset == "paper" else "guided")
    setting = _setting(problem, people, model, threshold, seed, "refused_train" if method == "search" else "train")
    read = _read(setting, people)
    recourse = Recourse(setting.problem, setting.box)
    if resume and any((out / name).exists() for name in (AGENT, SURROGATE)):
        recourse = Recourse.load(out, setting.box)
        if recourse.problem.fingerprint != setting.problem.fingerprint:
            raise PlanError(f"{out}: was fitted to another problem than {problem}; start again with --force")
    stopped = _fit(
        recourse, read, lambda: None if resume else _clear(out), method=method, seed=seed, settings=preset,
        budget=budget, folder=out, resume=resume, answers=answers,
    )  # fmt: skip
    if recourse.agent_ is None and recourse.surrogate_ is None:
        if stopped is not None:
            _keep_answers(recourse, out)
        raise typer.Exit(130) if isinstance(stopped, KeyboardInterrupt) else stopped or typer.Exit(1)
    recourse.save(out)
    own = problem in benchmarks.NAMES and people is None and model is None and threshold is None
    _write(out / ORIGIN, json.dumps({"benchmark": problem if own else None, "seed": seed}))
    _tell(recourse, out, f"{setting.problem.name}, seed {seed}", "Interrupted" if stopped else "Learned")
    needed = "" if own else " --people FILE --model MODEL"
    typer.echo(f"Kept in {out}. Plan with: counterplan recommend {out}{needed}")
    if stopped is not None:
        typer.echo("What was learned so far is usable; --resume goes on.", err=True)
        raise typer.Exit(130) if isinstance(stopped, KeyboardInterrupt) else stopped


def _fit(
    recourse: Recourse, people: People, begin: Callable[[], None], **how: Any
) -> KeyboardInterrupt | CounterplanError | None:
    """Fit with a progress bar, and call `begin` when there is something to report; gives what stopped it, if any."""
    console = Console(stderr=True)
    columns = (TextColumn("Learning"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[told]}"))
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("learning", total=None, told="")

        def show(report: Any) -> None:
            if not bar.tasks[task].fields["told"]:
                begin()
            if hasattr(report, "round"):
                bar.update(task, completed=report.round + 1, told=f"round {report.round + 1}: {report}")
            else:
                told = f"{report.solved:.0%} with a plan, effort {report.cost:.1f}; {report.queries:,} asked"
                bar.update(task, total=report.total, completed=report.done, told=told)

        try:
            recourse.fit(people, progress=show, **how)
        except (KeyboardInterrupt, CounterplanError) as error:
            return error
    return None


def _clear(folder: Path) -> None:
    """Remove what an earlier run left."""
    for name in (*LEARNED, *FIGURES):
        try:
            (folder / name).unlink(missing_ok=True)
        except OSError as error:
            raise PlanError(f"{folder / name}: cannot be removed: {error.strerror}") from None


def _keep_answers(recourse: Recourse, folder: Path) -> None:
    """When fitting stopped before anything was learned: what was paid for is not lost."""
    if folder.is_dir() and recourse.box.queries:
        kept = recourse.save_answers(folder)
        typer.echo(
            f"Nothing was learned yet; {_count(kept, 'answer')} kept in {folder}: --resume does not ask them again.",
            err=True,
        )


def _tell(recourse: Recourse, folder: Path, title: str, how: str) -> None:
    """Draw figures of what came out, and say it in words."""
    from counterplan.surrogate.training import Progress as LearningProgress

    rounds, groups = (_metrics(folder / name) for name in ("learning.jsonl", "metrics.jsonl"))
    if recourse.surrogate_ is not None and rounds:
        draw_learning(rounds, folder / "learning.png", title)
        if rounds[-1]["success"] == 0:
            typer.echo(
                "Warning: no plan was found for anybody held out to validate, so the surrogate may know little; "
                "try more refused people, or a larger --budget.",
                err=True,
            )
        typer.echo(f"{how} in {_count(len(rounds), 'round')}: {LearningProgress(**rounds[-1])}.")
        _tell_reliability(recourse, folder / "reliability.png", title)
    if recourse.agent_ is not None and groups:
        draw_curve(groups, folder / "training.png", title)
        last = groups[-1]
        if not last["solved"]:
            typer.echo("Warning: no plan was found for anybody in training: the agent has learned nothing.", err=True)
        typer.echo(
            f"{how} by search: {last['solved']:.1%} of the people in training have a plan, mean effort "
            f"{last['cost']:.1f}; {last['queries']:,} questions asked."
        )
    drawn = [name for name in FIGURES if (folder / name).exists()]
    if drawn:
        typer.echo(f"Look at {', '.join(drawn)}.")


def _tell_reliability(recourse: Recourse, path: Path, title: str) -> None:
    """Judge the surrogate by answers that it did not learn from, or, if they are too few, by all."""
    surrogate, unseen = recourse.surrogate_, recourse.unseen_
    assert surrogate is not None
    if unseen is None and path.exists():  # nothing new was learned
        return
    fresh = unseen is not None and len(unseen) >= FEWEST
    judge = unseen if fresh and unseen is not None else Answers.remembered(recourse.box, recourse.problem)
    draw_reliability(surrogate, judge.states, judge.favourable, path, title, learned_from=not fresh)
    error = error_of(surrogate, judge.states, judge.favourable)
    new = "that it did not learn from" if fresh else "most of which it learned from"
    typer.echo(f"Its chances are off by {100 * error:.0f} points on average, on {len(judge):,} answers {new}.")


def _metrics(path: Path) -> list[dict[str, Any]]:
    try:
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    except ValueError:
        raise PlanError(f"{path}: damaged; remove it, it is only a record") from None


@app.command()
def recommend(
    problem: _Problem,
    planner: Annotated[
        str | None,
        typer.Option(help=f"How to plan: {', '.join(PLANNERS)} (default: guided or cascade if fitted, else exact)."),
    ] = None,
    people: Annotated[
        Path | None, typer.Option(help="The people: CSV or Parquet (a benchmark brings its refused test people).")
    ] = None,
    model: _Model = None,
    threshold: _Threshold = None,
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
    seed: Annotated[int, typer.Option(min=0, help="Seed of a benchmark.")] = 0,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the plans as JSON; - for the screen.")] = None,
    csv_file: Annotated[
        Path | None, typer.Option("--csv", help="Write the plans as CSV, one row per step; - for the screen.")
    ] = None,
) -> None:
    """Tell refused people what would change the decision."""
    for target in (json_file, csv_file):
        if target is not None and str(target) != "-" and not target.absolute().parent.is_dir():
            raise PlanError(f"{target}: there is no folder {target.parent}")
    if json_file is not None and json_file == csv_file:
        raise PlanError(f"--json and --csv cannot both go to {json_file}")
    alone = planner == "program" and model is None
    setting = _setting(problem, people, model, threshold, seed, model_needed=not alone)
    if not setting.asks:
        budget, refused = 0, True  # the program needs no model, and everybody is taken to be refused
    recourse = Recourse(setting.problem, setting.box)
    if setting.folder is not None:
        recourse = Recourse.load(setting.folder, setting.box, answers=not ask_again)
    method = recourse.planner(planner or ("exact" if setting.folder is None else None))
    setting.table = _chosen(setting.table, person, limit)
    read = _read(setting, people)
    plans = Plans(())
    stopped: BaseException | None = None
    with _bar("Planning", len(read)) as advance:
        try:
            for first in range(0, len(read), SLICE):
                some = read.take(slice(first, first + SLICE))
                plans += method.plan(some, forbid=forbid or (), budget=budget, refused=refused, progress=advance)
        except (KeyboardInterrupt, ModelError) as error:
            stopped = error
    if setting.folder is not None:
        _add_answers(recourse, setting.folder, ask_again)
    if setting.folder is not None and recourse.program_ is not None:
        plans = recourse.explain(plans)
    if stopped is None or len(plans):
        _hand_over(plans, json_file, csv_file)
    if stopped is not None:
        typer.echo(f"Stopped: {len(plans):,} of {len(read):,} people are planned for, and kept.", err=True)
        if isinstance(stopped, ModelError):
            raise stopped
        raise typer.Exit(130)


def _add_answers(recourse: Recourse, folder: Path, replace_them: bool) -> None:
    """Keep new answers with those in `folder`, so that no command asks twice; another model's stay as they are.

    A folder that cannot be written to is no reason to withhold plans.
    """
    box = recourse.box
    if not box.queries:
        return
    if (folder / ANSWERS).exists() and not replace_them:
        before = load_answers(folder, recourse.problem)
        if before.model != box.decider:
            typer.echo(
                f"The answers kept in {folder} are those of {before.model}, so new ones were not added; "
                "--ask-again replaces them.",
                err=True,
            )
            return
        before.tell(box, recourse.problem)  # somebody else may have added some
    try:
        recourse.save_answers(folder)
    except PlanError as error:
        typer.echo(f"The answers could not be kept: {error}", err=True)


@dataclass
class _Setting:
    """What a command works on: the problem, the people, who decides, and the folder that was fitted, if any."""

    problem: Problem
    table: pd.DataFrame
    box: BlackBox
    folder: Path | None = None
    asks: bool = True
    """Whether there is anybody to ask."""


def _setting(
    name: str, people: Path | None, model: str | None, threshold: float | None, seed: int, own: str = "refused_test",
    model_needed: bool = True,
) -> _Setting:  # fmt: skip
    """What the words of a command ask for; a benchmark, fitted or not, brings its `own` people and model."""
    folder = Path(name) if Path(name).is_dir() and name not in benchmarks.NAMES else None
    benchmark_name, seed = (name, seed) if folder is None else _origin(folder, seed)
    if benchmark_name in benchmarks.NAMES and (folder is None or model is None or people is None):
        benchmark = benchmarks.load(benchmark_name, seed)
        table = getattr(benchmark, own) if people is None else read_table(people, benchmark.problem.features)
        box = BlackBox(benchmark.model if model is None else model, threshold=threshold)
        return _Setting(benchmark.problem, table, box, folder)
    if folder is None and not Path(name).exists() and not name.endswith((".yaml", ".yml")):
        known = ", ".join(benchmarks.NAMES)
        hint = did_you_mean(name, benchmarks.NAMES)
        raise PlanError(f"'{name}' is neither a problem file, a fitted folder nor a benchmark ({known}){hint}")
    problem = Problem.load(name) if folder is None else load_problem(folder)
    if people is None:
        raise PlanError(f"{name}: whom to plan for? Give a table with --people FILE")
    if model is None and model_needed:
        raise PlanError(f"{name}: who decides? Give a model with --model MODULE:ATTR, FILE.onnx or a URL")
    box = BlackBox(model, threshold=threshold) if model is not None else BlackBox(_nobody)
    return _Setting(problem, read_table(people, problem.features), box, folder, model is not None)


def _nobody(people: pd.DataFrame) -> list[str]:
    """In the place of a model where none is asked."""
    raise ModelError("there is no model to ask; give one with --model MODULE:ATTR, FILE.onnx or a URL")


def _origin(folder: Path, seed: int) -> tuple[str, int]:
    """The benchmark, and its seed, that a folder was fitted on, if it was one."""
    try:
        facts = json.loads((folder / ORIGIN).read_text())
        return str(facts["benchmark"]), int(facts["seed"])
    except (OSError, ValueError, KeyError, TypeError):
        return "", seed


def _read(setting: _Setting, file: Path | None) -> People:
    try:
        return setting.problem.read(setting.table)
    except PeopleError as error:
        raise PeopleError(f"{file}: {error}" if file else str(error)) from None


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
    """Write plans where they are wanted; on the screen as text unless JSON or CSV goes there."""
    on_screen = "-" not in (str(json_file), str(csv_file))
    for target, text in ((json_file, plans.to_json), (csv_file, lambda: plans.to_frame().to_csv(index=False))):
        if target is not None and str(target) == "-":
            typer.echo(text().rstrip("\n"))
        elif target is not None:
            _write(target, text())
    if on_screen:
        typer.echo(plans.to_text(MOST_PRINTED))


@app.command()
def distil(
    folder: Annotated[str, typer.Argument(help="A folder that 'fit' wrote.")],
    people: Annotated[
        Path | None,
        typer.Option(help="People to make the program for, as for 'fit': CSV or Parquet (a benchmark has some)."),
    ] = None,
    model: _Model = None,
    threshold: _Threshold = None,
    prefer: Annotated[
        str | None, typer.Option(help="What matters most: success, effort or short (rules); default: a balance.")
    ] = None,
    preset: Annotated[
        str, typer.Option(help="default; or paper: imitate plans of the agent ('fit --method search').")
    ] = "default",
    max_conditions: Annotated[int | None, typer.Option(min=1, help="Most features in a rule.")] = None,
    traces: Annotated[
        int | None, typer.Option(min=1, help="People, or with --preset paper the agent's plans, to make it from.")
    ] = None,
    rounds: Annotated[int | None, typer.Option(min=1, help="Most rounds of improvement.")] = None,
    protected: Annotated[bool, typer.Option("--protected", help="Let rules test protected features too.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="The same seed, the same program.")] = 0,
) -> None:
    """Write what was learned down as a program that people can read, and that needs no model."""
    if not Path(folder).is_dir() or folder in benchmarks.NAMES:
        raise PlanError(f"'{folder}' is not a folder that 'counterplan fit' wrote; fit first, with --out FOLDER")
    where = Path(folder)
    own = "refused_train" if preset == "paper" else "train"
    load_problem(where)
    setting = _setting(folder, people, model, threshold, 0, own)
    recourse = Recourse.load(where, setting.box)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("Distilling", total=None)

        def show_progress(what: str, done: int, total: int) -> None:
            bar.update(task, description=what.capitalize(), completed=done, total=total)

        program = recourse.distil(
            _read(setting, people), traces=traces, rounds=rounds, max_conditions=max_conditions, prefer=prefer,
            preset=preset, protected=protected, seed=seed, progress=show_progress,
        )  # fmt: skip
    program.save(where / PROGRAM)
    _add_answers(recourse, where, replace_them=False)
    typer.echo(_card(program))
    typer.echo(f"Kept in {where / PROGRAM}. Read it: counterplan show {folder}")
    typer.echo(f"Make a page of it: counterplan export {folder} --to {where / 'program.html'}")


@app.command()
def show(
    folder: Annotated[Path, typer.Argument(help="A folder with a program, or a program's file.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the program's file instead.")] = False,
) -> None:
    """Print a program, rule by rule, and its card."""
    program = _program(folder)
    if as_json:
        typer.echo(program_json(program).rstrip("\n"))
        return
    typer.echo(program.to_text())
    typer.echo(f"\nThe card:\n{_card(program)}")


@app.command()
def export(
    folder: Annotated[Path, typer.Argument(help="A folder with a program, or a program's file.")],
    to: Annotated[Path, typer.Option(help="The file to write: .html (a page), .py, .svg, .dot or .json.")],
) -> None:
    """Write a program as a page, a module, a drawing or a file."""
    from counterplan.program.export import export as export_program

    program = _program(folder)
    if not to.absolute().parent.is_dir():
        raise PlanError(f"{to}: there is no folder {to.parent}")
    export_program(program, to)
    typer.echo(f"Wrote {to}.")


def _program(path: Path) -> Program:
    """The program in a folder or a file."""
    if str(path) in benchmarks.NAMES and not path.exists():
        raise PlanError(f"'{path}' is a benchmark; fit it first, then distil a program")
    return load_program(path) if path.is_dir() else Program.load(path)


def _card(program: Program) -> str:
    """A program's card, without what is there for drawings and forms."""
    return card_text({key: value for key, value in program.card.items() if key not in ("transitions", "examples")})


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
