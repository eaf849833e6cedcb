"""The commands on problem files: `check`, `init`, `schema`."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from counterplan.cli.common import count
from counterplan.cli.terminal import echo, emit
from counterplan.errors import StorageError
from counterplan.models import adapt
from counterplan.problem import json_schema, read_table
from counterplan.problem.draft import draft_from
from counterplan.problem.lint import check as check_file
from counterplan.storage.files import write_whole


def check(
    file: Annotated[Path, typer.Argument(help="A problem file.")],
    people: Annotated[
        Path | None, typer.Option(help="People, CSV or Parquet: compare the types of values with their columns.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="The model: compare the types of values with those that it knows.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Report everything wrong or doubtful in a problem file, with line numbers."""
    table = None if people is None else read_table(people)
    known = None if model is None else getattr(adapt(model), "dtypes", None)
    problem, findings = check_file(file, table, known)
    errors = [finding for finding in findings if finding.severity == "error"]
    if as_json:
        listed = [
            {"severity": f.severity, "line": f.line, "place": list(f.location), "message": f.message} for f in findings
        ]
        emit(json.dumps({"file": str(file), "ok": not errors, "findings": listed}, ensure_ascii=False, indent=1))
    else:
        for finding in findings:
            echo(f"{finding.severity}: {finding.text(str(file))}", err=finding.severity == "error")
        warnings = len(findings) - len(errors)
        if problem is not None:
            echo(
                f"{file}: fine: {len(problem.features)} features, {len(problem.transitions.functions)} functions, "
                f"{len(problem.transitions) - 1} actions; {count(warnings, 'warning')}"
            )
        else:
            echo(f"{file}: {count(len(errors), 'error')}, {count(warnings, 'warning')}", err=True)
    if errors:
        raise typer.Exit(2)


def init(
    data: Annotated[Path, typer.Argument(help="A table of people: CSV or Parquet.")],
    outcome: Annotated[str, typer.Option(help="The column that holds the decision.")],
    out: Annotated[Path | None, typer.Option(help="Where to write the file (default: beside the table).")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file if it exists.")] = False,
) -> None:
    """Write a commented problem file to start from, inferred from a table of people."""
    text = draft_from(data, outcome)
    name = data.name.split(".")[0]
    target = out if out is not None else data.parent / f"{name}.yaml"
    if target.exists() and not force:
        raise StorageError(f"{target}: is already there; choose another name with --out, or overwrite it with --force")
    write_whole(target, text)
    echo(f"Wrote {target}. Choose the functions in it, then run: counterplan check {target}")


def schema(
    out: Annotated[Path | None, typer.Option(help="Write it to a file instead of the screen.")] = None,
    program: Annotated[bool, typer.Option("--program", help="The schema of program.json instead.")] = False,
) -> None:
    """Print the JSON Schema of problem files, with which editors complete and check them."""
    packaged = files("counterplan.program").joinpath("program.schema.json")
    text = packaged.read_text("utf-8").rstrip() if program else json.dumps(json_schema(), indent=1)
    if out is None:
        emit(text)
    else:
        write_whole(out, text + "\n")
