"""Rules: the path to a leaf as conditions on features, as short as possible.

A condition that holds for every state that can reach the node, or for every state in which the chosen action is legal,
is omitted. A rule and its path therefore agree on every state in which the node can be and the choice is legal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from counterplan.plans.plan import Reason
from counterplan.problem import Problem
from counterplan.problem.conditions import Node
from counterplan.problem.transitions import Bools, Floats
from counterplan.program.condition import Condition
from counterplan.program.domains import Values, after_values, needs, passing
from counterplan.program.parts import Choice, Tree, choices_in, leaves
from counterplan.program.wording import NOTHING_HELPS, choice_name, for_everyone, joined, not_open


@dataclass(frozen=True)
class Rule:
    """The conditions under which a choice is taken, and the actions before it that are not possible.

    Attributes
    ----------
    conditions : tuple of Condition
        One for each feature.
    otherwise : str
        Text of a rule without conditions.
    cannot : tuple of str
        Actions that come first in the leaf: `CHANGE_HOUSING=own`.
    cannot_text : str
        The same in words.
    """

    conditions: tuple[Condition, ...]
    otherwise: str
    cannot: tuple[str, ...] = ()
    cannot_text: str = ""

    @property
    def length(self) -> int:
        """The number of conditions and of actions that are not possible."""
        return len(self.conditions) + len(self.cannot)

    @property
    def never(self) -> bool:
        """Whether no state meets it."""
        return any(condition.never for condition in self.conditions)

    def __call__(self, states: Floats) -> Bools:
        """Where the conditions hold in `states` [n, F]."""
        holds = np.ones(len(states), bool)
        for condition in self.conditions:
            holds &= condition(states)
        return holds

    @cached_property
    def text(self) -> str:
        """The rule as a sentence: "your income is below 50,000 € and your housing is "rent""."""
        if self.never:
            return "this case never occurs"
        conditions = joined([condition.text for condition in self.conditions], "and")
        return ", while ".join(filter(None, (conditions, self.cannot_text))) or self.otherwise

    @cached_property
    def formal(self) -> str:
        """The conditions in the language of problem files: `income < 50000 and housing in ['rent']`."""
        if self.never or not self.conditions:
            return "false" if self.never else "true"
        parts = [condition.formal for condition in self.conditions]
        return str(parts[0] if len(parts) == 1 else Node("and", tuple(parts)))

    def to_data(self) -> list[dict[str, Any]]:
        """The rule as plain data: its conditions, then the actions that are not possible."""
        return [*(condition.to_data() for condition in self.conditions), *({"cannot": name} for name in self.cannot)]

    @cached_property
    def because(self) -> Reason:
        """The rule as the reason for a step."""
        return Reason("rule", self.formal, tuple(self.to_data()))


class RuleExtractor:
    """The rules of the `trees` of a program, by the name of their node; each is made once, on demand."""

    def __init__(self, problem: Problem, trees: Mapping[str, Tree]) -> None:
        self._problem = problem
        self._leaves = {name: list(leaves(tree)) for name, tree in trees.items()}
        choices = choices_in(trees)
        self._domains = {name: after_values(problem, name, choices) for name in self._leaves}
        self._needs: dict[Choice, dict[int, Values]] = {}
        self._rules: dict[tuple[str, int, int], Rule] = {}

    def __call__(self, node: str, leaf: int, rank: int) -> Rule:
        """The rule of the choice at `rank` in a leaf of a node; of an empty leaf, at rank 0, the rule of no plan."""
        key = node, leaf, rank
        if key not in self._rules:
            self._rules[key] = self._extract(*key)
        return self._rules[key]

    def _extract(self, node: str, leaf: int, rank: int) -> Rule:
        path, end = self._leaves[node][leaf]
        features, domain = self._problem.features, self._domains[node]
        choice = end.choices[rank] if end.choices or rank else None
        needed = {} if choice is None else self._needed(choice)
        required: dict[int, Values] = {}
        for test, passed in path:
            values = passing(features[test.feature], test, passed)
            required[test.feature] = required.get(test.feature, values) & values
        conditions = [
            Condition(features[index], values, domain[index] & needed.get(index, domain[index]))
            for index, values in required.items()
        ]
        before = list(dict.fromkeys(end.choices[:rank]))
        actions = [one for one in before if one.action != self._problem.transitions.stop]
        return Rule(
            tuple(condition for condition in conditions if condition.never or not condition.always),
            NOTHING_HELPS if choice is None else for_everyone(node, choice.action == self._problem.transitions.stop),
            tuple(choice_name(self._problem, one) for one in before),
            not_open(self._problem, actions) if actions else "",
        )

    def _needed(self, choice: Choice) -> dict[int, Values]:
        """See `needs`; computed once for each choice."""
        if choice not in self._needs:
            self._needs[choice] = needs(self._problem, choice)
        return self._needs[choice]
