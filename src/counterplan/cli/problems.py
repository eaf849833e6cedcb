"""The commands on problem files: `check`, `describe`, `init`, `schema`."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from counterplan.blackbox import BlackBox
from counterplan.cli.common import Like, ProblemName, Threshold
from counterplan.cli.questioning import print_report, question, report_as_json
from counterplan.cli.terminal import echo, emit
from counterplan.errors import CounterplanError, PeopleError, SettingError, StorageError
from counterplan.inputs import black_box, read_like, resolve_problem
from counterplan.problem import Problem, json_schema, read_table
from counterplan.problem.draft import draft_from
from counterplan.problem.lint import check as check_file
from counterplan.problem.source import Finding
from counterplan.problem.values import count
from counterplan.storage.files import require_writable, write_whole

CHECKED = 5
"""People that `check` queries the model about, those with the most missing values among them."""


def check(
    file: Annotated[Path, typer.Argument(help="A problem file.")],
    people: Annotated[
        Path | None, typer.Option(help="People, CSV or Parquet: compare the features with their columns.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help="The model: compare the types of values with those that it knows; query it about 5 people."),
    ] = None,
    threshold: Threshold = None,
    like: Like = None,
    data: Annotated[
        Path | None, typer.Option(help="People, CSV or Parquet: question the causal graph with them. Adds doubts.")
    ] = None,
    alpha: Annotated[
        float | None, typer.Option(help="With --data: level of tests and false discovery rate of doubts (0.01).")
    ] = None,
    share: Annotated[
        float | None,
        typer.Option(help="With --data: the share of favourable outcomes among all, if people were chosen by outcome."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="With --data: the same seed, the same doubts.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Report everything wrong or doubtful in a problem file, with line numbers."""
    if data is None and (alpha is not None or share is not None):
        raise SettingError("--alpha and --share are settings of questioning the causal graph: give people by --data")
    table = None if people is None else read_table(people)
    box = None if model is None else black_box(model, threshold, None if like is None else read_like(like))
    problem, findings = check_file(file, table, None if box is None else box.dtypes)
    if problem is not None and people is not None:
        findings += _failures(problem, people, box)
    errors = [finding for finding in findings if finding.severity == "error"]
    report = None
    if problem is not None and data is not None and not errors:
        report = question(problem, data, {"alpha": alpha, "share": share, "seed": seed})
    if as_json:
        listed = [
            {"severity": f.severity, "line": f.line, "place": list(f.location), "message": f.message} for f in findings
        ]
        described: dict[str, Any] = {"file": str(file), "ok": not errors, "findings": listed}
        if report is not None:
            described |= report_as_json(file, report)
        emit(json.dumps(described, ensure_ascii=False, indent=1))
    else:
        for finding in findings:
            echo(f"{finding.severity}: {finding.text(str(file))}", err=finding.severity == "error")
        warnings = len(findings) - len(errors)
        if report is not None:
            print_report(file, report)
        if problem is not None and not errors:
            doubts = ""
            if report is not None:
                doubts = f", {count(len(report.doubts), 'doubt')} from {count(report.people, 'person', 'people')}"
            echo(
                f"{file}: fine: {len(problem.features)} features, {len(problem.transitions.functions)} functions, "
                f"{len(problem.transitions) - 1} actions; {count(warnings, 'warning')}{doubts}"
            )
        else:
            echo(f"{file}: {count(len(errors), 'error')}, {count(warnings, 'warning')}", err=True)
    if errors:
        raise typer.Exit(2)


def _failures(problem: Problem, path: Path, box: BlackBox | None) -> list[Finding]:
    """The error, if there is one, of reading people, or of querying the model about at most `CHECKED` of them."""
    try:
        people = problem.read(read_table(path, problem.features))
    except PeopleError as error:
        return [Finding(f"{path}: {error}")]
    if box is None:
        return []
    incomplete = np.argsort(-np.isnan(people.states).sum(axis=1), kind="stable")[: CHECKED // 2]
    rows = list(dict.fromkeys([*incomplete.tolist(), *range(len(people))]))[:CHECKED]
    try:
        box.favourable(problem, people.take(np.array(rows, np.intp)))
    except CounterplanError as error:
        return [Finding(str(error))]
    return []


def describe(
    problem: ProblemName,
    to: Annotated[Path | None, typer.Option(help="Draw the causal graph in this file, FILE.svg, instead.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the description as JSON.")] = False,
) -> None:
    """Describe a problem: functions with their arguments, preconditions and costs, the causal graph, the features."""
    if to is not None and as_json:
        raise SettingError("--to draws the causal graph and --json prints the description; give one of them")
    if to is not None and to.suffix.lower() != ".svg":
        raise SettingError(f"{to}: the causal graph is drawn as SVG; give a file that ends in .svg")
    described = resolve_problem(problem)
    if to is not None:
        require_writable(to)
        write_whole(to, described.to_svg().encode("utf-8", "replace"))
        echo(f"Wrote {to}.")
    elif as_json:
        emit(json.dumps(described.description(), ensure_ascii=False, indent=1))
    else:
        echo(described.to_text())


def init(
    data: Annotated[Path, typer.Argument(help="A table of people: CSV or Parquet.")],
    outcome: Annotated[str, typer.Option(help="The column that holds the decision.")],
    out: Annotated[Path | None, typer.Option(help="Where to write the file (default: beside the table).")] = None,
    propose: Annotated[
        bool,
        typer.Option("--propose", help="Propose functions, with arguments and costs, for features one can change."),
    ] = False,
    histories: Annotated[
        Path | None,
        typer.Option(help="Values before and after (columns x and x_after) of the same people: learn costs from them."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file if it exists.")] = False,
) -> None:
    """Write a commented problem file to start from, inferred from a table of people."""
    text = draft_from(data, outcome, propose=propose, histories=histories)
    name = data.name.split(".")[0]
    target = out if out is not None else data.parent / f"{name}.yaml"
    if target.exists() and not force:
        raise StorageError(f"{target}: is already there; choose another name with --out, or overwrite it with --force")
    write_whole(target, text)
    task = "Read the guesses" if propose or histories is not None else "Choose the functions"
    echo(f"Wrote {target}. {task} in it, then run: counterplan check {target}")


def schema(
    out: Annotated[Path | None, typer.Option(help="Write it to a file instead of the screen.")] = None,
    program: Annotated[bool, typer.Option("--program", help="The schema of program.json instead.")] = False,
    card: Annotated[bool, typer.Option("--card", help="The schema of card.json instead.")] = False,
) -> None:
    """Print the JSON Schema of problem files, with which editors complete and check them."""
    if program and card:
        raise SettingError("--program and --card: choose one of them")
    if program:
        text = _packaged_schema("counterplan.program", "program.schema.json")
    elif card:
        text = _packaged_schema("counterplan.scorecard", "card.schema.json")
    else:
        text = json.dumps(json_schema(), indent=1)
    if out is None:
        emit(text)
    else:
        write_whole(out, text + "\n")


def _packaged_schema(package: str, name: str) -> str:
    return files(package).joinpath(name).read_text("utf-8").rstrip()
