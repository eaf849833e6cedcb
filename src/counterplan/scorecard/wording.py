"""The entries of a scorecard in words for applicants."""

from __future__ import annotations

import math
from itertools import pairwise

from counterplan.problem import Feature
from counterplan.problem.parts import format_number
from counterplan.scorecard.card_feature import CardFeature


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
