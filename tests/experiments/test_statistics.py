"""Figures from rows made by hand, against what comes out on paper."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows_by_hand import by_hand, result

from counterplan.experiments.budgets import cpu_usage, query_usage
from counterplan.experiments.statistics import (
    Interval,
    action_string,
    curve,
    intersection,
    similarity,
    summary,
)


def test_means_over_seeds() -> None:
    found = summary(by_hand())
    search = found["german", "search"]
    assert search.people == 5
    assert search.solved == 3
    # Seed 0: both of two who can be helped, the third is provably lost; seed 1: one of two.
    assert search.success.mean == pytest.approx(0.75)
    assert search.success.half == pytest.approx(12.706 * np.std([1.0, 0.5], ddof=1) / math.sqrt(2))
    assert search.cost.mean == pytest.approx((20 + 5) / 2)
    assert search.ratio.mean == pytest.approx(((1 + 1.5) / 2 + 1) / 2)
    assert search.length.mean == pytest.approx((1.5 + 1) / 2)
    assert search.queries.mean == pytest.approx((9 / 3 + 2 / 2) / 2)
    assert found["german", "exact"].success.mean == 1
    assert found["german", "exact"].ratio.mean == 1
    program = found["german", "program"]
    # Over steps, not over people: in seed 0 one step of 2, three of 4, one of 1; in seed 1 two of 3.
    assert program.rule_length.mean == pytest.approx(((2 + 12 + 1) / 5 + 3) / 2)
    assert program.cost.mean == 15
    assert program.cost.seeds == 1
    assert math.isnan(program.cost.half)


def test_the_intersection_has_people_whom_every_method_solves() -> None:
    rows = by_hand()
    chosen = intersection(rows.results, ["exact", "search", "evolution", "no such method"])
    assert set(zip(rows.results["seed"][chosen], rows.results["person"][chosen], strict=True)) == {(0, 0), (1, 0)}
    found = summary(rows, chosen)
    assert found["german", "evolution"].cost.mean == pytest.approx(15)
    assert found["german", "search"].cost.mean == pytest.approx(7.5)
    assert not intersection(rows.results, ["search", "program", "evolution"])[rows.results["seed"] == 1].any()


def test_a_curve_has_a_point_for_each_value() -> None:
    points = curve(by_hand(), "paper_program", "traces")
    assert list(points) == [("german", 100)]
    assert points["german", 100].ratio.mean == pytest.approx((1.5 + 1) / 2)
    assert math.isnan(points["german", 100].queries.mean)
    assert curve(by_hand(), "guided", "budget")["german", 3].queries.mean == 2


def test_usage_is_by_phase() -> None:
    spent = query_usage(by_hand())
    assert spent["german", "search"].training.mean == 2_000
    assert spent["german", "program"].training.mean == 600
    assert spent["german", "program"].distillation.mean == 0
    assert spent["german", "program"].trial.mean == 40
    assert spent["german", "evolution"].prediction.mean == 150
    assert math.isnan(spent["german", "evolution"].training.mean)
    seconds = cpu_usage(by_hand())
    assert seconds["german", "evolution"].person.mean == pytest.approx(1)
    assert seconds["german", "evolution"].alone.mean == 2
    assert seconds["german", "program"].learning.mean == 12


def test_similar_plans_are_similar() -> None:
    assert action_string("A=1; B=x=y") == "A(1)-B(x=y)-STOP(0)"
    rows = [
        result(0, "one", 1.0, actions="A=1; B=2"), result(0, "other", 1.0, actions="A=1; B=2"),
        result(1, "one", 1.0, actions="A=1"), result(1, "other", 1.0, actions="Z=9"),
        result(2, "one", 1.0), result(2, "other", None, actions="", length=0),
    ]  # fmt: skip
    found = similarity(pd.DataFrame(rows), "one", "other")
    # "A(1)-STOP(0)" and "Z(9)-STOP(0)" share "(" and ")-STOP(0)": 10 characters of 12 each.
    assert found["people"].tolist() == [2]
    assert found["alike"].tolist() == [pytest.approx((1 + 10 / 12) / 2)]
    assert found["same"].tolist() == [0.5]


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40), st.floats(-1e3, 1e3))
def test_an_interval_moves_with_its_values(values: list[float], shift: float) -> None:
    one, other = Interval.of(values), Interval.of([value + shift for value in values])
    assert other.mean == pytest.approx(one.mean + shift, abs=1e-6)
    assert other.half == pytest.approx(one.half, rel=1e-6, abs=1e-6)
    assert Interval.of([*values, math.nan]) == one
    assert one.times(1_000).mean == pytest.approx(1_000 * one.mean)


def test_an_interval_of_five_is_student_s() -> None:
    assert Interval.of([1, 2, 3, 4, 5]).half == pytest.approx(1.9634, abs=1e-3)
    assert math.isnan(Interval.of([7.0]).half)
    assert Interval.of([]).seeds == 0
