"""Draws docs/figures from what `bench/search.py --out FILE` wrote: `python bench/figures.py FILE …`."""

import json
import sys
from pathlib import Path

from matplotlib.figure import Figure

FIGURES = Path(__file__).parents[1] / "docs" / "figures"
COLOURS = {"german": "#0072B2", "adult": "#D55E00", "syn": "#009E73", "syn_long": "#CC79A7"}
MARKS = {"german": "o", "adult": "s", "syn": "^", "syn_long": "D"}


def main() -> None:
    rows = [row for name in sys.argv[1:] for row in json.loads(Path(name).read_text())]
    figure = Figure(figsize=(8, 3.6), layout="constrained")
    success, ratio = figure.subplots(1, 2)
    for name, colour in COLOURS.items():
        mine = [row["budgets"] for row in rows if row["benchmark"] == name]
        if not mine:
            continue
        budgets = list(mine[0])
        for axis, key in ((success, "success"), (ratio, "ratio")):
            mean = [sum(row[budget][key] for row in mine) / len(mine) for budget in budgets]
            axis.plot([int(b) for b in budgets], mean, marker=MARKS[name], markersize=5, color=colour, label=name)
    for axis, label in ((success, "people with a plan that holds"), (ratio, "effort ÷ least possible effort")):
        axis.set_xscale("log")
        axis.set_xticks([1, 2, 5, 10, 20, 50], ["1", "2", "5", "10", "20", "50"])
        axis.minorticks_off()
        axis.set_xlabel("most questions allowed for a person")
        axis.set_ylabel(label)
        axis.grid(alpha=0.3)
    ratio.axhline(1, color="grey", linewidth=1)
    success.legend(frameon=False)
    FIGURES.mkdir(parents=True, exist_ok=True)
    for suffix in ("png", "svg"):
        figure.savefig(FIGURES / f"search-budget.{suffix}", dpi=130)


if __name__ == "__main__":
    main()
