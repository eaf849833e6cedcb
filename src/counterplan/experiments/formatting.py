"""Numbers and tables as text, for the report."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import pandas as pd

from counterplan.experiments.methods import in_order, label_of
from counterplan.experiments.rows import ExperimentRows
from counterplan.experiments.statistics import Interval

T = TypeVar("T")
Section = tuple[str, tuple[tuple[str, ...], ...]]
"""A heading ("": none), and rows."""
NOTHING = "–"
_TINY = 1e-9


@dataclass(frozen=True)
class ReportTable:
    """A table of text cells."""

    key: str
    title: str
    caption: str
    columns: tuple[str, ...]
    sections: tuple[Section, ...]

    def to_csv(self) -> str:
        """The table as CSV, with the heading of the section as first column."""
        body = [[heading, *row] for heading, rows in self.sections for row in rows]
        columns = ["section", *(column or "what" for column in self.columns)]
        return pd.DataFrame(body, columns=columns).to_csv(index=False, lineterminator="\n")


def number(value: float | None, digits: int) -> str:
    """A number with `digits` decimals, or a dash.

    Examples
    --------
    >>> number(1234.5, 1), number(None, 2)
    ('1,234.5', '–')
    """
    if value == float("inf"):
        return "∞"
    return NOTHING if value is None or pd.isna(value) else f"{value:,.{digits}f}"


def spread(interval: Interval, digits: int) -> str:
    """A mean and its interval: `0.94 ± 0.02`."""
    mean = number(interval.mean, digits)
    return mean if pd.isna(interval.half) else f"{mean} ± {number(interval.half, digits)}"


def factor(ratio: float) -> str:
    """A factor, truncated, so that one below a round number is not shown as that number."""
    return number(ratio if ratio == float("inf") else (10 * ratio + _TINY) // 1 / 10, 1)


def value_range(column: pd.Series, form: str) -> str:
    """The common value of all seeds, or their mean with minimum and maximum."""
    known = column.dropna().astype(float)
    if known.empty:
        return NOTHING
    if form == "," and known.nunique() > 1:
        form = ",.1f"
    texts = [format(value, ",.0f" if form == "," else form) for value in known.agg(["mean", "min", "max"])]
    if texts[1] == texts[2]:
        return texts[0]
    mean, least, most = (re.sub(r"\.0+(?=%?$)", "", text) for text in texts)
    return f"{mean} ({least}–{most})"


def marked(text: str, met: bool | None) -> str:
    """A text with a mark for an expectation that is met or not (None: none)."""
    return text if met is None or text == NOTHING else f"{text} {'✓' if met else '✗'}"


def over_seeds(rows: ExperimentRows) -> str:
    """A sentence on means and intervals."""
    several = rows.results["seed"].nunique() > 1
    return (
        "Means over seeds ± half a 95 % interval (Student’s t)." if several else "One seed, so there are no intervals."
    )


def sections(
    stats: Mapping[tuple[str, str], T], benchmarks: Sequence[str], cells: Callable[[str, str, T], tuple[str, ...]]
) -> tuple[Section, ...]:
    """A section for each benchmark, with a row for each method."""
    made = []
    for name in benchmarks:
        methods = in_order(method for benchmark, method in stats if benchmark == name)
        made.append((name, tuple((label_of(method), *cells(name, method, stats[name, method])) for method in methods)))
    return tuple(made)


def nonempty(parts: Iterable[Section]) -> tuple[Section, ...]:
    """The sections that have rows."""
    return tuple(section for section in parts if section[1])
