"""Serialization of programs: versioned JSON with problem, trees and card. Nothing in it is executable."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from counterplan.errors import SettingError
from counterplan.problem import Feature, Problem
from counterplan.problem.source import Location
from counterplan.problem.values import Native, cut, did_you_mean, listed, text_of
from counterplan.program.artefact_file import (
    ArtefactFormat,
    PlaceReader,
    number_data,
    problem_data,
    read_problem,
    sorted_data,
    value_places,
)
from counterplan.program.model_card import ModelCard
from counterplan.program.parts import INTERVENE, Choice, Leaf, Split, Test, Tree, leaves, node_names
from counterplan.program.protocol import ProgramParts
from counterplan.storage.files import write_whole

VERSION = 1
DEEPEST = 100
"""Most tests on the path to a leaf."""
_AGAIN = "If the file is damaged, make it again with 'counterplan distil'."
_FORMAT = ArtefactFormat(
    what="program",
    key="counterplan_program",
    version=VERSION,
    parts={"problem": dict, "nodes": dict, "card": dict},
    again=_AGAIN,
    origin="the program.json that 'counterplan distil' made",
)


class StoredProgram(NamedTuple):
    """The contents of a file: the arguments of `Program`."""

    problem: Problem
    trees: dict[str, Tree]
    model_card: ModelCard


def save(program: ProgramParts, path: str | Path) -> None:
    """Write `program` to a file, whole or not at all."""
    text = to_json(program)
    write_whole(path, text)


def load(path: str | Path, *, follow_links: bool = True) -> StoredProgram:
    """Read a program from a file; a StorageError or ProblemError names the place of a mistake.

    The file of a workspace is read with `follow_links=False`.
    """
    return _program(_FORMAT.load(path, follow_links), str(path))


def to_json(program: ProgramParts) -> str:
    """Serialize `program`; equal programs give equal texts."""
    return _FORMAT.dump(_parts(program))


def to_data(program: ProgramParts) -> dict[str, Any]:
    """The program as plain data: names instead of the numbers of features and actions."""
    return {_FORMAT.key: VERSION, **_parts(program)}


def _parts(program: ProgramParts) -> dict[str, Any]:
    problem, trees, nodes = program.problem, program.trees, node_names(program.problem)
    for name, tree in trees.items():
        if name not in nodes:
            raise SettingError(f"the program has a tree for '{name}', which is no function of {problem.name}")
        if _depth(tree) > DEEPEST:
            raise SettingError(f"the tree of {name} has more than {DEEPEST} tests on a path")
    for node, missing in _dangling(problem, trees):
        raise SettingError(f"the program leads from {node} to {missing}, and has no tree for it")
    return {
        "problem": problem_data(problem),
        "nodes": {name: _tree(problem, trees[name]) for name in nodes if name in trees},
        "card": sorted_data(program.model_card.to_data(), "program"),
    }


def from_json(text: str, name: str = "program") -> StoredProgram:
    """The inverse of `to_json`; `name` stands for the file in messages."""
    return _program(_FORMAT.parse(text, name), name)


def from_data(data: Any, name: str = "program") -> StoredProgram:
    """The inverse of `to_data`."""
    return _program(_FORMAT.check(data, name), name)


def _program(data: dict[str, Any], name: str) -> StoredProgram:
    problem = read_problem(data["problem"], name)
    return _Reader(name, problem).program(data["nodes"], data["card"])


def _dangling(problem: Problem, trees: Mapping[str, Tree]) -> Iterator[tuple[str, str]]:
    """The nodes with a choice that leads to a node without a tree, and the name of that node."""
    transitions = problem.transitions
    for node, tree in trees.items():
        for choice in (choice for _, leaf in leaves(tree) for choice in leaf.choices):
            function = transitions.actions[choice.action].function
            if choice.action != transitions.stop and function not in trees:
                yield node, function


def _depth(tree: Tree) -> int:
    level, depth = [tree], -1
    while level:
        level = [below for one in level if isinstance(one, Split) for below in (one.yes, one.no)]
        depth += 1
    return depth


def _tree(problem: Problem, tree: Tree) -> dict[str, Any]:
    if isinstance(tree, Leaf):
        return {"do": [choice_data(problem, choice) for choice in tree.choices]}
    yes, no = _tree(problem, tree.yes), _tree(problem, tree.no)
    return {"if": test_data(problem, tree.test), "then": yes, "else": no}


def test_data(problem: Problem, test: Test) -> dict[str, Any]:
    """A test with the name and the values of its feature."""
    feature = problem.features[test.feature]
    if test.at_least is not None:
        rank = math.ceil(max(test.at_least, 0)) if not feature.is_number else 0
        if rank >= len(feature.natives) and not feature.is_number:
            raise SettingError(f"a tree tests for a rank of {feature.name} that no value has")
        bound = _number_data(test.at_least) if feature.is_number else feature.natives[rank]
        return {"feature": feature.name, "at_least": bound}
    if test.among is not None:
        return {"feature": feature.name, "in": [feature.natives[index] for index in sorted({*test.among})]}
    return {"feature": feature.name, "missing": True}


def choice_data(problem: Problem, choice: Choice) -> dict[str, Any]:
    """A choice with the names of its function and argument."""
    action = problem.transitions.actions[choice.action]
    if choice.action == problem.transitions.stop:
        return {"stop": True}
    if choice.reach is None:
        return {"function": action.function, "argument": action.argument}
    return {"function": action.function, "reach": _number_data(choice.reach)}


def _number_data(number: float) -> int | float:
    if not math.isfinite(number):
        raise SettingError(f"a program cannot test for {number}")
    return number_data(number)


class _Reader(PlaceReader):
    """Reads trees; an error names the place of the mistake."""

    def __init__(self, name: str, problem: Problem) -> None:
        super().__init__(name, problem)
        self.functions = {function.name: i for i, function in enumerate(problem.transitions.functions)}
        self.arguments = {function.name: value_places(function.natives) for function in problem.transitions.functions}

    def program(self, nodes: dict[str, Any], card: dict[str, Any]) -> StoredProgram:
        for node in nodes:
            self.known(node, (INTERVENE, *self.functions), "node", ("nodes",))
        if INTERVENE not in nodes:
            self.wrong(("nodes",), f"there is no node {INTERVENE}, where every run starts")
        trees = {node: self.tree(nodes[node], ("nodes", node)) for node in nodes}
        for node, missing in _dangling(self.problem, trees):
            self.wrong(("nodes",), f"{node} leads to {missing}, which is not there. {_AGAIN}")
        return StoredProgram(self.problem, trees, ModelCard.from_data(card))

    def tree(self, data: Any, place: Location) -> Tree:
        if len(place) > DEEPEST + 2:
            self.wrong(place[:6], f"more than {DEEPEST} tests on a path")
        self.mapping(data, (("do",), ("if", "then", "else")), place)
        if "do" in data:
            if not isinstance(data["do"], list):
                self.wrong((*place, "do"), "should be a list")
            return Leaf(tuple(self.choice(item, (*place, "do", i)) for i, item in enumerate(data["do"])))
        test = self.test(data["if"], (*place, "if"))
        return Split(test, self.tree(data["then"], (*place, "then")), self.tree(data["else"], (*place, "else")))

    def test(self, data: Any, place: Location) -> Test:
        shapes = (("feature", "at_least"), ("feature", "in"), ("feature", "missing"))
        self.mapping(data, shapes, place)
        feature = self.features[self.known(data["feature"], self.features, "feature", (*place, "feature"))]
        if "at_least" in data:
            return Test(feature.index, at_least=self.bound(feature, data["at_least"], (*place, "at_least")))
        if "in" in data:
            if feature.is_number:
                self.wrong((*place, "in"), f"{feature.name} is a number; use 'at_least'")
            if not isinstance(data["in"], list) or not data["in"]:
                self.wrong((*place, "in"), "should be a list of values")
            found = {self.value(feature, item, (*place, "in", i)) for i, item in enumerate(data["in"])}
            return Test(feature.index, among=tuple(sorted(found)))
        if data["missing"] is not True:
            self.wrong((*place, "missing"), "should be true")
        return Test(feature.index)

    def choice(self, data: Any, place: Location) -> Choice:
        self.mapping(data, (("stop",), ("function", "argument"), ("function", "reach")), place)
        transitions = self.problem.transitions
        if "stop" in data:
            if data["stop"] is not True:
                self.wrong((*place, "stop"), "should be true")
            return Choice(transitions.stop)
        name = self.known(data["function"], self.functions, "function", (*place, "function"))
        function, span = transitions.functions[self.functions[name]], transitions.spans[self.functions[name]]
        if "reach" in data:
            if not function.adds:
                self.wrong((*place, "reach"), f"{name} does not add to a number; it needs an 'argument'")
            return Choice(span.start, self.number(data["reach"], (*place, "reach")))
        places, wanted = self.arguments[name], data["argument"]
        if not isinstance(wanted, Native) or text_of(wanted) not in places:
            hint = did_you_mean(str(wanted), places) or f"; there are {listed(places)}"
            self.wrong((*place, "argument"), f"'{cut(wanted)}' is not an argument of {name}{hint}")
        return Choice(span.start + places[text_of(wanted)])

    def bound(self, feature: Feature, data: Any, place: Location) -> float:
        if feature.kind == "category":
            self.wrong(place, f"the values of {feature.name} have no order; use 'in'")
        return self.number(data, place) if feature.is_number else float(self.value(feature, data, place))
