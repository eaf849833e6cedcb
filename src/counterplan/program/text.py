"""The listing of a program: its tests and choices in plain words."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from counterplan.problem import Problem
from counterplan.problem.values import describe_target, visible
from counterplan.program.condition import Condition
from counterplan.program.domains import Values, after_values, passing
from counterplan.program.parts import INTERVENE, Choice, Leaf, Split, Tree, choices_in, leaves, node_names
from counterplan.program.simplify import Simplifier, simplified_trees
from counterplan.program.wording import NOTHING_HELPS, choice_words

WIDTH = 110
PAGE = 60
"""Lines of a page. A longer listing is formatted more compactly."""
_ROWS = 12
"""Most tails of leaves that are tried as shared fallbacks."""
_LONGEST = 8
"""Most choices of a shared fallback that is made of the most frequent choices."""
_NO_PLAN = ", or else no plan is known"


def program_text(problem: Problem, trees: Mapping[str, Tree]) -> str:
    """The listing of a program: the tests and choices of each node, simplified."""
    trees = simplified_trees(problem, trees)
    roomy = "\n".join(_lines(problem, trees, compact=False))
    return visible(roomy if roomy.count("\n") < PAGE else "\n".join(_lines(problem, trees, compact=True)))


def _lines(problem: Problem, trees: Mapping[str, Tree], compact: bool) -> Iterator[str]:
    most = problem.max_actions
    ends = [leaf for tree in trees.values() for _, leaf in leaves(tree)]
    choices = choices_in(trees)
    limit = "at most 1 step" if most == 1 else f"at most {most} steps"
    counts = [f"{len(trees)} node{'s' * (len(trees) > 1)}", f"{len(ends)} {'leaves' if len(ends) > 1 else 'leaf'}"]
    outcome, reaches = problem.outcome, ""
    if len(outcome.values) > 2:
        favourable = [value for value in outcome.values if value in outcome.favourable]
        reaches = f", to reach {outcome.column} {describe_target(favourable)}"
    yield f"{problem.name}: {', '.join(counts)}, {limit}{reaches}"
    if any(choice.reach is not None for choice in choices):
        yield "Raise or lower “to” a number: by the smallest step that brings it there or beyond, else by the largest."
    yield "Where none of the steps named is possible, no plan is known."
    for name in node_names(problem):
        if name not in trees:
            continue
        domain = after_values(problem, name, choices)
        listing = _Listing(problem, name, trees[name], domain, compact)
        head = "To begin with:" if name == INTERVENE else f"After {name}:"
        if isinstance(trees[name], Leaf):
            yield from ["", *_wrapped(f"{head} {listing.leaf_text(trees[name], domain)}", "")]
            continue
        yield from ["", head]
        yield from listing.lines(trees[name], domain, "  ")
        if listing.shared_row:
            yield from _wrapped(f"  Where none of these steps is possible: {_row(problem, listing.shared_row)}.", "  ")


class _Listing:
    """Lists the tree of one node. Of two branches the shorter one comes first, the other continues at the same depth.

    Fallbacks that most leaves of the node share are listed once.
    """

    def __init__(self, problem: Problem, node: str, tree: Tree, domain: list[Values], compact: bool) -> None:
        self.problem, self.node, self.compact = problem, node, compact
        self.simplifier = Simplifier(problem)
        self.shared_row = self.shared(list(self.cases(tree, domain)))

    def cases(self, tree: Tree, domain: list[Values]) -> Iterator[tuple[Leaf, list[Values]]]:
        """The leaves, each with the possible values of the features there."""
        if isinstance(tree, Leaf):
            yield tree, domain
        else:
            for condition, side in self.ways(tree, domain):
                yield from self.cases(side, _with(domain, condition))

    def ways(self, tree: Split, domain: list[Values]) -> list[tuple[Condition, Tree]]:
        """The two branches of a test."""
        feature = self.problem.features[tree.test.feature]
        return [
            (Condition(feature, passing(feature, tree.test, way), domain[feature.index]), side)
            for way, side in ((True, tree.yes), (False, tree.no))
        ]

    def shared(self, cases: Sequence[tuple[Leaf, list[Values]]]) -> tuple[Choice, ...]:
        """The fallbacks that most leaves end with, if listing them once is shorter; else none."""
        several = [(leaf, domain) for leaf, domain in cases if len(leaf.choices) > 1]
        rows: Counter[tuple[Choice, ...]] = Counter()
        places: Counter[Choice] = Counter()
        for leaf, _ in several:
            rows.update(leaf.choices[first:] for first in range(3) if len(leaf.choices) > first)
            places.update({choice: 1 / (rank + 1) for rank, choice in enumerate(leaf.choices)})
        ranked = [choice for choice, _ in places.most_common()]
        tried = sorted(rows, key=lambda row: -rows[row] * len(row))[:_ROWS]
        tried += [tuple(ranked[:size]) for size in range(2, min(len(ranked), _LONGEST) + 1)]
        saved = {row: [self.saved(leaf, row, domain) for leaf, domain in several] for row in tried}
        best = max(tried, key=lambda row: sum(saved[row]) - len(row), default=())
        most = sum(words > 0 for words in saved.get(best, ())) >= max(3, len(several) / 2)
        return best if most and sum(saved[best]) > len(best) else ()

    def saved(self, leaf: Leaf, row: Sequence[Choice], domain: list[Values]) -> int:
        """The number of choices of a leaf that a shared `row` replaces; -1 if the leaf contradicts it."""
        count, falls_back = self.listed(leaf, row, domain)
        return len(leaf.choices) - count if falls_back or self.stops(leaf.choices) else -1

    def stops(self, choices: Sequence[Choice]) -> bool:
        """Whether choices end with STOP, so that they need no fallback."""
        return bool(choices) and choices[-1].action == self.problem.transitions.stop

    def listed(self, leaf: Leaf, row: Sequence[Choice], domain: list[Values]) -> tuple[int, bool]:
        """The number of choices of a leaf to list, and whether a shared `row` follows them."""
        own = max((rank for rank, choice in enumerate(leaf.choices, 1) if choice not in row), default=1)
        if leaf.choices and leaf.choices[0].action != self.problem.transitions.stop:
            for first in range(own, len(leaf.choices) + 1):
                if leaf.choices == tuple(self.simplifier.firing(self.node, (*leaf.choices[:first], *row), domain)):
                    return first, True
        return len(leaf.choices), False

    def lines(self, tree: Tree, domain: list[Values], indent: str) -> Iterator[str]:
        """The lines of `tree`, where features have values in `domain`: if, else if, otherwise."""
        chain: list[tuple[list[str], Tree, list[Values], str]] = []
        while not isinstance(tree, Leaf):
            before = chain[-1][3] if chain else ""
            ways = [(condition, side, _with(domain, condition)) for condition, side in self.ways(tree, domain)]
            texts = [self.leaf_text(side, inside) if isinstance(side, Leaf) else "" for _, side, inside in ways]
            near = min((0, 1), key=lambda i: (not texts[i] or texts[i] != before, _size(ways[i][1])))
            condition, first, inside = ways[near]
            _, tree, domain = ways[1 - near]
            if before and texts[near] == before:
                chain[-1][0].append(condition.text)
            else:
                chain.append(([condition.text], first, inside, texts[near]))
        last = self.leaf_text(tree, domain)
        while chain and chain[-1][3] == last:  # their texts are equal
            chain.pop()
        for place, (conditions, branch, inside, text) in enumerate(chain):
            line = f"{indent}{'else ' * (place > 0)}if {', or '.join(conditions)}: {text}".rstrip()
            if place == len(chain) - 1 and self.compact and text:
                both = f"{line}; otherwise: {last}"
                if len(both) <= WIDTH:
                    yield both
                    return
            yield from _wrapped(line, indent)
            if not text:
                yield from self.lines(branch, inside, indent + "  ")
        yield from _wrapped(f"{indent}{'otherwise: ' * bool(chain)}{last}", indent)

    def leaf_text(self, leaf: Tree, domain: list[Values]) -> str:
        """The text of a leaf: `change your housing to "own", or else stop`."""
        assert isinstance(leaf, Leaf)
        if not leaf.choices:
            return f"no plan: {NOTHING_HELPS}" if self.node == INTERVENE else "no plan is known"
        count, falls_back = self.listed(leaf, self.shared_row, domain)
        more = "" if falls_back or self.stops(leaf.choices) or not self.shared_row else _NO_PLAN
        return _row(self.problem, leaf.choices[:count]) + more


def _row(problem: Problem, choices: Sequence[Choice]) -> str:
    """Choices in a row: `change your savings to "rich", else to "moderate", or else stop`."""
    stop = problem.transitions.stop
    parts = []
    for head, group in groupby(choices, lambda one: None if one.action == stop else choice_words(problem, one)[:2]):
        if head is None:
            parts.append("stop")
        else:
            parts.append(f"{' '.join(head)} {', else '.join(choice_words(problem, one)[2] for one in group)}")
    return ", or else ".join(parts)


def _size(tree: Tree) -> int:
    return sum(1 for _ in leaves(tree))


def _with(domain: list[Values], condition: Condition) -> list[Values]:
    """The possible values of the features where a condition holds."""
    place = condition.feature.index
    return [*domain[:place], domain[place] & condition.values, *domain[place + 1 :]]


def _wrapped(line: str, indent: str) -> list[str]:
    return textwrap.wrap(line, max(WIDTH, len(indent) + 60), subsequent_indent=indent + "    ")
