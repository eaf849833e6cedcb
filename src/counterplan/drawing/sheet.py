"""`Sheet`: the elements of a drawing, in the order in which they are drawn, and the area that they cover."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from importlib.resources import files

from counterplan.drawing.texts import escaped, text_width

Point = tuple[float, float]
LINE_HEIGHT = 1.36
_HEAD = 9.0
"""Length of an arrow head."""


def palette() -> str:
    """The colours of drawings, light and dark, as CSS variables of `svg.drawing`."""
    return _css("palette.css")


def page_style() -> str:
    """The style of reports as pages, light and dark: sections as cards, tables, figures."""
    return _css("page.css")


def _css(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


class Sheet:
    """Collects boxes, arrows and texts. `kind` is one or several classes of the style sheet."""

    def __init__(self) -> None:
        self.elements: list[str] = []
        self.right = self.bottom = 0.0

    def cover(self, right: float, bottom: float) -> None:
        """Extend the area to a point."""
        self.right, self.bottom = max(self.right, right), max(self.bottom, bottom)

    def add(self, element: str) -> None:
        """Add an element as text; `cover` what it needs."""
        self.elements.append(element)

    def box(self, x: float, y: float, width: float, height: float, kind: str = "", radius: float = 10) -> None:
        """Add a box with round corners; of kind "ground" it hides what is below it."""
        self.cover(x + width, y + height)
        self.add(
            f'<rect class="{f"box {kind}".rstrip()}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" '
            f'height="{height:.1f}" rx="{radius:g}"/>'
        )

    def text(
        self, x: float, y: float, lines: str | Sequence[str], kind: str = "", size: float = 13, anchor: str = "start"
    ) -> float:
        """Add lines of text below `y`; returns the y below them."""
        given = [lines] if isinstance(lines, str) else lines
        bold = "bold" in kind.split()
        name = f' class="{kind}"' if kind else ""
        for line in given:
            width = text_width(line, size, bold)
            self.cover(x + {"start": width, "middle": width / 2, "end": 0.0}[anchor], y + size * LINE_HEIGHT)
            place = "" if anchor == "start" else f' text-anchor="{anchor}"'
            self.add(f'<text{name} x="{x:.1f}" y="{y + size:.1f}" font-size="{size:g}"{place}>{escaped(line)}</text>')
            y += size * LINE_HEIGHT
        return y

    def connect(self, points: Sequence[Point], kind: str = "", radius: float = 8, head: bool = True) -> None:
        """Add a line along straight lines between `points`, with round corners, and an arrow head."""
        for point in points:
            self.cover(*point)
        before, tip = points[-2], points[-1]
        end = _towards(tip, before, _HEAD - 1, 1.0) if head else tip
        self._line(_rounded_path([*points[:-1], end], radius), kind)
        if head:
            self._head(tip, (tip[0] - before[0], tip[1] - before[1]), kind)

    def curve(self, start: Point, end: Point, kind: str = "", head: bool = True) -> None:
        """Add a curve from left to right that begins and ends horizontally, and an arrow head."""
        x = end[0] - (_HEAD - 1 if head else 0)
        middle = (start[0] + x) / 2
        points = start, (middle, start[1]), (middle, end[1]), (x, end[1])
        first, *others = (f"{across:.1f} {down:.1f}" for across, down in points)
        self._line(f"M{first}C{' '.join(others)}", kind)
        if head:
            self._head(end, (1.0, 0.0), kind)

    def _line(self, path: str, kind: str) -> None:
        width = 2.2 if "lit" in kind.split() else 1.6
        self.add(f'<path class="{f"line {kind}".rstrip()}" d="{path}" stroke-width="{width}"/>')

    def _head(self, tip: Point, direction: Point, kind: str) -> None:
        length = math.hypot(*direction) or 1.0
        ahead = direction[0] / length, direction[1] / length
        back = tip[0] - _HEAD * ahead[0], tip[1] - _HEAD * ahead[1]
        side = -ahead[1] * _HEAD * 0.5, ahead[0] * _HEAD * 0.5
        points = (tip, (back[0] + side[0], back[1] + side[1]), (back[0] - side[0], back[1] - side[1]))
        shape = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        self.add(f'<path class="{f"head {kind}".rstrip()}" d="M{shape}z"/>')

    def svg(self, title: str, description: str, *, margin: float = 16, name: str = "drawing", style: str = "") -> str:
        """The drawing as a standalone file with a background; `title` and `description` are for screen readers."""
        width, height = math.ceil(self.right + margin), math.ceil(self.bottom + margin)
        lines = [
            '<?xml version="1.0" encoding="UTF-8"?>',
            f'<svg xmlns="http://www.w3.org/2000/svg" class="{name}" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}" role="img" aria-labelledby="drawing-title drawing-text">',
            f'<title id="drawing-title">{escaped(title)}</title>',
            f'<desc id="drawing-text">{escaped(description)}</desc>',
            f"<style>{palette()}{_css('sheet.css')}{style}</style>",
            f'<rect class="ground" width="{width}" height="{height}"/>',
            *self.elements,
            "</svg>",
        ]
        return "\n".join(lines) + "\n"


def image_tag(svg: str, alt: str) -> str:
    """A drawing as an HTML image that contains it, so that its style cannot leak into the page."""
    data = base64.b64encode(svg.encode("utf-8", "replace")).decode()
    return f'<img alt="{escaped(alt)}" src="data:image/svg+xml;base64,{data}"/>'


def _rounded_path(points: Sequence[Point], radius: float) -> str:
    """A path along straight lines between points, with round corners."""
    parts = [f"M{points[0][0]:.1f} {points[0][1]:.1f}"]
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        near, far = (_towards(corner, other, radius, 0.5) for other in (before, after))
        parts.append(f"L{near[0]:.1f} {near[1]:.1f}Q{corner[0]:.1f} {corner[1]:.1f} {far[0]:.1f} {far[1]:.1f}")
    return "".join([*parts, f"L{points[-1][0]:.1f} {points[-1][1]:.1f}"])


def _towards(start: Point, end: Point, distance: float, most: float) -> Point:
    """The point at `distance` from `start` towards `end`, at most this share of the way."""
    length = math.dist(start, end) or 1.0
    share = min(distance / length, most)
    return start[0] + (end[0] - start[0]) * share, start[1] + (end[1] - start[1]) * share
