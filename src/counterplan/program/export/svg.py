"""The automaton drawn: nodes from top to bottom in causal order, transitions as arcs beside them.

An arc over d nodes bulges d steps to the right, so that no two arcs have their middle, and their count, in one place.
Ways back and to the same node bulge to the left.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from importlib.resources import files
from itertools import pairwise
from typing import NamedTuple

from counterplan.drawing import escaped, palette
from counterplan.problem.parts import STOP
from counterplan.program.cautions import spoken
from counterplan.program.export.drawing import Drawing, Edge, drawing
from counterplan.program.export.resolved import title
from counterplan.program.parts import INTERVENE
from counterplan.program.protocol import ProgramLike

_ROW, _TALL, _TOP, _SIDE = 72, 46, 14, 20
_LETTER, _CAPITAL, _LONGEST = 7.7, 10.0, 30
_STEP = 27


class Automaton(NamedTuple):
    """The nodes and arcs of a program as SVG elements, and their place.

    Attributes
    ----------
    elements : list of str
        Nodes and edges carry their numbers: `data-node="2"`, `data-way="0-2"`.
    left, width, height : int
        The left end of the nodes, and the size of all.
    middles : mapping of (str, str) to (float, float)
        A point on or beside the middle of each arc, by the names of its nodes.
    """

    elements: list[str]
    left: int
    width: int
    height: int
    middles: Mapping[tuple[str, str], tuple[float, float]]


def drawing_style() -> str:
    """The style sheet of the drawing."""
    return palette() + files(__package__).joinpath("page", "drawing.css").read_text(encoding="utf-8")


def to_svg(program: ProgramLike) -> str:
    """The drawing as a standalone file, with styles for light and dark."""
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + figure(program, drawing_style()) + "\n"


def figure(program: ProgramLike, style: str = "") -> str:
    """The drawing as an `svg` element."""
    drawn, above = automaton(program), 30 if style else 0
    head, left, width, height = escaped(title(program.problem)), drawn.left, drawn.width, drawn.height
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="drawing automaton" viewBox="0 {-above} {width} '
        f'{height + above}" width="{width}" height="{height + above}" role="img" '
        'aria-labelledby="drawing-title drawing-text">',
        f'<title id="drawing-title">{head}: how the program goes from step to step</title>',
        f'<desc id="drawing-text">{escaped(_described(drawing(program)))}</desc>',
    ]
    if style:
        lines += [
            f"<style>{style}</style>",
            f'<rect class="ground" y="{-above}" width="{width}" height="{height + above}"/>',
            f'<text class="title" x="{left}" y="-8">{escaped(_cut(title(program.problem)))}</text>',
        ]
    return "\n".join([*lines, *drawn.elements, "</svg>"])


def automaton(program: ProgramLike, path: tuple[str, ...] = (), name_of: Callable[[str], str] = spoken) -> Automaton:
    """The nodes and arcs of a program.

    Parameters
    ----------
    program : ProgramLike
    path : tuple of str, optional
        The nodes of one person's way, which is lit up. Without one, arcs have the counts of all people.
    name_of : callable, default=spoken
        The text of a node, by its name.
    """
    drawn, lit = drawing(program), set(pairwise(path))
    names = [_cut(name_of(name)) for name in drawn.nodes]
    under = [_cut(_under(program, name)) for name in drawn.nodes]
    node_width = round(max(max(map(_width, names)), max(map(len, under)) * 6.2)) + 44
    place = {name: i for i, name in enumerate(drawn.nodes)}
    spans = [place[edge.target] - place[edge.source] for edge in drawn.edges]
    left = _SIDE + max([_bulge(-span) + 24 for span in spans if span <= 0], default=0)
    width = left + node_width + max([_bulge(span) for span in spans if span > 1], default=0) + _SIDE + 14
    height = _TOP * 2 + _ROW * (len(names) - 1) + _TALL
    number = {name: i for i, name in enumerate([*program.nodes, STOP])}
    most = max((edge.taken for edge in drawn.edges), default=0) or 1
    elements, middles = [], {}
    for edge in sorted(drawn.edges, key=lambda edge: ((edge.source, edge.target) in lit, edge.taken)):
        way, ends = f"{number[edge.source]}-{number[edge.target]}", (edge.source, edge.target)
        weight = math.sqrt(edge.taken / most) if not path else 0.35 * (ends in lit)
        route = _route(place[edge.source], place[edge.target], left, node_width, 1.4 + 6 * weight if weight else 1.2)
        middles[ends] = route.middle
        elements.append(_edge(edge, way, route, 0.3 + 0.6 * weight, drawn.people, ends in lit, counted=not path))
    for i, name in enumerate(drawn.nodes):
        kind = " first" if name == INTERVENE else " last" if name == STOP else ""
        kind += " lit" if name in path else ""
        middle, top = left + node_width / 2, _TOP + i * _ROW
        elements += [
            f'<g class="node{kind}" data-node="{number[name]}"><title>{escaped(name)}: '
            f"{escaped(_under(program, name))}</title>"
            f'<rect x="{left}" y="{top}" width="{node_width}" height="{_TALL}" rx="12"/>',
            f'<text class="name" x="{middle:g}" y="{top + 20}">{escaped(names[i])}</text>',
            f'<text class="under" x="{middle:g}" y="{top + 36}">{escaped(under[i])}</text></g>',
        ]
    return Automaton(elements, left, width, height, middles)


def _under(program: ProgramLike, name: str) -> str:
    """The text below the name of a node: the feature that it changes."""
    if name in (INTERVENE, STOP):
        return "everybody starts here" if name == INTERVENE else f"should be {program.problem.outcome.goal} now"
    transitions = program.problem.transitions
    function = next(function for function in transitions.functions if function.name == name)
    return transitions.features[function.target].label


class _Route(NamedTuple):
    """The path of an arc, its head, its thickness, a point at its middle, and the place of its count (x, y, anchor)."""

    line: str
    head: str
    thickness: float
    middle: tuple[float, float]
    label: tuple[float, float, str]


def _route(i: int, j: int, left: int, node_width: int, thickness: float) -> _Route:
    """The route of an arc from node number i to node number j."""
    arrow = 7 + thickness / 2
    start, end = (_TOP + place * _ROW + _TALL / 2 for place in (i, j))
    if j == i + 1:
        x, tip = left + node_width / 2, end - _TALL / 2
        line = f"M{x:g} {start + _TALL / 2:g}V{tip - arrow:g}"
        head = f"M{x:g} {tip:g}l{-arrow * 0.65:.1f} {-arrow:.1f}h{arrow * 1.3:.1f}z"
        middle = (start + end) / 2
        return _Route(line, head, thickness, (x - 20, middle), (x + thickness / 2 + 6, middle + 3, "start"))
    sign, side = (1, left + node_width) if j > i else (-1, left)
    out = sign * _bulge(abs(j - i)) / 0.75
    start, tip = start + 9 * (1 if j >= i else -1), end - 9 * (1 if j >= i else -1)
    base = side + sign * arrow
    line = f"M{side} {start:g}C{side + out:.1f} {start:g} {base + out:.1f} {tip:g} {base:g} {tip:g}"
    head = f"M{side} {tip:g}l{sign * arrow:.1f} {-arrow * 0.65:.1f}v{arrow * 1.3:.1f}z"
    x, middle = side + out * 0.75, (start + tip) / 2
    return _Route(line, head, thickness, (x, middle), (x, middle + 4, "middle"))


def _edge(edge: Edge, way: str, route: _Route, opacity: float, people: bool, lit: bool, counted: bool) -> str:
    tooltip = f"{spoken(edge.source)} to {spoken(edge.target)}: "
    tooltip += f"{edge.taken:,} {'people' if people else 'rules'}" if edge.taken else "only where a first choice fails"
    x, y, anchor = route.label
    kind = ("" if edge.taken else " rare") + (" lit" if lit else "")
    label = f'<text x="{x:.1f}" y="{y:g}" text-anchor="{anchor}">{edge.taken:,}</text>'
    count = f'<g class="count" data-way="{way}">{label}</g>'
    return (
        f'<g class="edge{kind}" data-way="{way}" opacity="{opacity:.2f}"><title>{escaped(tooltip)}</title>'
        f'<path class="line" d="{route.line}" stroke-width="{route.thickness:.1f}"/>'
        f'<path class="head" d="{route.head}"/></g>' + (count if edge.taken and counted else "")
    )


def _width(name: str) -> float:
    """The width of the name of a node."""
    return sum(_CAPITAL if letter.isupper() or letter == "_" else _LETTER for letter in name[1:]) + _LETTER


def _bulge(span: int) -> int:
    """The horizontal extent of an arc over `span` nodes."""
    return 22 + _STEP * (span - 1) if span else 24


def _described(drawn: Drawing) -> str:
    counts = [f"{spoken(edge.source)} to {spoken(edge.target)} {edge.taken:,}" for edge in drawn.edges if edge.taken]
    return f"Transitions, with the number of {'people' if drawn.people else 'rules'}: {'; '.join(counts)}."


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
