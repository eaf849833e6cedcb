"""The report: one HTML page without scripts, and its tables and figures as files, all made from the rows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd

from counterplan.errors import PlanError
from counterplan.experiments.figures import INK, Drawing, all_figures
from counterplan.experiments.findings import findings
from counterplan.experiments.methods import known_as
from counterplan.experiments.published import TRAINING_MINUTES
from counterplan.experiments.rows import Rows
from counterplan.experiments.statistics import Interval, Line, summary
from counterplan.experiments.tables import NOTHING, Table, all_tables, methods_in
from counterplan.storage.files import make_writable, write_whole

FILE = "report.html"
SUMMARY = "summary.json"
SECTIONS: tuple[tuple[str, str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("targets", "What was aimed at, and what was reached", (), ("targets", "baseline")),
    ("datasets", "1. The benchmarks", (), ("datasets",)),
    ("comparison", "2. Success, effort and length", ("everybody", "in_common"), ("everybody", "in_common")),
    ("ablation", "3. Ablation", (), ("ablation",)),
    ("questions", "4. Questions", ("questions",), ("questions",)),
    ("traces", "5. Programs and traces", ("traces",), ("traces",)),
    ("similarity", "6. Similarity", ("similarity",), ("similarity",)),
    ("timing", "7. Time", ("time",), ("timing",)),
    ("trade-off", "8. The trade-off", ("trade_off",), ()),
    ("failures", "9. What fails", ("failures",), ("failures", "failed_people")),
    ("groups", "10. Protected groups", ("groups",), ("groups",)),
)
"""Of each section: its name, its title, its figures, its tables."""
FOLDED = ("failed_people", "groups", "traces", "in_common")
"""Tables that are long, or say again what a figure shows."""

COMPARABLE = (
    "All methods on this page planned for the same people, were judged by the same model outside of any meter, "
    "and paid by the same count of questions: they can be compared with one another. Effort ÷ least is the "
    "fairest single figure, because everybody is measured by their own optimum; it is of those whom a method solves, "
    "so read it with success, and success never without it.",
    "The published figures are not measured here, and are from other problems. The paper’s public versions of the "
    "four benchmarks have mistakes that are put right here (a precondition the wrong way round, a decision rule "
    "that is never used, a job’s name misspelt in a rule, men who are advised to become wives), so other plans "
    "are legal and other people are refused. Samples, splits and models are others too; so are the people planned "
    "for. Absolute efforts can therefore not be compared at all, and success only with care. What can be set side "
    "by side is how far a method is from the least effort on its own problem. Published efforts are given without "
    "the cost of STOP, which is free here.",
    f"Published training took {TRAINING_MINUTES[0]} to {TRAINING_MINUTES[1]} minutes on four cores, of another "
    "machine: times are not comparable, "
    "except between the methods of this run. Published question counts of the evolutionary baseline add up a "
    "counter that was cumulative already, and are left out. The baseline itself was built again from its "
    "description, with one mistake less (the last argument of every function can be chosen) and a memory of what "
    "was asked, and runs vectorised here; docs/planners.md says where the description left a choice.",
    "Intervals are over seeds: another sample of people, another split, another trained model, another run of "
    "learning.",
)
FEW = 10
"""With fewer seeds, intervals by Student's t are wide."""


def write(folder: Path, rows: Rows) -> None:
    """Write tables, figures and the page to `folder`."""
    about = read_about(folder)
    tables, figures = all_tables(rows), all_figures(rows)
    for name in ("tables", "figures"):
        make_writable(folder / name)
    for table in tables.values():
        write_whole(folder / "tables" / f"{table.key}.csv", table.to_csv())
    for drawing in figures.values():
        write_whole(folder / "figures" / f"{drawing.key}.png", drawing.png)
        write_whole(folder / "figures" / f"{drawing.key}.svg", drawing.svg)
    told = [{"benchmark": name, "method": method, **_plain(line)} for (name, method), line in summary(rows).items()]
    write_whole(folder / SUMMARY, json.dumps(told, indent=1))
    write_whole(folder / FILE, page(about, rows, tables, figures))


def _plain(line: Line) -> dict[str, Any]:
    """A line as plain data; what is not known is null."""
    return {
        key: {part: None if pd.isna(number) else number for part, number in value._asdict().items()}
        if isinstance(value, Interval)
        else value
        for key, value in vars(line).items()
    }


def read_about(folder: Path) -> dict[str, Any]:
    """What `experiment.json` says of how everything was made."""
    path = folder / "experiment.json"
    try:
        told = json.loads(path.read_text())
        if not isinstance(told, dict) or "options" not in told:
            raise ValueError("it says nothing of an experiment")
        return told
    except FileNotFoundError:
        raise PlanError(f"{path}: there is no such file; is {folder} what 'counterplan experiment' wrote?") from None
    except (OSError, ValueError) as error:
        raise PlanError(f"{path}: cannot be read ({error}); start again with --force") from None


def page(about: Mapping[str, Any], rows: Rows, tables: Mapping[str, Table], figures: Mapping[str, Drawing]) -> str:
    """The whole page."""
    options = about["options"]
    quick = bool(options.get("quick"))
    css = files("counterplan.experiments").joinpath("report.css").read_text()
    contents = "".join(f'<li><a href="#{key}">{escape(title)}</a></li>' for key, title, _, _ in SECTIONS)
    body = "".join(
        _section(key, title, [figures[name] for name in shown], [tables[name] for name in listed])
        for key, title, shown, listed in SECTIONS
    )
    banner = (
        "<p class=banner><strong>A quick run.</strong> Few people and little training: it shows every part of the "
        "experiment, and its figures say little.</p>"
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>counterplan: the experiment</title>
<style>{css}</style>
</head>
<body>
<header>
<p class="over">counterplan · the experiment</p>
<h1>Which way to a changed decision costs least?</h1>
<p class="lead">{escape(_scope(rows, options))}</p>
{banner if quick else ""}
</header>
<main>
<section id="story"><h2>What was found</h2><ul>{_items(findings(rows))}</ul></section>
<section id="comparable"><h2>What can be compared, and what cannot</h2>{_paragraphs(_comparable(rows))}</section>
<section id="methods"><h2>The methods</h2>{_methods(rows)}</section>
<nav aria-label="Contents"><h2>Contents</h2><ol class="contents">{contents}</ol></nav>
{body}
{_making(about)}
</main>
</body>
</html>
"""


def _comparable(rows: Rows) -> list[str]:
    """What can be compared, and how much intervals of so many seeds say."""
    seeds = rows.results["seed"].nunique()
    told = "With one seed there are none: nothing here says how much another seed would change."
    if seeds > 1:
        wide = f"With {seeds} seeds they are wide. " if seeds < FEW else ""
        told = f"{wide}Where every seed gave the same they have no width, which is not certainty."
    return [*COMPARABLE[:-1], f"{COMPARABLE[-1]} {told}"]


def _scope(rows: Rows, options: Mapping[str, Any]) -> str:
    names = ", ".join(str(name) for name in dict.fromkeys(rows.datasets["benchmark"]))
    seeds = ", ".join(str(seed) for seed in options["seeds"])
    return (
        f"Every method on the same refused people of {names}; seed{'s' if len(options['seeds']) > 1 else ''} {seeds}."
    )


def _items(lines: Iterable[str]) -> str:
    return "".join(f"<li>{escape(line)}</li>" for line in lines)


def _paragraphs(texts: Iterable[str]) -> str:
    return "".join(f"<p>{escape(text)}</p>" for text in texts)


def _methods(rows: Rows) -> str:
    lines = "".join(
        f"<dt>{escape(method.label)}{f' <span class=paper>{escape(method.paper)}</span>' if method.paper else ''}</dt>"
        f"<dd>{escape(method.told)}</dd>"
        for method in map(known_as, methods_in(rows.results["method"]))
    )
    return f'<dl class="methods">{lines}</dl>'


def _section(key: str, title: str, figures: Sequence[Drawing], tables: Sequence[Table]) -> str:
    parts = [_figure(drawing) for drawing in figures] + [_table(table) for table in tables]
    return f'<section id="{key}"><h2>{escape(title)}</h2>{"".join(parts)}</section>'


def _figure(drawing: Drawing) -> str:
    words = escape(f"{drawing.title}. {drawing.caption}")
    svg = inline(drawing.svg, drawing.key).replace("<svg ", f'<svg role="img" aria-label="{words}" ', 1)
    return (
        f"<figure>{'<div class=scroll tabindex=0>'}{svg}</div><figcaption><strong>{escape(drawing.title)}.</strong> "
        f"{escape(drawing.caption)}</figcaption></figure>"
    )


def inline(svg: str, key: str) -> str:
    """A drawing as part of a page: names of its own, and text in the page's colour."""
    svg = svg[svg.index("<svg") :].replace(INK, "currentColor")
    svg = re.sub(r'\bid="', f'id="{key}-', svg)
    return re.sub(r'(url\(#|href="#)', rf"\g<1>{key}-", svg)


def _table(table: Table) -> str:
    head = "".join(f'<th scope="col">{escape(column)}</th>' for column in table.columns)
    bodies = []
    for heading, rows in table.sections:
        above = (
            f'<tr><th scope="rowgroup" colspan="{len(table.columns)}">{escape(heading)}</th></tr>' if heading else ""
        )
        lines = "".join(
            f'<tr><th scope="row">{escape(row[0])}</th>{"".join(_cell(cell) for cell in row[1:])}</tr>' for row in rows
        )
        nobody = f'<tr><td colspan="{len(table.columns)}">nobody</td></tr>'
        bodies.append(f"<tbody>{above}{lines or nobody}</tbody>")
    made = (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(table.title)}"><table>'
        f"<caption><strong>{escape(table.title)}.</strong> {escape(table.caption)}</caption>"
        f"<thead><tr>{head}</tr></thead>{''.join(bodies)}</table></div>"
    )
    if table.key in FOLDED:
        return f"<details><summary>Table: {escape(table.title)}</summary>{made}</details>"
    return made


def _cell(text: str) -> str:
    kind = "missed" if text.endswith("✗") else "reached" if text.endswith("✓") else "none" if text == NOTHING else ""
    wide = "words" if len(text) > 40 else ""
    classes = " ".join(filter(None, (kind, wide)))
    return f'<td class="{classes}">{escape(text)}</td>' if classes else f"<td>{escape(text)}</td>"


def _making(about: Mapping[str, Any]) -> str:
    """How everything was made."""
    machine = about.get("machine", {})
    lines = [
        ("Command", str(about.get("command", ""))),
        ("Versions", ", ".join(f"{name} {version}" for name, version in about.get("versions", {}).items())),
        ("Machine", f"{machine.get('system')}, {machine.get('processor')}, {machine.get('cores')} cores"),
    ]
    listed = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in lines)
    settings = escape(json.dumps(about.get("settings", {}), indent=1))
    return (
        f'<section id="making"><h2>How this was made</h2><dl class="methods">{listed}</dl>'
        "<p>Every row is in results.csv, curves.csv, questions.csv, programs.csv, people.csv, datasets.csv and "
        "timing.csv beside this page; the same seeds and versions give the same rows, times apart.</p>"
        f"<details><summary>All settings</summary><pre>{settings}</pre></details></section>"
    )
