"""Axes of matplotlib for the methods `plot` of plans and audits, and what these plots share: colours, rows, notes.

Matplotlib is imported on use. It comes with the extra `[train]` or `[experiments]`.

May import: errors.
"""

from counterplan.plotting.axes import (
    MISSING,
    label_rows,
    line_width,
    new_axes,
    percent_axis,
    plain,
    row_frame,
    write_beside,
    write_note,
)
from counterplan.plotting.colours import BLUE, EDGE, FILLS, GREY, ORANGE

__all__ = [
    "BLUE",
    "EDGE",
    "FILLS",
    "GREY",
    "MISSING",
    "ORANGE",
    "label_rows",
    "line_width",
    "new_axes",
    "percent_axis",
    "plain",
    "row_frame",
    "write_beside",
    "write_note",
]
