"""The model card of a program: how it was made, how it performed on people held out, and its limitations.

Model cards are stored as plain data in program.json. A key that is not known, or whose value does not have the expected
form, is preserved as it is: it is written back unchanged.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple, Self


class SourcePeople(NamedTuple):
    """Refused people that a program was distilled from."""

    real: int
    synthetic: int


class TrialPeople(NamedTuple):
    """Refused people that a program was tried on."""

    with_plan: int
    """People with a known plan."""
    without_plan: int
    """People without a plan that any planner found."""


class GivenUp(NamedTuple):
    """People in the trial without a plan of the program."""

    people: int
    with_plan: int
    """How many of them have a known plan."""


class GroupOutcome(NamedTuple):
    """Performance of a program for the people with one value of a protected feature."""

    people: int
    success: float | None
    mean_cost: float | None
    """Mean cost of the plans that hold."""


class WithoutFunction(NamedTuple):
    """Performance of a program for people who cannot use a function that it would have them use."""

    people: int
    plans: int
    """People who got another plan."""
    hold: int
    """How many of these plans the black box accepts."""


@dataclass(frozen=True)
class ModelCard:
    """How a program was made, how it performed on people held out, and its limitations.

    Parameters
    ----------
    made_with : mapping, optional
        Method and settings of the distillation.
    model : str, optional
        Fingerprint of the model that the program was made for.
    favourable : tuple of str, optional
        The outcomes that count as favourable.
    threshold : float, optional
        The least favourable score; None if the label of the model decides, or if `favourable` is unknown too.
    seed : int, optional
    people : SourcePeople, optional
        Number of real and synthetic people that the program was distilled from.
    tried_on : TrialPeople, optional
        Number of people that it was tried on.
    given_up : GivenUp, optional
        Number of these people without a plan of the program.
    success : float, optional
        Share of the people with a known plan whose plan from the program holds.
    cost_ratio : float, optional
        Mean cost of plans that hold, relative to the least known cost.
    queries : mapping of str to int, optional
        Queries by purpose; cached answers are counted too.
    rule_length_mean, rule_length_longest : float and int, optional
        Features in the rules of the steps that were taken.
    leaves : int, optional
        Number of leaves.
    groups : mapping, optional
        By protected feature and group: a `GroupOutcome`.
    without : mapping of str to WithoutFunction, optional
        By function that some plan uses: performance without it.
    protected_tested, protected_avoided : tuple of str, optional
        Protected features that some tree tests, and those that no tree was allowed to test.
    limitations : tuple of str, optional
        What the program cannot do, in sentences for readers.
    transitions : mapping of str to int, optional
        People by transition between nodes: ``{"INTERVENE>CHANGE_JOB": 12}``.
    examples : tuple of mappings, optional
        Synthetic people with a plan, for the form of a page.
    ranges : mapping of str to (float, float), optional
        By numeric feature: its range in the people that the program was made from, rounded and without outliers.
    derived : tuple of str, optional
        Features that follow from others by the causal graph, and did so in these people.
    extra : mapping
        Everything else in the file, as it was read.

    Examples
    --------
    >>> people = {"real": 80, "invented": 20}
    >>> card = ModelCard.from_data({"success": 0.93, "people": people, "note": "draft"})
    >>> card.success, card.people.synthetic, card.extra
    (0.93, 20, {'note': 'draft'})
    >>> card.to_data()
    {'people': {'real': 80, 'invented': 20}, 'success': 0.93, 'note': 'draft'}
    """

    made_with: Mapping[str, Any] | None = None
    model: str | None = None
    favourable: tuple[str, ...] | None = None
    threshold: float | None = None
    seed: int | None = None
    people: SourcePeople | None = None
    tried_on: TrialPeople | None = None
    given_up: GivenUp | None = None
    success: float | None = None
    cost_ratio: float | None = None
    queries: Mapping[str, int] | None = None
    rule_length_mean: float | None = None
    rule_length_longest: int | None = None
    leaves: int | None = None
    groups: Mapping[str, Mapping[str, GroupOutcome]] | None = None
    without: Mapping[str, WithoutFunction] | None = None
    protected_tested: tuple[str, ...] | None = None
    protected_avoided: tuple[str, ...] | None = None
    limitations: tuple[str, ...] | None = None
    transitions: Mapping[str, int] | None = None
    examples: tuple[Mapping[str, Any], ...] | None = None
    ranges: Mapping[str, tuple[float, float]] | None = None
    derived: tuple[str, ...] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """Read a card from the plain data in a file.

        Parameters
        ----------
        data : mapping

        Returns
        -------
        ModelCard
        """
        known: dict[str, Any] = {}
        extra: dict[str, Any] = {}
        for key, value in data.items():
            name = _ATTRIBUTES.get(key)
            parsed = None if name is None else _FORMS[name].parse(value)
            if name is None or parsed is None:
                extra[key] = value
            else:
                known[name] = parsed
        return cls(**known, extra=extra)

    def to_data(self) -> dict[str, Any]:
        """The card as plain data, by the keys of the file.

        Returns
        -------
        dict
            Without the attributes that are None, unless `extra` holds the key.
        """
        data = {
            KEYS.get(one.name, one.name): _FORMS[one.name].dump(getattr(self, one.name))
            for one in fields(self)
            if one.name != "extra" and getattr(self, one.name) is not None
        }
        return data | dict(self.extra)


KEYS = {"queries": "questions", "limitations": "cannot"}
"""Keys of the file, by attribute; where they are the same, the attribute is not listed."""
_ENTRIES: dict[type, tuple[str, ...]] = {
    SourcePeople: ("real", "invented"),
    TrialPeople: ("people", "without_any_known_plan"),
    GivenUp: ("people", "with_known_plan"),
    GroupOutcome: ("people", "success", "mean_effort"),
    WithoutFunction: ("people", "plans", "hold"),
}
"""Keys of the file, in the order of the attributes."""


class _Form(NamedTuple):
    """How an attribute is read from plain data (None if the data has another form) and written to it."""

    parse: Callable[[Any], Any]
    dump: Callable[[Any], Any] = lambda value: value


def _int(value: Any) -> int | None:
    return value if type(value) is int else None


def _number(value: Any) -> float | None:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _mapping(value: Any) -> Mapping[str, Any] | None:
    return value if isinstance(value, Mapping) and all(isinstance(key, str) for key in value) else None


def _mapping_of(inner: _Form) -> _Form:
    """A mapping from texts to values of the form `inner`."""

    def parse(value: Any) -> dict[str, Any] | None:
        if _mapping(value) is None:
            return None
        parsed = {key: inner.parse(item) for key, item in value.items()}
        return None if any(item is None for item in parsed.values()) else parsed

    return _Form(parse, lambda value: {key: inner.dump(item) for key, item in value.items()})


def _tuple_of(parse_item: Callable[[Any], Any]) -> _Form:
    """A list whose items all have one form."""

    def parse(value: Any) -> tuple[Any, ...] | None:
        if not isinstance(value, (list, tuple)) or any(parse_item(item) is None for item in value):
            return None
        return tuple(value)

    return _Form(parse, list)


def _range(value: Any) -> tuple[float, float] | None:
    """A pair of finite numbers in order."""
    if not isinstance(value, (list, tuple)) or len(value) != 2 or any(_number(end) is None for end in value):
        return None
    return (value[0], value[1]) if -math.inf < value[0] <= value[1] < math.inf else None


def _record(kind: Any, *optional: str) -> _Form:
    """A mapping with exactly the keys of a named tuple, all whole numbers; those in `optional` numbers or None."""
    keys = _ENTRIES[kind]

    def fits(key: str, value: Any) -> bool:
        return (value is None or _number(value) is not None) if key in optional else _int(value) is not None

    def parse(value: Any) -> Any:
        if not isinstance(value, Mapping) or {*value} != {*keys} or not all(fits(key, value[key]) for key in keys):
            return None
        return kind(*(value[key] for key in keys))

    return _Form(parse, lambda value: dict(zip(keys, value, strict=True)))


_FORMS: dict[str, _Form] = {
    "made_with": _Form(_mapping, dict),
    "model": _Form(_text),
    "favourable": _tuple_of(_text),
    "threshold": _Form(_number),
    "seed": _Form(_int),
    "people": _record(SourcePeople),
    "tried_on": _record(TrialPeople),
    "given_up": _record(GivenUp),
    "success": _Form(_number),
    "cost_ratio": _Form(_number),
    "queries": _mapping_of(_Form(_int)),
    "rule_length_mean": _Form(_number),
    "rule_length_longest": _Form(_int),
    "leaves": _Form(_int),
    "groups": _mapping_of(_mapping_of(_record(GroupOutcome, "success", "mean_effort"))),
    "without": _mapping_of(_record(WithoutFunction)),
    "protected_tested": _tuple_of(_text),
    "protected_avoided": _tuple_of(_text),
    "limitations": _tuple_of(_text),
    "transitions": _mapping_of(_Form(_int)),
    "examples": _tuple_of(_mapping),
    "ranges": _mapping_of(_Form(_range, list)),
    "derived": _tuple_of(_text),
}
_ATTRIBUTES = {KEYS.get(name, name): name for name in _FORMS}
