"""The command `survival`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from counterplan.cli.common import Like, Threshold
from counterplan.cli.terminal import echo
from counterplan.inputs import black_box, read_like, resolve_problem
from counterplan.plans import Plans
from counterplan.plans.survival_report import require_report_file
from counterplan.storage.files import require_writable


def survival(
    plans: Annotated[Path, typer.Argument(help="Plans: a .json file of 'recommend --json', or .parquet.")],
    model: Annotated[
        list[str],
        typer.Option(help="A retrained model: MODULE:ATTR, FILE.onnx, an MLflow folder or URI, or a URL; repeatable."),
    ],
    problem: Annotated[
        str | None,
        typer.Option(help="The problem of the plans: a file, a fitted folder or a benchmark (needed for .json)."),
    ] = None,
    threshold: Threshold = None,
    like: Like = None,
    out: Annotated[Path | None, typer.Option(help="Write the outcome of every plan to a file: .csv or .json.")] = None,
) -> None:
    """Check plans with other models, such as retrained ones: which of them still hold."""
    if out is not None:
        require_report_file(out)
        require_writable(out)
    given = None if problem is None else resolve_problem(problem)
    dtypes = None if like is None else read_like(like)
    loaded = Plans.load(plans)
    report = loaded.survival([black_box(one, threshold, dtypes) for one in model], given)
    echo(str(report))
    if out is not None:
        report.save(out)
        echo(f"Wrote {out}.")
