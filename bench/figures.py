"""Draw docs/figures from results of benchmarks: `python bench/figures.py [--search F] [--program F] [--survival F …]`.

`--search`, from `bench/search.py --out …`, draws success and cost ratio against the query budget; `--program`, from
`bench/program.py --prefer … --out …`, success and cost ratio of programs by preference; `--survival`, from
`bench/survival.py --refits --program --frontier --limits --out …`, survival against cost, and stated against realised
survival; several files are merged. Figures are white, as their colours are not readable on dark pages.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from counterplan.experiments.drawing import report_style
from counterplan.experiments.frontier import ACCEPTED, COMMITTEE, ORACLE
from counterplan.experiments.survival_figures import frontier_figure, reliability_figure
from counterplan.survival.goal import WEIGHTS

FIGURES = Path(__file__).parents[1] / "docs" / "figures"
COLOURS = {"german": "#0072B2", "adult": "#D55E00", "syn": "#009E73", "syn_long": "#CC79A7", "taiwan": "#E69F00"}
MARKS = {"german": "o", "adult": "s", "syn": "^", "syn_long": "D", "taiwan": "v"}
Rows = list[dict[str, Any]]


def means(rows: Rows, key: str, figure: str) -> list[float]:
    """The mean over seeds, for each budget."""
    return [sum(row[key][budget][figure] for row in rows) / len(rows) for budget in rows[0][key]]


def label(axis: Axes, x: str, y: str) -> None:
    axis.set_xscale("log")
    axis.minorticks_off()
    axis.set_xlabel(x)
    axis.set_ylabel(y)
    axis.grid(alpha=0.3)


def save(figure: Figure, name: str) -> None:
    FIGURES.mkdir(parents=True, exist_ok=True)
    figure.savefig(FIGURES / f"{name}.png", dpi=130)


def search_budget(rows: Rows) -> None:
    figure = Figure(figsize=(8, 3.6), layout="constrained")
    success, ratio = figure.subplots(1, 2)
    for name, colour in COLOURS.items():
        group = [row for row in rows if row["benchmark"] == name]
        for axis, key in ((success, "success"), (ratio, "ratio")) if group else ():
            budgets, heights = [int(budget) for budget in group[0]["budgets"]], means(group, "budgets", key)
            axis.plot(budgets, heights, marker=MARKS[name], markersize=5, color=colour, label=name)
    for axis, name in ((success, "success"), (ratio, "cost ratio")):
        label(axis, "query budget per person", name)
        axis.set_xticks([1, 2, 5, 10, 20, 50], ["1", "2", "5", "10", "20", "50"])
    ratio.axhline(1, color="grey", linewidth=1)
    success.legend(frameon=False)
    save(figure, "search-budget")


def preferences(rows: Rows) -> None:
    """Success against cost ratio of programs by preference, with their size."""
    names = [name for name in COLOURS if any(row["benchmark"] == name for row in rows)]
    figure = Figure(figsize=(1 + 4.6 * len(names), 3.8), layout="constrained")
    for axis, name in zip(figure.subplots(1, len(names), squeeze=False)[0], names, strict=True):
        marks = {}
        for prefer in dict.fromkeys(row["prefer"] for row in rows):
            group = [row for row in rows if row["benchmark"] == name and row["prefer"] == prefer]
            if group:
                means = [sum(row["program"][key] for row in group) / len(group) for key in ("ratio", "success")]
                marks[f"{prefer}\n{sum(row['leaves'] for row in group) / len(group):.0f} leaves"] = means
        for text, (ratio, success) in marks.items():
            crowded = any(0 < high - success < 0.05 and abs(far - ratio) < 0.1 for far, high in marks.values())
            axis.plot(ratio, success, marker=MARKS[name], markersize=8, color=COLOURS[name])
            axis.annotate(
                text,
                (ratio, success),
                textcoords="offset points",
                xytext=(0, -28 if crowded else 8),
                fontsize=9,
                ha="center",
            )
        axis.set_title(name)
        axis.set_xlabel("cost ratio")
        axis.set_ylabel("success")
        axis.margins(x=0.35, y=0.3)
        axis.grid(alpha=0.3)
    save(figure, "preferences")


ESTIMATES = {"survival": COMMITTEE, "refits": "refits", "margin": "margin", "at_least": "at_least", "oracle": ORACLE}
"""Methods by their names in the frontiers of bench/survival.py."""


def survival_records(rows: Rows) -> Iterator[dict[str, Any]]:
    """Records of `counterplan.experiments.frontier` from the results of bench/survival.py."""
    for row in rows:
        head, measured = {key: row[key] for key in ("benchmark", "seed")}, row["rows"]
        yield head | {"method": ACCEPTED, "value": None, "held": row["accepted"], "ratio": None}
        points = {
            (ESTIMATES[name], point["weight"]): point
            for name, curve in row.get("frontier", {}).items()
            for point in curve
        }
        for goal, weight in WEIGHTS.items():
            plans = measured.get(f"guided {goal}", measured[f"exact {goal}"])["pairs"]
            points[COMMITTEE, weight] = measured[f"exact {goal}"] | {"plans": plans}
            if f"refits {goal}" in measured:
                points["refits", weight] = measured[f"refits {goal}"]
        if any(method == ORACLE for method, _ in points):
            points[ORACLE, 0.0] = measured["exact none"]
        if "program" in measured:
            points["program", WEIGHTS["balanced"]] = measured["program"]
        for (method, value), point in points.items():
            yield head | point | {"method": method, "value": value}


def merged(parts: list[Rows]) -> Rows:
    """Results of several runs of bench/survival.py: one row for each benchmark and seed. The first runs win."""
    rows: dict[tuple[str, int], dict[str, Any]] = {}
    for row in (row for part in parts for row in part):
        known = rows.setdefault((row["benchmark"], row["seed"]), {"rows": {}, "frontier": {}})
        for key, value in row.items():
            known[key] = value | known[key] if isinstance(value, dict) else known.get(key, value)
    return list(rows.values())


def survival(parts: list[Rows]) -> None:
    """Survival against cost by method, and the reliability diagram."""
    records = list(survival_records(merged(parts)))
    with report_style():
        for draw, name in ((frontier_figure, "survival-frontier"), (reliability_figure, "survival-reliability")):
            draw(records).savefig(FIGURES / f"{name}.png", dpi=200)


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("search", "program", "survival"):
        several = "+" if name == "survival" else None
        parser.add_argument(f"--{name}", nargs=several, type=lambda path: json.loads(Path(path).read_text()))
    options = parser.parse_args()
    if options.search:
        search_budget(options.search)
    if options.program:
        preferences(options.program)
    if options.survival:
        survival(options.survival)


if __name__ == "__main__":
    main()
