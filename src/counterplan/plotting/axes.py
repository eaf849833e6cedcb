"""Axes that plots are drawn on: given ones, or those of a new figure, with rows of labels."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from counterplan.errors import SettingError, visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MISSING = "plots need matplotlib; pip install 'counterplan[train]'"
LABEL_WIDTH = 38
"""Most characters of a line of a row's label."""
_NOTE_WIDTH = 64
"""Most characters of a line of a note."""
_MOST_LINES = 4
"""Most lines of a row's label; longer ones end with an ellipsis."""
_WIDTH, _ROW, _FRAME = 8.0, 0.62, 1.5
"""Inches: the width of a new figure, the height of a row, and of everything else."""
_CHARACTER = 0.54
"""Mean width of a character, relative to the font size."""
_LAYOUT_GAIN = 1.25
"""How much wider axes become, usually at least, when a layout engine has placed them."""
_FEWEST_CHARACTERS = 24
"""Least number of characters of a line, however narrow the axes are."""


def new_axes(ax: Axes | None, rows: float = 4) -> Axes:
    """The axes to draw on. Their figure gets a layout engine if it has none, so that long texts are not cut.

    Parameters
    ----------
    ax : matplotlib.axes.Axes or None
        Axes of the caller, which are returned; None creates a figure with `matplotlib.pyplot.subplots`.
    rows : float, default=4
        Rows of labels that a new figure has to hold.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    SettingError
        If matplotlib is not installed, or `ax` is something else.
    """
    _check_axes(ax)
    if ax is None:
        import matplotlib.pyplot as plt

        return plt.subplots(figsize=(_WIDTH, _FRAME + _ROW * max(rows, 2)), layout="constrained")[1]
    figure = ax.figure.figure  # that of the axes may be a part of it
    if figure.get_layout_engine() is None:
        figure.set_layout_engine("constrained")
    return ax


def _check_axes(ax: object) -> None:
    """Raise a SettingError if matplotlib is not installed, or if `ax` is neither None nor an Axes."""
    try:
        from matplotlib.axes import Axes
    except ImportError as error:
        raise SettingError(MISSING) from error
    if ax is not None and not isinstance(ax, Axes):
        raise SettingError(f"'ax' should be an Axes of matplotlib or None, got {type(ax).__name__}")


def plain(text: str, width: int = LABEL_WIDTH, lines: int = _MOST_LINES) -> str:
    """A text of at most `lines` lines of `width` characters, without control characters.

    Examples
    --------
    >>> plain("Change your housing from rent to own", 20)
    'Change your housing\\nfrom rent to own'
    """
    return "\n".join(textwrap.wrap(visible(text), width, max_lines=lines, placeholder=" …"))


def line_width(ax: Axes | None) -> int:
    """Number of characters of a line of text across the axes, or across those of a new figure."""
    _check_axes(ax)
    from matplotlib import rcParams

    inches = 0.95 * _WIDTH if ax is None else _LAYOUT_GAIN * ax.get_window_extent().width / ax.figure.dpi
    return max(_FEWEST_CHARACTERS, int(72 * inches / (_CHARACTER * rcParams["font.size"])))


def label_rows(ax: Axes, labels: Sequence[str]) -> None:
    """Label the rows 0, 1, … of horizontal bars, the first at the top. Dollar signs are texts, not formulas."""
    ax.set_yticks(range(len(labels)), [plain(label) for label in labels], parse_math=False)
    ax.set_ylim(len(labels) - 0.4, -0.6)
    row_frame(ax)


def row_frame(ax: Axes) -> None:
    """Axes of horizontal bars: only the horizontal axis has a line, ticks and a grid."""
    ax.tick_params(axis="y", length=0)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.set_axisbelow(True)
    ax.grid(axis="x", alpha=0.3)


def percent_axis(ax: Axes) -> None:
    """Show shares from 0 to 1 on the horizontal axis as percentages, whose unit the label of the axis has."""
    from matplotlib.ticker import PercentFormatter

    ax.set_xlim(0, 1)
    ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=""))


def write_beside(ax: Axes, text: str, end: tuple[float, float], *, inside: bool = False, style: str = "normal") -> None:
    """Write a short text after the `end` of a bar, or before it inside the bar, in white."""
    place, side, colour = ((-6, 0), "right", "white") if inside else ((6, 0), "left", None)
    words = ax.annotate(text, end, place, textcoords="offset points", va="center", ha=side, color=colour)
    words.set(fontsize="small", fontstyle=style)


def write_note(ax: Axes, text: str) -> Axes:
    """Show a sentence instead of a plot."""
    words = plain(text, _NOTE_WIDTH, 12)
    ax.text(0.5, 0.5, words, transform=ax.transAxes, ha="center", va="center", parse_math=False)
    ax.set_axis_off()
    return ax
