"""A program as a listing that people can read on paper, and its card."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from counterplan.problem import Problem
from counterplan.problem.values import visible
from counterplan.program.condition import Condition
from counterplan.program.domains import Values, after_values, passing
from counterplan.program.parts import INTERVENE, Choice, Leaf, Split, Tree, choices_in, leaves, node_names
from counterplan.program.simplify import Simplifier, simplified_trees
from counterplan.program.wording import choice_words

WIDTH = 110
PAGE = 66
"""Lines. A longer listing is set more closely."""
_ROWS = 12
"""Ways to fall back, as leaves have them, that are compared."""
_LONGEST = 8
"""And ways made of the most frequent choices, up to so many."""
_NO_PLAN = ", or else no plan is known"


def program_text(problem: Problem, trees: Mapping[str, Tree]) -> str:
    """The listing of a program: the tests and choices of each node, simplified."""
    trees = simplified_trees(problem, trees)
    roomy = "\n".join(_lines(problem, trees, close=False))
    return visible(roomy if roomy.count("\n") < PAGE else "\n".join(_lines(problem, trees, close=True)))


def _lines(problem: Problem, trees: Mapping[str, Tree], close: bool) -> Iterator[str]:
    most = problem.max_actions
    ends = [leaf for tree in trees.values() for _, leaf in leaves(tree)]
    choices = choices_in(trees)
    limit = "at most 1 step" if most == 1 else f"at most {most} steps"
    counts = [f"{len(trees)} node{'s' * (len(trees) > 1)}", f"{len(ends)} {'leaves' if len(ends) > 1 else 'leaf'}"]
    yield f"{problem.name}: {', '.join(counts)}, {limit}"
    if any(choice.reach is not None for choice in choices):
        yield "Raise or lower “to” a number: by the smallest step that brings it there or beyond, else by the largest."
    yield "Where nothing of what is said is possible, no plan is known."
    for name in node_names(problem):
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
