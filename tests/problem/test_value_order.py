"""The order of values is guessed from their words, and only if it is clear."""

import time

import pytest

from counterplan.problem.value_order import guess_order


@pytest.mark.parametrize(
    "ordered",
    [
        ["low", "medium", "high"],
        ["very_low", "Low", "Average", "HIGH", "very high"],
        ["none", "little", "moderate", "quite_rich", "rich"],
        ["never", "sometimes", "often", "always"],
        ["none", "primary", "high school", "bachelor", "master", "phd"],
        ["high_school", "university", "graduate_school"],
        ["junior", "senior"],
        ["strongly disagree", "disagree", "neutral", "agree", "strongly agree"],
        ["<100", "100-200", "200-500", ">=500"],
        ["unemployed", "< 1 year", "1 to 4 years", "4-7 years", "7+ years"],
        ["up to 10k", "10k-50k", "50k-1M", "over 1M"],
        ["level 1", "level 2", "level 10"],
        ["S", "M", "L", "XL"],
        ["High School", "Bachelor", "Master", "PhD"],
        ["High School", "Bachelor's", "Master’s degree", "Doctorate"],
        ["HighSchool", "Bachelors", "Masters", "PhD"],
        ["HS-grad", "BSc", "MSc", "Ph.D."],
    ],
)
def test_orders(ordered):
    shuffled = sorted(ordered)
    found = guess_order(shuffled)
    assert found is not None
    assert found.values == ordered
    assert "the lowest first" in found.reason
    unknown = guess_order([*shuffled, "unknown"])
    assert unknown is not None
    assert unknown.values == ["unknown", *ordered]


@pytest.mark.parametrize(
    "values",
    [
        ["a", "b", "c"],
        ["1", "2", "3"],
        ["yes", "no"],
        ["free", "own", "rent"],
        ["low", "high", "blue"],
        ["low", "little"],
        ["no", "ms"],
        ["BA", "MA"],
        ["0-10", "5-15", "15-20"],
        ["level 1", "level 2", "stage 3"],
        ["", "?"],
        ["low", "unknown", "?", "high"],
        [],
    ],
)
def test_no_order(values):
    assert guess_order(values) is None


def test_hostile_texts_take_no_time():
    started = time.process_time()
    for text in (
        " " * 60,
        "-" * 60,
        "1" * 60,
        "1 " * 30,
        "< " * 30,
        "to " * 20,
        "a1" * 30,
        "١٢",
        "1-" * 30,
        "9" * 59 + "k",
    ):
        guess_order([text, text + "x", "b"])
        guess_order([f"{i}{text}"[:60] for i in range(50)])
    assert time.process_time() - started < 2
