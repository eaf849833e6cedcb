"""The report: an HTML page without scripts, with its tables and figures as files. A pure function of the rows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from counterplan.drawing import image_tag, page_style
from counterplan.errors import StorageError
from counterplan.experiments.context import trace_file
from counterplan.experiments.drawing import INK, ReportFigure
from counterplan.experiments.figures import all_figures
from counterplan.experiments.findings import findings
from counterplan.experiments.folder import VERSION
from counterplan.experiments.formatting import NOTHING, ReportTable
from counterplan.experiments.methods import in_order, method_named
from counterplan.experiments.published import SECONDS_PER_PERSON, TRAINING_MINUTES
from counterplan.experiments.rows import ExperimentRows
from counterplan.experiments.statistics import Interval, MethodStats, summary
from counterplan.experiments.tables import all_tables
from counterplan.storage.files import make_writable, write_whole
from counterplan.storage.json_files import read_json

FILE = "report.html"
SUMMARY = "summary.json"


class ReportSection(NamedTuple):
    """A section of the report."""

    key: str
    title: str
    figures: tuple[str, ...]
    tables: tuple[str, ...]


SECTIONS = (
    ReportSection("targets", "Results and expected values", (), ("targets", "baseline")),
    ReportSection("datasets", "1. The benchmarks", (), ("datasets",)),
    ReportSection(
        "comparison",
        "2. Success, cost and length",
        ("everybody", "in_common"),
        ("everybody", "in_common", "in_common_own"),
    ),
    ReportSection("ablation", "3. Ablation", (), ("ablation",)),
    ReportSection("questions", "4. Queries", ("questions",), ("totals", "questions")),
    ReportSection("traces", "5. Programs and traces", ("traces",), ("traces",)),
    ReportSection("similarity", "6. Similarity", ("similarity",), ("similarity",)),
    ReportSection("timing", "7. Time", ("time",), ("timing",)),
    ReportSection("trade-off", "8. Cost and queries", ("trade_off",), ()),
    ReportSection("failures", "9. Failures", ("failures",), ("failures", "failed_people")),
    ReportSection("groups", "10. Protected groups", ("groups",), ("groups",)),
    ReportSection("survival", "11. Plans that last", ("survival",), ("survival",)),
)
TRACE_TITLE = "12. One person’s trace"
MAX_TRACE = 2_000_000
"""Size of the largest drawing of a trace that is shown, in bytes."""
FOLDED = ("failed_people", "groups", "traces", "in_common", "in_common_own")
"""Tables that are long, or repeat a figure."""

COMPARABLE = (
    "All methods of this report planned for the same people, were evaluated with the same model outside of any meter, "
    "and have their queries counted in the same way: they are comparable. The cost ratio (cost ÷ optimal cost) is the "
    "fairest single measure, because each person is compared with their own optimum; it is over the people solved "
    "by a method, so that it has to be read together with success.",
    "The published figures are not measured here and belong to other problems. The paper’s public versions of the four "
    "benchmarks contain errors that are corrected here (an inverted precondition, a misspelt job in a rule, men who "
    "are advised to become wives), so that other plans are legal and other people are refused. The published "
    "environment of syn_long decides by the rule of syn, and never by its own, which requires more: its published "
    "figures are of an easier problem. Samples, splits and models differ too, and so do the people planned for. "
    "Absolute costs are therefore not comparable, and success only with care. Comparable is the distance of a method "
    "from the optimum of its own problem. Published costs are given without the cost of STOP, which is free here.",
    f"Published times are wall times on four cores of another machine (training: {TRAINING_MINUTES[0]} to "
    f"{TRAINING_MINUTES[1]} minutes), those here are CPU times of one core. Per person, the paper’s text gives "
    f"{SECONDS_PER_PERSON['M_cscf']} s for M_cscf and less than {SECONDS_PER_PERSON['M_mcts']} s for M_mcts; here all "
    "people and candidates of M_cscf are computed in batches, so that this ratio is not comparable either. The "
    "baseline was implemented again from its description, with one correction (the last argument of every function can "
    "be chosen) and a cache of queries; docs/planners.md lists the choices that the description leaves open. The paper "
    "plots every candidate of the baseline as a query; the means in its published results sum a counter that was "
    "cumulative already, and are left out.",
    "The published success of M_agent, .00 to .59, is not that of a trained agent: the published code for it never "
    "updates the hidden state of the LSTM, so that the agent does not know the steps it has taken. Here it does.",
    "The paper does not measure whether plans hold when the model is trained again. Work on robust recourse does, such "
    "as ROAR (Upadhyay, Joshi, Lakkaraju: Towards robust and reliable algorithmic recourse, 2021) and robust Bayesian "
    "recourse (Nguyen and others, 2022), for counterfactual points without an order of actions, with other data, "
    "models, costs and changes of the model. Their figures are not comparable with those here and are left out.",
    "Intervals are over seeds: another sample of people, another split, another trained model, another run of "
    "learning.",
)
FEW_SEEDS = 10
"""With fewer seeds, intervals by Student's t are wide."""


def write(folder: Path, rows: ExperimentRows) -> None:
    """Write tables, figures and the page to `folder`.

    Raises
    ------
    StorageError
        If `folder` has no valid experiment.json, or a file cannot be written.
    """
    about = read_about(folder)
    tables, figures = all_tables(rows), all_figures(rows)
    for name in ("tables", "figures"):
        make_writable(folder / name)
    for table in tables.values():
        write_whole(folder / "tables" / f"{table.key}.csv", table.to_csv())
    for figure in figures.values():
        write_whole(folder / "figures" / f"{figure.key}.png", figure.png)
        write_whole(folder / "figures" / f"{figure.key}.svg", figure.svg)
    plain = [{"benchmark": name, "method": method, **_plain(stats)} for (name, method), stats in summary(rows).items()]
    write_whole(folder / SUMMARY, json.dumps(plain, indent=1))
    write_whole(folder / FILE, page(about, rows, tables, figures, read_traces(folder, rows)))


_SUMMARY_KEYS = {"queries": "questions", "feasible_queries": "asked"}
"""Keys of summary.json that differ from the attributes of `MethodStats`."""


def _plain(stats: MethodStats) -> dict[str, Any]:
    """Statistics as plain data; unknown values are null."""
    return {
        _SUMMARY_KEYS.get(key, key): {
            part: None if pd.isna(number) else number for part, number in value._asdict().items()
        }
        if isinstance(value, Interval)
        else value
        for key, value in vars(stats).items()
    }


def read_about(folder: Path) -> dict[str, Any]:
    """The content of experiment.json: options, settings, versions and machine."""
    path = folder / "experiment.json"
    try:
        content = read_json(path)
        if not isinstance(content, dict) or "options" not in content:
            raise ValueError("it has no options")
        return content
    except FileNotFoundError:
        raise StorageError(
            f"{path}: there is no such file; is {folder} an output of 'counterplan experiment'?"
        ) from None
    except (OSError, ValueError) as error:
        raise StorageError(f"{path}: cannot be read ({error}); start again with --force") from None


def read_traces(folder: Path, rows: ExperimentRows) -> dict[str, str]:
    """Drawings (SVG) of one person's trace through M_prog by benchmark, for the first seed that has one."""
    found: dict[str, str] = {}
    for name, seed in zip(rows.datasets["benchmark"], rows.datasets["seed"], strict=True):
        path = trace_file(folder, str(name), int(seed))
        try:
            if str(name) not in found and path.stat().st_size <= MAX_TRACE:
                found[str(name)] = path.read_text("utf-8")
        except (OSError, ValueError):
            continue  # a run without it, or with a damaged file, is reported all the same
    return found


def page(
    about: Mapping[str, Any],
    rows: ExperimentRows,
    tables: Mapping[str, ReportTable],
    figures: Mapping[str, ReportFigure],
    traces: Mapping[str, str] | None = None,
) -> str:
    """The whole page; `traces` are drawings of one person's trace by benchmark."""
    options = about["options"]
    css = page_style()
    contents = "".join(f'<li><a href="#{part.key}">{escape(part.title)}</a></li>' for part in SECTIONS)
    body = "".join(
        _section(
            part, [figures[name] for name in part.figures if name in figures], [tables[name] for name in part.tables]
        )
        for part in SECTIONS
    )
    if traces:
        body += _traces(traces)
        contents += f'<li><a href="#trace">{escape(TRACE_TITLE)}</a></li>'
    banner = ""
    if options.get("quick"):
        banner = (
            "<p class=banner><strong>A quick run.</strong> Few people and little training: it exercises every part of "
            "the experiment, and its figures are not meaningful.</p>"
        )
    if about.get("counterplan_experiment", VERSION) < VERSION:
        banner += (
            "<p class=banner><strong>Rows of an earlier version.</strong> Its M_prog imitates the default agent "
            "instead of M_mcts; run the experiment again for the paper’s rows.</p>"
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
<h1>Algorithmic recourse: success, cost and queries of planners</h1>
<p class="lead">{escape(_scope(rows, options))}</p>
{banner}
</header>
<main>
<section id="findings"><h2>Findings</h2><ul>{_items(findings(rows))}</ul></section>
<section id="comparable"><h2>Comparability</h2>{_paragraphs(_comparable(rows))}</section>
<section id="methods"><h2>The methods</h2>{_methods(rows)}</section>
<nav aria-label="Contents"><h2>Contents</h2><ol class="contents">{contents}</ol></nav>
{body}
{_making(about)}
</main>
</body>
</html>
"""


def _comparable(rows: ExperimentRows) -> list[str]:
    """Paragraphs on comparability, with a note on intervals for this number of seeds."""
    seeds = rows.results["seed"].nunique()
    note = "With one seed there are none, so that the variation between seeds is unknown."
    if seeds > 1:
        wide = f"With {seeds} seeds they are wide. " if seeds < FEW_SEEDS else ""
        note = f"{wide}Where all seeds agree they have no width, which does not mean certainty."
    return [*COMPARABLE[:-1], f"{COMPARABLE[-1]} {note}"]


def _scope(rows: ExperimentRows, options: Mapping[str, Any]) -> str:
    names = ", ".join(str(name) for name in dict.fromkeys(rows.datasets["benchmark"]))
    seeds = ", ".join(str(seed) for seed in options["seeds"])
    return (
        f"Every method on the same refused people of {names}; seed{'s' if len(options['seeds']) > 1 else ''} {seeds}."
    )


def _items(lines: Iterable[str]) -> str:
    return "".join(f"<li>{escape(line)}</li>" for line in lines)


def _paragraphs(texts: Iterable[str]) -> str:
    return "".join(f"<p>{escape(text)}</p>" for text in texts)


def _methods(rows: ExperimentRows) -> str:
    lines = "".join(
        f"<dt>{escape(method.label)}{' <span class=paper>the paper’s</span>' if method.paper else ''}</dt>"
        f"<dd>{escape(method.description)}</dd>"
        for method in map(method_named, in_order(rows.results["method"]))
    )
    return f'<dl class="methods">{lines}</dl>'


def _section(section: ReportSection, figures: Sequence[ReportFigure], tables: Sequence[ReportTable]) -> str:
    parts = [_figure(figure) for figure in figures] + [_table(table) for table in tables]
    return f'<section id="{section.key}"><h2>{escape(section.title)}</h2>{"".join(parts)}</section>'


def _traces(traces: Mapping[str, str]) -> str:
    """The section of traces; each is an image, so that nothing in it can act on the page."""
    drawn = "".join(
        f"<figure><div class=scroll tabindex=0>{image_tag(svg, f'{name}: the trace of one person')}</div>"
        f"<figcaption><strong>{escape(name)}.</strong> The first person with a plan from M_prog, from INTERVENE to "
        "STOP: actions in black, the rules that select them in red.</figcaption></figure>"
        for name, svg in traces.items()
    )
    return f'<section id="trace"><h2>{escape(TRACE_TITLE)}</h2>{drawn}</section>'


def _figure(figure: ReportFigure) -> str:
    label = escape(f"{figure.title}. {figure.caption}")
    svg = inline(figure.svg, figure.key).replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)
    return (
        f"<figure>{'<div class=scroll tabindex=0>'}{svg}</div><figcaption><strong>{escape(figure.title)}.</strong> "
        f"{escape(figure.caption)}</figcaption></figure>"
    )


def inline(svg: str, key: str) -> str:
    """An SVG as part of a page: with ids of its own, and text in the colour of the page."""
    svg = svg[svg.index("<svg") :].replace(INK, "currentColor")
    svg = re.sub(r'\bid="', f'id="{key}-', svg)
    return re.sub(r'(url\(#|href="#)', rf"\g<1>{key}-", svg)


def _table(table: ReportTable) -> str:
    head = "".join(f'<th scope="col">{escape(column)}</th>' for column in table.columns)
    bodies = []
    for heading, rows in table.sections:
        above = (
            f'<tr><th scope="rowgroup" colspan="{len(table.columns)}">{escape(heading)}</th></tr>' if heading else ""
        )
        lines = "".join(
            f'<tr><th scope="row">{escape(row[0])}</th>{"".join(_cell(cell) for cell in row[1:])}</tr>' for row in rows
        )
        empty = f'<tr><td colspan="{len(table.columns)}">none</td></tr>'
        bodies.append(f"<tbody>{above}{lines or empty}</tbody>")
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
    """The section on command, versions, machine and settings."""
    machine = about.get("machine", {})
    lines = [
        ("Command", str(about.get("command", ""))),
        ("Versions", ", ".join(f"{name} {version}" for name, version in about.get("versions", {}).items())),
        ("Machine", f"{machine.get('system')}, {machine.get('processor')}, {machine.get('cores')} cores"),
    ]
    listed = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in lines)
    settings = escape(json.dumps(about.get("settings", {}), indent=1))
    return (
        f'<section id="making"><h2>Reproducing the report</h2><dl class="methods">{listed}</dl>'
        "<p>All rows are in results.csv, curves.csv, questions.csv, programs.csv, people.csv, datasets.csv, "
        "survival.csv and timing.csv beside this page; the same seeds and versions give the same rows, except for "
        "times.</p>"
        f"<details><summary>All settings</summary><pre>{settings}</pre></details></section>"
    )
