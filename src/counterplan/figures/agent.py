"""The learning curve of a training run, as a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from counterplan.figures.style import BLUE, ORANGE, new_figure, write_figure


def draw_curve(metrics: Sequence[Mapping[str, Any]], path: Path, title: str) -> None:
    """Success and cost over the questions asked, on training and validation people, written to `path`."""
    checked = [row for row in metrics if row["validation_success"] is not None]
    figure = new_figure()
    success, cost = figure.subplots(2, 1, sharex=True)
    for axis, key, label in ((success, "success", "people with a plan"), (cost, "cost", "mean effort of plans")):
        trained = "solved" if key == "success" else "cost"
        axis.plot([r["queries"] for r in metrics], [r[trained] for r in metrics], color=BLUE, label="training people")
        axis.plot(
            [r["queries"] for r in checked], [r[f"validation_{key}"] for r in checked], "o-", color=ORANGE,
            markersize=4, label="validation people",
        )  # fmt: skip
        axis.set_ylabel(label)
        axis.grid(alpha=0.3)
    success.set_title(title)
    success.legend(loc="lower right", frameon=False)
    cost.set_xlabel("questions to the black box")
    write_figure(figure, path)
