"""Shares and costs by group on axes of matplotlib, with the intervals that the audit computed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from counterplan.audit.formatting import fewer_than, percent
from counterplan.audit.settings import AuditSettings, GroupName
from counterplan.errors import SettingError
from counterplan.plotting import BLUE, EDGE, GREY, label_rows, line_width, new_axes, percent_axis, plain, write_beside
from counterplan.problem.values import did_you_mean

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GroupMeasure = Literal["recourse", "cost"]
_COLUMNS = {
    "recourse": ("recourse_share", "recourse_low", "recourse_high", "refused"),
    "cost": ("cost_q50", "cost_q50_low", "cost_q50_high", "recourse"),
}
"""Columns of the table of groups: the value, its interval, and the number of people that it is of."""
_POINT: dict[str, Any] = {
    "fmt": "o",
    "color": BLUE,
    "ecolor": EDGE,
    "markeredgecolor": EDGE,
    "elinewidth": 1.4,
    "capsize": 4,
    "clip_on": False,
}
"""Style of a point with its interval."""
_BESIDE_LABELS = 0.6
"""Share of the width that the labels of rows leave to the axes."""


def draw_groups(
    table: pd.DataFrame,
    settings: AuditSettings,
    ax: Axes | None = None,
    column: GroupName | None = None,
    measure: GroupMeasure = "recourse",
) -> Axes:
    """Draw a measure of everybody and of each group, as `AuditResult.groups` has it."""
    if not isinstance(measure, str) or measure not in _COLUMNS:
        hint = did_you_mean(measure, _COLUMNS) if isinstance(measure, str) else ""
        raise SettingError(f"'measure' should be one of {', '.join(map(repr, _COLUMNS))}, not {measure!r}{hint}")
    rows = _rows(table, column)
    numbers = rows[[*_COLUMNS[measure]]].to_numpy(float)  # [G, 4]
    ax = new_axes(ax, len(rows))
    counts = [f"n = {int(count):,}" for count in numbers[:, 3]]
    label_rows(ax, [f"{label} ({count})" for label, count in zip(_labels(rows), counts, strict=True)])
    level = percent(settings.level, 0)
    if measure == "recourse":
        percent_axis(ax)
        label = f"refused people who have a plan (%); lines: {level} intervals"
    else:
        finite = numbers[:, :3][np.isfinite(numbers[:, :3])]
        ax.set_xlim(0, 1.08 * finite.max() if finite.size and finite.max() > 0 else 1.0)
        label = f"median cost of plans; lines: {level} bootstrap intervals"
    ax.set_xlabel(plain(label, int(_BESIDE_LABELS * line_width(ax))))
    if not math.isnan(numbers[0, 0]):
        ax.axvline(numbers[0, 0], color=GREY, linewidth=1, linestyle="--", zorder=1)
    for row, (value, low, high, _) in enumerate(numbers.tolist()):
        if math.isnan(value):
            write_beside(ax, fewer_than(settings.min_group), (0, row), style="italic")
        else:
            _draw_interval(ax, row, value, low, high)
    return ax


def _draw_interval(ax: Axes, row: int, value: float, low: float, high: float) -> None:
    """A point with its interval; a side without a bound ends with an arrow at the edge of the axes."""
    left, right = ax.get_xlim()
    ends = (max(low, left), min(high, right))
    ax.errorbar([value], [row], xerr=[[value - ends[0]], [ends[1] - value]], **_POINT)
    for bound, end, marker in ((low, ends[0], "<"), (high, ends[1], ">")):
        if math.isinf(bound):
            ax.plot([end], [row], marker, color=EDGE, linestyle="none", clip_on=False)


def _rows(table: pd.DataFrame, column: GroupName | None) -> pd.DataFrame:
    """Everybody, and the groups by `column`, or all groups."""
    if column is None:
        return table
    if not isinstance(column, (str, tuple, list)):
        raise SettingError(f"'column' should be the name of a column, or a tuple of names, not {column!r}")
    parts: Sequence[Any] = [part.strip() for part in column.split("*")] if isinstance(column, str) else list(column)
    names = [name for name in dict.fromkeys(table["grouping"].tolist()) if name]
    wanted = column if isinstance(column, str) and column in names else " × ".join(map(str, parts))
    if wanted not in names:
        known = f"the audit has groups by {', '.join(names)}" if names else "the audit has no groups"
        raise SettingError(f"there are no groups by '{wanted}'{did_you_mean(wanted, names)}; {known}")
    return table[table["grouping"].isin(["", wanted])]


def _labels(rows: pd.DataFrame) -> list[str]:
    """The groups; with their columns, if there are several."""
    several = rows["grouping"].nunique() > 2
    named = several & (rows["grouping"] != "")
    return list((rows["grouping"] + ": ").where(named, "") + rows["group"])
