"""The command `benchmarks`."""

from __future__ import annotations

import io
import json
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from counterplan import benchmarks
from counterplan.benchmarks.summary import COLUMNS, describe
from counterplan.cli.terminal import echo, emit
from counterplan.plans.progress import progress_bar


def benchmarks_table(
    names: Annotated[list[str] | None, typer.Argument(help="Which ones (default: all five).")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of samples, splits and models.")] = 0,
    people: Annotated[int, typer.Option(min=1, help="Refused test people to solve exactly (german: all).")] = 100,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Describe the five benchmark problems, and what an exact search finds possible in them."""
    rows = []
    chosen = names or list(benchmarks.NAMES)
    with progress_bar("Solving", len(chosen)) as bar:
        for name in chosen:
            rows.append(describe(benchmarks.load(name, seed), people))
            bar.advance()
    if as_json:
        emit(json.dumps(rows, indent=1))
        return
    table = Table(title=f"Benchmarks, seed {seed}")
    table.add_column("")
    for row in rows:
        table.add_column(str(row["name"]), justify="right")
    for key, label, form in COLUMNS:
        table.add_row(label, *("–" if row[key] is None else format(row[key], form) for row in rows))
    printed = Console(file=io.StringIO(), width=Console().width)
    printed.print(table)
    echo(printed.file.getvalue().rstrip("\n"))  # type: ignore[attr-defined]
