import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import worlds
from counterplan.errors import ProblemError
from counterplan.problem import Problem
from counterplan.problem.encoding import AUTO_BINS, quantile_cuts
from worlds import benchmark


@pytest.mark.parametrize(
    ("name", "count"), [("syn", 40), ("syn_long", 64), ("german", 44), ("adult", 126), ("taiwan", 78)]
)
def test_the_benchmarks_have_as_many_bits_as_documented(name, count):
    encoding = benchmark(name).encoding()
    assert len(encoding) == len(encoding.names) == len(set(encoding.names)) == count


def test_bits_are_named_in_words():
    names = benchmark("syn").encoding().names
    assert names[:6] == [
        "30 ≤ age < 40", "40 ≤ age < 50", "50 ≤ age < 60", "age ≥ 60", "education = none", "education = diploma",
    ]  # fmt: skip
    assert names[15:23] == [
        "0 ≤ income < 10,000", "10,000 ≤ income < 30,000", "30,000 ≤ income < 50,000", "50,000 ≤ income < 70,000",
        "70,000 ≤ income < 100,000", "100,000 ≤ income < 150,000", "150,000 ≤ income < 200,000", "income ≥ 200,000",
    ]  # fmt: skip
    assert benchmark("german").encoding().names[:3] == ["age < 19", "19 ≤ age < 33", "33 ≤ age < 47"]
    adult = benchmark("adult").encoding().names
    assert [name for name in adult if "capital_loss" in name] == [
        "capital_loss = 0", "1 ≤ capital_loss < 1,089", "1,089 ≤ capital_loss < 2,178",
        "2,178 ≤ capital_loss < 3,267", "3,267 ≤ capital_loss < 4,356", "capital_loss ≥ 4,356",
    ]  # fmt: skip
    assert not [name for name in adult if "fnlwgt" in name or "education_num" in name]


def means(name, feature, value):
    """Whether what a bit's name says is true of a value."""
    if name == f"{feature.name} is missing":
        return value is None
    if name == f"{feature.name} is known":
        return value is not None
    if value is None:
        return False
    if not feature.is_number:
        shown = str(value).lower() if isinstance(value, bool) else str(value)
        return name == f"{feature.name} = {shown}"
    middle = re.escape(feature.name)
    parts = re.fullmatch(rf"(?:(\S+) ≤ )?{middle}(?: (<|≥|=) (\S+))?", name)
    assert parts, name
    low, sign, high = parts.groups()
    fits = low is None or value >= float(low.replace(",", ""))
    if sign is None:
        return fits
    bound = float(high.replace(",", ""))
    return fits and {"<": value < bound, "≥": value >= bound, "=": value == bound}[sign]


def check_names(problem, table):
    people = problem.read(table)
    encoding = problem.encoding(people)
    bits = encoding(people.states)
    assert bits.dtype == bool
    assert bits.shape == (len(people), len(encoding))
    owner = [
        feature
        for feature in problem.features
        for name in encoding.names
        if re.search(rf"(^|≤ ){re.escape(feature.name)}( (is|=|<|≥) |$)", name)
    ]
    assert len(owner) == len(encoding), "each bit speaks of one feature"
    for row, state in enumerate(people.states):
        person = problem.describe(state)
        for bit, (name, feature) in enumerate(zip(encoding.names, owner, strict=True)):
            assert bits[row, bit] == means(name, feature, person[feature.name]), (name, person)


def test_each_bit_is_what_its_name_says_in_the_benchmarks(benchmark_problem):
    check_names(benchmark_problem, worlds.random_people(benchmark_problem, 5, 60))


@given(st.data())
@settings(max_examples=20)
def test_each_bit_is_what_its_name_says(data):
    problem = data.draw(worlds.problems())
    check_names(problem, data.draw(worlds.people(problem)))


def problem_of(**features):
    outcome = {"column": "decision", "values": [0, 1], "favourable": 1}
    return Problem.from_dict(
        {"counterplan": 1, "name": "x", "max_actions": 1, "outcome": outcome, "features": features}
    )


@pytest.mark.parametrize(
    ("spec", "names"),
    [
        ({"bins": [0.5, 1.5, 2.5], "integer": True}, ["0.5 ≤ x < 1.5", "1.5 ≤ x < 2.5", "x ≥ 2.5"]),
        ({"bins": [0, 1, 2], "integer": True}, ["x = 0", "x = 1", "x ≥ 2"]),
        ({"bins": [0, 1, 2]}, ["0 ≤ x < 1", "1 ≤ x < 2", "x ≥ 2"]),
        ({"bins": [-math.inf, 3]}, ["x < 3", "x ≥ 3"]),
        ({"bins": [-math.inf]}, ["x is known"]),
        ({"bins": [-math.inf], "missing": True}, ["x is known", "x is missing"]),
        ({"bins": []}, []),
        ({"bins": [], "missing": True}, []),
        ({"bins": [0.00001, 0.00002]}, ["1e-05 ≤ x < 2e-05", "x ≥ 2e-05"]),
        ({"bins": [-0.00001, 0.0123]}, ["-1e-05 ≤ x < 0.0123", "x ≥ 0.0123"]),
        ({"bins": [1234567.25]}, ["x ≥ 1,234,567.25"]),
    ],
)
def test_intervals_are_named_by_their_ends(spec, names):
    assert problem_of(x={"kind": "number"} | spec).encoding().names == names


def test_edges_start_an_interval_and_what_lies_below_sets_no_bit():
    encoding = problem_of(x={"kind": "number", "bins": [0, 10], "missing": True}).encoding()
    bits = encoding(np.array([[-0.1], [0], [9.9], [10], [1e9], [np.nan]]))
    assert bits.astype(int).tolist() == [[0, 0, 0], [1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1]]


def test_a_category_that_may_be_missing_has_a_bit_for_that():
    encoding = problem_of(x={"kind": "category", "values": ["a", "b"], "missing": True}).encoding()
    assert encoding.names == ["x = a", "x = b", "x is missing"]
    assert encoding(np.array([[0], [1], [np.nan]])).astype(int).tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]


def test_a_problem_without_bits_is_encoded():
    encoding = problem_of(x={"kind": "number", "bins": []}).encoding()
    assert len(encoding) == 0
    assert encoding(np.zeros((3, 1))).shape == (3, 0)


def test_auto_bins_need_people():
    problem = problem_of(x={"kind": "number"})
    with pytest.raises(ProblemError, match=r"features\.x\.bins: 'auto' learns .*from data; hand in people"):
        problem.encoding()


@given(
    st.lists(st.floats(-1e12, 1e12, allow_subnormal=False) | st.just(math.nan), max_size=40),
    st.booleans(),
)
@settings(max_examples=30)
def test_auto_bins_rise_and_each_end_holds_somebody(numbers, integer):
    column = np.array([float(round(n)) if integer and not math.isnan(n) else n for n in numbers], float)
    cuts = quantile_cuts(column, integer)
    known = column[~np.isnan(column)]
    assert cuts[0] == -math.inf
    assert len(cuts) <= AUTO_BINS + 2, "two more where most people share a few numbers"
    assert list(cuts) == sorted(set(cuts))
    if len(cuts) > 1:
        assert (known < cuts[1]).any()
        assert (known >= cuts[-1]).any()
    if integer:
        assert all(cut.is_integer() for cut in cuts[1:])


def test_auto_bins_are_round_and_near_the_quantiles():
    column = np.random.default_rng(0).lognormal(10, 1, 2000)
    cuts = quantile_cuts(column, integer=False)
    assert len(cuts) == AUTO_BINS
    assert all(float(f"{cut:.1e}") == cut for cut in cuts[1:]), "two digits each"
    shares = np.diff([0, *[(column < cut).mean() for cut in cuts[1:]], 1])
    assert (np.abs(shares - 1 / AUTO_BINS) < 0.04).all()


def test_auto_bins_come_from_the_people_handed_in():
    problem = problem_of(x={"kind": "number", "integer": True}, y={"kind": "category", "values": ["a", "b"]})
    people = problem.read(worlds.random_people(problem, 0, 50))
    encoding = problem.encoding(people)
    assert encoding.cuts[0] == quantile_cuts(people.states[:, 0], integer=True)
    assert encoding.cuts[1] == ()
    assert encoding(people.states).sum(axis=1).tolist() == [2] * 50
