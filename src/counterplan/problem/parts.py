"""The validated parts of a problem: features, functions, causes, actions and the outcome."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from counterplan.problem.binding import Array, Column, Expression
from counterplan.problem.values import Native, describe_target, listed, text_of

STOP = "STOP"
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
PLACEHOLDERS = ("argument", "amount", "before", "after")


@dataclass(frozen=True)
class Feature:
    """An attribute of a person: a number, a category, or a category with an order.

    In a state, a number is itself, a category the index of its value, and a missing value NaN.

    Attributes
    ----------
    name : str
        The column of a table that holds the feature.
    index : int
        The feature's position in a state.
    kind : {"number", "category", "ordered"}
    label : str
        The name shown to applicants.
    protected : bool
        Whether it is a property such as sex or race.
    missing : bool
        Whether the value may be missing.
    integer, unit, low, high, bins
        Of a number: whether only whole numbers are valid, the unit shown after it, its bounds, and the cut points of
        its binary encoding (None: learned from data).
    natives, labels : tuple
        Of a category: its values as a table holds them, and the words for applicants.

    Examples
    --------
    >>> from counterplan.problem import Feature
    >>> values = ("worker", "manager")
    >>> job = Feature("job", 0, "ordered", "your job", natives=values, labels=values)
    >>> job.native(1.0), job.format_value(float("nan"))
    ('manager', 'unknown')
    """

    name: str
    index: int
    kind: str
    label: str
    protected: bool = False
    missing: bool = False
    integer: bool = False
    unit: str | None = None
    low: float = -math.inf
    high: float = math.inf
    bins: tuple[float, ...] | None = None
    """Cut points of a number's binary encoding; None: learned from data."""
    natives: tuple[Native, ...] = ()
    labels: tuple[str, ...] = ()

    @property
    def is_number(self) -> bool:
        """Whether this is a number rather than a category."""
        return self.kind == "number"

    @cached_property
    def values(self) -> tuple[str, ...]:
        """The texts of a category's values, in order."""
        return tuple(text_of(native) for native in self.natives)

    @cached_property
    def value_index(self) -> Mapping[str, int]:
        """The index of each of a category's values, by its text."""
        return {text: index for index, text in enumerate(self.values)}

    def column(self) -> Column:
        """The feature as conditions see it."""
        if self.is_number:
            return Column(self.index, low=self.low, high=self.high)
        return Column(self.index, self.values, self.kind == "ordered")

    def native(self, number: float) -> Native | None:
        """Decode a state's number to a table's value: a category, an int or float, or None if missing."""
        if math.isnan(number):
            return None
        if self.is_number:
            return int(number) if self.integer or (number.is_integer() and abs(number) < 2**53) else float(number)
        return self.natives[int(number)]

    def format_value(self, number: float) -> str:
        """Format a state's number for people: "12,000 €", "skilled", "unknown"."""
        if math.isnan(number):
            return "unknown"
        if not self.is_number:
            return self.labels[int(number)]
        return format_number(number) + (f" {self.unit}" if self.unit else "")


def format_number(number: float) -> str:
    """Format a number with thousands separators and at most four significant decimals."""
    if float(number).is_integer():
        return f"{int(number):,}"
    if abs(number) < 0.01:
        return f"{number:.4g}"
    return f"{number:,.4f}".rstrip("0").rstrip(".")


@dataclass(frozen=True)
class Function:
    """A family of actions: sets a feature to an argument, or adds the argument to it."""

    name: str
    target: int
    adds: bool
    arguments: Array = field(compare=False)
    """[n] the numbers to add, or the values (a category's index) to set."""
    natives: tuple[Native, ...]
    when: Expression
    base: Array = field(compare=False)
    surcharge: Array = field(compare=False)
    phrase: str
    duration_base: Array = field(compare=False)
    duration_surcharge: Array = field(compare=False)
    overlaps: bool = True
    """Whether its steps may run at the same time as independent other steps."""
    every: bool = field(default=False, compare=False)
    """Whether the file has `arguments: all`."""


@dataclass(frozen=True)
class Scale:
    """Factors on base costs: by value of a category, or by intervals of a number."""

    by_value: Array | None = field(default=None, compare=False)
    """[V + 1] one number per value, the last for missing."""
    intervals: tuple[tuple[float, bool, float, bool, float], ...] = ()
    """(low, low included, high, high included, scale); the first interval that contains a number applies."""

    def __call__(self, column: Array) -> Array:
        """The factor [B] for each number of `column` [B]; 1 for missing values and outside all intervals."""
        if self.by_value is not None:
            scales: Array = self.by_value[np.where(np.isnan(column), -1, column).astype(np.intp)]
            return scales
        result = np.ones(len(column))
        free = np.ones(len(column), bool)
        for low, low_in, high, high_in, scale in self.intervals:
            inside = (column >= low if low_in else column > low) & (column <= high if high_in else column < high)
            result[free & inside] = scale
            free &= ~inside
        return result

    def smallest(self) -> float:
        """The smallest factor."""
        if self.by_value is not None:
            return float(self.by_value.min())
        return min([1.0, *(scale for *_, scale in self.intervals)])

    def largest(self) -> float:
        """The largest factor."""
        if self.by_value is not None:
            return float(self.by_value.max())
        return max([1.0, *(scale for *_, scale in self.intervals)])


@dataclass(frozen=True)
class Cause:
    """An edge of the causal graph, from one feature to another."""

    source: int
    target: int
    scale: Scale | None = None
    table: Array | None = field(default=None, compare=False)
    """[V] the target's new value for each new value of the source; NaN leaves it unchanged."""
    formula: Expression | None = None
    position: int = field(default=0, compare=False)
    """Its position among the causes of the file."""

    @property
    def sets(self) -> bool:
        """Whether a change of the source changes the target."""
        return self.table is not None or self.formula is not None

    @property
    def path_dependent(self) -> bool:
        """Whether the target depends on the action, and not on the state after it alone."""
        return self.formula is not None and self.formula.path_dependent


@dataclass(frozen=True)
class Action:
    """A function with one of its arguments; STOP has neither a feature nor an argument."""

    index: int
    function: str
    argument: Native | None = None

    def __str__(self) -> str:
        return self.function if self.argument is None else f"{self.function}={text_of(self.argument)}"


@dataclass(frozen=True)
class Score:
    """The favourable scores of a model that returns numbers: at least `limit`, or at most."""

    limit: float
    at_most: bool = False

    def __str__(self) -> str:
        return f"at {'most' if self.at_most else 'least'} {format_number(self.limit)}"


@dataclass(frozen=True)
class Outcome:
    """The decision of the black box: all its values and the favourable ones, or the favourable scores.

    Attributes
    ----------
    column : str
        The column of a table that holds the decision.
    natives : tuple
        All values; empty if the model returns scores.
    favourable : frozenset of str
        The texts of the favourable values; empty if the model returns scores.
    score : Score or None
        The favourable scores.
    codes : tuple of (str, str)
        Values with the labels that the model returns in their place.
    """

    column: str
    natives: tuple[Native, ...]
    favourable: frozenset[str]
    score: Score | None = None
    codes: tuple[tuple[str, str], ...] = ()

    @property
    def values(self) -> tuple[str, ...]:
        """The texts of all outcomes."""
        return tuple(text_of(native) for native in self.natives)

    @property
    def goal(self) -> str:
        """What plans reach, for applicants: `favourable`, or, of three or more outcomes, their names: `A or B`."""
        if len(self.values) < 3:
            return "favourable"
        return describe_target(value for value in self.values if value in self.favourable)

    def describe(self) -> str:
        """The favourable outcomes in words."""
        return str(self.score) if self.score else listed(value for value in self.values if value in self.favourable)


def fill_phrase(phrase: str, words: dict[str, str]) -> str:
    """Replace the {placeholders} of `phrase`."""
    return _PLACEHOLDER.sub(lambda match: words.get(match.group(1), match.group(0)), phrase)


def placeholders(phrase: str) -> list[str]:
    """The names in braces in `phrase`."""
    return _PLACEHOLDER.findall(phrase)
