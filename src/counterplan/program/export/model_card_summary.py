"""The card of a program in plain words, for pages and modules."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from counterplan.problem.parts import Feature
from counterplan.problem.values import visible
from counterplan.program.cautions import spoken
from counterplan.program.export.drawing import drawing
from counterplan.program.export.resolved import derived
from counterplan.program.model_card_text import DRAWN, say_shortly
from counterplan.program.parts import tested_features
from counterplan.program.protocol import Artefact, ProgramLike

_TITLES = {
    "people": "people it was made from",
    "tried_on": "then tried on",
    "given_up": "people of these who got no plan",
    "success": "plans that worked, of people with a known plan",
    "cost_ratio": "effort of these plans, compared with the least known",
    "leaves": "rules",
    "rule_length_mean": "features in a rule, on average",
    "rule_length_longest": "features in the longest rule",
    "questions": "questions asked of the model to make it",
}
_ELSEWHERE = (*DRAWN, "cannot", "groups", "without", "protected_tested", "protected_avoided")
"""Entries that the page shows elsewhere."""
_NUMBER = r"-?[0-9][0-9,]*(?:\.[0-9]+)?"
_HEADINGS = {
    "people": "people",
    "success": "plans that worked",
    "mean_effort": "mean effort",
    "plans": "got another plan",
    "hold": "other plans that worked",
}


def summary(artefact: Artefact) -> list[tuple[str, str]]:
    """The main entries of the card as titles and texts: performance first."""
    card = artefact.model_card.to_data()
    return [(title, _entry_text(key, card[key])) for key, title in _TITLES.items() if card.get(key) is not None]


def counted(program: ProgramLike) -> str:
    """What the numbers in the drawing count, with the number of synthetic people, if the card has it."""
    if not drawing(program).people:
        return "rules"
    people = program.model_card.people
    if people is None or not people.synthetic:
        return "people that the program was made from"
    return f"people that the program was made from: {people.real:,} real and {people.synthetic:,} invented"


def making(artefact: Artefact) -> list[tuple[str, str]]:
    """The other entries of the card, such as settings; nested ones are named by their path."""
    card = artefact.model_card.to_data()
    others = {key: value for key, value in card.items() if key not in _TITLES and key not in _ELSEWHERE}
    queries = card.get("questions")
    return list(_entries(others | ({"questions": queries} if isinstance(queries, Mapping) else {}), ""))


def groups(artefact: Artefact) -> list[tuple[str, list[str], list[list[str]]]]:
    """Tables by protected feature and by forbidden function: a name, headings and rows, each with its group first."""
    card = artefact.model_card.to_data()
    labels = {feature.name: feature.label for feature in artefact.problem.features}
    every: list[tuple[str, Any, Callable[[str], str]]] = []
    for name, inside in _items(card.get("groups")):
        every.append(
            (labels.get(name, str(name)), dict(sorted(_items(inside), key=_lower_end(str(name)))), _group_text)
        )
    every += [("what cannot be changed", card.get("without"), spoken)]
    tables = []
    for name, inside, say in every:
        rows = {g: v for g, v in inside.items() if isinstance(v, Mapping)} if isinstance(inside, Mapping) else {}
        seen = dict.fromkeys(key for row in rows.values() for key in row)
        keys = [key for key in _HEADINGS if key in seen] + [key for key in seen if key not in _HEADINGS]
        body = [[say(str(g)), *(_entry_text(key, row.get(key)) for key in keys)] for g, row in rows.items()]
        if body:
            headings = [_HEADINGS.get(key, str(key).replace("_", " ")) for key in keys]
            tables.append((name, headings, body))
    return tables


def _lower_end(name: str) -> Callable[[tuple[Any, Any]], float]:
    """The key to sort the groups of a number by: `age < 25`, `25 ≤ age < 30`, `age ≥ 30`, `age is missing`."""

    def key(item: tuple[Any, Any]) -> float:
        group = str(item[0]).replace(name, "")
        number = re.search(rf"^{_NUMBER}(?= ≤|$)|(?<=≥ ){_NUMBER}", group)
        if number:
            return float(number.group().replace(",", ""))
        return -math.inf if group.strip().startswith("<") else math.inf if group.endswith("is missing") else 0.0

    return key


def _group_text(group: str) -> str:
    return "unknown" if group.endswith(" is missing") else group


def _items(data: object) -> list[tuple[Any, Any]]:
    return list(data.items()) if isinstance(data, Mapping) else []


def _entries(card: Mapping[str, Any], before: str) -> Iterator[tuple[str, str]]:
    for key, value in card.items():
        name = before + str(key).replace("_", " ")
        if isinstance(value, Mapping) and any(isinstance(item, Mapping) for item in value.values()):
            yield from _entries(value, f"{name}, ")
        elif isinstance(value, Mapping):
            yield (
                name,
                ", ".join(f"{inner} {_entry_text(inner, item)}" for inner, item in value.items()).replace("_", " "),
            )
        elif value is not None:
            yield name, _entry_text(key, value)


def _entry_text(key: str, value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "–", True: "yes", False: "no"}[value]
    if isinstance(value, (int, float)):
        if key == "success" and 0 <= value <= 1:
            return f"{value:.0%}"
        decimals = {"mean_effort": 1, "rule_length_mean": 1, "cost_ratio": 2}.get(key)
        short = value if decimals is None else round(value, decimals)
        return say_shortly(short) + " times" * (key == "cost_ratio")
    if key == "tried_on" and isinstance(value, Mapping):
        people, more = value.get("people"), value.get("without_any_known_plan")
        return f"{_entry_text('', people)} people" + (
            f"; {_entry_text('', more)} more have no known plan" if more else ""
        )
    if key == "given_up" and isinstance(value, Mapping):
        people, known = value.get("people"), value.get("with_known_plan")
        return _entry_text("", people) + (f"; {_entry_text('', known)} of them have a known plan" if known else "")
    if key == "questions" and isinstance(value, Mapping):
        return _entry_text("", sum(part for part in value.values() if isinstance(part, int)))
    if isinstance(value, Mapping):
        parts = [f"{_entry_text('', part)} {str(name).replace('_', ' ')}" for name, part in value.items() if part != 0]
        return ", ".join(sorted(parts, key=lambda part: "invented" in part)) or "0"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(_entry_text(key, item) for item in value) or "none"
    return visible(str(value))


def limits(program: ProgramLike) -> list[str]:
    """The limitations of a program, in sentences for its readers."""
    protected = [feature for feature in program.problem.features if feature.protected]
    tested = {index for tree in program.trees.values() for index in tested_features(tree)}
    tested_labels = [feature.label for feature in protected if feature.index in tested]
    untested_labels = [feature.label for feature in protected if feature.index not in tested]
    sentences = [
        "A plan is what should work for people like you. It is not checked with the model that decides: have it "
        "checked before you rely on it.",
        "It does not know the decision. It assumes that the answer was no.",
        "Effort is an estimate, made for people in general. For you it may be more or less.",
        "Where it has no plan, there may still be one: ask for a search with the model that decides.",
    ]
    if tested_labels:
        sentences.append(f"Its rules look at protected features: {listed(tested_labels)}.")
    if untested_labels:
        sentences.append(
            f"No rule looks at {listed(untested_labels)}, but what the rules do look at may be related to that."
        )
    needed = [feature.label for feature in used(program) if feature.label in untested_labels]
    if needed:
        sentences.append(
            f"It needs {listed(needed)} only to know which steps are possible, and how much effort they take."
        )
    return [*sentences, *stated_limits(program)]


def stated_limits(artefact: Artefact) -> list[str]:
    """The limitations that a model card states itself."""
    stated = artefact.model_card.to_data().get("cannot", ())
    return [visible(str(line)) for line in (stated if isinstance(stated, list | tuple) else [stated])]


def used(program: ProgramLike) -> list[Feature]:
    """The features that the actions of a program can depend on: tested, changed, needed for legality, or needed to
    compute one of these."""
    transitions, reached = program.problem.transitions, drawing(program).nodes
    found = {index for name in reached if name in program.trees for index in tested_features(program.trees[name])}
    for function in transitions.functions:
        if function.name in reached:
            found |= {function.target} | transitions.read_by(function, transitions.changed_by(function))
    for cause in reversed(derived(program)):
        if cause.target in found:
            found |= transitions.read_in(cause)
    return [feature for feature in program.problem.features if feature.index in found]


def listed(names: Sequence[str]) -> str:
    """`your sex, your age and your job`"""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
