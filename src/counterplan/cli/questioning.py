"""`check --data`: doubts about the causal graph of a problem file, from a table of people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from counterplan.cli.terminal import echo
from counterplan.errors import PeopleError
from counterplan.plans.progress import progress_bar
from counterplan.problem import Problem, read_table
from counterplan.problem.source import Finding
from counterplan.problem.yaml_reader import read_source

if TYPE_CHECKING:
    from counterplan.causal import GraphReport

STEPS = 100


def question(problem: Problem, data: Path, options: dict[str, Any]) -> GraphReport:
    """Question a causal graph with the people of a file; `options` are settings, None for their defaults."""
    from counterplan.causal import GraphSettings, question_graph

    settings = GraphSettings(**{name: value for name, value in options.items() if value is not None})
    table = read_table(data, problem.features)
    with progress_bar("Questioning", STEPS) as bar:
        try:
            return question_graph(problem, table, settings, lambda share: bar.update(round(share * STEPS), STEPS))
        except PeopleError as error:
            raise PeopleError(f"{data}: {error}") from None


def findings_of(file: Path, report: GraphReport) -> list[Finding]:
    """The doubts as findings, with the lines of the file."""
    source = read_source(file)
    return [Finding(doubt.message, doubt.location, "doubt", source.line(doubt.location)) for doubt in report.doubts]


def print_report(file: Path, report: GraphReport) -> None:
    """Print doubts and notes."""
    for finding in findings_of(file, report):
        echo(f"doubt: {finding.text(str(file))}")
    for note in report.notes:
        echo(f"note: {note}")


def report_as_json(file: Path, report: GraphReport) -> dict[str, Any]:
    """Doubts with the numbers behind them, and notes."""
    doubts = [
        {
            "kind": doubt.kind,
            "line": finding.line,
            "place": list(doubt.location),
            "edges": [list(edge) for edge in doubt.features],
            "message": doubt.message,
            **doubt.details,
        }
        for finding, doubt in zip(findings_of(file, report), report.doubts, strict=True)
    ]
    return {"people": report.people, "doubts": doubts, "notes": list(report.notes)}
