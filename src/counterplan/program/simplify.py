"""A program without what can never happen: choices that nobody comes to, tests that are settled, branches that agree.

What it does is the same for everybody, whatever they may or may not do; its rules and its listing become shorter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from counterplan.problem import Problem
from counterplan.program.automaton import INTERVENE, Choice, Leaf, Program, Tree, leaves
from counterplan.program.domains import Values, after_values, needs, passing


def simplified(program: Program) -> Program:
    """The same program, with nothing in it that never happens."""
    return replace(program, trees=simplified_trees(program))


def simplified_trees(program: Program) -> dict[str, Tree]:
    """The trees of `program`, tidied, by node."""
    choices = {choice for tree in program.trees.values() for _, leaf in leaves(tree) for choice in leaf.choices}
    tidy = Simplifier(program.problem)
    return {
        name: tidy(name, tree, after_values(program.problem, name, choices)) for name, tree in program.trees.items()
    }


class Simplifier:
    """What can happen in the trees of a problem's programs."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.needs: dict[Choice, dict[int, Values]] = {}

    def __call__(self, node: str, tree: Tree, here: Sequence[Values]) -> Tree:
        """The tree of `node`, where features can be what `here` says."""
        if isinstance(tree, Leaf):
            return Leaf(tuple(self.firing(node, tree.choices, here)))
        feature = self.problem.features[tree.test.feature]
        sides: list[tuple[Tree, list[Values]]] = []
        for way, side in ((True, tree.yes), (False, tree.no)):
            values = here[feature.index] & passing(feature, tree.test, way)
            if values.some(feature):
                inside = [*here[: feature.index], values, *here[feature.index + 1 :]]
                sides.append((self(node, side, inside), inside))
        if len(sides) < 2:  # the test is settled, or nobody comes here at all
            return sides[0][0] if sides else self(node, tree.yes, here)
        (yes, _), (no, _) = sides
        for both in (yes, no, tree.yes, tree.no):
            if yes == no or all(isinstance(both, Leaf) and self(node, both, there) == one for one, there in sides):
                return self(node, both, here) if isinstance(both, Leaf) else yes
        return replace(tree, yes=yes, no=no)

    def firing(self, node: str, choices: Sequence[Choice], here: Sequence[Values]) -> Iterator[Choice]:
        """The choices that can be taken by somebody for whom those before cannot."""
        transitions, features = self.problem.transitions, self.problem.features
        settled: set[int] = set()
        for choice in choices:
            if choice.action == transitions.stop:
                if node == INTERVENE:
                    continue
                yield choice
                return
            if choice not in self.needs:
                self.needs[choice] = needs(self.problem, choice)
            span = transitions.spans[int(transitions.function_of[choice.action])]
            meant = {choice.action} if choice.reach is None else {*range(span.start, span.stop)}
            fits = all((here[index] & values).some(features[index]) for index, values in self.needs[choice].items())
            if fits and not meant <= settled:
                yield choice
            settled |= meant
