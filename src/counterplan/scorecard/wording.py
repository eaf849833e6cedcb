"""The entries of a scorecard, what they mean and their limitations, in words for applicants."""

from __future__ import annotations

import math
from itertools import pairwise

from counterplan.problem import Feature
from counterplan.problem.parts import format_number
from counterplan.problem.values import visible
from counterplan.program.export.model_card_summary import listed
from counterplan.program.model_card import SourcePeople, TrialPeople
from counterplan.scorecard.parts import CardFeature
from counterplan.scorecard.protocol import ScorecardParts


def entry_texts(feature: Feature, entries: CardFeature) -> list[str]:
    """The values that each entry of `feature` is for, that of missing values last.

    Parameters
    ----------
    feature : Feature
    entries : CardFeature

    Returns
    -------
    list of str
        `["below 12 months", "12 to 23 months", "24 months or more"]`
    """
    texts = _bins(feature, entries.edges) if feature.is_number else list(feature.labels)
    return texts if entries.missing is None else [*texts, "unknown"]


def _bins(feature: Feature, edges: tuple[float, ...]) -> list[str]:
    if not edges:
        return ["any number"]
    unit = f" {feature.unit}" if feature.unit else ""
    lows = [math.ceil(edge) if feature.integer else edge for edge in edges]
    between = []
    for low, edge in pairwise(lows):
        last = edge - 1 if feature.integer else edge
        word = "to" if feature.integer else "to below"
        between.append(format_number(low) if last == low else f"{format_number(low)} {word} {format_number(last)}")
    return [
        f"below {format_number(lows[0])}{unit}",
        *(text + unit for text in between),
        f"{format_number(lows[-1])}{unit} or more",
    ]


def meaning(card: ScorecardParts) -> str:
    """What the points mean, in a sentence."""
    goal = card.problem.outcome.goal
    text = "Add up the points of your values" if card.features else "There are no points on this card"
    return f"{text}. With {card.needed:,} points or more, the decision should be {visible(goal)}."


def performance(card: ScorecardParts) -> str:
    """How plans to enough points performed when nothing was checked, as far as the model card says so."""
    known, parts = card.model_card, []
    if isinstance(known.success, (int, float)) and 0 <= known.success <= 1:
        of = f"{known.tried_on.with_plan:,} " if isinstance(known.tried_on, TrialPeople) else ""
        parts.append(f"such plans worked for {known.success:.0%} of {of}people with a known plan")
    if isinstance(known.cost_ratio, (int, float)) and math.isfinite(known.cost_ratio):
        parts.append(f"took {known.cost_ratio:.2f} times the least effort")
    return f"Tried without any check, {' and '.join(parts)}." if parts else ""


def making(card: ScorecardParts) -> str:
    """What a card was made from, in a sentence; nothing if the model card does not say so."""
    people, queries = card.model_card.people, card.model_card.queries
    parts = []
    if isinstance(people, SourcePeople):
        invented = f" ({people.synthetic:,} of them invented)" if people.synthetic else ""
        parts.append(f"from {people.real + people.synthetic:,} people{invented}")
    if queries:
        parts.append(f"with {sum(queries.values()):,} questions to the model that decides")
    return f"Made {' and '.join(parts)}." if parts else ""


def limits(card: ScorecardParts) -> list[str]:
    """The limitations of a card, in sentences for its readers."""
    protected = [feature for feature in card.problem.features if feature.protected]
    counted = {one.feature for one in card.features}
    sentences = [
        "A plan is what should work for people like you. It is not checked with the model that decides: have it "
        "checked before you rely on it.",
        "Points do not know the decision. They assume that the answer was no.",
        "Effort is an estimate, made for people in general. For you it may be more or less.",
        "Where there is no plan, there may still be one: ask for a search with the model that decides.",
    ]
    for has, text in (
        (True, "There are points for protected features: {}."),
        (False, "There are no points for {}, but what there are points for may be related to that."),
    ):
        labels = [feature.label for feature in protected if (feature.index in counted) is has]
        if labels:
            sentences.append(text.format(listed(labels)))
    return [*sentences, *(visible(str(line)) for line in card.model_card.limitations or ())]
