"""Colours, and how figures are created and written; matplotlib comes with the extra `[train]`."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from counterplan.errors import SettingError
from counterplan.plotting.axes import MISSING
from counterplan.plotting.colours import BLUE, GREY, ORANGE
from counterplan.storage.files import write_inside

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["BLUE", "GREY", "ORANGE", "new_figure", "write_figure"]


def new_figure(width: float = 7, height: float = 5) -> Figure:
    """Create an empty figure.

    Parameters
    ----------
    width, height : float
        Size in inches.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    SettingError
        If matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise SettingError(MISSING) from error
    return Figure(figsize=(width, height), layout="constrained")


def write_figure(figure: Figure, path: Path) -> None:
    """Write a figure, whole or not at all; a link of that name is replaced, never followed.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        The figure.
    path : pathlib.Path
        The file, whose extension determines the format.
    """
    buffer = io.BytesIO()
    figure.savefig(buffer, format=path.suffix.lstrip("."), dpi=120)
    write_inside(path.parent, path.name, buffer.getvalue())
