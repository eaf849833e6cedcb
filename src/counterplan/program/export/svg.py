"""The automaton drawn: nodes from top to bottom in causal order, transitions as arcs beside them.

An arc over d nodes bulges d steps to the right, so that no two arcs have their middle, and their count, in one place.
Ways back and to the same node bulge to the left.
"""

from __future__ import annotations

import math
from html import escape
from importlib.resources import files

from counterplan.problem.parts import STOP
from counterplan.program.cautions import spoken
from counterplan.program.export.drawing import Drawing, Edge, drawing
from counterplan.program.export.resolved import title
from counterplan.program.parts import INTERVENE
from counterplan.program.protocol import ProgramLike

_ROW, _TALL, _TOP, _SIDE = 72, 46, 14, 20
_LETTER, _LONGEST = 7.7, 30
_STEP = 27


def to_svg(program: ProgramLike) -> str:
    """The drawing as a standalone file, with styles for light and dark."""
    style = files(__package__).joinpath("page", "drawing.css").read_text(encoding="utf-8")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + figure(program, style) + "\n"


def figure(program: ProgramLike, style: str = "") -> str:
    """The drawing as an `svg` element; nodes and edges carry their numbers (`data-node="2"`, `data-way="0-2"`)."""
    drawn = drawing(program)
    names = [_cut(spoken(name)) for name in drawn.nodes]
    under = [_cut(_under(program, name)) for name in drawn.nodes]
    node_width = round(max(max(map(len, names)) * _LETTER, max(map(len, under)) * 6.2)) + 44
    place = {name: i for i, name in enumerate(drawn.nodes)}
    spans = [place[edge.target] - place[edge.source] for edge in drawn.edges]
    left = _SIDE + max([_bulge(-span) + 24 for span in spans if span <= 0], default=0)
    width = left + node_width + max([_bulge(span) for span in spans if span > 1], default=0) + _SIDE + 14
    height = _TOP * 2 + _ROW * (len(names) - 1) + _TALL
    above = 30 if style else 0
    number = {name: i for i, name in enumerate([*program.nodes, STOP])}
    most = max((edge.taken for edge in drawn.edges), default=0) or 1
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="automaton" viewBox="0 {-above} {width} {height + above}" '
        f'width="{width}" height="{height + above}" role="img" aria-labelledby="drawing-title drawing-text">',
        f'<title id="drawing-title">{_text(title(program.problem))}: how the program goes from step to step</title>',
        f'<desc id="drawing-text">{_text(_described(drawn))}</desc>',
        *(
            [
                f"<style>{style}</style>",
                f'<rect class="ground" y="{-above}" width="{width}" height="{height + above}"/>',
                f'<text class="title" x="{left}" y="-8">{_text(_cut(title(program.problem)))}</text>',
            ]
            if style
            else []
        ),
    ]
    for edge in sorted(drawn.edges, key=lambda edge: edge.taken):
        way = f"{number[edge.source]}-{number[edge.target]}"
        lines.append(_edge(edge, way, place[edge.source], place[edge.target], left, node_width, most, drawn.people))
    for i, name in enumerate(drawn.nodes):
        kind = " first" if name == INTERVENE else " last" if name == STOP else ""
        middle, top = left + node_width / 2, _TOP + i * _ROW
        lines += [
            f'<g class="node{kind}" data-node="{number[name]}"><title>{_text(name)}: {_text(_under(program, name))}'
            f'</title><rect x="{left}" y="{top}" width="{node_width}" height="{_TALL}" rx="12"/>',
            f'<text class="name" x="{middle:g}" y="{top + 20}">{_text(names[i])}</text>',
            f'<text class="under" x="{middle:g}" y="{top + 36}">{_text(under[i])}</text></g>',
        ]
    return "\n".join(filter(None, [*lines, "</svg>"]))


def _under(program: ProgramLike, name: str) -> str:
    """The text below the name of a node: the feature that it changes."""
    if name in (INTERVENE, STOP):
        return "everybody starts here" if name == INTERVENE else f"should be {program.problem.outcome.goal} now"
    transitions = program.problem.transitions
    function = next(function for function in transitions.functions if function.name == name)
    return transitions.features[function.target].label


def _edge(edge: Edge, way: str, i: int, j: int, left: int, node_width: int, most: int, people: bool) -> str:
    thickness = 1.4 + 6 * math.sqrt(edge.taken / most) if edge.taken else 1.2
    arrow = 7 + thickness / 2
    start, end = (_TOP + place * _ROW + _TALL / 2 for place in (i, j))
    if j == i + 1:
        x, tip = left + node_width / 2, end - _TALL / 2
        line = f"M{x:g} {start + _TALL / 2:g}V{tip - arrow:g}"
        head = f"M{x:g} {tip:g}l{-arrow * 0.65:.1f} {-arrow:.1f}h{arrow * 1.3:.1f}z"
        at = (x + thickness / 2 + 6, (start + end) / 2 + 3, "start")
    else:
        sign, side = (1, left + node_width) if j > i else (-1, left)
        out = sign * _bulge(abs(j - i)) / 0.75
        start, tip = start + 9 * (1 if j >= i else -1), end - 9 * (1 if j >= i else -1)
        base = side + sign * arrow
        line = f"M{side} {start:g}C{side + out:.1f} {start:g} {base + out:.1f} {tip:g} {base:g} {tip:g}"
        head = f"M{side} {tip:g}l{sign * arrow:.1f} {-arrow * 0.65:.1f}v{arrow * 1.3:.1f}z"
        at = (side + out * 0.75, (start + tip) / 2 + 4, "middle")
    tooltip = f"{spoken(edge.source)} to {spoken(edge.target)}: "
    tooltip += f"{edge.taken:,} {'people' if people else 'rules'}" if edge.taken else "only where a first choice fails"
    label = f'<text x="{at[0]:.1f}" y="{at[1]:g}" text-anchor="{at[2]}">{edge.taken:,}</text>' if edge.taken else ""
    rare = "" if edge.taken else " rare"
    opacity = 0.3 + 0.6 * math.sqrt(edge.taken / most)
    return (
        f'<g class="edge{rare}" data-way="{way}" opacity="{opacity:.2f}"><title>{_text(tooltip)}</title>'
        f'<path class="line" d="{line}" stroke-width="{thickness:.1f}"/><path class="head" d="{head}"/></g>'
        + (f'<g class="count" data-way="{way}">{label}</g>' if label else "")
    )


def _bulge(span: int) -> int:
    """The horizontal extent of an arc over `span` nodes."""
    return 22 + _STEP * (span - 1) if span else 24


def _described(drawn: Drawing) -> str:
    counts = [f"{spoken(edge.source)} to {spoken(edge.target)} {edge.taken:,}" for edge in drawn.edges if edge.taken]
    return f"Transitions, with the number of {'people' if drawn.people else 'rules'}: {'; '.join(counts)}."


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _text(text: str) -> str:
    """Escaped text without the control characters that XML does not allow."""
    return escape("".join(letter if letter >= " " and letter not in "\ufffe\uffff" else " " for letter in text))
