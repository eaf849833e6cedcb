"""The parts of a problem once everything in its file has been checked: features, functions, causes, actions."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

import numpy as np

from counterplan.problem.binding import Array, Column, Expression
from counterplan.problem.values import Native, text_of

STOP = "STOP"
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
PLACEHOLDERS = ("argument", "amount", "before", "after")


@dataclass(frozen=True)
class Feature:
    """Something known of a person. A category is held as the index of its value, a missing value as NaN."""

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
    """Cut points of a number's binary view; None: learned from data."""
    natives: tuple[Native, ...] = ()
    labels: tuple[str, ...] = ()

    @property
    def is_number(self) -> bool:
        """Whether this is a number rather than a category."""
        return self.kind == "number"

    @property
    def values(self) -> tuple[str, ...]:
        """The texts of a category's values, in order."""
        return tuple(text_of(native) for native in self.natives)

    def column(self) -> Column:
        """What conditions must know of this feature."""
        if self.is_number:
            return Column(self.index, low=self.low, high=self.high)
        return Column(self.index, self.values, self.kind == "ordered")

    def native(self, number: float) -> Native | None:
        """What a table would hold for a state's number: a value, an int or float, or None if missing."""
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
    """A number for people, with thousands set apart and no more than four decimals that matter."""
    if float(number).is_integer():
        return f"{int(number):,}"
    if abs(number) < 0.01:
        return f"{number:.4g}"
    return f"{number:,.4f}".rstrip("0").rstrip(".")


@dataclass(frozen=True)
class Function:
    """Something a person can do: set a feature to an argument, or add an argument to it."""

    name: str
    target: int
    adds: bool
    arguments: Array = field(compare=False)
    """[n] numbers: what is added, or the value (a category's index) that is set."""
    natives: tuple[Native, ...]
    when: Expression
    base: Array = field(compare=False)
    surcharge: Array = field(compare=False)
    phrase: str
    every: bool = field(default=False, compare=False)
    """Whether its arguments were written as `all`."""


@dataclass(frozen=True)
class Scale:
    """What a cause multiplies base costs with: by value of a category, or by intervals of a number."""

    by_value: Array | None = field(default=None, compare=False)
    """[V + 1] one number per value, the last for missing."""
    intervals: tuple[tuple[float, bool, float, bool, float], ...] = ()
    """(low, low included, high, high included, scale), of which the first that fits counts."""

    def __call__(self, column: Array) -> Array:
        """The scale for each number of `column` [B]; 1 for what is missing or fits nowhere."""
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

    def least(self) -> float:
        """The smallest scale there is."""
        if self.by_value is not None:
            return float(self.by_value.min())
        return min([1.0, *(scale for *_, scale in self.intervals)])

    def most(self) -> float:
        """The largest scale there is."""
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
    """[V] what the target becomes for each new value of the source; NaN leaves it as it is."""
    formula: Expression | None = None
    position: int = field(default=0, compare=False)
    """Its position among the causes of the file."""

    @property
    def sets(self) -> bool:
        """Whether a change of the source changes the target."""
        return self.table is not None or self.formula is not None


@dataclass(frozen=True)
class Action:
    """A function with one of its arguments; STOP has neither a feature nor an argument."""

    index: int
    function: str
    argument: Native | None = None

    def __str__(self) -> str:
        return self.function if self.argument is None else f"{self.function}={text_of(self.argument)}"


@dataclass(frozen=True)
class Outcome:
    """The decision of the black box: every value it can take, and those that a person hopes for."""

    column: str
    natives: tuple[Native, ...]
    favourable: frozenset[str]

    @property
    def values(self) -> tuple[str, ...]:
        """The texts of all outcomes."""
        return tuple(text_of(native) for native in self.natives)


def fill_phrase(phrase: str, words: dict[str, str]) -> str:
    """`phrase` with its {placeholders} replaced."""
    return _PLACEHOLDER.sub(lambda match: words.get(match.group(1), match.group(0)), phrase)


def placeholders(phrase: str) -> list[str]:
    """The names in braces in `phrase`."""
    return _PLACEHOLDER.findall(phrase)
