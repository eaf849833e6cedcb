"""Preconditions with one part less: every way to drop one conjunct of a condition."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from counterplan.problem.conditions import Node, literal_text


class Dropped(NamedTuple):
    """A condition without one of its parts."""

    part: Node
    """The part that was dropped."""
    rest: Node
    """The condition that remains, which holds wherever the whole one does."""
    selector: Node | None = None
    """The condition on `argument` that limits the part to some arguments; None if it applies to all of them."""

    def __str__(self) -> str:
        return str(self.part) if self.selector is None else f"{self.part} for {self.selector}"


def without_one(condition: Node) -> Iterator[Dropped]:
    """Drop each conjunct of `condition` in turn.

    A disjunction over arguments, such as `argument == 'a' and age >= 18 or argument == 'b' and age >= 21`, has a
    precondition for each argument, and the conjuncts of these are dropped in turn.

    Parameters
    ----------
    condition : Node
        The tree of a precondition.

    Yields
    ------
    Dropped
        In the order of the text.
    """
    parts = conjuncts(condition)
    for i, part in enumerate(parts):
        others = [*parts[:i], *parts[i + 1 :]]
        if part.op == "or" and any(_selector(option) is not None for option in part.args):
            for changed in _without_one_of_options(part):
                yield changed._replace(rest=_all([*parts[:i], changed.rest, *parts[i + 1 :]]))
        elif part.op != "true":
            yield Dropped(part, _all(others))


def conjuncts(condition: Node) -> list[Node]:
    """The conditions that hold together if `condition` does: the operands of `and`, of nested ones too."""
    if condition.op != "and":
        return [condition]
    return [part for operand in condition.args for part in conjuncts(operand)]


def limits_the_value(part: Node, target: str, protected: Collection[str] = ()) -> bool:
    """Whether a part of a precondition only says which values the changed feature may take.

    Such parts mention `argument` and the feature `target` itself, as `argument != job`, `argument > job` or `hours +
    argument <= 80` do: they exclude actions without effect, fix the direction of the change, or keep the feature within
    bounds. Or they mention `argument` and `protected` features, as `argument != 'husband' or sex == 'male'` does: they
    exclude combinations that do not exist.
    """
    names = part.names()
    return part.uses("argument") and bool(names) and names <= {target, *protected}


def direction(condition: Node, target: str) -> int:
    """1 if `condition` demands that `argument` exceeds the feature `target`, -1 for the opposite, otherwise 0."""
    for part in conjuncts(condition):
        if part.op not in ("<", "<=", ">", ">="):
            continue
        sides = [("argument" if side.op == "argument" else side.args[0]) for side in part.args if _is_plain(side)]
        if sorted(sides) == sorted(["argument", target]):
            return 1 if (part.op[0] == ">") == (sides[0] == "argument") else -1
    return 0


def _is_plain(node: Node) -> bool:
    return node.op in ("argument", "name")


def _without_one_of_options(disjunction: Node) -> Iterator[Dropped]:
    """Drop each conjunct of each option of a disjunction over arguments in turn, except those that select them."""
    for i, option in enumerate(disjunction.args):
        selector = _selector(option)
        if selector is None:
            continue
        parts = conjuncts(option)
        for j, part in enumerate(parts):
            if not _selects(part):
                weaker = _all([*parts[:j], *parts[j + 1 :]])
                rest = Node("or", (*disjunction.args[:i], weaker, *disjunction.args[i + 1 :]))
                yield Dropped(part, rest, selector)


def _selector(option: Node) -> Node | None:
    """The first condition of `option` that selects arguments; None if there is none."""
    return next((part for part in conjuncts(option) if _selects(part)), None)


def _selects(part: Node) -> bool:
    """Whether a condition is `argument == literal` or `argument in [literals]`."""
    if part.op not in ("==", "in"):
        return False
    others = [side for side in part.args if side.op != "argument"]
    return len(others) == len(part.args) - 1 and all(literal_text(side) is not None for side in others)


def _all(parts: Sequence[Node]) -> Node:
    """The conjunction of `parts`."""
    if not parts:
        return Node("true")
    return parts[0] if len(parts) == 1 else Node("and", tuple(parts))
