"""Simplification of programs: remove unreachable choices, tests with one possible outcome and equal branches.

The program takes the same actions in every state and under every constraint; its rules and its listing get shorter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from counterplan.problem import Problem
from counterplan.program.domains import Values, after_values, needs, passing
from counterplan.program.parts import INTERVENE, Choice, Leaf, Tree, choices_in


def simplified_trees(problem: Problem, trees: Mapping[str, Tree]) -> dict[str, Tree]:
    """Equivalent `trees`, by the name of their node, without choices, tests and branches that make no difference."""
    simplify, choices = Simplifier(problem), choices_in(trees)
    return {name: simplify(name, tree, after_values(problem, name, choices)) for name, tree in trees.items()}


class Simplifier:
    """Simplifies trees of programs for one problem."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.needs: dict[Choice, dict[int, Values]] = {}

    def __call__(self, node: str, tree: Tree, domain: Sequence[Values]) -> Tree:
        """The simplified tree of `node`, where features can have the values `domain`."""
        if isinstance(tree, Leaf):
            return Leaf(tuple(self.firing(node, tree.choices, domain)))
        feature = self.problem.features[tree.test.feature]
        sides: list[tuple[Tree, list[Values]]] = []
        for way, side in ((True, tree.yes), (False, tree.no)):
            values = domain[feature.index] & passing(feature, tree.test, way)
            if values.some(feature):
                inside = [*domain[: feature.index], values, *domain[feature.index + 1 :]]
                sides.append((self(node, side, inside), inside))
        if len(sides) < 2:  # one outcome only, or an unreachable branch
            return sides[0][0] if sides else self(node, tree.yes, domain)
        (yes, _), (no, _) = sides
        for both in (yes, no, tree.yes, tree.no):
            if yes == no or all(
                isinstance(both, Leaf) and self(node, both, narrowed) == one for one, narrowed in sides
            ):
                return self(node, both, domain) if isinstance(both, Leaf) else yes
        return replace(tree, yes=yes, no=no)

    def firing(self, node: str, choices: Sequence[Choice], domain: Sequence[Values]) -> Iterator[Choice]:
        """The choices that some state can take in which none of those before is legal."""
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
            fits = all((domain[index] & values).some(features[index]) for index, values in self.needs[choice].items())
            if fits and not meant <= settled:
                yield choice
            settled |= meant
