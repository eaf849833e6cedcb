"""The command `experiment`: the paper's evaluation, reproduced and extended."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from counterplan.benchmarks import NAMES
from counterplan.cli.common import Cluster
from counterplan.cli.terminal import echo
from counterplan.errors import CounterplanError, SettingError, StorageError
from counterplan.plans.progress import progress_bar
from counterplan.problem.values import count
from counterplan.storage.locks import locked

if TYPE_CHECKING:
    from counterplan.experiments.running import ExperimentProgress, ProgressCallback


def experiment(
    out: Annotated[Path, typer.Option(help="The folder to write everything to: rows, figures, report.")],
    benchmarks: Annotated[
        list[str] | None,
        typer.Option(
            help="Which ones, with commas or several times (default: the paper's four); yours: MODULE:FUNCTION."
        ),
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
    resume: Annotated[bool, typer.Option("--resume", help="Continue the experiment in the folder.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Remove the results of an earlier experiment there.")] = False,
    report_only: Annotated[
        bool, typer.Option("--report-only", help="Run nothing: make tables, figures and report from the rows there.")
    ] = False,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes at a time (default: one for each core).")] = None,
    cluster: Cluster = None,
) -> None:
    """Repeat the paper's evaluation, and ours: tables, figures and a report of the results."""
    if str(out) in NAMES:
        raise SettingError(f"--out {out}: that is a benchmark's name; choose another folder")
    if sum((resume, force, report_only)) > 1:
        raise SettingError("--resume, --force and --report-only exclude each other")
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
        raise CounterplanError(
            f"an experiment needs {error.name}; pip install 'counterplan[train,experiments]'"
        ) from None
    if report_only:
        ExperimentRows.read(out)  # raises if there are none, before anything is written
        with locked(out):
            report.write(out, ExperimentRows.read(out))
        echo(f"Wrote {out / report.FILE} and the tables and figures beside it.")
        return
    before = folder.options_in(out) if resume else None
    if resume and before is None:
        raise StorageError(f"{out}: there is no experiment to go on with; leave --resume out")
    default = before or ExperimentOptions(
        seeds=tuple(range(FIRST_SEED, FIRST_SEED + (QUICK_SEEDS if quick else SEEDS)))
    )
    begin = default.seeds[0] if first_seed is None else first_seed
    options = ExperimentOptions(
        _words(benchmarks) or default.benchmarks,
        tuple(range(begin, begin + (seeds or len(default.seeds)))),
        people or default.people,
        quick or default.quick,
        _words(planners) or default.planners,
    )
    with locked(out):
        folder.begin(out, options, resume=resume, force=force)
        with _progress() as show:
            settings = ExperimentSettings.of(options)
            run = running.ExperimentRun(options, out, settings, jobs or _cores(), show, cluster)
            try:
                rows = run.run()
            except KeyboardInterrupt:
                rows = None
        for line in run.warnings:
            echo(line, err=True)
        if rows is None:
            done = f"{run.progress.done} of {count(run.progress.total, 'cell')} are done and kept"
            echo(f"Interrupted: {done}. Continue with: counterplan experiment --out {out} --resume", err=True)
            raise typer.Exit(130)
        rows.write(out)
        report.write(out, rows)
        echo(f"Wrote {out / report.FILE}, and beside it rows (CSV), tables and figures.")


def _words(given: list[str] | None) -> tuple[str, ...]:
    """Split values of a repeatable option at commas."""
    return tuple(word for value in given or () for word in value.replace(",", " ").split())


def _cores() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def _progress() -> Iterator[ProgressCallback]:
    """Display progress on the error stream: a bar on a terminal, otherwise a line for each cell."""
    with progress_bar("Running") as bar:
        printed = 0

        def show(progress: ExperimentProgress) -> None:
            nonlocal printed
            detail = f"{_remaining(progress)}; {', '.join(progress.running)}"
            bar.update(progress.done, progress.total, detail=detail)
            if not bar.shown and progress.done > printed:
                printed = progress.done
                echo(f"[{progress.done}/{progress.total}] {progress.last}; {_remaining(progress)}", err=True)

        yield show


def _remaining(progress: ExperimentProgress) -> str:
    """Estimated time remaining, in words."""
    if progress.seconds_left is None:
        return "time left not known yet"
    if progress.seconds_left < 90:
        return f"about {progress.seconds_left:.0f} s left"
    return f"about {progress.seconds_left / 60:.0f} min left"
