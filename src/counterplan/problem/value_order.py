"""Guess the rank of a category's values from the values themselves: words of degree, levels of education, ranges."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from counterplan.problem.column_words import UNKNOWN, words_of
from counterplan.problem.draft_text import shortened

_SIZES = "sizes"
_SCALES: dict[str, tuple[str, ...]] = {
    "words of degree": (
        "none|no|zero|nothing|without|nil",
        "very low|very little|very small|very few|very poor|very bad|very weak|tiny|minimal|worst",
        "low|lower|little|small|few|poor|bad|weak|minor|niedrig|gering|wenig|klein|faible|petit|bajo|basso",
        "below average|lower middle",
        "medium|mid|middle|moderate|moderately|average|some|fair|normal|regular|mittel|moyen|medio",
        "above average|upper middle|quite rich|quite high|quite good",
        "high|higher|large|big|many|much|rich|good|strong|great|major|hoch|viel|gross|eleve|grand|alto",
        "very high|very large|very big|very many|very much|very rich|very good|very strong|excellent|huge|best",
    ),
    "words of frequency": (
        "never|nie",
        "rarely|seldom|hardly ever|selten",
        "sometimes|occasionally|manchmal",
        "often|frequently|regularly|oft",
        "usually|mostly|very often|meistens",
        "always|immer",
    ),
    "levels of education": (
        "none|no|uneducated|illiterate|no education|no degree",
        "preschool|kindergarten",
        "primary|elementary|primary school|elementary school",
        "secondary|middle school|lower secondary|secondary school|incomplete secondary",
        "high school|highschool|hs|hs grad|high school graduate|upper secondary|diploma|abitur|baccalaureate",
        "some college|incomplete higher|college incomplete",
        "vocational|associate|associates|apprenticeship|technical",
        "bachelor|bachelors|bachelor degree|bachelors degree|bsc|ba|bs"
        "|undergraduate|university|college|university degree|higher|higher education",
        "master|masters|master degree|masters degree|msc|ma|ms|mba"
        "|graduate|graduate school|postgraduate|post graduate|academic degree",
        "phd|ph d|doctorate|doctor|doctoral|doctoral degree|doctorate degree",
    ),
    "levels of experience": (
        "trainee|intern|apprentice|entry|entry level|beginner|unskilled",
        "junior|semi skilled",
        "mid|intermediate|skilled|mid level",
        "senior|highly skilled|advanced",
        "lead|principal|expert|executive",
    ),
    "degrees of agreement": (
        "strongly disagree|very dissatisfied|very unsatisfied",
        "disagree|dissatisfied|unsatisfied",
        "neutral|neither agree nor disagree|undecided",
        "agree|satisfied",
        "strongly agree|very satisfied",
    ),
    _SIZES: ("xxs", "xs", "s", "m", "l", "xl", "xxl", "xxxl"),
}
"""Levels by scale, the lowest first; each is a list of phrases in lower case, without accents."""
_POSSESSIVE = re.compile(r"(?<=\w)['’]s\b|(?<=s)['’](?!\w)", re.IGNORECASE)
_PHRASES: dict[str, dict[str, int]] = {
    scale: {phrase: rank for rank, level in enumerate(levels) for phrase in level.split("|")}
    for scale, levels in _SCALES.items()
}
_NOTHING = re.compile("none|no|nothing|zero|never|unemployed|not employed|nil|keine?s?|arbeitslos")
_AMOUNT = r"[^\d<>≤≥+-]*?(-?\d[\d,' ]*(?:\.\d+)?)\s*(k|m|%)?\D*?"
_BELOW = re.compile(rf"(?:<=?|≤|under|below|less than|up to|at most|bis)\s*{_AMOUNT}", re.IGNORECASE)
_ABOVE = re.compile(
    rf"(?:>=?|≥|over|above|more than|at least|from|ab)\s*{_AMOUNT}"
    rf"|{_AMOUNT}\s*(?:\+|and (?:more|above|over)|or more).*",
    re.IGNORECASE,
)
_BETWEEN = re.compile(rf"{_AMOUNT}\s*(?:-|–|to|\.\.\.?|bis|<=?|≤)\s*(?:x\s*)?(?:<=?|≤)?\s*{_AMOUNT}", re.IGNORECASE)
_NUMBERED = re.compile(r"(\D*[^\W\d]\D*?)(\d+)")
_LONGEST = 60


class Order(NamedTuple):
    """The values of a category, the lowest first, and the reason for this order."""

    values: list[str]
    reason: str


def guess_order(values: Sequence[str]) -> Order | None:
    """The likely order of three or more values, or of two on one scale; None if their words do not give any.

    A value that means unknown comes first: every known value is above it.
    """
    known = [value for value in values if not UNKNOWN.fullmatch(value.strip())]
    unknown = [value for value in values if value not in known]
    if len(known) < 2 or len(unknown) > 1 or any(len(value) > _LONGEST for value in values):
        return None
    first = f"; {shortened(unknown[0])} comes first, and every known value is above it" if unknown else ""
    guesses: list[tuple[str, Callable[[Sequence[str]], list[float] | None]]] = [
        *((scale, _on_scale(scale)) for scale in _SCALES),
        ("ranges", _of_ranges),
        ("numbered values", _of_numbers),
    ]
    for reason, rank in guesses:
        if len(known) < 3 and reason in _SCALES and (reason == _SIZES or all(len(value) <= 2 for value in known)):
            continue  # letters may be anything: s and m are single and married, too
        ranks = rank(known)
        if ranks is not None and len(set(ranks)) == len(known):
            ordered = [value for _, value in sorted(zip(ranks, known, strict=True))]
            return Order([*unknown, *ordered], f"{reason}, the lowest first{first}")
    return None


def _on_scale(scale: str) -> Callable[[Sequence[str]], list[float] | None]:
    phrases = _PHRASES[scale]

    def ranks(values: Sequence[str]) -> list[float] | None:
        found = [next((phrases[one] for one in _phrases_of(value) if one in phrases), None) for value in values]
        known = [float(rank) for rank in found if rank is not None]
        return known if len(known) == len(values) else None

    return ranks


def _phrases_of(value: str) -> Iterator[str]:
    """The words of a value without possessives; capitals inside it (PhD, HighSchool) may begin words."""
    plain = _POSSESSIVE.sub("", value)
    yield " ".join(words_of(plain))
    yield " ".join(words_of(plain.casefold()))


def _of_ranges(values: Sequence[str]) -> list[float] | None:
    """The ranks of ranges such as `<100`, `100-200` and `1 to 4 years`; None if they are not, or overlap."""
    bounds: list[tuple[float, float]] = []
    for value in values:
        text = value.strip()
        if _NOTHING.fullmatch(" ".join(words_of(text))) and not re.search(r"\d", text):
            bounds.append((-math.inf, -math.inf))
        elif match := _BETWEEN.fullmatch(text):
            bounds.append((_amount(match[1], match[2]), _amount(match[3], match[4])))
        elif match := _BELOW.fullmatch(text):
            bounds.append((-math.inf, _amount(match[1], match[2])))
        elif match := _ABOVE.fullmatch(text):
            bounds.append((_amount(match[1] or match[3], match[2] or match[4]), math.inf))
        else:
            return None
    if all(math.isinf(low) for low, _ in bounds) or any(low > high for low, high in bounds):
        return None
    ordered = sorted(bounds)
    if any(high > low for (_, high), (low, _) in itertools.pairwise(ordered)):
        return None
    return [float(ordered.index(bound)) for bound in bounds]


def _amount(digits: str, unit: str | None) -> float:
    factor = {"k": 1e3, "m": 1e6}.get((unit or "").lower(), 1.0)
    return float(re.sub("[,' ]", "", digits)) * factor


def _of_numbers(values: Sequence[str]) -> list[float] | None:
    """The numbers of values such as `level 1` and `level 2`, which share everything else."""
    matches = [_NUMBERED.fullmatch(value.strip()) for value in values]
    if len(values) < 3 or len({match[1].casefold() for match in matches if match}) != 1 or not all(matches):
        return None
    return [float(match[2]) for match in matches if match]
