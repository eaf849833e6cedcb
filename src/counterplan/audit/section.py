"""`Section`: a part of the report, with texts, figures and tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import pandas as pd

from counterplan.audit.formatting import NOTHING, number
from counterplan.errors import visible


def text(value: object) -> str:
    """A text, escaped for HTML."""
    return escape(visible(str(value)))


@dataclass(frozen=True)
class Section:
    """A section of the report.

    Parameters
    ----------
    key : str
        Its anchor, and the name of the CSV file of `data`.
    title : str
        The heading.
    parts : sequence of str
        HTML, such as of `paragraph`, `figure` and `table_html`.
    data : sequence of DataFrame
        Tables to write as CSV and JSON; one at most.
    """

    key: str
    title: str
    parts: Sequence[str] = ()
    data: Sequence[pd.DataFrame] = field(default_factory=tuple)

    @classmethod
    def of_table(cls, key: str, title: str, explanation: str, table: pd.DataFrame) -> Section:
        """A section with a sentence or two and a table, which is also written as CSV.

        Parameters
        ----------
        key, title, explanation : str
            Anchor, heading and text of the section.
        table : DataFrame
            Columns of numbers are right-aligned. Those called "share" are percentages.

        Returns
        -------
        Section
            A section with the explanation, the table, and the table as `data`.
        """
        return cls(key, title, (paragraph(explanation), table_html(table)), (table,))

    def to_html(self) -> str:
        """The section as HTML."""
        return f'<section id="{text(self.key)}"><h2>{text(self.title)}</h2>{"".join(self.parts)}</section>'


def paragraph(words: str, kind: str = "") -> str:
    """A paragraph of plain text."""
    return f"<p{f' class={kind}' if kind else ''}>{text(words)}</p>" if words else ""


def figure(svg: str, caption: str) -> str:
    """A drawing with a caption."""
    return f"<figure><div class=scroll>{svg}</div><figcaption>{text(caption)}</figcaption></figure>"


def folded(title: str, content: str) -> str:
    """Content that is hidden until its title is clicked."""
    return f"<details><summary>{text(title)}</summary>{content}</details>"


def table_html(
    table: pd.DataFrame,
    caption: str = "",
    heads: Sequence[str] | None = None,
    form: Callable[[str, Any], str] | None = None,
) -> str:
    """A table: numbers right-aligned, missing values as dashes.

    Parameters
    ----------
    table : DataFrame
    caption : str
    heads : sequence of str, optional
        Texts of the columns, instead of their names.
    form : callable, optional
        Formats the value of a column, given its name.
    """
    form = form or plain_cell
    words = [str(name) for name in table.columns]
    is_text = [not pd.api.types.is_numeric_dtype(table[name]) for name in table.columns]
    kinds = [' class="words"' if flag else "" for flag in is_text]
    head = "".join(f"<th scope=col{kind}>{text(name)}</th>" for name, kind in zip(heads or words, kinds, strict=True))
    body = []
    for row in table.itertuples(index=False, name=None):
        cells = [
            f"<td{kind}>{text(form(name, value))}</td>" for name, kind, value in zip(words, kinds, row, strict=True)
        ]
        body.append(f"<tr>{''.join(cells)}</tr>")
    above = f"<caption>{text(caption)}</caption>" if caption else ""
    return f"<div class=scroll><table>{above}<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"


def plain_cell(name: str, value: Any) -> str:
    """A value as text: a share as a percentage, other numbers with up to two decimals."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or (isinstance(value, float) and value != value):
        return NOTHING
    if isinstance(value, float):
        return f"{number(100 * value, 1)} %" if name == "share" or name.endswith("_share") else number(value, 2)
    return f"{value:,}" if isinstance(value, int) else str(value)
