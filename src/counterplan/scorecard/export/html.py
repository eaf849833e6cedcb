"""Scorecards and programs as a page: one file that works offline and plans in the browser."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from typing import Any

from counterplan.errors import SettingError
from counterplan.problem import Feature
from counterplan.program.export.document import (
    PagePart,
    capital,
    details,
    filled,
    items,
    page,
    pairs,
    read,
    table,
)
from counterplan.program.export.form import FormSource
from counterplan.program.export.html import program_part
from counterplan.program.export.model_card_summary import groups, listed, making, summary
from counterplan.program.protocol import ProgramLike
from counterplan.scorecard.protocol import ScorecardParts
from counterplan.scorecard.wording import entry_texts, limits
from counterplan.search.costs import ActionCosts
from counterplan.search.frontier import cost_unit

_LEAD = (
    "Describe your situation, what you cannot do, and how hard the rest is for you. You get your points, and the steps "
    "that lead to enough of them with the least effort."
)
_SCRIPTS = ("points", "ways", "interview", "interview_view", "points_view")


def to_html(program: ProgramLike | None = None, card: ScorecardParts | None = None) -> str:
    """The page of a program, of a card, or of both, as text.

    Its security policy allows no network and only its own code, by hash; all text is escaped.

    Parameters
    ----------
    program : Program, optional
    card : Scorecard, optional

    Returns
    -------
    str

    Raises
    ------
    SettingError
        If there is neither, or they are for different problems.
    """
    if program is not None and card is not None and program.problem.fingerprint != card.problem.fingerprint:
        raise SettingError("the program and the card are for different problems; a page shows those of one problem")
    parts = [] if card is None else [card_part(card)]
    if program is not None:
        parts.append(program_part(program))
    if not parts:
        raise SettingError("a page needs a program, a card or both")
    return page(parts)


def card_part(card: ScorecardParts) -> PagePart:
    """What a page shows of a card."""
    assets = files(__package__) / "page"
    used = used_features(card)
    return PagePart(
        key="card",
        tab="By points",
        lead=_LEAD,
        form=FormSource(card, used, {one.feature: one.edges for one in card.features}),
        reached=[True] * len(card.problem.transitions.functions),
        data=card_data(card),
        sections=read(assets / "interview.html") + read(assets / "points.html"),
        about=filled(assets / "about_card.html", _about(card, used)),
        style=read(assets / "points.css") + read(assets / "interview.css"),
        scripts=[assets / f"{name}.js" for name in _SCRIPTS],
    )


def card_data(card: ScorecardParts) -> dict[str, Any]:
    """A card as JSON data: entries by feature, the points that are enough, and the unit that costs are compared in."""
    transitions = card.problem.transitions
    return {
        "needed": card.needed,
        "even": card.even,
        "rows": [
            {"feature": one.feature, "edges": one.edges, "points": one.points, "missing": one.missing}
            for one in card.features
        ],
        "mutable": transitions.mutable.tolist(),
        "unit": cost_unit(ActionCosts(transitions), card.problem.max_actions),
    }


def used_features(card: ScorecardParts) -> list[Feature]:
    """The features that plans can depend on: with entries, changed, or needed for legality and cost."""
    transitions = card.problem.transitions
    found = {one.feature for one in card.features}
    for function in transitions.functions:
        found |= {function.target} | transitions.read_by(function, transitions.changed_by(function))
    return [feature for feature in card.problem.features if feature.index in found]


def _about(card: ScorecardParts, used: list[Feature]) -> dict[str, str]:
    """The entries of a card, how it works and performs, and its limitations."""
    unused = [f.label for f in card.problem.features if f not in used and not f.protected]
    return {
        "needed": f"{card.needed:,}",
        "entries": "".join(_entries(card, place) for place in range(len(card.features))),
        "count": f"{card.entries:,}",
        "unused": f"<p>It does not ask about {escape(listed(unused))}.</p>" if unused else "",
        "limits": items(limits(card)),
        "about": pairs(summary(card)),
        "groups": "".join(table(*group) for group in groups(card)),
        "making": details("How it was made", pairs(making(card))),
    }


def _entries(card: ScorecardParts, place: int) -> str:
    """The entries of one feature; the script marks those of the person."""
    one = card.features[place]
    feature = card.problem.features[one.feature]
    rows = "".join(
        f'<tr id="entry-{place}-{number}"><th scope="row">{escape(text)}</th><td>{points:,}</td></tr>'
        for number, (text, points) in enumerate(zip(entry_texts(feature, one), one.all_points, strict=True))
    )
    return f"<table><caption>{escape(capital(feature.label))}</caption><tbody>{rows}</tbody></table>"
