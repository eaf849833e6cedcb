"""Serialization of cards: versioned JSON with problem, entries and model card. Nothing in it is executable."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from counterplan.errors import SettingError, StorageError
from counterplan.problem import Feature, Problem
from counterplan.problem.source import Location
from counterplan.problem.values import cut, listed
from counterplan.program.artefact_file import (
    ArtefactFormat,
    PlaceReader,
    number_data,
    problem_data,
    read_problem,
    sorted_data,
)
from counterplan.program.model_card import ModelCard
from counterplan.scorecard.parts import LARGEST_ENTRY, CardFeature
from counterplan.scorecard.protocol import ScorecardParts
from counterplan.storage.files import write_whole

VERSION = 1
MOST_ENTRIES = 100_000
"""Most entries of one feature."""
MOST_NEEDED = 10**12
"""Largest number of points, in either direction, that can be needed."""
_FORMAT = ArtefactFormat(
    what="card",
    key="counterplan_card",
    version=VERSION,
    parts={
        "problem": dict,
        "needed": int,
        "slope": (int, float),
        "shift": (int, float),
        "features": list,
        "model_card": dict,
    },
    again="If the file is damaged, make it again with 'counterplan distil --form card'.",
    origin="the card.json that 'counterplan distil --form card' made",
)


class StoredCard(NamedTuple):
    """The contents of a file: the arguments of `Scorecard`."""

    problem: Problem
    features: tuple[CardFeature, ...]
    needed: int
    slope: float
    shift: float
    model_card: ModelCard


def save(card: ScorecardParts, path: str | Path) -> None:
    """Write `card` to a file, whole or not at all."""
    write_whole(path, to_json(card))


def load(path: str | Path, *, follow_links: bool = True) -> StoredCard:
    """Read a card from a file; a StorageError or ProblemError names the place of a mistake.

    The file of a workspace is read with `follow_links=False`.
    """
    return _card(_FORMAT.load(path, follow_links), str(path))


def is_card(path: str | Path) -> bool:
    """Whether a file holds a card, as far as its outermost keys show."""
    try:
        return _FORMAT.key in _FORMAT.load(path, follow_links=True)
    except (StorageError, TypeError):
        return False


def to_json(card: ScorecardParts) -> str:
    """Serialize `card`; equal cards give equal texts."""
    return _FORMAT.dump(_parts(card))


def from_json(text: str, name: str = "card") -> StoredCard:
    """The inverse of `to_json`; `name` stands for the file in messages."""
    return _card(_FORMAT.parse(text, name), name)


def to_data(card: ScorecardParts) -> dict[str, Any]:
    """The card as plain data: names instead of the numbers of features."""
    return {_FORMAT.key: VERSION, **_parts(card)}


def from_data(data: Any, name: str = "card") -> StoredCard:
    """The inverse of `to_data`."""
    return _card(_FORMAT.check(data, name), name)


def _parts(card: ScorecardParts) -> dict[str, Any]:
    if abs(card.needed) > MOST_NEEDED:
        raise SettingError(f"'needed' is at most {MOST_NEEDED:,}; not {card.needed}")
    return {
        "problem": problem_data(card.problem),
        "needed": card.needed,
        "slope": number_data(card.slope),
        "shift": number_data(card.shift),
        "features": [_feature_data(card.problem.features[one.feature], one) for one in card.features],
        "model_card": sorted_data(card.model_card.to_data(), "card"),
    }


def _feature_data(feature: Feature, one: CardFeature) -> dict[str, Any]:
    """The entries of a feature: `{"from": 12, "below": 24, "points": 7}`, `{"value": "skilled", "points": 9}`."""
    whiches: list[dict[str, Any]] = [{"value": native} for native in feature.natives]
    if feature.is_number:
        ends = [None, *map(number_data, one.edges), None]
        bins = [{"from": low, "below": high} for low, high in pairwise(ends)]
        whiches = [{key: end for key, end in bin_.items() if end is not None} for bin_ in bins]
    entries = [which | {"points": points} for which, points in zip(whiches, one.points, strict=True)]
    if one.missing is not None:
        entries.append({"missing": True, "points": one.missing})
    return {"feature": feature.name, "entries": entries}


def _card(data: dict[str, Any], name: str) -> StoredCard:
    reader = _Reader(name, read_problem(data["problem"], name))
    features = reader.entries(data["features"])
    needed = data["needed"]
    if abs(needed) > MOST_NEEDED:
        reader.wrong(("needed",), f"{cut(needed)} is beyond {MOST_NEEDED:,}")
    slope, shift = (reader.number(data[key], (key,)) for key in ("slope", "shift"))
    if slope <= 0:
        reader.wrong(("slope",), f"should be above 0, not {cut(data['slope'])}")
    return StoredCard(reader.problem, features, needed, slope, shift, ModelCard.from_data(data["model_card"]))


class _Reader(PlaceReader):
    """Reads entries; an error names the place of the mistake."""

    def entries(self, data: list[Any]) -> tuple[CardFeature, ...]:
        """The entries of all features."""
        if len(data) > len(self.features):
            self.wrong(("features",), f"{len(data):,} of them, and the problem has {len(self.features):,}")
        found: list[CardFeature] = []
        for place, item in enumerate(data):
            one = self.feature(item, ("features", place))
            if found and one.feature <= found[-1].feature:
                names = [self.problem.features[other.feature].name for other in (found[-1], one)]
                again = (
                    "is there twice" if names[0] == names[1] else f"should come before '{names[0]}', as in the problem"
                )
                self.wrong(("features", place, "feature"), f"'{names[1]}' {again}")
            found.append(one)
        return tuple(found)

    def feature(self, data: Any, place: Location) -> CardFeature:
        """The entries of one feature."""
        self.mapping(data, (("feature", "entries"),), place)
        feature = self.features[self.known(data["feature"], self.features, "feature", (*place, "feature"))]
        entries, where = data["entries"], (*place, "entries")
        if not isinstance(entries, list) or not entries:
            self.wrong(where, "should be a list of entries")
        if len(entries) > MOST_ENTRIES:
            self.wrong(where, f"{len(entries):,} entries; a feature has at most {MOST_ENTRIES:,}")
        missing = None
        if isinstance(entries[-1], dict) and "missing" in entries[-1]:
            missing = self.missing(feature, entries[-1], (*where, len(entries) - 1))
            entries = entries[:-1]
        elif feature.missing:
            self.wrong(where, f"'{feature.name}' may be missing; the last entry should be {{missing, points}}")
        edges, points = (self.bins if feature.is_number else self.values)(feature, entries, where)
        lowest = min([*points, *([] if missing is None else [missing])])
        if lowest != 0:
            self.wrong(where, f"the lowest entry of a feature is 0, not {lowest}; subtract it here and from 'needed'")
        if not any(points) and not missing:
            self.wrong(where, f"all entries of '{feature.name}' are 0; leave the feature out")
        return CardFeature(feature.index, edges, points, missing)

    def missing(self, feature: Feature, data: dict[str, Any], place: Location) -> int:
        """The points of a missing value."""
        self.mapping(data, (("missing", "points"),), place)
        if data["missing"] is not True:
            self.wrong((*place, "missing"), "should be true")
        if not feature.missing:
            self.wrong(place, f"'{feature.name}' cannot be missing")
        return self.points(data["points"], (*place, "points"))

    def points(self, data: Any, place: Location) -> int:
        """The points of an entry."""
        if type(data) is not int or not 0 <= data <= LARGEST_ENTRY:
            self.wrong(place, f"should be an integer from 0 to {LARGEST_ENTRY:,}, not '{cut(data)}'")
        return data

    def values(self, feature: Feature, data: list[Any], where: Location) -> tuple[tuple[()], tuple[int, ...]]:
        """The points of a category's values."""
        if len(data) != len(feature.natives):
            self.wrong(
                where, f"'{feature.name}' needs {len(feature.natives)} entries, one for each value, not {len(data)}"
            )
        points: list[int] = []
        for i, item in enumerate(data):
            place = (*where, i)
            self.mapping(item, (("value", "points"),), place)
            if self.value(feature, item["value"], (*place, "value")) != i:
                order = listed(feature.values)
                self.wrong((*place, "value"), f"'{cut(item['value'])}' is not in its place; the values are {order}")
            points.append(self.points(item["points"], (*place, "points")))
        return (), tuple(points)

    def bins(self, feature: Feature, data: list[Any], where: Location) -> tuple[tuple[float, ...], tuple[int, ...]]:
        """The edges and the points of a number's bins."""
        edges: list[float] = []
        points: list[int] = []
        if not data:
            self.wrong(where, f"'{feature.name}' needs an entry for its numbers")
        for i, item in enumerate(data):
            place = (*where, i)
            shape = (*(["from"] if i > 0 else []), *(["below"] if i < len(data) - 1 else []), "points")
            self.mapping(item, (shape,), place)
            if "from" in item and self.number(item["from"], (*place, "from")) != edges[-1]:
                self.wrong((*place, "from"), f"should be {cut(data[i - 1]['below'])}, where the entry before ends")
            if "below" in item:
                edge = self.number(item["below"], (*place, "below"))
                if edge <= (edges[-1] if edges else -math.inf):
                    self.wrong((*place, "below"), f"should be above {number_data(edges[-1])}: edges increase")
                edges.append(edge)
            points.append(self.points(item["points"], (*place, "points")))
        return tuple(edges), tuple(points)
