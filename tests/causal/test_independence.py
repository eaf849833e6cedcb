"""Conditional independence tests of columns of any kind."""

from __future__ import annotations

import numpy as np
import pytest

from counterplan.causal.columns import DataColumn, to_column
from counterplan.causal.independence import independence_test
from counterplan.causal.skeleton import find_adjacencies
from counterplan.problem import Feature

pytest.importorskip("causallearn")


def column(kind: str, values: np.ndarray, name: str = "x") -> DataColumn:
    return to_column(Feature(name, 0, kind, name), np.asarray(values, float))


def chain(seed: int, count: int) -> tuple[DataColumn, DataColumn, DataColumn]:
    """A job, an income by job, and a house by income: the ends are independent given the income."""
    random = np.random.default_rng(seed)
    job = random.integers(0, 5, count)
    income = np.array([9, 40, 50, 60, 90])[job] + 10 * random.normal(size=count)
    house = (random.random(count) < np.where(income < 45, 0.2, 0.8)).astype(float)
    return column("ordered", job, "job"), column("number", income, "income"), column("category", house, "house")


@pytest.mark.parametrize("count", [300, 2_000])
def test_levels_hold_given_a_number(count: int) -> None:
    p_values = []
    for seed in range(60):
        job, income, house = chain(seed, count)
        p_values.append(independence_test(job, house, [income]).p_value)
    assert np.mean(np.array(p_values) <= 0.05) <= 0.12


def test_levels_hold_without_conditions() -> None:
    p_values = []
    for seed in range(100):
        random = np.random.default_rng(seed)
        first, second = column("number", random.gamma(1, size=200)), column("category", random.integers(0, 9, 200))
        p_values.append(independence_test(first, second).p_value)
    assert np.mean(np.array(p_values) <= 0.05) <= 0.12


def test_dependences_that_are_not_monotone_are_found() -> None:
    random = np.random.default_rng(0)
    first = random.normal(size=1_000)
    test = independence_test(column("number", first), column("number", first**2 + 0.3 * random.normal(size=1_000)))
    assert test.dependent(1e-6)


def test_common_effects_make_causes_dependent() -> None:
    random = np.random.default_rng(1)
    first, second = random.normal(size=3_000), random.normal(size=3_000)
    effect = column("number", first + second + 0.5 * random.normal(size=3_000))
    causes = column("number", first), column("number", second)
    assert not independence_test(*causes).dependent(0.01)
    assert independence_test(*causes, [effect]).dependent(1e-6)


def test_people_with_gaps_are_left_out() -> None:
    random = np.random.default_rng(2)
    values = random.normal(size=500)
    gaps = np.where(random.random(500) < 0.4, np.nan, values)
    test = independence_test(column("number", gaps), column("number", values))
    assert test.count == np.isfinite(gaps).sum()
    assert test.dependent(0.01)


def test_a_copy_does_not_separate() -> None:
    random = np.random.default_rng(3)
    first = random.integers(0, 4, 2_000)
    second = (first + (random.random(2_000) < 0.3)) % 4
    copy = column("ordered", first + 1, "copy")
    test = independence_test(column("ordered", first), column("ordered", second), [copy])
    assert not test.informative
    assert test.power(0.01) == 0


@pytest.mark.parametrize("values", [np.zeros(40), np.full(40, np.nan), np.array([])])
def test_nothing_to_test(values: np.ndarray) -> None:
    other = np.random.default_rng(4).normal(size=len(values))
    test = independence_test(column("category", values), column("number", other))
    assert (test.p_value, test.degrees) == (1.0, 0)


def test_the_skeleton_of_a_chain_has_no_shortcut() -> None:
    assert set(find_adjacencies(chain(7, 3_000), 0.01)) == {(0, 1), (1, 2)}
