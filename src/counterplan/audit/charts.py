"""Figures of the report as SVG: outcomes, shares and costs by group, and the heat map."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pandas as pd

from counterplan.audit.formatting import number, percent
from counterplan.audit.group_statistics import column_of
from counterplan.audit.outcomes import REFUSED, AuditOutcome
from counterplan.drawing import Sheet, image_tag, text_width
from counterplan.problem.transitions import Floats

LABELS = {
    AuditOutcome.FAVOURABLE: "favourable already",
    AuditOutcome.RECOURSE: "has a plan",
    AuditOutcome.NO_RECOURSE: "provably has none",
    AuditOutcome.UNKNOWN: "unknown",
}
_PLOT = 430.0
_ROW = 25.0
_SIZE = 12.5
_MOST_LABEL = 250.0
_STYLE = (
    ".drawing .ground{fill:none}"
    ".drawing .recourse{fill:var(--last-rim)}.drawing .none{fill:var(--lit)}.drawing .unknown{fill:var(--rim)}"
    ".drawing .favourable{fill:var(--arc)}.drawing .range{fill:var(--arc);fill-opacity:.28}"
    ".drawing .bar{fill:var(--arc);fill-opacity:.75}.drawing .heat{fill:var(--arc)}"
    ".drawing .grid{stroke:var(--rim);stroke-width:1;stroke-dasharray:2 4}"
    ".drawing .whisker{stroke:var(--ink);stroke-width:1.6;fill:none}.drawing .dot{fill:var(--ink)}"
)


def _image(sheet: Sheet, title: str, description: str) -> str:
    return image_tag(sheet.svg(title, description, style=_STYLE), f"{title}. {description}")


def _label_width(labels: Sequence[str]) -> float:
    return min(_MOST_LABEL, max((text_width(label, _SIZE) for label in labels), default=60.0)) + 16


def _cut(labels: Sequence[str]) -> list[str]:
    """Labels that fit their column: long ones cut in the middle, and numbered if they would be the same."""
    cut = [_shortened(label) for label in labels]
    numbers: Counter[str] = Counter()
    for index, label in enumerate(cut):
        if cut.count(label) > 1 or numbers[label]:
            numbers[label] += 1
            cut[index] = _shortened(labels[index], f" ({numbers[label]})")
    return cut


def _shortened(label: str, end: str = "") -> str:
    """A label with `end`, its middle left out if it is too long."""
    text, kept = label + end, min(len(label), 400)
    while text_width(text, _SIZE) > _MOST_LABEL and kept > 2:
        kept -= 1
        text = f"{label[: (kept + 1) // 2].rstrip()}…{label[len(label) - kept // 2 :].lstrip()}{end}"
    return text


def outcome_bar(counts: dict[AuditOutcome, int]) -> str:
    """Numbers of refused people by outcome, as one bar with a legend."""
    sheet, total, x = Sheet(), sum(counts.values()), 16.0
    width = 700.0
    for outcome, count in counts.items():
        size = width * count / total if total else 0.0
        if size:
            _rect(sheet, x, 16, size, 34, outcome.value)
        x += size
    x = 16.0
    for outcome, count in counts.items():
        _rect(sheet, x, 68, 13, 13, outcome.value)
        words = f"{LABELS[outcome]}: {count:,}"
        sheet.text(x + 20, 66, words, size=13)
        x += 36 + text_width(words, 13)
    described = ", ".join(f"{LABELS[outcome]} {count:,}" for outcome, count in counts.items())
    return _image(sheet, f"{total:,} refused people by outcome", described)


def _rect(sheet: Sheet, x: float, y: float, width: float, height: float, kind: str, extra: str = "") -> None:
    sheet.cover(x + width, y + height)
    sheet.add(f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"{extra}/>')


def _line(sheet: Sheet, start: tuple[float, float], end: tuple[float, float], kind: str) -> None:
    sheet.cover(*start)
    sheet.cover(*end)
    sheet.add(f'<path class="{kind}" d="M{start[0]:.1f} {start[1]:.1f}L{end[0]:.1f} {end[1]:.1f}"/>')


class _Rows:
    """A chart with a row for each group: label, number of people, and a plot with an axis."""

    def __init__(self, labels: Sequence[str], counts: Sequence[int], head: str, low: float, high: float) -> None:
        self.sheet, self.labels, self.low, self.high = Sheet(), _cut(labels), low, high
        self.left = 16 + _label_width(self.labels)
        self.plot = self.left + 64
        self.sheet.text(self.left + 44, 10, head, "soft", 11.5, "end")
        for index, (label, count) in enumerate(zip(self.labels, counts, strict=True)):
            self.sheet.text(16, self.y(index) - 8, label, size=_SIZE)
            self.sheet.text(self.left + 44, self.y(index) - 8, f"{count:,}", "soft", _SIZE, "end")
        self.sheet.cover(self.plot + _PLOT + 40, self.y(len(labels)))

    def y(self, index: int) -> float:
        return 44 + index * _ROW

    def x(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self.plot + _PLOT * min(max(share, 0.0), 1.0)

    def axis(self, ticks: Sequence[float], texts: Sequence[str]) -> None:
        bottom = self.y(len(self.labels)) - 8
        for tick, words in zip(ticks, texts, strict=True):
            _line(self.sheet, (self.x(tick), 30), (self.x(tick), bottom), "grid")
            self.sheet.text(self.x(tick), bottom + 4, words, "soft", 11.5, "middle")

    def note(self, index: int, words: str) -> None:
        self.sheet.text(self.plot + 6, self.y(index) - 8, words, "soft", 11.5)

    def interval(self, index: int, value: float, low: float, high: float) -> None:
        """A value with its interval; an open side ends at the edge of the plot."""
        y = self.y(index)
        ends = self.x(max(low, self.low)), self.x(min(high, self.high))
        _line(self.sheet, (ends[0], y), (ends[1], y), "whisker")
        for end, bound in zip(ends, (low, high), strict=True):
            if math.isfinite(bound):
                _line(self.sheet, (end, y - 4), (end, y + 4), "whisker")
        self.sheet.add(f'<circle class="dot" cx="{self.x(value):.1f}" cy="{y:.1f}" r="4"/>')


def share_chart(rows: pd.DataFrame, measure: str, title: str, small: str) -> str:
    """Shares of refused people with their intervals, a row for each group.

    Parameters
    ----------
    rows : DataFrame
        Rows of `AuditResult.groups`.
    measure : str
        The share, such as "recourse".
    title : str
    small : str
        Text of groups with too few people.
    """
    base = "people" if measure == "refused" else "refused"
    chart = _Rows(rows["group"].tolist(), rows[base].tolist(), base, 0.0, 1.0)
    ticks = [0.0, 0.25, 0.5, 0.75, 1.0]
    chart.axis(ticks, [percent(tick, 0) for tick in ticks])
    described = []
    for index, row in enumerate(rows.to_dict("records")):
        value, low, high = (row[f"{measure}_{part}"] for part in ("share", "low", "high"))
        if math.isnan(value):
            chart.note(index, small)
            described.append(f"{row['group']}: {small}")
            continue
        chart.interval(index, value, low, high)
        described.append(f"{row['group']}: {percent(value)}")
    return _image(chart.sheet, title, "; ".join(described))


def cost_chart(rows: pd.DataFrame, measure: str, title: str, small: str) -> str:
    """Quartiles of cost or steps with the interval of the median, a row for each group."""
    names = {q: column_of(measure, q) for q in (0.25, 0.5, 0.75, 0.9)}
    known = rows[[*names.values()]].to_numpy(float)
    high = float(np.nanmax(known)) * 1.08 if np.isfinite(known).any() else 1.0
    high = high or 1.0
    chart = _Rows(rows["group"].tolist(), rows["recourse"].tolist(), "plans", 0.0, high)
    ticks = nice_ticks(high)
    chart.axis(ticks, [number(tick, 2) for tick in ticks])
    described = []
    for index, row in enumerate(rows.to_dict("records")):
        first, median, third, ninth = (float(row[name]) for name in names.values())
        if math.isnan(median):
            chart.note(index, small)
            described.append(f"{row['group']}: {small}")
            continue
        y = chart.y(index)
        _rect(chart.sheet, chart.x(first), y - 8, max(1.5, chart.x(third) - chart.x(first)), 16, "range")
        _line(chart.sheet, (chart.x(third), y), (chart.x(ninth), y), "grid")
        chart.interval(index, median, row[f"{names[0.5]}_low"], row[f"{names[0.5]}_high"])
        described.append(f"{row['group']}: median {number(median, 2)}")
    return _image(chart.sheet, title, "; ".join(described))


def nice_ticks(high: float, most: int = 6) -> list[float]:
    """Round numbers from 0 to at most `high`.

    Examples
    --------
    >>> nice_ticks(47)
    [0.0, 10.0, 20.0, 30.0, 40.0]
    """
    raw = high / most
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= raw)
    return [float(round(step * index, 10)) for index in range(int(high / step + 1e-9) + 1)]


def histogram(values: Floats, title: str, unit: str) -> str:
    """How many people have a plan of which cost."""
    sheet = Sheet()
    high = float(values.max()) if len(values) else 1.0
    ticks = nice_ticks(high or 1.0, 10)
    step = (ticks[1] if len(ticks) > 1 else 1.0) / 2
    bins = np.arange(0, max(high, step) + step * 1.001, step)
    counts, _ = np.histogram(values, np.append(bins[:-1], np.inf) if len(bins) > 1 else [0, np.inf])
    left, width, height, most = 60.0, 600.0, 170.0, max(1, int(counts.max()))
    each = width / len(counts)
    for index, count in enumerate(counts.tolist()):
        size = height * count / most
        _rect(sheet, left + index * each + 1, 20 + height - size, max(1.0, each - 2), size, "bar")
    _line(sheet, (left, 20 + height), (left + width, 20 + height), "rail")
    for tick in ticks:
        if tick / step <= len(counts):
            x = left + tick / step * each
            sheet.text(x, 24 + height, number(tick, 2), "soft", 11.5, "middle")
    for part in (0.0, 0.5, 1.0):
        sheet.text(left - 8, 20 + height * (1 - part) - 8, f"{most * part:,.0f}", "soft", 11.5, "end")
    sheet.text(left + width / 2, 44 + height, unit, "soft", 11.5, "middle")
    described = (
        f"{len(values):,} people, from {number(float(values.min()), 2)} to {number(high, 2)}" if len(values) else ""
    )
    return _image(sheet, title, described)


def heat_map(rows: pd.DataFrame, minimum: int, small: str) -> str:
    """Shares of refused people by group and outcome, as shades."""
    sheet, labels = Sheet(), _cut([str(label) for label in rows["group"]])
    left, cell = 16 + _label_width(labels), (128.0, 30.0)
    for column, outcome in enumerate(REFUSED):
        sheet.text(left + (column + 0.5) * cell[0], 10, LABELS[outcome], "soft", 11.5, "middle")
    sheet.text(left + len(REFUSED) * cell[0] + 66, 10, "refused", "soft", 11.5, "end")
    described = []
    for index, row in enumerate(rows.to_dict("records")):
        y = 32 + index * cell[1]
        sheet.text(16, y + 6, labels[index], size=_SIZE)
        sheet.text(left + len(REFUSED) * cell[0] + 66, y + 6, f"{row['refused']:,}", "soft", _SIZE, "end")
        if row["refused"] < minimum:
            sheet.text(left + 6, y + 6, small, "soft", 11.5)
            continue
        for column, outcome in enumerate(REFUSED):
            share = row[f"{outcome.value}_share"]
            extra = f' fill-opacity="{0.06 + 0.6 * share:.2f}"'
            _rect(sheet, left + column * cell[0] + 1, y + 1, cell[0] - 2, cell[1] - 2, "heat", extra)
            sheet.text(left + (column + 0.5) * cell[0], y + 6, percent(share), size=_SIZE, anchor="middle")
        described.append(f"{row['group']}: {percent(row['recourse_share'])} have a plan")
    return _image(sheet, "Groups and outcomes", "; ".join(described))
