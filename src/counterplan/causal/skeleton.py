"""Pairs of columns that no test separates: the skeleton of the PC algorithm, in its order-independent variant.

Colombo and Maathuis, "Order-independent constraint-based causal structure learning", JMLR 2014.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from counterplan.causal.columns import DataColumn
from counterplan.causal.independence import IndependenceTest, independence_test

MAX_GIVEN = 2
"""Tests condition on at most so many columns."""
MAX_SETS = 40
"""Sets that are tried to separate a pair, at most."""

Pair = tuple[int, int]


@dataclass(frozen=True)
class Adjacency:
    """A pair of columns that every test found dependent.

    Attributes
    ----------
    tests : tuple of IndependenceTest
        All tests of the pair.
    """

    tests: tuple[IndependenceTest, ...]

    @property
    def weakest(self) -> IndependenceTest:
        """The test with the least evidence."""
        return max(self.tests, key=lambda test: (test.p_value, -test.effect))


def find_adjacencies(
    columns: Sequence[DataColumn], alpha: float, advance: Callable[[], None] = lambda: None
) -> Mapping[Pair, Adjacency]:
    """The pairs of columns that remain dependent given every set of up to `MAX_GIVEN` neighbours of either.

    Parameters
    ----------
    columns : sequence of DataColumn
        The columns; a pair is that of their positions, in order.
    alpha : float
        The level of each test.
    advance : callable
        Called after every pair of the first round.
    """
    tests: dict[Pair, list[IndependenceTest]] = {}
    for pair in combinations(range(len(columns)), 2):
        test = independence_test(columns[pair[0]], columns[pair[1]])
        if test.dependent(alpha):
            tests[pair] = [test]
        advance()
    for size in range(1, MAX_GIVEN + 1):
        neighbours = _neighbours(tests)
        for pair in list(tests):
            for given in _separators(pair, neighbours, size):
                test = independence_test(columns[pair[0]], columns[pair[1]], [columns[index] for index in given])
                if test.degrees and not test.dependent(alpha):
                    del tests[pair]
                    break
                if test.degrees:
                    tests[pair].append(test)
    return {pair: Adjacency(tuple(found)) for pair, found in tests.items()}


def is_adjacent(
    columns: Mapping[str, DataColumn], pair: tuple[str, str], tests: Sequence[IndependenceTest], alpha: float
) -> bool:
    """Whether a pair is dependent, in other people, given each of the sets of `tests`."""
    return all(
        independence_test(columns[pair[0]], columns[pair[1]], [columns[name] for name in test.given]).dependent(alpha)
        for test in tests
    )


def _neighbours(pairs: Mapping[Pair, object]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for first, second in pairs:
        found.setdefault(first, []).append(second)
        found.setdefault(second, []).append(first)
    return found


def _separators(pair: Pair, neighbours: Mapping[int, Sequence[int]], size: int) -> list[tuple[int, ...]]:
    """The sets of `size` neighbours of one of the pair, without the other."""
    sets: dict[tuple[int, ...], None] = {}
    for here, there in (pair, pair[::-1]):
        others = sorted(index for index in neighbours[here] if index != there)
        sets |= dict.fromkeys(combinations(others, size))
    return list(sets)[:MAX_SETS]
