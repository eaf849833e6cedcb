"""A program as a listing that people can read on paper, and its card."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from counterplan.problem import Problem
from counterplan.problem.parts import say_number
from counterplan.program.automaton import INTERVENE, Leaf, Program, Tree, leaves
from counterplan.program.domains import Values, after_values, passing
from counterplan.program.rules import Condition, choice_text

WIDTH = 110


def program_text(program: Program) -> str:
    """The whole program: what is asked at each node, and what to do then."""
    count = sum(1 for tree in program.trees.values() for _ in leaves(tree))
    choices = {choice for tree in program.trees.values() for _, leaf in leaves(tree) for choice in leaf.choices}
    most = program.problem.max_actions
    limit = "at most 1 step" if most == 1 else f"at most {most} steps"
    lines = [f"{program.problem.name}: {len(program.trees)} nodes, {count} leaves, {limit}"]
    for name in program.nodes:
        if name in program.trees:
            listing = _Listing(program.problem, name)
            lines += ["", "To begin with:" if name == INTERVENE else f"After {name}:"]
            lines += listing.lines(program.trees[name], after_values(program.problem, name, choices), "  ")
    return "\n".join(lines)


def leaf_text(problem: Problem, node: str, leaf: Leaf) -> str:
    """What a leaf says: `change your housing to "own"; else stop`. Nobody can stop at once, everybody can later on."""
    said: list[str] = []
    for choice in dict.fromkeys(leaf.choices):
        stop = choice.action == problem.transitions.stop
        if not (stop and node == INTERVENE):
            said.append(choice_text(problem, choice))
        if stop and node != INTERVENE:
            break
    return "; else ".join(said) if said else "no plan is known"


class _Listing:
    """Lists the tree of one node. Of two branches the one that is a leaf comes first; what is settled is not asked."""

    def __init__(self, problem: Problem, node: str) -> None:
        self.problem = problem
        self.node = node

    def lines(self, tree: Tree, here: list[Values], indent: str, word: str = "") -> Iterator[str]:
        """The lines of `tree`, where features can be what `here` says; `word` is "else " within a chain."""
        if isinstance(tree, Leaf):
            yield from self.leaf(f"{indent}{'otherwise: ' if word else ''}", tree, indent)
            return
        feature = self.problem.features[tree.test.feature]
        yes, no = (Condition(feature, passing(feature, tree.test, way), here[feature.index]) for way in (True, False))
        if yes.never or no.never:
            yield from self.lines(tree.no if yes.never else tree.yes, here, indent, word)
            return
        ways = [(yes, tree.yes), (no, tree.no)]
        (near, first), (far, last) = ways if isinstance(tree.yes, Leaf) or not isinstance(tree.no, Leaf) else ways[::-1]
        question = f"{indent}{word}if {near.text}:"
        if isinstance(first, Leaf):
            yield from self.leaf(f"{question} ", first, indent)
        else:
            yield from _wrapped(question, indent)
            yield from self.lines(first, _with(here, near), indent + "  ")
        yield from self.lines(last, _with(here, far), indent, "else ")

    def leaf(self, start: str, leaf: Leaf, indent: str) -> list[str]:
        """A leaf on one line if it fits."""
        return _wrapped(start + leaf_text(self.problem, self.node, leaf), indent)


def _with(here: list[Values], condition: Condition) -> list[Values]:
    """What each feature can still be where a condition holds."""
    place = condition.feature.index
    return [*here[:place], here[place] & condition.values, *here[place + 1 :]]


def _wrapped(line: str, indent: str) -> list[str]:
    return textwrap.wrap(line, max(WIDTH, len(indent) + 60), subsequent_indent=indent + "      ")


_TITLES = {
    "made_with": "made with",
    "seed": "seed",
    "people": "people",
    "success": "success",
    "cost_ratio": "effort / least effort",
    "questions": "questions asked",
    "rule_length_mean": "features in a rule",
    "rule_length_longest": "longest rule",
    "leaves": "leaves",
    "groups": "by group",
    "cannot": "what it cannot do",
}


def card_text(card: Mapping[str, Any]) -> str:
    """A program's card, a line for each thing: what is known first and in order, then what else is there."""
    known = [key for key in _TITLES if key in card]
    keys = [*known, *(key for key in card if key not in _TITLES)]
    if not keys:
        return "Nothing is written on the card."
    titles = {key: _TITLES.get(key, key.replace("_", " ")) for key in keys}
    width = max(len(title) for title in titles.values()) + 2
    lines = []
    for key in keys:
        said = list(_said(key, card[key])) or ["none"]
        lines += [f"{titles[key] if i == 0 else '':<{width}}{line}" for i, line in enumerate(said)]
    return "\n".join(lines)


def _said(key: str, value: Any) -> Iterator[str]:
    """A thing on the card, line by line."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if isinstance(inner, Mapping) and not any(isinstance(part, Mapping) for part in inner.values()):
                told = (f"{_title(part)} {', '.join(_said(part, item))}" for part, item in inner.items())
                yield f"{name}: {', '.join(told)}"
            else:
                lines = list(_said(name, inner))
                yield f"{_title(name)}: {lines[0] if len(lines) == 1 else ''}".rstrip()
                yield from (f"  {line}" for line in lines if len(lines) > 1)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _said(key, item)
    else:
        yield _plain(key, value)


def _title(name: str) -> str:
    return name.replace("_", " ")


def _plain(key: str, value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "unknown", True: "yes", False: "no"}[value]
    if not isinstance(value, (int, float)) or key == "seed":
        return str(value)
    return f"{value:.1%}" if key == "success" and 0 <= value <= 1 else say_number(round(float(value), 3))
