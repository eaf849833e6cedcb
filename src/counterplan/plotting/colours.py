"""Colours that colour-blind people can tell apart (Okabe and Ito), and hatches for print in black and white."""

from __future__ import annotations

BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#999999"
EDGE = "#1a1b20"
"""The colour of the edges of bars that have hatches."""
FILLS = (("#d6e8f4", ""), ("#9fc8e0", "///"), ("#56B4E9", "..."), ("#E69F00", "xxx"))
"""Fill and hatch of the parts of stacked bars, light enough for dark hatches."""
