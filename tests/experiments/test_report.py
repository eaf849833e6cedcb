"""Tables, figures, findings and report, from rows written by hand."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rows_by_hand import by_hand, with_paper

from counterplan import CounterplanError
from counterplan.experiments import drawing, figures, report
from counterplan.experiments.drawing import report_style
from counterplan.experiments.findings import findings
from counterplan.experiments.formatting import ReportTable
from counterplan.experiments.rows import ExperimentRows
from counterplan.experiments.tables import against_baseline, all_tables, datasets

ABOUT = {
    "options": {"seeds": [0, 1], "quick": False},
    "command": "counterplan experiment",
    "versions": {"counterplan": "0"},
    "machine": {"system": "Linux", "processor": "x86_64", "cores": 2},
    "settings": {"people": None},
}


def row_of(table: ReportTable, section: str, name: str) -> tuple[str, ...]:
    return next(row for heading, rows in table.sections if heading == section for row in rows if row[0] == name)


def test_tables_say_what_the_rows_say() -> None:
    tables = all_tables(by_hand())
    _, success, ratio, cost, steps, queries, *published = row_of(tables["everybody"], "german", "search")
    assert success == "0.750 ± 3.176"
    assert ratio.startswith("1.125 ±")
    assert cost.startswith("12.50 ±")
    assert steps.startswith("1.25 ±")
    assert queries.startswith("2.0 ±")
    assert published == ["–", "–", "–"], "published figures are of the paper's methods"
    assert row_of(tables["everybody"], "german", "exact")[6:] == ("1.00", "6.2", "–")
    assert row_of(tables["datasets"], "", "refused test people looked at")[1] == "2.5 (2–3)"
    assert row_of(tables["datasets"], "", "people")[1] == "1,000"
    rows = by_hand()
    rows.datasets["optimal_length"] = np.linspace(1.92, 2.12, len(rows.datasets))
    assert row_of(datasets(rows), "", "mean steps of the best plan")[1] == "2.02 (1.92–2.12)"
    assert row_of(tables["failures"], "german", "M_cscf") == ("M_cscf", "5", "1", "2.0", "1", "1", "0", "0", "0")
    assert row_of(tables["failures"], "german", "search")[1:4] == ("5", "1", "9.0"), "the queries on one without a plan"
    assert row_of(tables["failures"], "german", "exact") == ("exact", "5", "1", "2.0", "0", "0", "0", "0", "0")
    assert ("M_cscf", "illegal", "seed 1: 1") in dict(tables["failed_people"].sections)["german"]
    assert dict(tables["failed_people"].sections)["provably infeasible"] == (("german", "no plan exists", "seed 0: 2"),)
    assert row_of(tables["questions"], "german", "program")[1:4] == ("600 ± 1,271", "0", "40")
    assert row_of(tables["timing"], "german", "M_cscf") == ("M_cscf", "–", "1,000.0", "2,000.0")
    groups = dict(tables["groups"].sections)["german: sex"]
    assert ("search", "female", "2", "1.000", "1.000", "7.50", "1.00") in groups
    assert ("search", "male", "2", "0.500", "1.500", "30.00", "2.00") in groups


def test_the_papers_rows_stand_beside_the_published_figures() -> None:
    tables = all_tables(with_paper())
    assert row_of(tables["everybody"], "german", "M_mcts")[6:] == ("1.00", "14.3", "24")
    assert row_of(tables["everybody"], "german", "M_prog")[6:] == ("0.94", "14.3", "0")
    assert row_of(tables["ablation"], "german", "M_agent")[4] == "0.00"
    hundred = row_of(tables["traces"], "german", "100 traces")
    assert hundred[1:3] == ("1.000", "2.00")
    assert hundred[6:] == ("2,500", "0.94", "2.53")
    search, program, large = (row_of(tables["totals"], "german", name) for name in ("M_mcts", "M_prog", "M_cscf"))
    assert search[1:3] == ("40,000", "36,000")
    assert search[5:] == ("60", "783")
    assert program[3:] == ("6,000", "5,940", "0", "0")
    assert large[5].startswith("400 ±"), "600 and 200 for all people of a seed"
    assert large[6] == "340,000"


def test_the_papers_four_models_are_compared_on_the_people_that_they_solve() -> None:
    """Person 0 of seed 0 is solved by M_mcts, M_prog and both M_cscf; search solves person 1 too."""
    tables = all_tables(with_paper())
    assert [row[0] for row in dict(tables["in_common"].sections)["german"]] == [
        *("M_mcts", "M_prog", "M_cscf", "M_cscf small", "exact"),
    ]
    assert row_of(tables["in_common"], "german", "M_mcts")[1:] == ("1", "1.200", "12.00", "1.00", "14.6", "2.87")
    assert row_of(tables["in_common"], "german", "exact")[1:4] == ("1", "1.000", "10.00")
    rows = with_paper()
    failing = (rows.results["method"] == "evolution_small") & (rows.results["person"] == 0)
    none = replace(rows, results=rows.results.assign(success=rows.results["success"] & ~failing))
    assert not dict(all_tables(none)["in_common"].sections)["german"]
    assert row_of(all_tables(none)["in_common_own"], "german", "search")[1:4] == ("1", "1.000", "10.00")


def test_findings_compare_the_papers_rows_with_the_published_ones() -> None:
    text = " ".join(findings(with_paper()))
    assert "By the paper’s preset, M_mcts succeeds for 50 % of people (published: 100 %); M_prog" in text
    assert "The cost ratio of M_mcts is 1.20; its published mean cost is 2.3 times the mean optimal cost" in text
    assert (
        "An agent trained without tree search, within the same budget, succeeds alone for 0 % of people, the one of "
        "M_mcts for 50 % of people: it is worse on every benchmark."
    ) in text
    assert "By the paper’s preset" not in " ".join(findings(by_hand()))


def test_expected_values_that_are_not_reached_are_marked() -> None:
    tables = all_tables(by_hand())
    marks = [cell[-1] for cell in row_of(tables["targets"], "search", "german")[1::2]]
    assert marks == ["✗", "✗", "✓", "–"]
    assert row_of(tables["targets"], "search", "german")[5] == "2.00 ± 0.00 ✓", "infeasible people do not count"
    assert row_of(tables["targets"], "program", "german")[7:] == ("3.00 ± 0.00 ✓", "≤ 4.2")


def test_rules_that_are_longer_than_expected_are_reported() -> None:
    rows = by_hand()
    before = " ".join(findings(rows))
    longer = rows.results.assign(rule_length=rows.results["rule_length"] + 1.3)
    rows = replace(rows, results=longer)
    assert row_of(all_tables(rows)["targets"], "program", "german")[7] == "4.30 ± 0.00 ✗"
    assert "program on german (rule length)" in " ".join(findings(rows))
    assert "program on german (rule length)" not in before
    assert "Of 7 expected values of success, cost ratio, queries and rule length, 3 are reached" in before


def altered(**changes: float) -> ExperimentRows:
    """The rows by hand with factors on CSCF's cost, queries and seconds, and on search's cost (`ours`)."""
    rows = by_hand()
    results, queries, timing = rows.results.copy(), rows.queries.copy(), rows.timing.copy()
    results.loc[results["method"] == "evolution", "cost"] *= changes.get("cost", 1)
    results.loc[results["method"] == "search", "cost"] *= changes.get("ours", 1)
    theirs = (queries["method"] == "evolution") & (queries["phase"] == "prediction")
    queries["remembered"] = queries["remembered"].mask(theirs, int(changes.get("cached", 0)))
    queries["rows"] = queries["rows"].mask(theirs, queries["rows"] * int(changes.get("queries", 1)))
    timing.loc[timing["method"] == "evolution", "cpu_seconds"] *= changes.get("seconds", 1)
    return replace(rows, results=results, queries=queries, timing=timing)


def beside(rows: ExperimentRows) -> list[str]:
    """The marked cells of search against CSCF: success, cost, queries, candidates, time."""
    row = row_of(against_baseline(rows), "search", "german")
    return [row[place] for place in (1, 4, 8, 10, 13)]


def test_search_is_set_beside_the_baseline_as_on_paper() -> None:
    # Both solve person 0 of each seed: 10 and 5 against 20 and 10; queries 2 against 150, seconds .2 against 1.
    success, cost, queries, candidates, time = beside(by_hand())
    assert success == "0.750 ± 3.176 ✓"
    assert cost.startswith("7.50 ±")
    assert cost.endswith("✓")
    assert (queries, candidates, time) == ("75.0 ✗", "75.0 ✗", "5.0 ✗")
    text = " ".join(findings(by_hand()))
    assert "Against CSCF, search succeeds more often on every benchmark; has a lower cost" in text
    assert "(CSCF sends 75.0 times as many; without a cache, on no benchmark)" in text
    assert "takes less than a hundredth of its time on no benchmark (CSCF takes 5.0 times as long)" in text
    assert "Of 4 comparisons with CSCF, 2 are as expected. (Here CSCF is vectorized over all people" in text


def test_findings_on_the_baseline_follow_from_the_rows() -> None:
    assert [cell[-1] for cell in beside(altered(ours=3, queries=2, seconds=30))] == ["✓", "✗", "✓", "✓", "✓"]
    assert [cell[-1] for cell in beside(altered(cached=600))] == ["✓", "✓", "✗", "✓", "✗"]
    text = " ".join(findings(altered(ours=3, queries=2, seconds=30)))
    assert "has a lower cost on the people solved by both on no benchmark" in text
    assert "a hundredth of its queries on every benchmark" in text
    assert "a hundredth of its time on every benchmark (CSCF takes 150.0 times as long)" in text
    assert "3 are as expected." in text
    assert "vectorized over all people" not in text
    nothing = by_hand()
    mine = (nothing.queries["method"] == "search") & (nothing.queries["phase"] == "prediction")
    nothing = replace(nothing, queries=nothing.queries.assign(rows=nothing.queries["rows"].mask(mine, 0)))
    assert beside(nothing)[2] == "∞ ✓"
    assert "(CSCF sends ∞ times as many" in " ".join(findings(nothing))
    # If both are optimal, a lower cost is not expected.
    assert beside(altered(cost=0.5))[1].endswith("✓")
    assert "(or both are optimal) on every benchmark" in " ".join(findings(altered(cost=0.5)))
    rows = by_hand()
    assert "Against CSCF" not in " ".join(
        findings(replace(rows, results=rows.results[rows.results["method"] != "evolution"]))
    )


def test_findings_follow_from_the_rows() -> None:
    rows = by_hand()
    text = " ".join(findings(rows))
    assert "5 refused people" in text
    assert "For 1 of them exact search proved infeasibility, which counts against no method." in text
    assert (
        "Search finds a successful plan for 75 % of people, at a cost ratio of 1.12, with 2.0 queries per person"
        in text
    )
    assert "CSCF) solves 50 % of people at a cost ratio of 2.00" in text
    assert "sends 75 times as many queries" in text
    assert "amortized after 14 people" in text  # 2,000 ÷ (150 − 2)
    assert "Protected groups are not compared: no feature has two groups of 30 people or more." in text
    theirs = rows.results[rows.results["method"] == "program"].assign(method="paper_program")
    both = replace(rows, results=pd.concat([rows.results, theirs], ignore_index=True))
    assert (
        "Programs by the paper’s construction, from traces of M_mcts, succeed for 25 % of people at a cost ratio of "
        "1.50, with 3.0 features; the balanced program succeeds more often on no benchmark."
    ) in " ".join(findings(both))
    others = rows.results.copy()
    others.loc[others["method"] == "evolution", "cost"] *= 2
    others["reachable"] = "yes"
    changed = " ".join(findings(replace(rows, results=others)))
    assert "at a cost ratio of 4.00" in changed
    assert "For every one of them a plan exists" in changed
    assert findings(replace(rows, results=rows.results[rows.results["method"] == "exact"]))


def of_seeds(*seeds: int) -> ExperimentRows:
    """The rows by hand of only some seeds."""
    rows = by_hand()
    tables = {name: getattr(rows, name) for name in vars(rows)}
    return ExperimentRows(
        **{name: table[table["seed"].isin(seeds)].reset_index(drop=True) for name, table in tables.items()}
    )


def caption_of(key: str, rows: ExperimentRows) -> str:
    """The caption of a figure, which is drawn but not rendered, as that is slow."""
    spec = next(spec for spec in figures.FIGURES if spec.key == key)
    with report_style():
        return figures.caption_of(spec, rows, spec.draw(rows))


def test_one_seed_has_no_intervals() -> None:
    one, two = of_seeds(0), by_hand()
    for key in ("everybody", "in_common", "traces", "similarity", "time"):
        caption = caption_of(key, one)
        assert "One seed, so there are no intervals." in caption
        assert "95 %" not in caption
        assert "95 % intervals" in caption_of(key, two)
    assert "an arrow ends those that are wider than the frame" in caption_of("everybody", two)
    same = two.results.assign(success=True, outcome="holds", cost=10.0, least_effort=10.0, length=1, reachable="yes")
    assert "wider" not in caption_of("everybody", replace(two, results=same))
    assert "an arrow" not in caption_of("everybody", one)
    for rows, said, unsaid in (
        (one, "With one seed there are none", "wide"),
        (two, "With 2 seeds they are wide", "none:"),
    ):
        tables = all_tables(rows)
        for key in ("targets", "baseline", "everybody", "in_common"):
            assert ("95 %" in tables[key].caption) == (rows is two)
        text = report.page(ABOUT, rows, tables, _no_figures())
        assert said in text
        assert unsaid not in text[text.index("Intervals are over seeds") : text.index('id="methods"')]
        assert "five seeds" not in text


def test_a_single_small_group_keeps_its_name() -> None:
    people = by_hand().people
    many = pd.concat([people[people["group"] == "male"]] * 3, ignore_index=True)
    rows = replace(by_hand(), people=pd.concat([many, people[people["group"] == "female"]], ignore_index=True))
    table = all_tables(rows)["groups"]
    assert {row[1] for row in dict(table.sections)["german: sex"]} == {"male", "female"}
    assert "several groups of fewer than 5 people beside larger ones" in table.caption


class _Page(HTMLParser):
    """What a browser would make of a page: its tags must close, and nothing may be loaded."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.ids += [value or "" for name, value in attrs if name == "id"]
        for name, value in attrs:
            assert name != "src", f"{tag} loads {value}"
            assert not (name in ("href", "xlink:href") and not (value or "").startswith("#")), f"{tag} loads {value}"
        if tag not in ("meta", "br", "use", "path"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if self.open and self.open[-1] == tag:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag in ("use", "path"):
            return
        assert self.open.pop() == tag


@pytest.fixture(scope="module", autouse=True)
def coarse() -> Iterator[None]:
    """Bitmaps of few pixels, which are quick to write; no test looks at them."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(drawing, "DPI", 20)
        yield


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("experiment")
    rows = by_hand()
    evil = rows.people.assign(group=rows.people["group"].replace("male", "<script>alert(1)</script> & co"))
    (folder / "experiment.json").write_text(json.dumps(ABOUT))
    hostile = replace(rows, people=evil)
    hostile.write(folder)
    report.write(folder, hostile)
    return folder


def test_the_page_has_every_section_and_nothing_else_runs(written: Path) -> None:
    text = (written / report.FILE).read_text()
    page = _Page()
    page.feed(text)
    assert not page.open
    assert {key for key, _, _, _ in report.SECTIONS} <= set(page.ids)
    assert len(page.ids) == len(set(page.ids)), "names of drawings collide"
    assert "script" not in page.tags
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; co" in text
    for number in range(1, 11):
        assert re.search(rf"<h2>{number}\. ", text)
    assert "A quick run" not in text
    assert "currentColor" in text


def test_writes_every_table_and_figure_and_the_same_again(written: Path) -> None:
    shown = {name for _, _, figures, _ in report.SECTIONS for name in figures}
    listed = {name for _, _, _, tables in report.SECTIONS for name in tables}
    assert {path.name for path in (written / "figures").iterdir()} == {
        f"{n}.{s}" for n in shown for s in ("png", "svg")
    }
    assert {path.name for path in (written / "tables").iterdir()} == {f"{name}.csv" for name in listed}
    before = {path: path.read_bytes() for path in written.rglob("*") if path.is_file() and path.suffix != ".png"}
    report.write(written, ExperimentRows.read(written))
    assert {path: path.read_bytes() for path in before} == before


def test_the_summary_is_plain_data(written: Path) -> None:
    text = {line["method"]: line for line in json.loads((written / "summary.json").read_text())}
    assert text["search"]["success"] == {"mean": 0.75, "half": pytest.approx(3.1765), "seeds": 2}
    assert text["program"]["cost"] == {"mean": 15.0, "half": None, "seeds": 1}
    assert (text["search"]["people"], text["search"]["solved"]) == (5, 3)


def test_nothing_is_drawn_outside(written: Path) -> None:
    with report_style():
        for key, _, _, draw in figures.FIGURES:
            for axis in [*draw(ExperimentRows.read(written)).axes, *draw(with_paper()).axes]:
                for line in axis.lines:
                    shown = axis.transAxes.inverted().transform(axis.transData.transform(line.get_xydata()))
                    inside = shown[np.isfinite(shown).all(axis=1)]
                    if line.get_transform() == axis.transData and line.get_marker() not in "|_":
                        assert ((inside > -0.01) & (inside < 1.01)).all(), key


def test_error_bars_end_at_the_bounds_of_a_measure_and_arrows_at_the_frame() -> None:
    spec = next(spec for spec in figures.FIGURES if spec.key == "everybody")
    with report_style():
        figure = spec.draw(by_hand())  # two seeds: ± 3.2 of a share
        success, ratio = figure.axes[0], figure.axes[1]
        ends = np.concatenate([bar for bars in success.containers for bar in bars.lines[2][0].get_segments()])
        assert (ends[:, 0].min(), ends[:, 0].max()) == (0, 1)
        assert min(bar[0, 0] for bars in ratio.containers for bar in bars.lines[2][0].get_segments()) == 1
        before = [len(axis.lines) for axis in figure.axes]
        drawing.mark_cut_ends(figure)
    arrows = [line for axis, count in zip(figure.axes, before, strict=True) for line in axis.lines[count:]]
    assert arrows
    assert {line.get_marker() for line in arrows} <= set("<>")
    assert {float(line.get_xdata()[0]) for line in arrows} <= {0.0, 1.0}


def test_published_figures_have_a_legend() -> None:
    for key in ("everybody", "in_common", "questions", "similarity"):
        spec = next(spec for spec in figures.FIGURES if spec.key == key)
        with report_style():
            (legend,) = spec.draw(with_paper()).legends
        assert "published" in [text.get_text() for text in legend.get_texts()], key


def test_the_program_of_the_experiment_is_not_called_the_default_one() -> None:
    spec = next(spec for spec in figures.FIGURES if spec.key == "traces")
    with report_style():
        labels = [text.get_text() for text in spec.draw(by_hand()).axes[3].get_legend().get_texts()]
    assert labels == ["M_prog", "published", "program, balanced"]
    table = all_tables(by_hand())["traces"]
    assert table.sections[0][1][-1][0] == "program, balanced"
    assert "default program" not in spec.caption + table.caption


def test_a_quick_run_and_rows_of_an_earlier_version_say_so(written: Path) -> None:
    rows = ExperimentRows.read(written)
    quick = ABOUT | {"options": {"seeds": [0], "quick": True}}
    page = report.page(quick, rows, all_tables(rows), _no_figures())
    assert "A quick run" in page
    assert "Rows of an earlier version" not in page
    earlier = report.page(ABOUT | {"counterplan_experiment": 1}, rows, all_tables(rows), _no_figures())
    assert "Rows of an earlier version" in earlier
    assert "A quick run" not in earlier


def _no_figures() -> dict[str, report.ReportFigure]:
    names = {name for _, _, figures, _ in report.SECTIONS for name in figures}
    return {name: report.ReportFigure(name, name, "", b"", "<svg ></svg>") for name in names}


@pytest.mark.parametrize(
    ("file", "column", "text", "message"),
    [
        ("results", "success", "Tru", "'Tru' is neither True nor False"),
        ("results", "success", "", "'' is empty, which is not allowed here"),
        ("results", "cost", "1O.0", "'1O.0' is not a number"),
        ("results", "least_effort", "nan", "'nan' is not a number"),
        ("results", "seed", "0x", "'0x' is not a non-negative integer"),
        ("results", "outcome", "hold", "'hold' is none of holds, refused"),
        ("results", "reachable", "nope", "'nope' is none of yes, no, unknown"),
        ("curves", "value", "1.5", "'1.5' is not a non-negative integer"),
        ("questions", "rows", "many", "'many' is not a non-negative integer"),
        ("programs", "leaves", "x", "'x' is not a non-negative integer"),
        ("people", "person", "-1", "'-1' is not a non-negative integer"),
        ("datasets", "reachable", "yes", "'yes' is not a number"),
        ("timing", "cpu_seconds", "1,5", "'1,5' is not a number"),
    ],
)
def test_nothing_odd_is_guessed_at(
    written: Path, tmp_path: Path, run, file: str, column: str, text: str, message: str
) -> None:
    ExperimentRows.read(written).write(tmp_path)
    path = tmp_path / f"{file}.csv"
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    table.loc[1, column] = text
    table.to_csv(path, index=False)
    (tmp_path / "experiment.json").write_text(json.dumps(ABOUT))
    ran = run("experiment", "--out", tmp_path, "--report-only")
    assert ran.code == 2
    assert f"{file}.csv: line 3, column '{column}': {message}" in " ".join(ran.err.split())
    assert not (tmp_path / "report.html").exists()


def test_a_line_that_is_cut_off_is_refused(written: Path, tmp_path: Path) -> None:
    ExperimentRows.read(written).write(tmp_path)
    path = tmp_path / "results.csv"
    path.write_text(path.read_text().rstrip()[:-30])
    with pytest.raises(CounterplanError, match=r"results.csv: line 21: has \d+ cells, not 13"):
        ExperimentRows.read(tmp_path)


def test_rows_are_read_as_they_were_written(written: Path, tmp_path: Path) -> None:
    ExperimentRows.read(written).write(tmp_path)
    for path in tmp_path.glob("*.csv"):
        assert path.read_bytes() == (written / path.name).read_bytes()
    made, read = by_hand(), ExperimentRows.read(written)
    for name in vars(made):
        if name != "people":
            pd.testing.assert_frame_equal(getattr(made, name), getattr(read, name))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda folder: (folder / "results.csv").unlink(), "results.csv: there is no such file"),
        (lambda folder: (folder / "timing.csv").write_text("a,b\n1,2\n"), "timing.csv: has other columns"),
        (lambda folder: (folder / "questions.csv").write_bytes(b"\xff\xfe\x00"), "questions.csv: cannot be read"),
    ],
    ids=["missing", "foreign", "damaged"],
)
def test_refuses_rows_that_are_not_there_or_damaged(written: Path, tmp_path: Path, spoil, message: str) -> None:
    ExperimentRows.read(written).write(tmp_path)
    spoil(tmp_path)
    with pytest.raises(CounterplanError, match=re.escape(message)):
        ExperimentRows.read(tmp_path)
