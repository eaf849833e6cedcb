"""The learning curve of an agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from counterplan.figures.style import BLUE, ORANGE, new_figure, write_figure


def draw_curve(metrics: Sequence[Mapping[str, Any]], path: Path, title: str) -> None:
    """Draw success rate and cost of plans against queries, for training and validation people.

    Parameters
    ----------
    metrics : sequence of mappings
        One report per group of training people.
    path : pathlib.Path
        The file to write.
    title : str
        Title of the figure.
    """
    validated = [row for row in metrics if row["validation_success"] is not None]
    figure = new_figure()
    success, cost = figure.subplots(2, 1, sharex=True)
    for axis, key, label in ((success, "success", "success rate"), (cost, "cost", "mean cost of plans")):
        trained = "solved" if key == "success" else "cost"
        axis.plot([r["queries"] for r in metrics], [r[trained] for r in metrics], color=BLUE, label="training people")
        queries, values = [r["queries"] for r in validated], [r[f"validation_{key}"] for r in validated]
        axis.plot(queries, values, "o-", color=ORANGE, markersize=4, label="validation people")
        axis.set_ylabel(label)
        axis.grid(alpha=0.3)
    success.set_title(title)
    success.legend(loc="lower right", frameon=False)
    cost.set_xlabel("queries to the black box")
    write_figure(figure, path)
