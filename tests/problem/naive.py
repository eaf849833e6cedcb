"""The rules of a problem, read straight from its dict for one person at a time: slow, plain, and no array in sight.

A state is a dict from feature to value: a float, the text of a category, or None if it is missing.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from typing import Any

from counterplan.problem.conditions import Node, parse

State = dict[str, Any]
COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
COMPUTE = {"+": operator.add, "-": operator.sub, "*": operator.mul}


def text_of(native: Any) -> str:
    if isinstance(native, bool):
        return str(native).lower()
    return str(int(native)) if isinstance(native, float) and native.is_integer() else str(native)


def rounded(number: float) -> float:
    return round(number, 9) if abs(number) < 9_000_000 else number


def named_now(node: Node) -> set[str]:
    """The features of a formula, but not those in `before(…)`."""
    if node.op == "before":
        return set()
    if node.op == "name":
        return {node.args[0]}
    return set().union(*(named_now(arg) for arg in node.args if isinstance(arg, Node)))


class World:
    def __init__(self, data: Mapping[str, Any]) -> None:
        self.features: dict[str, Any] = data["features"]
        self.functions: dict[str, Any] = data.get("functions", {})
        self.causes: list[Any] = data.get("causes", [])
        self.trees: dict[str, Node] = {}
        self.order = self.in_causal_order()

    def values(self, feature: str) -> list[str]:
        return [text_of(native) for native in self.features[feature]["values"]]

    def is_number(self, feature: str) -> bool:
        return self.features[feature]["kind"] == "number"

    def state(self, numbers: Any) -> State:
        """A row of a states array as a dict."""
        state: State = {}
        for name, number in zip(self.features, map(float, numbers), strict=True):
            known = number if self.is_number(name) else None if math.isnan(number) else self.values(name)[int(number)]
            state[name] = None if math.isnan(number) else known
        return state

    def target(self, function: str) -> str:
        return str(self.functions[function].get("set", self.functions[function].get("add")))

    def arguments(self, function: str) -> list[Any]:
        given = self.functions[function]["arguments"]
        return self.features[self.target(function)]["values"] if given == "all" else given

    def actions(self) -> list[tuple[str, Any]]:
        return [(function, argument) for function in self.functions for argument in self.arguments(function)]

    def argument(self, function: str, native: Any) -> Any:
        return float(native) if self.is_number(self.target(function)) else text_of(native)

    def legal(self, state: State, function: str, native: Any) -> bool:
        spec, target, argument = self.functions[function], self.target(function), self.argument(function, native)
        if not Evaluation(self, state, function, argument).of(self.tree(spec.get("when", "true"))):
            return False
        if "add" in spec and state[target] is None:
            return False
        after = self.after(state, function, native)
        return after[target] != state[target] and all(self.may_be(name, after[name]) for name in self.features)

    def may_be(self, feature: str, value: Any) -> bool:
        spec = self.features[feature]
        if value is None:
            return bool(spec.get("missing"))
        return not self.is_number(feature) or spec.get("minimum", -math.inf) <= value <= spec.get("maximum", math.inf)

    def cost(self, state: State, function: str, native: Any) -> float:
        cost = self.functions[function]["cost"]
        cost = cost if isinstance(cost, Mapping) else {"base": cost}
        scale = 1.0
        for cause in self.causes:
            if cause["to"] == self.target(function) and cause.get("scale") is not None:
                scale *= self.scale(cause["scale"], cause["from"], state[cause["from"]])
        base, surcharge = (self.effort(cost.get(key, 0), function, native) for key in ("base", "surcharge"))
        return surcharge + base * scale

    def effort(self, amount: Any, function: str, native: Any) -> float:
        if isinstance(amount, Mapping):
            return {text_of(key): number for key, number in amount.items()}[text_of(native)]
        return amount[self.arguments(function).index(native)] if isinstance(amount, list) else amount

    def scale(self, scale: Any, feature: str, value: Any) -> float:
        if value is None:
            return 1.0
        if isinstance(scale, Mapping):
            return scale.get(value, 1.0)
        if not self.is_number(feature):
            return scale[self.values(feature).index(value)]
        for interval in scale:
            if interval.get("above", -math.inf) < value < interval.get("below", math.inf) and interval.get(
                "at_least", -math.inf
            ) <= value <= interval.get("at_most", math.inf):
                return interval["scale"]
        return 1.0

    def after(self, state: State, function: str, native: Any) -> State:
        target, argument = self.target(function), self.argument(function, native)
        after = dict(state)
        after[target] = rounded(state[target] + argument) if "add" in self.functions[function] else argument
        for feature in self.order:
            for cause in self.causes:
                if cause["to"] == feature and after[cause["from"]] != state[cause["from"]]:
                    self.follow(cause, after, state, argument)
        return after

    def follow(self, cause: Any, state: State, before: State, argument: Any) -> None:
        """Set what follows from a cause that an action with `argument` has changed."""
        target = cause["to"]
        if cause.get("table") is not None:
            table = {text_of(key): native for key, native in cause["table"].items()}
            if state[cause["from"]] in table:
                native = table[state[cause["from"]]]
                state[target] = float(native) if self.is_number(target) else text_of(native)
        elif cause.get("formula") is not None:
            number = Evaluation(self, state, None, argument, before).of(self.tree(cause["formula"]))
            if number is not None:
                number = float(round(number)) if self.features[target].get("integer") else rounded(number)
            state[target] = number

    def in_causal_order(self) -> list[str]:
        """The features, each after all that it depends on."""
        order: list[str] = []

        def visit(feature: str) -> None:
            if feature in order:
                return
            for cause in self.causes:
                if cause["to"] == feature:
                    names = named_now(self.tree(cause["formula"])) if cause.get("formula") is not None else set()
                    for parent in {cause["from"], *names} - {feature}:
                        visit(parent)
            order.append(feature)

        for feature in self.features:
            visit(feature)
        return order

    def tree(self, text: str) -> Node:
        if text not in self.trees:
            self.trees[text] = parse(text)
        return self.trees[text]


class Evaluation:
    """The value of an expression for one person: None stands for missing, and nothing is vectorised."""

    def __init__(
        self, world: World, state: State, function: str | None = None, argument: Any = None, before: State | None = None
    ) -> None:
        self.world, self.state, self.function, self.argument, self.before = world, state, function, argument, before

    def feature(self, node: Node) -> str | None:
        """The category whose values a node speaks of."""
        node = node.args[0] if node.op == "before" else node
        name = node.args[0] if node.op == "name" else None
        if node.op == "argument" and self.function is not None:
            name = self.world.target(self.function)
        return None if name is None or self.world.is_number(name) else name

    def rank(self, node: Node, feature: str) -> int | None:
        value = text_of(node.args[0]) if node.op in ("number", "text") else self.of(node)
        return None if value is None else self.world.values(feature).index(value)

    def of(self, node: Node) -> Any:
        op, args = node.op, node.args
        if op in ("number", "text"):
            return args[0]
        if op == "name":
            return self.state[args[0]]
        if op == "before":
            assert self.before is not None
            return self.before[args[0].args[0]]
        if op == "argument":
            return self.argument
        if op in ("true", "false"):
            return op == "true"
        if op == "and":
            return all(self.of(arg) for arg in args)
        if op == "or":
            return any(self.of(arg) for arg in args)
        if op == "not":
            return not self.of(args[0])
        if op == "missing":
            return self.of(args[0]) is None
        if op == "rank":
            feature = self.feature(args[0])
            assert feature is not None
            return self.rank(args[0], feature)
        if op == "base":
            return self.base(self.of(args[0]))
        if op == "in":
            return any(self.compare("==", args[0], arg) for arg in args[1:])
        if op in ("==", "!=", "<", "<=", ">", ">="):
            return self.compare(op, *args)
        numbers = [self.of(arg) for arg in args]
        if None in numbers or (op == "/" and numbers[1] == 0):
            return None
        if op == "negate":
            return -numbers[0]
        return numbers[0] / numbers[1] if op == "/" else COMPUTE[op](*numbers)

    def base(self, value: Any) -> float:
        assert self.function is not None
        cost = self.world.functions[self.function]["cost"]
        amount = cost["base"] if isinstance(cost, Mapping) else cost
        if isinstance(amount, Mapping):
            return {text_of(key): number for key, number in amount.items()}.get(value, 0.0)
        arguments = [text_of(native) for native in self.world.arguments(self.function)]
        if value not in arguments:
            return 0.0
        return amount[arguments.index(value)] if isinstance(amount, list) else amount

    def compare(self, op: str, left: Node, right: Node) -> bool:
        feature = self.feature(left) or self.feature(right)
        a, b = (self.rank(side, feature) if feature else self.of(side) for side in (left, right))
        equal = a is not None and b is not None and a == b
        if op in ("==", "!="):
            return equal == (op == "==")
        return a is not None and b is not None and COMPARE[op](a, b)
