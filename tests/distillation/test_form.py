"""Ranges of numbers and derived features, as cards hold them for the form of a page."""

from __future__ import annotations

import numpy as np
import pytest

import worlds
from counterplan.benchmarks import suite
from counterplan.distillation.form import derived_features, value_ranges
from counterplan.problem import Problem

TAIWAN, ADULT = "taiwan", "adult"


@pytest.mark.parametrize(
    ("name", "derived"),
    [(TAIWAN, ("share_paid", "utilisation")), (ADULT, ("education_num",)), ("german", ()), ("syn", ())],
)
def test_derived_features_of_the_benchmarks(name: str, derived: tuple[str, ...]) -> None:
    """A formula of other features, or a table of all values; not marital_status, which relationship sets in part."""
    world = suite.load(name)
    states = world.problem.read(world.train.head(2000)).states
    assert derived_features(world.problem, states) == derived


def test_features_that_people_contradict_are_not_derived() -> None:
    world = suite.load(TAIWAN)
    states = world.problem.read(world.train.head(1000)).states
    share = next(feature.index for feature in world.problem.features if feature.name == "utilisation")
    states[:20, share] += 50
    assert derived_features(world.problem, states) == ("share_paid",)


def test_derive_agrees_with_apply() -> None:
    """After any action, a consequence of what changed is the value that `derive` computes."""
    problem = worlds.benchmark(TAIWAN)
    states = problem.transitions.derive(problem.read(worlds.random_people(problem, 0, 200)).states)
    for action in range(len(problem.transitions)):
        after = problem.transitions.apply(states, np.full(len(states), action))
        assert np.array_equal(problem.transitions.derive(after), after, equal_nan=True)


@pytest.mark.parametrize(
    "causes",
    [
        [{"from": "a", "to": "c", "formula": "a + c"}],
        [{"from": "a", "to": "c", "formula": "a + b"}],
        [{"from": "a", "to": "c", "formula": "2 * a"}, {"from": "b", "to": "c", "formula": "2 * b"}],
        [{"from": "a", "to": "b", "formula": "2 * a"}],
        [{"from": "k", "to": "c", "table": {"x": 1}}],
    ],
    ids=["reads itself", "stale when b changes", "two formulas", "has a function", "incomplete table"],
)
def test_what_does_not_determine_a_feature(causes: list[dict[str, str]]) -> None:
    numbers = {name: {"kind": "number"} for name in "abc"}
    problem = Problem.from_dict(
        {
            "counterplan": 1,
            "name": "small",
            "max_actions": 2,
            "outcome": {"column": "o", "values": ["yes", "no"], "favourable": "yes"},
            "features": {"k": {"kind": "category", "values": ["x", "y"]}, **numbers},
            "functions": {
                "A": {"add": "a", "arguments": [1], "cost": 1},
                "B": {"add": "b", "arguments": [1], "cost": 1},
                "K": {"set": "k", "arguments": "all", "cost": 1},
            },
            "causes": causes,
        }
    )
    assert problem.transitions.derived == ()


def test_ranges_are_rounded_outwards_without_outliers_and_within_bounds() -> None:
    problem = Problem.from_dict(
        {
            "counterplan": 1,
            "name": "small",
            "max_actions": 2,
            "outcome": {"column": "o", "values": ["yes", "no"], "favourable": "yes"},
            "features": {
                "wage": {"kind": "number", "integer": True, "minimum": 0},
                "rate": {"kind": "number", "missing": True},
                "same": {"kind": "number"},
                "none": {"kind": "number", "missing": True},
            },
            "functions": {"W": {"add": "wage", "arguments": [1], "cost": 1}},
        }
    )
    random = np.random.default_rng(0)
    states = np.full((2000, 4), np.nan)
    states[:, 0] = random.integers(3, 61_234, 2000)
    states[:, 1] = random.uniform(0.0123, 0.0877, 2000)
    states[:5, 1], states[5, 0] = np.nan, 9e9
    states[:, 2] = 7.5
    ranges = value_ranges(problem, states)
    assert ranges["wage"] == (0, 62_000)
    assert ranges["rate"] == (0.012, 0.088)
    assert ranges["same"] == (7, 8)
    assert "none" not in ranges
