"""Rules that people can read: the way to a leaf as conditions on features, as short as the truth allows.

A condition that holds for everybody who can come to the node, or for whom the chosen action is possible at all, is
left out. So a rule and the way that it stands for agree on every state in which the node can be and the choice is
possible.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from counterplan.plans import Reason
from counterplan.problem import Feature, Function, Problem
from counterplan.problem.conditions import Node
from counterplan.problem.parts import format_number
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.program.automaton import INTERVENE, Choice, Program, Run, leaves
from counterplan.program.domains import Values, after_values, needs, passing
from counterplan.search.orders import NO_ACTION


@dataclass(frozen=True)
class Condition:
    """What a rule asks of one feature: its value is among `values`, of those that are possible `here`."""

    feature: Feature
    values: Values
    here: Values

    @cached_property
    def _both(self) -> Values:
        return self.values & self.here

    @property
    def always(self) -> bool:
        """Whether every value that is possible here will do."""
        return self._both == self.here

    @property
    def never(self) -> bool:
        """Whether none will."""
        return not self._known and not self._both.missing

    @property
    def _known(self) -> bool:
        """Whether some value will do that is not missing."""
        return bool(self._both.low < self._both.high if self.feature.is_number else self._both.among)

    @property
    def _any_known(self) -> bool:
        """Whether every value will do that is not missing."""
        here, both = self.here, self._both
        return (both.low, both.high, both.among) == (here.low, here.high, here.among)

    def __call__(self, states: Floats) -> Bools:
        """Where it holds in `states` [n, F]."""
        column, values = states[:, self.feature.index], self._both
        if self.feature.is_number:
            known = (column >= values.low) & (column < values.high)
        else:
            known = np.isin(column, sorted(values.among))
        return known | (np.isnan(column) & values.missing)

    @property
    def text(self) -> str:
        """`your income is below 50,000 €`"""
        label, is_ = self.feature.label, verb(self.feature.label)
        if not self._known:
            return f"{label} {is_} unknown"
        if self._any_known:
            return f"{label} {is_} known"
        said = self._number_text() if self.feature.is_number else self._category_text()
        return f"{label} {is_} {said}{' or unknown' if self._both.missing else ''}"

    def _number_text(self) -> str:
        feature, both = self.feature, self._both
        below, above = both.high < self.here.high, both.low > self.here.low
        unit = f" {feature.unit}" if feature.unit else ""
        if feature.integer and both.high - both.low == 1:
            return feature.format_value(both.low)
        if below and above and feature.integer:
            return f"between {format_number(both.low)} and {format_number(both.high - 1)}{unit}"
        if below and above:
            return f"at least {format_number(both.low)} and below {format_number(both.high)}{unit}"
        return f"below {format_number(both.high)}{unit}" if below else f"at least {format_number(both.low)}{unit}"

    def _category_text(self) -> str:
        shape, places = self._shape
        said = [_quoted(self.feature, place) for place in places]
        if shape in ("at least", "at most"):
            return f"{shape} {said[0]}"
        if shape == "between":
            return f"between {said[0]} and {said[1]}"
        if shape == "in":
            return _joined(said, "or")
        if len(said) > 2:
            return f"none of {_joined(said, 'or')}"
        return f"not {said[0]}" if len(said) == 1 else f"neither {said[0]} nor {said[1]}"

    @property
    def _shape(self) -> tuple[str, list[int]]:
        """The shortest way to name the values of a category."""
        inside, outside = sorted(self._both.among), sorted(self.here.among - self._both.among)
        if self.feature.kind == "ordered" and len(inside) > 2:
            if inside[0] > outside[-1]:
                return "at least", inside[:1]
            if inside[-1] < outside[0]:
                return "at most", inside[-1:]
            if not any(inside[0] < place < inside[-1] for place in outside):
                return "between", [inside[0], inside[-1]]
        return ("in", inside) if len(inside) <= max(len(outside), 2) else ("not in", outside)

    @property
    def formal(self) -> Node:
        """The condition in the language of problem files."""
        name = Node("name", (self.feature.name,))
        missing = Node("missing", (name,))
        if not self._known:
            return missing
        if self._any_known:
            return Node("not", (missing,))
        parts = self._number_parts(name) if self.feature.is_number else self._category_parts(name)
        unsure = self.here.missing and parts[0].op in ("not", "!=")  # which hold for what is missing
        if unsure and not self._both.missing:
            parts.append(Node("not", (missing,)))
        known = parts[0] if len(parts) == 1 else Node("and", tuple(parts))
        return Node("or", (known, missing)) if self._both.missing and not unsure else known

    def _number_parts(self, name: Node) -> list[Node]:
        both = self._both
        low, high = Node("number", (both.low,)), Node("number", (both.high,))
        if self.feature.integer and both.high - both.low == 1:
            return [Node("==", (name, low))]
        above = [Node(">=", (name, low))] if both.low > self.here.low else []
        return above + ([Node("<", (name, high))] if both.high < self.here.high else [])

    def _category_parts(self, name: Node) -> list[Node]:
        shape, places = self._shape
        said = [Node("text", (self.feature.values[place],)) for place in places]
        if shape == "at least":
            return [Node(">=", (name, said[0]))]
        if shape == "at most":
            return [Node("<=", (name, said[0]))]
        if shape == "between":
            return [Node(">=", (name, said[0])), Node("<=", (name, said[1]))]
        if len(said) == 1:
            return [Node("==" if shape == "in" else "!=", (name, said[0]))]
        among = Node("in", (name, *said))
        return [among] if shape == "in" else [Node("not", (among,))]

    def to_data(self) -> dict[str, Any]:
        """As plain data: `{"feature": "income", "at_least": 30000, "below": 50000}`; `missing` if values can be."""
        feature, both = self.feature, self._both
        data: dict[str, Any] = {"feature": feature.name}
        if not feature.is_number or not self._known:
            data["in"] = [feature.natives[place] for place in sorted(both.among)]
        else:
            data |= {"at_least": _plain(both.low)} if both.low > self.here.low else {}
            data |= {"below": _plain(both.high)} if both.high < self.here.high else {}
        return data | ({"missing": both.missing} if self.here.missing else {})


@dataclass(frozen=True)
class Rule:
    """Conditions under which a choice is taken, one for each feature, and what had to be impossible before."""

    conditions: tuple[Condition, ...]
    otherwise: str
    """What to say if there is no condition."""
    cannot: tuple[str, ...] = ()
    """The actions that come first in the leaf: `CHANGE_HOUSING=own`."""
    cannot_text: str = ""
    """The same in words."""

    @property
    def length(self) -> int:
        """The number of features it mentions, one for each condition and for each action that had to be impossible."""
        return len(self.conditions) + len(self.cannot)

    @property
    def never(self) -> bool:
        """Whether nobody can fulfil it."""
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
            return "nobody comes here"
        said = _joined([condition.text for condition in self.conditions], "and")
        return ", while ".join(filter(None, (said, self.cannot_text))) or self.otherwise

    @cached_property
    def formal(self) -> str:
        """The conditions in the language of problem files: `income < 50000 and housing in ['rent']`."""
        if self.never or not self.conditions:
            return "false" if self.never else "true"
        parts = [condition.formal for condition in self.conditions]
        return str(parts[0] if len(parts) == 1 else Node("and", tuple(parts)))

    def to_data(self) -> list[dict[str, Any]]:
        """The rule as plain data: a condition for each feature, then what cannot be done."""
        return [*(condition.to_data() for condition in self.conditions), *({"cannot": name} for name in self.cannot)]

    @cached_property
    def because(self) -> Reason:
        """The rule as the reason for a step."""
        return Reason("rule", self.formal, tuple(self.to_data()))


class Rules:
    """The rules of a program, each made when it is first asked for."""

    def __init__(self, program: Program) -> None:
        self._problem = program.problem
        self._leaves = {name: list(leaves(tree)) for name, tree in program.trees.items()}
        choices = {choice for ways in self._leaves.values() for _, end in ways for choice in end.choices}
        self._here = {name: after_values(program.problem, name, choices) for name in self._leaves}
        self._needs: dict[Choice, dict[int, Values]] = {}
        self._made: dict[tuple[str, int, int], Rule] = {}

    def __call__(self, node: str, leaf: int, rank: int) -> Rule:
        """The rule of a choice in a leaf of a node."""
        key = node, leaf, rank
        if key not in self._made:
            self._made[key] = self._make(*key)
        return self._made[key]

    def _make(self, node: str, leaf: int, rank: int) -> Rule:
        path, end = self._leaves[node][leaf]
        features, choice = self._problem.features, end.choices[rank]
        if choice not in self._needs:
            self._needs[choice] = needs(self._problem, choice)
        here, needed = self._here[node], self._needs[choice]
        asked: dict[int, Values] = {}
        for test, passed in path:
            values = passing(features[test.feature], test, passed)
            asked[test.feature] = asked.get(test.feature, values) & values
        conditions = [
            Condition(features[index], values, here[index] & needed.get(index, here[index]))
            for index, values in asked.items()
        ]
        before = list(dict.fromkeys(end.choices[:rank]))
        doing = [one for one in before if one.action != self._problem.transitions.stop]
        return Rule(
            tuple(condition for condition in conditions if condition.never or not condition.always),
            _for_all(node, choice.action == self._problem.transitions.stop),
            tuple(choice_name(self._problem, one) for one in before),
            _not_open(self._problem, doing) if doing else "",
        )


def mean_rule_length(program: Program, run: Run) -> float:
    """The mean number of features in the rules of all steps taken in `run`, STOP not counted; 0 if there are none."""
    lengths, counts = _lengths(program, run)
    return float(np.average(lengths, weights=counts)) if len(lengths) else 0.0


def longest_rule(program: Program, run: Run) -> int:
    """The most features in the rule of any step taken in `run`, STOP not counted."""
    return max(_lengths(program, run)[0].tolist(), default=0)


def _lengths(program: Program, run: Run) -> tuple[Ints, Ints]:
    """The lengths of the rules [n] that were used, and how often [n]."""
    taken = run.actions != NO_ACTION
    used = np.stack([part[:, :-1][taken] for part in (run.nodes, run.leaves, run.ranks)], axis=1)
    used, counts = np.unique(used, axis=0, return_counts=True)
    lengths = [program.rule(program.nodes[node], leaf, rank).length for node, leaf, rank in used.tolist()]
    return np.array(lengths, np.intp), counts


# Words


def choice_name(problem: Problem, choice: Choice) -> str:
    """`CHANGE_JOB=manager`, `CHANGE_INCOME to 80000`, `STOP`"""
    action = problem.transitions.actions[choice.action]
    return str(action) if choice.reach is None else f"{action.function} to {_plain(choice.reach)}"


def choice_words(problem: Problem, choice: Choice) -> tuple[str, str, str]:
    """The verb, the object and the aim of a choice other than STOP: `change`, `your job`, `to "manager"`.

    `raise`, `your income`, `to 80,000 €`: by the smallest step that brings it there or beyond, else by the largest.
    """
    function, feature, argument = _meant(problem, choice)
    if not function.adds:
        return "change", feature.label, f"to {_value(feature, argument)}"
    if choice.reach is None:
        return "raise" if argument > 0 else "lower", feature.label, f"by {feature.format_value(abs(argument))}"
    ways = function.arguments
    way = "lower" if (ways < 0).all() else "raise" if (ways > 0).all() else "move"
    return way, feature.label, f"to {feature.format_value(choice.reach)}"


_NAMED = 3
"""Steps that are named as not open at most; if there are more, all but two are only counted. Data have them all."""
_DOING = {"change": "changing", "raise": "raising", "lower": "lowering", "move": "moving"}


def _not_open(problem: Problem, choices: Sequence[Choice]) -> str:
    """That choices cannot be taken: by the rules of the problem, by somebody's wishes, or at a plan's end."""
    said: dict[tuple[str, str], list[str]] = {}
    for choice in choices:
        way, label, aim = choice_words(problem, choice)
        aims = said.setdefault((way, label), [])
        if choice.reach is None:
            aims.append(aim)
        else:
            aims[:] = []  # no step of this function is possible, wherever to
    words = [" ".join([_DOING[way], label, _joined(aims, "or")]).rstrip() for (way, label), aims in said.items()]
    if len(words) > _NAMED:
        words[_NAMED - 1 :] = [f"{len(words) - _NAMED + 1} other steps"]
    return f"{_joined(words, 'and')} {'is' if len(words) == 1 else 'are'} not open to you here"


def _meant(problem: Problem, choice: Choice) -> tuple[Function, Feature, float]:
    """The function of a choice, the feature it changes, and its argument."""
    number = int(problem.transitions.function_of[choice.action])
    function = problem.transitions.functions[number]
    argument = float(function.arguments[choice.action - problem.transitions.spans[number].start])
    return function, problem.features[function.target], argument


def _for_all(node: str, stop: bool) -> str:
    if stop:
        return "nothing more is needed by anybody here"
    if node == INTERVENE:
        return "it is the first step for everybody who can take it"
    return "it is the next step for everybody here who can take it"


def verb(label: str) -> str:
    """ "is" or "are", by the last word before a preposition: your savings are, the purpose of the loan is."""
    noun = re.split(r" (?:of|per|in|at|for|on|with|from|to|you) ", label)[0].split(" ")[-1]
    return "are" if re.search(r"[^siu]s$", noun) else "is"


def _value(feature: Feature, number: float) -> str:
    return feature.format_value(number) if feature.is_number else _quoted(feature, int(number))


def _quoted(feature: Feature, place: int) -> str:
    said = feature.labels[place]
    return said if re.fullmatch(r"-?[0-9.]+", said) else f'"{said}"'


def _joined(words: Sequence[str], last: str) -> str:
    """`a, b or c`"""
    return f" {last} ".join([*([", ".join(words[:-1])] if len(words) > 1 else []), *words[-1:]])


def _plain(number: float) -> int | float:
    return int(number) if float(number).is_integer() and abs(number) < 2**53 else float(number)
