"""Code lengths: those of real codes, symmetric where nothing tells a direction."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterplan.causal.code_length import ColumnCode, category_length, free_length
from counterplan.causal.columns import DataColumn, to_column
from counterplan.causal.smooth import smooth_length
from counterplan.causal.trees import describe
from counterplan.problem import Feature


def column(kind: str, values: np.ndarray, name: str = "x") -> DataColumn:
    return to_column(Feature(name, 0, kind, name), np.asarray(values, float))


def length(child: DataColumn, *parents: DataColumn) -> float:
    return min(describe(child, parents).length, smooth_length(child, parents))


def gain(first: DataColumn, second: DataColumn) -> float:
    """By how many nats first → second is shorter than the reverse."""
    return length(second) + length(first, second) - length(first) - length(second, first)


def test_lengths_of_all_sequences_satisfy_kraft() -> None:
    sequences = np.stack(np.meshgrid(*[range(3)] * 5), axis=-1).reshape(-1, 5)
    counts = np.stack([(sequences == value).sum(axis=1) for value in range(3)], axis=1).astype(float)
    assert np.exp(-free_length(counts)).sum() == pytest.approx(1)
    assert np.exp(-category_length(counts)).sum() <= 1


@given(st.integers(2, 60), st.integers(0, 10_000))
def test_whole_numbers_are_not_coded_below_their_entropy(size: int, seed: int) -> None:
    values = np.random.default_rng(seed).integers(5, 5 + size, 400)
    shares = np.bincount(values)[5:] / 400
    entropy = -float(sum(share * math.log(share) for share in shares if share))
    data = column("number", values)
    assert ColumnCode(data).lengths(np.arange(400)).min() >= 400 * entropy - 1e-6


def test_atoms_are_told_apart_from_other_numbers() -> None:
    random = np.random.default_rng(0)
    values = np.where(random.random(3_000) < 0.3, 9_000.0, random.normal(50_000, 10_000, 3_000).round(2))
    data = column("number", values)
    assert data.scale is not None
    assert data.scale.atoms.tolist() == [9_000.0]
    assert data.size <= 70
    assert data.group_count <= 9


@pytest.mark.parametrize("exponential", [False, True])
def test_linear_with_normal_errors_has_no_direction(exponential: bool) -> None:
    random = np.random.default_rng(1)
    first = random.normal(size=2_000)
    second = 0.7 * first + random.normal(size=2_000)
    if exponential:
        first, second = np.exp(first), np.exp(second)
    assert abs(gain(column("number", first), column("number", second))) < 1


def test_unstructured_tables_have_hardly_a_direction() -> None:
    gains = []
    for seed in range(20):
        random = np.random.default_rng(seed)
        first = random.choice(4, 3_000, p=random.dirichlet(np.full(4, 3.0)))
        rows = random.dirichlet(np.full(4, 2.0), 4).cumsum(axis=1)
        second = (random.random((3_000, 1)) >= rows[first]).sum(axis=1)
        gains.append(gain(column("category", first), column("category", second)))
    assert np.mean(np.abs(gains) > math.log(100)) <= 0.1


@pytest.mark.parametrize("shape", ["square", "step", "mixture"])
def test_simple_mechanisms_have_a_direction(shape: str) -> None:
    random = np.random.default_rng(2)
    count = 3_000
    if shape == "square":
        cause, kind = random.normal(size=count), "number"
        effect, other = cause**2 + 0.5 * random.normal(size=count), "number"
    elif shape == "step":
        cause, kind = random.normal(size=count), "number"
        effect, other = (random.random(count) < np.where(cause > 0.4, 0.9, 0.2)).astype(float), "category"
    else:
        cause, kind = random.integers(0, 4, count).astype(float), "ordered"
        effect, other = np.array([0.0, 5.0, 3.0, 9.0])[cause.astype(int)] + random.normal(size=count), "number"
    assert gain(column(kind, cause), column(other, effect)) > math.log(100)


def test_trees_find_thresholds() -> None:
    random = np.random.default_rng(3)
    age = random.integers(30, 60, 4_000).astype(float)
    single = random.random(4_000) < np.where(age < 45, 0.6, 0.2)
    partition = describe(column("category", single), [column("number", age)])
    parts = [age[partition.leaves == leaf] for leaf in np.unique(partition.leaves)]
    assert sorted((part.min(), part.max()) for part in parts) == [(30, 44), (45, 59)]
    assert partition.length < describe(column("category", single), []).length


def test_values_of_no_or_one_kind_have_no_length() -> None:
    empty, same = column("category", np.array([])), column("category", np.zeros(50))
    assert describe(empty, []).length == 0
    assert describe(same, [column("number", np.arange(50))]).length < math.log(20)
