"""Messages about doubts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from counterplan.causal.independence import SMALL_EFFECT, IndependenceTest
from counterplan.causal.orientation import Edge
from counterplan.problem.values import count, listed

BALANCED = (
    "the table has as many favourable as unfavourable outcomes: if people were chosen by outcome, this alone makes "
    "features depend on each other; give the share of favourable outcomes among all people (--share)"
)
CAUTION = (
    "these are doubts, not findings: a common cause outside the table, or people chosen for a reason, can look the same"
)


def test_details(test: IndependenceTest) -> dict[str, Any]:
    """A test for JSON."""
    return {
        "test": "chi-squared",
        "p_value": test.p_value,
        "effect": round(test.effect, 4),
        "people": test.count,
        "given": list(test.given),
    }


def independent(source: str, target: str, test: IndependenceTest, power: float, only_costs: bool) -> str:
    """No dependence where there is an edge."""
    given = f" given {listed(test.given)}" if test.given else ""
    found = (
        f"{source} → {target} may not be there: no dependence was found{given} (p = {number(test.p_value)}, "
        f"{test.count:,} people; a small one, w = {SMALL_EFFECT}, would be with probability {power:.2f})"
    )
    if only_costs:
        return f"{found}; it may still be right, as what makes a change cheaper need not make it more frequent"
    return f"{found}, although the file computes {target} from {source}"


def direction(edges: Sequence[Edge], gain: float, people: int, recurs: str) -> str:
    """An edge, or several, the other way round."""
    evidence = f"describes {people:,} people in {gain:.0f} nats less, and does so in {recurs} halves of them"
    if len(edges) == 1:
        source, target = edges[0]
        return f"{source} → {target} may point the wrong way: {target} → {source} {evidence}"
    texts = [f"{source} → {target}" for source, target in edges]
    return f"some of {listed(texts)} may point the wrong way: reversing one or more {evidence}"


def missing(pair: Edge, test: IndependenceTest, tried: Sequence[str], recurs: str) -> str:
    """A dependence where there is no edge."""
    given = f", also given {listed(tried, 3)}" if tried else ""
    p_value = number(max(test.p_value, 1e-16))
    return (
        f"an edge between {pair[0]} and {pair[1]} may be missing: they are dependent{given} (p ≤ {p_value}, "
        f"w = {test.effect:.2f}, {test.count:,} people; in {recurs} halves of them)"
    )


def too_few(people: int, least: int) -> str:
    """Too few people."""
    few = count(people, "person is", "people are")
    return f"{few} too few to question the causal graph; it takes at least {least:,}"


def constant(names: Sequence[str]) -> str:
    """Features without variation."""
    return f"{listed(names)}: the same for everyone in the table, so that nothing can be said about edges from or to it"


def too_weak(edges: Sequence[str]) -> str:
    """Edges without a dependence, in a table too small to show one."""
    return f"{listed(edges)}: no dependence found, but the table is too small to say that there is none"


def incomplete(edges: Sequence[Edge]) -> str:
    """Edges whose features are hardly ever known together."""
    texts = [f"{source} → {target}" for source, target in edges]
    return f"{listed(texts)}: too few people have values of all these features to compare directions"


def number(p_value: float) -> str:
    """A p-value in two digits: .04, 3e-08."""
    return f"{p_value:.2f}".lstrip("0") if p_value >= 0.01 else f"{p_value:.0e}"
