"""The causal graph drawn: features in columns, causes to the left of their effects, with costs on nodes and edges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from counterplan.drawing import Sheet, layout, text_width, wrapped
from counterplan.problem.description import ProblemParts, base_text, factors, notes, table_entries
from counterplan.problem.parts import Cause, Feature, format_number
from counterplan.problem.transitions import Transitions
from counterplan.problem.values import cut

_TOP = 62
_LEFT = 20
_PAD = 12
_WIDEST = 240
_LABEL_WIDTH = 150
_LABEL_LINES = 6
"""Most lines of an edge's label; more values are written as a range."""
_LABEL_SIZE, _LABEL_HEIGHT = 11.0, 15.0
_GAP = 26
_BETWEEN, _BEFORE = 48, 30
"""Horizontal space between a column and the labels of the next one, and between these and their features."""
_SIZES = (14.0, 11.0, 11.5)
"""Font sizes of a feature's name, its notes and its functions."""

_Edge = tuple[int, int]


class _Box(NamedTuple):
    """A feature as drawn."""

    name: list[str]
    about: list[str]
    functions: list[str]
    kind: str
    width: float
    height: float


def graph_svg(parts: ProblemParts) -> str:
    """The drawing; see `Problem.to_svg`."""
    transitions, sheet = parts.transitions, Sheet()
    features, causes = transitions.features, transitions.causes
    connected = {index for cause in causes for index in (cause.source, cause.target)}
    boxes = {feature.index: _box(transitions, feature) for feature in features}
    title = parts.title or parts.name
    sheet.text(_LEFT, 14, cut(title, 90), "bold", 16)
    sheet.text(
        _LEFT, 36, "cost of an action = surcharge + base × the factors on all edges into its feature", "soft", 11.5
    )
    bottom = _graph(sheet, transitions, {index: boxes[index] for index in boxes if index in connected})
    _grid(sheet, [boxes[index] for index in boxes if index not in connected], bottom, bool(connected))
    edges = "; ".join(
        f"{features[cause.source].name} to {features[cause.target].name}: {', '.join(_label(transitions, cause))}"
        for cause in causes
    )
    return sheet.svg(f"{title}: the causal graph", f"Edges: {edges}." if edges else "There are no edges.")


def _graph(sheet: Sheet, transitions: Transitions, boxes: dict[int, _Box]) -> float:
    """Draw the features that have edges, and the edges; returns the y below them.

    The labels of the edges into a feature are stacked to the left of it, so that they cover neither each other nor a
    feature: the layout gives a feature the height of its box or of its labels.
    """
    labels = {(cause.source, cause.target): _label(transitions, cause) for cause in transitions.causes}
    stacks: dict[int, list[_Edge]] = {index: [] for index in boxes}
    for edge in labels:
        stacks[edge[1]].append(edge)
    heights = {
        index: max(box.height, sum(_height(labels[edge]) for edge in stacks[index])) for index, box in boxes.items()
    }
    placed = layout(heights, list(labels), _GAP)
    columns = [
        [i for i in boxes if placed.columns[i] == place]
        for place in range(max(placed.columns.values(), default=-1) + 1)
    ]
    widths = [max(boxes[index].width for index in members) for members in columns]
    starts, lefts, right = [], [], float(_LEFT)
    for members, width in zip(columns, widths, strict=True):
        incoming = [line for index in members for edge in stacks[index] for line in labels[edge]]
        starts.append(right + (_BETWEEN if incoming else 0))
        lefts.append(starts[-1] + max((text_width(line, _LABEL_SIZE) + _BEFORE for line in incoming), default=0.0))
        right = lefts[-1] + width
    middles = {index: _TOP + middle for index, middle in placed.middles.items()}
    for index, stack in stacks.items():
        column, box = placed.columns[index], boxes[index]
        left = lefts[column] + (widths[column] - box.width) / 2
        stack.sort(key=lambda edge: (placed.passages[edge] or [placed.middles[edge[0]]])[-1])
        top = middles[index] - sum(_height(labels[edge]) for edge in stack) / 2
        for place, edge in enumerate(stack):
            y, source = top + _height(labels[edge]) / 2, edge[0]
            box_of_source, first = boxes[source], placed.columns[source]
            x = lefts[first] + (widths[first] + box_of_source.width) / 2, middles[source]
            for between, passage in enumerate(placed.passages[edge], first + 1):
                sheet.curve(x, (starts[between], _TOP + passage), head=False)
                x = lefts[between] + widths[between], _TOP + passage
                sheet.connect([(starts[between], x[1]), x], head=False)
            sheet.curve(x, (starts[column], y), head=False)
            sheet.connect([(starts[column], y), (lefts[column] - _BEFORE, y)], head=False)
            port = middles[index] + (place - (len(stack) - 1) / 2) * min(14.0, (box.height - 16) / len(stack))
            sheet.curve((lefts[column] - _BEFORE, y), (left, port))
            width = max(text_width(line, _LABEL_SIZE) for line in labels[edge])
            area = lefts[column] - _BEFORE - width, y - _LABEL_HEIGHT * len(labels[edge]) / 2
            sheet.box(area[0] - 2, area[1], width + 4, _LABEL_HEIGHT * len(labels[edge]), "ground", 4)
            sheet.text(area[0] + width / 2, area[1], labels[edge], "cost", _LABEL_SIZE, "middle")
            top += _height(labels[edge])
        _draw(sheet, box, left, middles[index] - box.height / 2)
    return _TOP + placed.height if boxes else _TOP - 18.0


def _height(label: Sequence[str]) -> float:
    """The height that a label needs in a stack."""
    return _LABEL_HEIGHT * len(label) + 8.0


def _grid(sheet: Sheet, boxes: Sequence[_Box], top: float, below: bool) -> None:
    """Draw the features without edges in rows."""
    if not boxes:
        return
    top += _GAP if below else 0
    if below:
        top = sheet.text(_LEFT, top, "features without edges", "soft", 11.5) + 8
    most = max(760.0, sheet.right)
    left, tallest = float(_LEFT), 0.0
    for box in boxes:
        if left > _LEFT and left + box.width > most:
            left, top, tallest = float(_LEFT), top + tallest + 14, 0.0
        _draw(sheet, box, left, top)
        left, tallest = left + box.width + 14, max(tallest, box.height)


def _box(transitions: Transitions, feature: Feature) -> _Box:
    about = notes(feature, transitions)
    functions = [
        f"{function.name}: {base_text(function)}"
        for function in transitions.functions
        if function.target == feature.index
    ]
    name_size, about_size, function_size = _SIZES
    names = wrapped(cut(feature.name, 80), _WIDEST, name_size, bold=True)
    abouts = wrapped(", ".join([feature.kind, *about]), _WIDEST, about_size)
    lines = [line for text in functions for line in wrapped(cut(text, 160), _WIDEST, function_size)]
    width = max(
        *(text_width(line, name_size, bold=True) for line in names),
        *(text_width(line, about_size) for line in abouts),
        *(text_width(line, function_size) for line in lines),
        70.0,
    )
    height = 1.36 * (name_size * len(names) + about_size * len(abouts) + function_size * len(lines))
    kind = "first" if functions else "dashed" if "immutable" in about else ""
    return _Box(names, abouts, lines, kind, width + 2 * _PAD, height + 2 * _PAD - 6)


def _draw(sheet: Sheet, box: _Box, left: float, top: float) -> None:
    sheet.box(left, top, box.width, box.height, box.kind)
    middle, y = left + box.width / 2, top + _PAD - 4
    for lines, kind, size in zip((box.name, box.about, box.functions), ("bold", "soft", ""), _SIZES, strict=True):
        y = sheet.text(middle, y, lines, kind, size, "middle")


def _label(transitions: Transitions, cause: Cause) -> list[str]:
    """The effects of an edge in a few lines: `× 0.4 degree`, `= 100 * bill / limit`."""
    source, target = transitions.features[cause.source], transitions.features[cause.target]
    lines: list[str] = []
    if cause.scale is not None:
        pairs = factors(source, cause.scale)
        if len(pairs) <= _LABEL_LINES:
            lines += [f"× {format_number(factor)} {cut(case, 24)}" for case, factor in pairs]
        else:
            numbers = [factor for _, factor in pairs]
            lines.append(f"× {format_number(min(numbers))} to {format_number(max(numbers))}")
    if cause.table is not None:
        entries = table_entries(source, target, cause)
        if len(entries) <= _LABEL_LINES:
            lines += [f"= {cut(value, 16)} if {cut(case, 16)}" for case, value in entries]
        else:
            lines.append(f"sets it: {len(entries)} values")
    if cause.formula is not None:
        lines += wrapped(cut(f"= {cause.formula}", 90), _LABEL_WIDTH, 11)
    return lines or ["no effect"]
