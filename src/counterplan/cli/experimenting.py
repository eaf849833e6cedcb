"""The paper's evaluation, reproduced and extended: `experiment`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as Bar

from counterplan.benchmarks import NAMES
from counterplan.cli.common import count
from counterplan.errors import PlanError

if TYPE_CHECKING:
    from counterplan.experiments.running import ExperimentProgress, ProgressCallback


def experiment(
    out: Annotated[Path, typer.Option(help="The folder to keep everything in: rows, figures, report.")],
    benchmarks: Annotated[
        list[str] | None,
        typer.Option(help="Which ones, with commas or several times (default: all four); yours: MODULE:FUNCTION."),
    ] = None,
    planners: Annotated[
        list[str] | None, typer.Option(help="Other planners to compare: names that packages offer, or MODULE:CLASS.")
    ] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="How many seeds (default: 5; quick: 1).")] = None,
    first_seed: Annotated[
        int | None, typer.Option(min=0, help="The first seed (default: 60; nothing was tuned on it or later ones).")
    ] = None,
    people: Annotated[
        int | None,
        typer.Option(min=1, help="Most refused test people of each (default: 100, all of german; quick: 20)."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Every part, but small: a few minutes.")] = False,
    paper_training: Annotated[
        bool, typer.Option("--paper-training", help="Train an agent the paper's way too: takes long.")
    ] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with what is in the folder.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Remove what an earlier experiment left there.")] = False,
    report_only: Annotated[
        bool, typer.Option("--report-only", help="Run nothing: make tables, figures and report from the rows there.")
    ] = False,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes at a time (default: one for each core).")] = None,
) -> None:
    """Repeat the paper's evaluation, and ours: tables, figures and one page that tells what came out."""
    if str(out) in NAMES:
        raise PlanError(f"--out {out}: that is a benchmark's name; choose another folder")
    if sum((resume, force, report_only)) > 1:
        raise PlanError("--resume, --force and --report-only exclude each other")
    try:
        from counterplan.experiments import folder, report, running
        from counterplan.experiments.rows import ExperimentRows
        from counterplan.experiments.settings import (
            FIRST_SEED,
            QUICK_SEEDS,
            SEEDS,
            ExperimentOptions,
            ExperimentSettings,
        )
    except ImportError as error:
        raise PlanError(f"an experiment needs {error.name}; pip install 'counterplan[train,experiments]'") from None
    if report_only:
        ExperimentRows.read(out)  # says so if there are none, before anything is written
        with folder.locked(out):
            report.write(out, ExperimentRows.read(out))
        typer.echo(f"Wrote {out / report.FILE} and the tables and figures beside it.")
        return
    before = folder.options_in(out) if resume else None
    if resume and before is None:
        raise PlanError(f"{out}: there is no experiment to go on with; leave --resume out")
    usual = before or ExperimentOptions(seeds=tuple(range(FIRST_SEED, FIRST_SEED + (QUICK_SEEDS if quick else SEEDS))))
    begin = usual.seeds[0] if first_seed is None else first_seed
    options = ExperimentOptions(
        _words(benchmarks) or usual.benchmarks, tuple(range(begin, begin + (seeds or len(usual.seeds)))),
        people or usual.people, quick or usual.quick, paper_training or usual.paper_training,
        _words(planners) or usual.planners,
    )  # fmt: skip
    with folder.locked(out):
        folder.begin(out, options, resume=resume, force=force)
        with _shown() as show:
            run = running.ExperimentRun(options, out, ExperimentSettings.of(options), jobs or _cores(), show)
            try:
                rows = run.run()
            except KeyboardInterrupt:
                rows = None
        for line in run.warnings:
            typer.echo(line, err=True)
        if rows is None:
            done = f"{run.progress.done} of {count(run.progress.total, 'cell')} are done and kept"
            typer.echo(f"Interrupted: {done}. Go on with: counterplan experiment --out {out} --resume", err=True)
            raise typer.Exit(130)
        rows.write(out)
        report.write(out, rows)
        typer.echo(f"Wrote {out / report.FILE}, and beside it rows (CSV), tables and figures.")


def _words(given: list[str] | None) -> tuple[str, ...]:
    """Words that were given with commas, or several times."""
    return tuple(word for some in given or () for word in some.replace(",", " ").split())


def _cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def _shown() -> Iterator[ProgressCallback]:
    """A way to show progress on the error stream: a bar on a terminal, otherwise a line for each cell."""
    console = Console(stderr=True)
    if not console.is_terminal:
        seen = 0

        def write(progress: ExperimentProgress) -> None:
            nonlocal seen
            if progress.done > seen:
                seen = progress.done
                typer.echo(f"[{progress.done}/{progress.total}] {progress.last}; {_left(progress)}", err=True)

        yield write
        return
    columns = (TextColumn("Running"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[told]}"))
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task("running", total=None, told="")

        def move(progress: ExperimentProgress) -> None:
            told = f"{_left(progress)}; {', '.join(progress.running)}"
            bar.update(task, total=progress.total, completed=progress.done, told=told)

        yield move


def _left(progress: ExperimentProgress) -> str:
    """About how long it will take, in words."""
    if progress.seconds_left is None:
        return "no telling yet how long"
    if progress.seconds_left < 90:
        return f"about {progress.seconds_left:.0f} s left"
    return f"about {progress.seconds_left / 60:.0f} min left"
