"""Pairs of columns that no test separates: the skeleton of the PC algorithm, in its order-independent variant.

Colombo and Maathuis, "Order-independent constraint-based causal structure learning", JMLR 2014.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from counterplan.causal.columns import DataColumn
from counterplan.causal.independence import IndependenceTest, independence_test

MAX_GIVEN = 2
"""Tests condition on at most so many columns."""
MAX_SETS = 12
"""Sets of each size that are tried to separate a pair, at most: those most strongly associated with it."""
RETESTED = 3
"""Of the tests of a pair, so many with the least evidence are repeated with other people."""

Pair = tuple[int, int]


@dataclass(frozen=True)
class Adjacency:
    """A pair of columns that every test found dependent.

    Attributes
    ----------
    tests : tuple of IndependenceTest
        All tests of the pair, those with the least evidence first.
    """

    tests: tuple[IndependenceTest, ...]

    @property
    def weakest(self) -> IndependenceTest:
        """The test with the least evidence."""
        return self.tests[0]


def find_adjacencies(
    columns: Sequence[DataColumn],
    alpha: float,
    known: Collection[Pair] = (),
    advance: Callable[[float], None] = lambda share: None,
) -> Mapping[Pair, Adjacency]:
    """The pairs of columns that remain dependent given every set of up to `MAX_GIVEN` neighbours of either.

    Parameters
    ----------
    columns : sequence of DataColumn
        The columns; a pair is that of their positions, in order.
    alpha : float
        The level of each test.
    known : collection of pairs
        Pairs that are not to be separated if they are dependent at all.
    advance : callable
        Called with the share of the work that is done.
    """
    tests: dict[Pair, list[IndependenceTest]] = {}
    pairs = list(combinations(range(len(columns)), 2))
    for done, pair in enumerate(pairs):
        test = independence_test(columns[pair[0]], columns[pair[1]])
        if test.dependent(alpha):
            tests[pair] = [test]
        advance(done / len(pairs) / (1 + MAX_GIVEN))
    for size in range(1, MAX_GIVEN + 1):
        neighbours = _neighbours(tests)
        for done, pair in enumerate(sorted(tests.keys() - {*known})):
            advance((size + done / len(tests)) / (1 + MAX_GIVEN))
            for given in _separators(pair, neighbours, size):
                test = independence_test(columns[pair[0]], columns[pair[1]], [columns[index] for index in given])
                if test.degrees and not test.dependent(alpha):
                    del tests[pair]
                    break
                if test.degrees:
                    tests[pair].append(test)
    return {pair: Adjacency(tuple(sorted(found, key=_evidence))) for pair, found in tests.items()}


def is_adjacent(
    columns: Mapping[str, DataColumn], pair: tuple[str, str], tests: Sequence[IndependenceTest], alpha: float
) -> bool:
    """Whether a pair is dependent, in other people, in those of its `tests` that had the least evidence."""
    return all(
        independence_test(columns[pair[0]], columns[pair[1]], [columns[name] for name in test.given]).dependent(alpha)
        for test in tests[:RETESTED]
    )


def _evidence(test: IndependenceTest) -> tuple[float, float]:
    return -test.p_value, test.effect


def _neighbours(tests: Mapping[Pair, Sequence[IndependenceTest]]) -> dict[int, dict[int, float]]:
    """For each column, the columns that depend on it, with the effects."""
    found: dict[int, dict[int, float]] = {}
    for (first, second), (marginal, *_) in tests.items():
        found.setdefault(first, {})[second] = marginal.effect
        found.setdefault(second, {})[first] = marginal.effect
    return found


def _separators(pair: Pair, neighbours: Mapping[int, Mapping[int, float]], size: int) -> list[tuple[int, ...]]:
    """The sets of `size` neighbours of one of the pair, without the other, by their association with both."""
    first, second = pair

    def association(index: int) -> float:
        return neighbours[first].get(index, 0.0) * neighbours[second].get(index, 0.0)

    sets = {
        given
        for here, there in (pair, pair[::-1])
        for given in combinations(sorted(neighbours[here].keys() - {there}), size)
    }
    return sorted(sets, key=lambda given: (-sum(map(association, given)), given))[:MAX_SETS]
