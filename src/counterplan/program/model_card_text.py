"""The card of a program as text, a line for each entry."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from counterplan.problem.parts import format_number
from counterplan.problem.values import visible
from counterplan.program.model_card import ModelCard
from counterplan.program.text import WIDTH

DRAWN = ("transitions", "examples", "ranges", "derived")
"""Entries of a card that drawings and forms show."""
_TITLES = {
    "people": "made from people",
    "tried_on": "tried on",
    "given_up": "given no plan",
    "success": "success",
    "cost_ratio": "effort / least effort",
    "questions": "questions asked",
    "rule_length_mean": "features in a rule",
    "rule_length_longest": "longest rule",
    "leaves": "leaves",
    "groups": "by group",
    "without": "without a function",
    "protected_tested": "protected, asked about",
    "protected_avoided": "protected, never asked about",
    "cannot": "what it cannot do",
    "model": "fingerprint of the model",
    "favourable": "favourable outcomes",
    "threshold": "favourable from a score of",
    "made_with": "made with",
    "seed": "seed",
}
SETTING_NAMES: Mapping[str, Mapping[str, str]] = {
    "teaching": {"sure": "confidences", "pupils": "max_cautious", "steps": "max_expansions"},
    "distilling": {
        "careful": "lookahead_rounds",
        "penalty": "failure_penalty",
        "useless": "useless_penalty",
        "rows": "max_rows",
        "teacher": "demonstration_share",
        "reaches": "targets",
        "most_lost": "max_loss_scale",
        "least_lost": "min_loss_scale",
        "barred_weight": "forbidden_weight",
        "least_hope": "min_success",
        "feature_price": "feature_penalty",
        "leaf_price": "leaf_penalty",
        "digit_price": "digit_penalty",
        "deepest": "max_depth",
        "thresholds": "max_thresholds",
        "foresight": "variance_weight",
        "contenders": "variance_choices",
        "ahead": "lookahead_features",
        "ahead_levels": "lookahead_depth",
        "ahead_share": "lookahead_share",
        "passes": "refinement_passes",
    },
    "search": {
        "round": "round_size",
        "price": "min_relative_gain",
        "questions": "max_queries",
        "again": "retry_factor",
        "together": "batch_size",
        "thrift": "cost_bonus",
    },
    "agent": {},
    "imitating": {},
    "settings": {},
}
"""By group of settings in `made_with`: the name in Python of each setting whose key in the file differs."""
_GROUPS = {"teaching": "demonstrations", "distilling": "policy search", "imitating": "imitation"}


def card_text(card: ModelCard) -> str:
    """The card as text: known entries first, in a fixed order, then the others; those in `DRAWN` are omitted."""
    data = card.to_data()
    known = [key for key in _TITLES if key in data]
    keys = [*known, *(key for key in data if key not in _TITLES and key not in DRAWN)]
    if not keys:
        return "Nothing is written on the card."
    titles = {key: _TITLES.get(key, key.replace("_", " ")) for key in keys}
    width = max(len(title) for title in titles.values()) + 2
    lines = []
    for key in keys:
        value = _with_setting_names(data[key]) if key == "made_with" else data[key]
        lines_of = list(_entry_lines(key, value)) or ["none"]
        fitting = [part for line in lines_of for part in _within(line, WIDTH - width)]
        lines += [f"{titles[key] if i == 0 else '':<{width}}{line}" for i, line in enumerate(fitting)]
    return visible("\n".join(lines))


def _with_setting_names(made_with: Any) -> Any:
    """How a program was made, with the settings of each group by their names in Python."""
    if not isinstance(made_with, Mapping):
        return made_with
    return {
        _GROUPS.get(key, key): _renamed(value, SETTING_NAMES[key])
        if key in SETTING_NAMES and isinstance(value, Mapping)
        else value
        for key, value in made_with.items()
    }


def _renamed(settings: Mapping[str, Any], names: Mapping[str, str]) -> _Settings:
    """The settings with names instead of the keys of files, also of those inside."""
    return _Settings(
        {
            names.get(key, key): _renamed(value, names) if isinstance(value, Mapping) else value
            for key, value in settings.items()
        }
    )


class _Settings(dict[str, Any]):
    """Settings, whose names are shown as they are."""


def _within(line: str, width: int) -> list[str]:
    """A line wrapped to a width, with its continuation indented."""
    inside = " " * (len(line) - len(line.lstrip()) + 2)
    return textwrap.wrap(line, max(width, len(inside) + 40), subsequent_indent=inside) or [line]


def _entry_lines(key: str, value: Any) -> Iterator[str]:
    """An entry of a card, line by line."""
    if isinstance(value, Mapping):
        title = str if isinstance(value, _Settings) else _title
        for name, inner in value.items():
            if isinstance(inner, Mapping) and not any(isinstance(part, Mapping) for part in inner.values()):
                titles = str if isinstance(inner, _Settings) else _title
                parts = (f"{titles(part)} {', '.join(_entry_lines(part, item))}" for part, item in inner.items())
                yield f"{name}: {', '.join(parts)}"
            else:
                lines = list(_entry_lines(name, inner))
                yield f"{title(name)}: {lines[0] if len(lines) == 1 else ''}".rstrip()
                yield from (f"  {line}" for line in lines if len(lines) > 1)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _entry_lines(key, item)
    else:
        yield _plain(key, value)


def _title(name: str) -> str:
    return name.replace("_", " ")


def _plain(key: str, value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "unknown", True: "yes", False: "no"}[value]
    if not isinstance(value, (int, float)) or key == "seed":
        return str(value)
    if key == "success" and 0 <= value <= 1:
        return f"{value:.1%}"
    return say_shortly(value)


def say_shortly(number: float) -> str:
    """A figure with three decimals, or with two digits if that would change it by more than a hundredth."""
    if isinstance(number, int):
        return f"{number:,}"
    near = round(float(number), 3)
    return format_number(near if abs(near - number) <= 0.01 * abs(number) else float(f"{number:.2g}"))
