"""A program as a listing that people can read on paper, and its card."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from counterplan.problem import Problem
from counterplan.problem.parts import format_number
from counterplan.problem.values import visible
from counterplan.program.automaton import INTERVENE, Choice, Leaf, Program, Split, Tree, leaves
from counterplan.program.domains import Values, after_values, passing
from counterplan.program.rules import Condition, choice_words
from counterplan.program.simplify import Simplifier, simplified_trees

WIDTH = 110
PAGE = 66
"""Lines. A longer listing is set more closely."""
_ROWS = 12
"""Ways to fall back, as leaves have them, that are compared."""
_LONGEST = 8
"""And ways made of the most frequent choices, up to so many."""
_NO_PLAN = ", or else no plan is known"


def program_text(program: Program) -> str:
    """The whole program: what is asked at each node, and what to do then. What never happens is left out."""
    trees = simplified_trees(program)
    roomy = "\n".join(_lines(program, trees, close=False))
    return visible(roomy if roomy.count("\n") < PAGE else "\n".join(_lines(program, trees, close=True)))


def _lines(program: Program, trees: Mapping[str, Tree], close: bool) -> Iterator[str]:
    problem, most = program.problem, program.problem.max_actions
    ends = [leaf for tree in trees.values() for _, leaf in leaves(tree)]
    choices = {choice for leaf in ends for choice in leaf.choices}
    limit = "at most 1 step" if most == 1 else f"at most {most} steps"
    counts = [f"{len(trees)} node{'s' * (len(trees) > 1)}", f"{len(ends)} {'leaves' if len(ends) > 1 else 'leaf'}"]
    yield f"{problem.name}: {', '.join(counts)}, {limit}"
    if any(choice.reach is not None for choice in choices):
        yield "Raise or lower “to” a number: by the smallest step that brings it there or beyond, else by the largest."
    yield "Where nothing of what is said is possible, no plan is known."
    for name in program.nodes:
        if name not in trees:
            continue
        here = after_values(problem, name, choices)
        listing = _Listing(problem, name, trees[name], here, close)
        head = "To begin with:" if name == INTERVENE else f"After {name}:"
        if isinstance(trees[name], Leaf):
            yield from ["", *_wrapped(f"{head} {listing.said(trees[name], here)}", "")]
            continue
        yield from ["", head]
        yield from listing.lines(trees[name], here, "  ")
        if listing.spare:
            yield from _wrapped(f"  Where nothing said above is possible: {_row(problem, listing.spare)}.", "  ")


class _Listing:
    """Lists the tree of one node. Of two branches the shorter one comes first, the other goes on at the same depth.

    What leaves fall back on in the end, where their own choices are not possible, is said once for the node if most
    agree in it.
    """

    def __init__(self, problem: Problem, node: str, tree: Tree, here: list[Values], close: bool) -> None:
        self.problem, self.node, self.close = problem, node, close
        self.tidy = Simplifier(problem)
        self.spare = self.shared(list(self.cases(tree, here)))

    def cases(self, tree: Tree, here: list[Values]) -> Iterator[tuple[Leaf, list[Values]]]:
        """The leaves, each with what features can be there."""
        if isinstance(tree, Leaf):
            yield tree, here
        else:
            for condition, side in self.ways(tree, here):
                yield from self.cases(side, _with(here, condition))

    def ways(self, tree: Split, here: list[Values]) -> list[tuple[Condition, Tree]]:
        """The two branches of a test."""
        feature = self.problem.features[tree.test.feature]
        return [
            (Condition(feature, passing(feature, tree.test, way), here[feature.index]), side)
            for way, side in ((True, tree.yes), (False, tree.no))
        ]

    def shared(self, cases: Sequence[tuple[Leaf, list[Values]]]) -> tuple[Choice, ...]:
        """The choices that leaves fall back on in the end, if most do and it takes fewer words to say them once."""
        several = [(leaf, here) for leaf, here in cases if len(leaf.choices) > 1]
        rows: Counter[tuple[Choice, ...]] = Counter()
        places: Counter[Choice] = Counter()
        for leaf, _ in several:
            rows.update(leaf.choices[first:] for first in range(3) if len(leaf.choices) > first)
            places.update({choice: 1 / (rank + 1) for rank, choice in enumerate(leaf.choices)})
        ranked = [choice for choice, _ in places.most_common()]
        tried = sorted(rows, key=lambda row: -rows[row] * len(row))[:_ROWS]
        tried += [tuple(ranked[:size]) for size in range(2, min(len(ranked), _LONGEST) + 1)]
        saved = {row: [self.saved(leaf, row, here) for leaf, here in several] for row in tried}
        best = max(tried, key=lambda row: sum(saved[row]) - len(row), default=())
        most = sum(words > 0 for words in saved.get(best, ())) >= max(3, len(several) / 2)
        return best if most and sum(saved[best]) > len(best) else ()

    def saved(self, leaf: Leaf, row: Sequence[Choice], here: list[Values]) -> int:
        """How many choices a leaf need not say if `row` is said for all; less than none if it has to contradict."""
        told, falls_back = self.told(leaf, row, here)
        return len(leaf.choices) - told if falls_back or self.stops(leaf.choices) else -1

    def stops(self, choices: Sequence[Choice]) -> bool:
        """Whether choices end with STOP, so that nothing can come after them."""
        return bool(choices) and choices[-1].action == self.problem.transitions.stop

    def told(self, leaf: Leaf, row: Sequence[Choice], here: list[Values]) -> tuple[int, bool]:
        """How many of its choices a leaf has to tell, and whether it falls back on `row` after them."""
        own = max((rank for rank, choice in enumerate(leaf.choices, 1) if choice not in row), default=1)
        if leaf.choices and leaf.choices[0].action != self.problem.transitions.stop:
            for first in range(own, len(leaf.choices) + 1):
                if leaf.choices == tuple(self.tidy.firing(self.node, (*leaf.choices[:first], *row), here)):
                    return first, True
        return len(leaf.choices), False

    def lines(self, tree: Tree, here: list[Values], indent: str) -> Iterator[str]:
        """The lines of `tree`, where features can be what `here` says: if, else if, otherwise."""
        chain: list[tuple[list[str], Tree, list[Values], str]] = []
        while not isinstance(tree, Leaf):
            before = chain[-1][3] if chain else ""
            ways = [(condition, side, _with(here, condition)) for condition, side in self.ways(tree, here)]
            told = [self.said(side, inside) if isinstance(side, Leaf) else "" for _, side, inside in ways]
            near = min((0, 1), key=lambda i: (not told[i] or told[i] != before, _size(ways[i][1])))
            condition, first, inside = ways[near]
            _, tree, here = ways[1 - near]
            if before and told[near] == before:
                chain[-1][0].append(condition.text)
            else:
                chain.append(([condition.text], first, inside, told[near]))
        last = self.said(tree, here)
        while chain and chain[-1][3] == last:  # they differ in nothing that is said here
            chain.pop()
        for place, (texts, branch, inside, told_) in enumerate(chain):
            line = f"{indent}{'else ' * (place > 0)}if {', or '.join(texts)}: {told_}".rstrip()
            if place == len(chain) - 1 and self.close and told_:
                both = f"{line}; otherwise: {last}"
                if len(both) <= WIDTH:
                    yield both
                    return
            yield from _wrapped(line, indent)
            if not told_:
                yield from self.lines(branch, inside, indent + "  ")
        yield from _wrapped(f"{indent}{'otherwise: ' * bool(chain)}{last}", indent)

    def said(self, leaf: Tree, here: list[Values]) -> str:
        """What a leaf says: `change your housing to "own", or else stop`."""
        assert isinstance(leaf, Leaf)
        if not leaf.choices:
            return "no plan is known"
        told, falls_back = self.told(leaf, self.spare, here)
        more = "" if falls_back or self.stops(leaf.choices) or not self.spare else _NO_PLAN
        return _row(self.problem, leaf.choices[:told]) + more


def _row(problem: Problem, choices: Sequence[Choice]) -> str:
    """Choices in a row: `change your savings to "rich", else to "moderate", or else stop`."""
    stop = problem.transitions.stop
    said = []
    for head, some in groupby(choices, lambda one: None if one.action == stop else choice_words(problem, one)[:2]):
        if head is None:
            said.append("stop")
        else:
            said.append(f"{' '.join(head)} {', else '.join(choice_words(problem, one)[2] for one in some)}")
    return ", or else ".join(said)


def _size(tree: Tree) -> int:
    return sum(1 for _ in leaves(tree))


def _with(here: list[Values], condition: Condition) -> list[Values]:
    """What each feature can still be where a condition holds."""
    place = condition.feature.index
    return [*here[:place], here[place] & condition.values, *here[place + 1 :]]


def _wrapped(line: str, indent: str) -> list[str]:
    return textwrap.wrap(line, max(WIDTH, len(indent) + 60), subsequent_indent=indent + "    ")


DRAWN = ("transitions", "examples")
"""What is on a card for drawings and forms."""
_TITLES = {
    "people": "made from people",
    "tried_on": "tried on",
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
    "made_with": "made with",
    "seed": "seed",
}


def card_text(card: Mapping[str, Any]) -> str:
    """A program's card, a line for each thing: what is known first and in order, then what else is there.

    What is on the card for drawings and forms is left out.
    """
    known = [key for key in _TITLES if key in card]
    keys = [*known, *(key for key in card if key not in _TITLES and key not in DRAWN)]
    if not keys:
        return "Nothing is written on the card."
    titles = {key: _TITLES.get(key, key.replace("_", " ")) for key in keys}
    width = max(len(title) for title in titles.values()) + 2
    lines = []
    for key in keys:
        said = list(_said(key, card[key])) or ["none"]
        fitting = [part for line in said for part in _within(line, WIDTH - width)]
        lines += [f"{titles[key] if i == 0 else '':<{width}}{line}" for i, line in enumerate(fitting)]
    return visible("\n".join(lines))


def _within(line: str, width: int) -> list[str]:
    """A line, broken where it is too long, the rest further in."""
    inside = " " * (len(line) - len(line.lstrip()) + 2)
    return textwrap.wrap(line, max(width, len(inside) + 40), subsequent_indent=inside) or [line]


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
    if key == "success" and 0 <= value <= 1:
        return f"{value:.1%}"
    return say_shortly(value)


def say_shortly(number: float) -> str:
    """A figure with three decimals, or with two digits if that would change it by more than a hundredth."""
    if isinstance(number, int):
        return f"{number:,}"
    near = round(float(number), 3)
    return format_number(near if abs(near - number) <= 0.01 * abs(number) else float(f"{number:.2g}"))
