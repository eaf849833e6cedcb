"""Serialization of scorecards: versioned JSON with the problem, the entries and the model card."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, Protocol

from counterplan.errors import SettingError, StorageError
from counterplan.problem import Feature, Problem
from counterplan.problem.source import Location, format_location
from counterplan.problem.values import Native, cut, did_you_mean, listed, text_of
from counterplan.program.envelope import Envelope, number_data
from counterplan.program.model_card import ModelCard
from counterplan.scorecard.card_feature import LARGEST_ENTRY, CardFeature
from counterplan.storage.files import write_whole

ENVELOPE = Envelope(
    "card", 1, ("features", "model_card"), ("needed", "slope", "shift"), "counterplan distil --form card"
)
LARGEST_TOTAL = 10**12
"""Most points that a card may demand."""


class CardParts(Protocol):
    """The parts of a scorecard."""

    @property
    def problem(self) -> Problem:
        """The problem."""

    @property
    def features(self) -> tuple[CardFeature, ...]:
        """The entries."""

    @property
    def needed(self) -> int:
        """Points that are enough."""

    @property
    def slope(self) -> float:
        """Log odds by point."""

    @property
    def shift(self) -> float:
        """What is subtracted."""

    @property
    def model_card(self) -> ModelCard:
        """How it was made."""


class StoredCard(NamedTuple):
    """The contents of a file: the arguments of `Scorecard`."""

    problem: Problem
    features: tuple[CardFeature, ...]
    needed: int
    slope: float
    shift: float
    model_card: ModelCard


def save(card: CardParts, path: str | Path) -> None:
    """Write `card` to a file, whole or not at all."""
    write_whole(path, to_json(card))


def load(path: str | Path, *, follow_links: bool = True) -> StoredCard:
    """Read a card from a file; a StorageError or ProblemError names the place of a mistake."""
    return from_data(ENVELOPE.read(path, follow_links=follow_links), str(path))


def is_card(path: str | Path) -> bool:
    """Whether a file holds a card, as far as its outermost keys show."""
    try:
        data = ENVELOPE.read(path)
    except StorageError:
        return False
    return isinstance(data, dict) and ENVELOPE.key in data


def to_json(card: CardParts) -> str:
    """Serialize `card`; equal cards give equal texts."""
    features = card.problem.features
    return ENVELOPE.to_json(
        card.problem,
        {
            "features": {features[one.feature].name: _entries(features[one.feature], one) for one in card.features},
            "needed": card.needed,
            "slope": card.slope,
            "shift": card.shift,
            "model_card": ENVELOPE.model_card_data(card.model_card.to_data()),
        },
    )


def from_json(text: str, name: str = "card") -> StoredCard:
    """The inverse of `to_json`; `name` stands for the file in messages."""
    return from_data(ENVELOPE.parse(text, name), name)


def from_data(data: Any, name: str = "card") -> StoredCard:
    """A card from the plain data of a file."""
    return _Reader(name, ENVELOPE.problem(data, name)).card(data)


def _entries(feature: Feature, one: CardFeature) -> list[dict[str, Any]]:
    """The entries of a feature, with the bounds of bins or the values that they are for."""
    if feature.is_number:
        edges = [number_data(edge) for edge in one.edges]
        lows, highs = [{}, *({"from": edge} for edge in edges)], [*({"below": edge} for edge in edges), {}]
        entries: list[dict[str, Any]] = [
            low | high | {"points": own} for low, high, own in zip(lows, highs, one.points, strict=True)
        ]
    else:
        entries = [{"value": native, "points": own} for native, own in zip(feature.natives, one.points, strict=True)]
    return entries if one.missing is None else [*entries, {"missing": True, "points": one.missing}]


class _Reader:
    """Reads entries; an error names the place of the mistake."""

    def __init__(self, name: str, problem: Problem) -> None:
        self.name, self.problem = name, problem

    def wrong(self, place: Location, message: str) -> NoReturn:
        raise StorageError(f"{self.name}: {format_location(place)}: {message}")

    def card(self, data: Mapping[str, Any]) -> StoredCard:
        known = {feature.name: feature for feature in self.problem.features}
        found = []
        for key, entries in data["features"].items():
            if key not in known:
                hint = did_you_mean(key, known) or f"; there are {listed(known)}"
                self.wrong(("features",), f"there is no feature '{cut(key)}'{hint}")
            found.append(self.feature(known[key], entries, ("features", key)))
        needed = self.integer(data["needed"], ("needed",), -LARGEST_TOTAL, LARGEST_TOTAL)
        slope, shift = (self.number(data[key], (key,)) for key in ("slope", "shift"))
        if slope <= 0:
            self.wrong(("slope",), f"should be above 0, not {slope:g}")
        features = tuple(sorted(found, key=lambda one: one.feature))
        return StoredCard(self.problem, features, needed, slope, shift, ModelCard.from_data(data["model_card"]))

    def feature(self, feature: Feature, entries: Any, place: Location) -> CardFeature:
        if not isinstance(entries, list) or not entries:
            self.wrong(place, "should be a list of entries")
        most = 1_000 if feature.is_number else len(feature.natives) + 1
        if len(entries) > most:
            self.wrong(place, f"has {len(entries):,} entries, and there may be {most:,}")
        for i, entry in enumerate(entries):
            if not isinstance(entry, dict):
                self.wrong((*place, i), f"should be a mapping, not '{cut(entry)}'")
        missing = None
        if "missing" in entries[-1]:
            self.keys(entries[-1], {"missing", "points"}, (*place, len(entries) - 1))
            if entries[-1]["missing"] is not True:
                self.wrong((*place, len(entries) - 1, "missing"), "should be true")
            missing = self.points(entries[-1], (*place, len(entries) - 1))
            entries = entries[:-1]
        edges, points = (self.bins if feature.is_number else self.values)(feature, entries, place)
        try:
            one = CardFeature(feature.index, edges, points, missing)
            one.check(feature)
        except SettingError as error:
            self.wrong(place, str(error))
        return one

    def bins(self, feature: Feature, entries: list[Any], place: Location) -> tuple[tuple[float, ...], tuple[int, ...]]:
        edges: list[float] = []
        for i, entry in enumerate(entries):
            bounds = {"from": i > 0, "below": i < len(entries) - 1}
            self.keys(entry, {"points", *(key for key, there in bounds.items() if there)}, (*place, i))
            if i and self.number(entry["from"], (*place, i, "from")) != edges[-1]:
                self.wrong((*place, i, "from"), f"should be {edges[-1]:g}, where the entry before it ends")
            if "below" in entry:
                edges.append(self.number(entry["below"], (*place, i, "below")))
        return tuple(edges), tuple(self.points(entry, (*place, i)) for i, entry in enumerate(entries))

    def values(
        self, feature: Feature, entries: list[Any], place: Location
    ) -> tuple[tuple[float, ...], tuple[int, ...]]:
        places = {text_of(native): rank for rank, native in enumerate(feature.natives)}
        found: dict[int, int] = {}
        for i, entry in enumerate(entries):
            self.keys(entry, {"value", "points"}, (*place, i))
            value = entry["value"]
            if not isinstance(value, Native) or text_of(value) not in places:
                hint = did_you_mean(str(value), places) or f"; the values are {listed(places)}"
                self.wrong((*place, i, "value"), f"'{cut(value)}' is not a value of '{feature.name}'{hint}")
            if places[text_of(value)] in found:
                self.wrong((*place, i, "value"), f"'{cut(value)}' is there twice")
            found[places[text_of(value)]] = self.points(entry, (*place, i))
        if lacking := [text for text, rank in places.items() if rank not in found]:
            self.wrong(place, f"there is no entry for {listed(lacking)}")
        return (), tuple(found[rank] for rank in range(len(places)))

    def points(self, entry: Mapping[str, Any], place: Location) -> int:
        return self.integer(entry["points"], (*place, "points"), 0, LARGEST_ENTRY)

    def integer(self, data: Any, place: Location, least: int, most: int) -> int:
        if type(data) is not int or not least <= data <= most:
            self.wrong(place, f"should be an integer from {least:,} to {most:,}, not '{cut(data)}'")
        return data

    def number(self, data: Any, place: Location) -> float:
        if isinstance(data, bool) or not isinstance(data, (int, float)) or not abs(data) < math.inf:
            self.wrong(place, f"'{cut(data)}' is not a number")
        try:
            return float(data)
        except OverflowError:
            self.wrong(place, f"'{cut(data)}' is too large")

    def keys(self, entry: Mapping[str, Any], wanted: set[str], place: Location) -> None:
        """Require a mapping with these keys."""
        if {*entry} != wanted:
            found = cut(", ".join(map(str, entry)))
            self.wrong(place, f"should be {{{', '.join(sorted(wanted))}}}, not {{{found}}}")
