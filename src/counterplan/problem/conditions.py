"""The expression language of problem files: `income + argument >= 250 and job in ['manager', 'ceo']`.

A text is parsed into a tree of `Node`s, which converts to JSON and back to text. Python's own evaluator is never
involved: `binding.py` checks the names and compiles the tree to array operations.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from counterplan.errors import ConditionError
from counterplan.problem import limits
from counterplan.problem.values import cut, did_you_mean, text_of

COMPARISONS = ("==", "!=", "<=", ">=", "<", ">")
CALLS = ("base", "before", "missing", "rank")
KEYWORDS = ("and", "or", "not", "in", "true", "false", "argument")

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
    | (?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    | (?P<quoted>`[^`]+`)
    | (?P<name>[^\W\d]\w*)
    | (?P<sign>==|!=|<=|>=|[-<>≤≥≠+−*×/÷()\[\],])
    )""",
    re.VERBOSE,
)
_SAME_SIGN = {"≤": "<=", "≥": ">=", "≠": "!=", "−": "-", "×": "*", "÷": "/"}


@dataclass(frozen=True)
class Node:
    """An operation and its operands; leaves hold a number, a text or a name."""

    op: str
    args: tuple[Any, ...] = ()
    position: int = field(default=0, compare=False)

    def to_json(self) -> list[Any]:
        """The tree as nested lists: `["<", ["name", "age"], ["number", 25]]`."""
        return [self.op, *(arg.to_json() if isinstance(arg, Node) else arg for arg in self.args)]

    @classmethod
    def from_json(cls, tree: Any, depth: int = 0) -> Node:
        """The inverse of `to_json`; raises ConditionError for trees that `parse` cannot produce."""
        if depth > limits.MAX_CONDITION_DEPTH:
            raise ConditionError("not a condition tree: nested too deeply")
        if not isinstance(tree, list) or not tree or not isinstance(tree[0], str):
            raise ConditionError(f"not a condition tree: {str(tree)[:60]}")
        op, *args = tree
        if op in ("number", "text", "name"):
            if len(args) != 1 or not _is_leaf(op, args[0]):
                raise ConditionError(f"not a condition tree: {str(tree)[:60]}")
            return cls(op, (float(args[0]) if op == "number" else args[0],))
        arity = _ARITY.get(op)
        if arity is None or not arity[0] <= len(args) <= arity[1]:
            raise ConditionError(f"not a condition tree: {str(tree)[:60]}")
        inner = tuple(cls.from_json(arg, depth + 1) for arg in args)
        if op == "negate" and inner[0].op == "number":
            return cls("number", (-inner[0].args[0],))
        return cls(op, inner)

    def names(self) -> set[str]:
        """The features that the expression mentions."""
        if self.op == "name":
            return {self.args[0]}
        return set().union(*(arg.names() for arg in self.args if isinstance(arg, Node)))

    def current_names(self) -> set[str]:
        """The features whose current values the expression reads: those that it mentions outside `before(…)`."""
        if self.op in ("name", "before"):
            return {self.args[0]} if self.op == "name" else set()
        return set().union(*(arg.current_names() for arg in self.args if isinstance(arg, Node)))

    def uses(self, op: str) -> bool:
        """Whether the operation `op` occurs in the expression."""
        return self.op == op or any(arg.uses(op) for arg in self.args if isinstance(arg, Node))

    def size(self) -> int:
        """The number of operations and leaves."""
        return 1 + sum(arg.size() for arg in self.args if isinstance(arg, Node))

    def __str__(self) -> str:
        return _print(self, 0)


def _is_leaf(op: str, value: Any) -> bool:
    if op == "number":
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return is_number and abs(value) <= sys.float_info.max
    return isinstance(value, str) and (op == "text" or bool(re.fullmatch(r"[^`]+", value)))


_MANY = 10_000
_ARITY = (
    dict.fromkeys(("and", "or"), (2, _MANY))
    | dict.fromkeys((*COMPARISONS, "+", "-", "*", "/"), (2, 2))
    | dict.fromkeys((*CALLS, "not", "negate"), (1, 1))
    | dict.fromkeys(("true", "false", "argument"), (0, 0))
    | {"in": (2, _MANY)}
)
_STRENGTH = (
    {"or": 1, "and": 2, "not": 3}
    | dict.fromkeys((*COMPARISONS, "in"), 4)
    | {"+": 5, "-": 5, "*": 6, "/": 6, "negate": 7}
)


def _print(node: Node, outer: int) -> str:
    op, args = node.op, node.args
    strength = _STRENGTH.get(op, 9)
    if op == "number":
        return _number_text(args[0])
    if op == "text":
        return "'" + str(args[0]).replace("\\", "\\\\").replace("'", "\\'") + "'"
    if op == "name":
        plain = re.fullmatch(r"[^\W\d]\w*", args[0]) and args[0] not in KEYWORDS + CALLS
        return str(args[0]) if plain else f"`{args[0]}`"
    if op in ("argument", "true", "false"):
        return op
    if op in CALLS:
        return f"{op}({_print(args[0], 0)})"
    if op == "not":
        text = f"not {_print(args[0], strength)}"
    elif op == "negate":
        text = f"-{_print(args[0], strength)}"
    elif op == "in":
        text = f"{_print(args[0], 5)} in [{', '.join(_print(arg, 5) for arg in args[1:])}]"
    elif op in ("and", "or"):
        text = f" {op} ".join(_print(arg, strength + 1) for arg in args)
    else:  # a comparison does not chain inside another, and - and / group to the left
        left = strength + 1 if strength == 4 else strength
        text = f"{_print(args[0], left)} {op} {_print(args[1], strength + 1)}"
    return f"({text})" if strength < outer else text


def _number_text(number: float) -> str:
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)


def parse(text: str) -> Node:
    """Parse `text` into a tree, without checking its names."""
    if len(text) > limits.MAX_CONDITION_LENGTH:
        most = limits.MAX_CONDITION_LENGTH
        raise ConditionError(f"a condition or formula has at most {most:,} characters, and this has {len(text):,}")
    return _Parser(text).whole()


class _Parser:
    """Recursive descent, one method per level of precedence."""

    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str, int]] = []
        self.at = 0
        self.depth = 0
        position = 0
        last = len(text.rstrip())
        while position < last:
            match = _TOKEN.match(text, position)
            if match is None:
                bad = len(text) - len(text[position:].lstrip())
                hint = "; write == to compare" if text[bad] == "=" else ""
                raise ConditionError(f"cannot read {text[bad:].split()[0][:20]!r}{hint}", bad)
            kind = match.lastgroup or ""
            token = match.group(kind)
            self.tokens.append((kind, _SAME_SIGN.get(token, token), match.start(kind)))
            position = match.end()
        self.end = len(text)

    def peek(self) -> tuple[str, str, int]:
        return self.tokens[self.at] if self.at < len(self.tokens) else ("end", "the end", self.end)

    def take(self, *wanted: str) -> bool:
        kind, token, _ = self.peek()
        if token in wanted and kind in ("sign", "name"):
            self.at += 1
            return True
        return False

    def need(self, wanted: str) -> None:
        if not self.take(wanted):
            _, token, position = self.peek()
            raise ConditionError(f"expected '{wanted}' but found {cut(token)!r}", position)

    def whole(self) -> Node:
        if not self.tokens:
            raise ConditionError("the condition is empty")
        node = self.either()
        kind, token, position = self.peek()
        if kind != "end":
            before = self.tokens[self.at - 1]
            hint = did_you_mean(before[1], CALLS) if token == "(" and before[0] == "name" else ""
            raise ConditionError(f"did not expect {cut(token)!r} here{hint}", position)
        if len(_levels(node)) > limits.MAX_CONDITION_DEPTH:
            raise ConditionError("nested too deeply, or too long a sum", node.position)
        return node

    def either(self) -> Node:
        return self.several("or", self.both)

    def both(self) -> Node:
        return self.several("and", self.negation)

    def several(self, word: str, part: Callable[[], Node]) -> Node:
        position = self.peek()[2]
        parts = [part()]
        while self.take(word):
            parts.append(part())
        return parts[0] if len(parts) == 1 else Node(word, tuple(parts), position)

    def negation(self) -> Node:
        position = self.peek()[2]
        if self.take("not"):
            return Node("not", (self.deeper(self.negation),), position)
        return self.comparison()

    def deeper(self, part: Callable[[], Node]) -> Node:
        self.depth += 1
        if self.depth > limits.MAX_CONDITION_DEPTH:
            raise ConditionError("nested too deeply", self.peek()[2])
        node = part()
        self.depth -= 1
        return node

    def comparison(self) -> Node:
        left = self.sum()
        comparisons: list[Node] = []
        while True:
            kind, token, position = self.peek()
            if kind == "sign" and token in COMPARISONS:
                if comparisons and _holds_condition(left):  # it would double at every level of nesting
                    raise ConditionError(f"'{token}' compares values, not conditions", position)
                self.at += 1
                right = self.sum()
                comparisons.append(Node(token, (left, right), position))
                left = right
            elif not comparisons and self.take("in"):
                return Node("in", (left, *self.choices()), position)
            elif not comparisons and self.take("not"):
                self.need("in")
                return Node("not", (Node("in", (left, *self.choices()), position),), position)
            elif len(comparisons) > 1:
                return Node("and", tuple(comparisons), comparisons[0].position)
            else:
                return comparisons[0] if comparisons else left

    def choices(self) -> list[Node]:
        self.need("[")
        items = [self.sum()]
        while self.take(","):
            items.append(self.sum())
        self.need("]")
        return items

    def sum(self) -> Node:
        return self.chain(("+", "-"), self.product)

    def product(self) -> Node:
        return self.chain(("*", "/"), self.signed)

    def chain(self, signs: tuple[str, str], part: Callable[[], Node]) -> Node:
        node = part()
        while True:
            _, token, position = self.peek()
            if not self.take(*signs):
                return node
            node = Node(token, (node, part()), position)

    def signed(self) -> Node:
        position = self.peek()[2]
        if self.take("-"):
            inner = self.deeper(self.signed)
            if inner.op == "number":
                return Node("number", (-inner.args[0],), position)
            return Node("negate", (inner,), position)
        return self.atom()

    def atom(self) -> Node:
        kind, token, position = self.peek()
        self.at += 1
        if kind == "number":
            if math.isinf(float(token)):
                raise ConditionError("numbers must be finite", position)
            return Node("number", (float(token),), position)
        if kind == "text":
            return Node("text", (re.sub(r"\\(.)", r"\1", token[1:-1]),), position)
        if kind == "quoted":
            return Node("name", (token[1:-1],), position)
        if token == "(" and kind == "sign":
            node = self.deeper(self.either)
            self.need(")")
            return node
        if kind == "name" and token in CALLS and self.take("("):
            node = Node(token, (self.deeper(self.either),), position)
            self.need(")")
            return node
        if kind == "name" and token not in ("and", "or", "not", "in"):
            return Node(token, (), position) if token in KEYWORDS else Node("name", (token,), position)
        raise ConditionError(f"expected a value but found {cut(token)!r}", position)


def _levels(tree: Node) -> list[list[Node]]:
    """The nodes of a tree by their distance from its root; safe for trees too deep for recursion."""
    levels = [[tree]]
    while inner := [arg for node in levels[-1] for arg in node.args if isinstance(arg, Node)]:
        levels.append(inner)
    return levels


def _holds_condition(tree: Node) -> bool:
    return any(_STRENGTH.get(node.op, 9) <= 4 for level in _levels(tree) for node in level)


def literal_text(node: Node) -> str | None:
    """The text of a value of a category that `node` spells: 'clerk', 7 or true; None if it is no literal."""
    if node.op in ("true", "false"):
        return node.op
    return text_of(node.args[0]) if node.op in ("text", "number") else None


def numbers_in(node: Node) -> Sequence[float]:
    """The numbers in an expression: thresholds where its truth value may change."""
    if node.op == "number":
        return [node.args[0]]
    return [number for arg in node.args if isinstance(arg, Node) for number in numbers_in(arg)]
