"""A program's card in plain words: what it is, and what it cannot do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from counterplan.problem.parts import Feature
from counterplan.program.automaton import Leaf, Program, Tree
from counterplan.program.export.drawing import drawing
from counterplan.program.text import DRAWN, say_shortly

_TITLES = {
    "made_with": "made with",
    "people": "people it was made from",
    "success": "plans that worked when they were tried on others",
    "cost_ratio": "their effort, beside the least possible",
    "questions": "questions asked of the model to make it",
    "rule_length_mean": "features in a rule, on average",
    "rule_length_longest": "features in the longest rule",
    "leaves": "rules",
    "groups": "by group",
}


def about(program: Program) -> list[tuple[str, str]]:
    """What the card says, as names and values; what lies within is named by its way there."""
    return list(_entries({key: value for key, value in program.card.items() if key not in (*DRAWN, "cannot")}, ""))


def _entries(card: Mapping[str, Any], before: str) -> Iterator[tuple[str, str]]:
    for key, value in card.items():
        name = _TITLES.get(key) if not before else None
        name = before + (name or str(key).replace("_", " "))
        if isinstance(value, Mapping) and before and not any(isinstance(item, Mapping) for item in value.values()):
            told = (f"{inner} {_said(inner, item)}" for inner, item in value.items())
            yield name, ", ".join(told).replace("_", " ")
        elif isinstance(value, Mapping):
            yield from _entries(value, f"{name}, ")
        elif value is not None:
            yield name, _said(key, value)


def _said(key: str, value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        share = key == "success" and 0 <= value <= 1
        times = " times" if key == "cost_ratio" else ""
        return f"{value:.0%}" if share else say_shortly(value) + times
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(_said(key, item) for item in value)
    return str(value)


def limits(program: Program) -> list[str]:
    """What a program cannot do, in sentences."""
    protected = [feature for feature in program.problem.features if feature.protected]
    tested = {index for tree in program.trees.values() for index in tested_in(tree)}
    looked = [feature.label for feature in protected if feature.index in tested]
    spared = [feature.label for feature in protected if feature.index not in tested]
    said = [
        "A plan is what worked for people like this one. It is not checked with the model that decides: have it "
        "checked before you rely on it.",
        "It does not know the decision. It takes for granted that the answer was no.",
        "Effort is what the problem file says it is. For you it may be more or less.",
        "Where it has no plan, one may exist all the same: a planner that asks the model can look for it.",
    ]
    if looked:
        said.append(f"Its rules look at {listed(looked)}, which the problem file calls protected.")
    if spared:
        said.append(f"No rule looks at {listed(spared)}.")
    more = program.card.get("cannot", ())
    return [*said, *(str(line) for line in ([more] if isinstance(more, str) else more))]


def tested_in(tree: Tree) -> set[int]:
    """The features that a tree asks about."""
    if isinstance(tree, Leaf):
        return set()
    return {tree.test.feature} | tested_in(tree.yes) | tested_in(tree.no)


def used(program: Program) -> list[Feature]:
    """The features on which what a program does can depend: tested, changed, or needed to know what is legal."""
    transitions, reached = program.problem.transitions, drawing(program).nodes
    found = {index for name in reached if name in program.trees for index in tested_in(program.trees[name])}
    for function in transitions.functions:
        if function.name in reached:
            found |= {function.target} | transitions.read_by(function, transitions.changed_by(function))
    return [feature for feature in program.problem.features if feature.index in found]


def listed(names: Sequence[str]) -> str:
    """`your sex, your age and your job`"""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
