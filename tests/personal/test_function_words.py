"""Functions in the words of applicants, and what their texts name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

import worlds
from counterplan import Problem
from counterplan.personal.function_words import FunctionWords
from personal import ways

SEVERAL: dict[str, Any] = ways.PROBLEM | {
    "functions": {
        **ways.PROBLEM["functions"],
        "SWITCH_JOB": {"set": "job", "arguments": ["high"], "phrase": "Find another job", "cost": 9},
    }
}


@given(worlds.problems())
def test_short_names_are_found(problem: Problem) -> None:
    words = FunctionWords(problem)
    names = [
        *(function.name for function in problem.transitions.functions),
        *map(str, problem.transitions.actions[:-1]),
    ]
    for name in names:
        assert words.find(name) == [name]
        assert words.find(words.short(name)) == [name]
        assert words.changed(name)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("RAISE_JOB", ["RAISE_JOB"]),
        ("raise job", ["RAISE_JOB"]),
        ("Your  Savings", ["RAISE_SAVINGS"]),
        ("saving", ["RAISE_SAVINGS"]),
        ("job", ["RAISE_JOB", "SWITCH_JOB"]),
        ("ANOTHER job", ["SWITCH_JOB"]),
        ("hours=High", ["RAISE_HOURS=high"]),
        ("RAISE_HOURS=high", ["RAISE_HOURS=high"]),
        ("job=high", ["RAISE_JOB=high", "SWITCH_JOB=high"]),
        ("hours=nonsense", []),
        ("zebra", []),
        ("", []),
        ("=", []),
    ],
)
def test_texts_name_functions_and_actions(text: str, found: list[str]) -> None:
    assert FunctionWords(Problem.from_dict(SEVERAL)).find(text) == found


def test_functions_are_named_by_what_they_change() -> None:
    words = FunctionWords(Problem.from_dict(SEVERAL))
    assert words.changed("RAISE_HOURS") == "your hours"
    assert words.changed("RAISE_HOURS=high") == 'your hours to "high"'
    assert words.changed("SWITCH_JOB") == "your job (switch job)"
    assert [words.short(name) for name in ("RAISE_HOURS", "SWITCH_JOB", "RAISE_JOB=high")] == [
        *("hours", "switch job", "raise job=high"),
    ]
    german = FunctionWords(worlds.benchmark("german"))
    assert german.changed("CHANGE_CREDIT=-1000") == "the amount of the loan by -1,000 DM"
    assert german.find("Borrow less") == german.find("amount") == ["CHANGE_CREDIT"]
    assert words.hint("hors") == "; did you mean 'hours'?"


def test_steps_that_a_person_sees_take_precedence() -> None:
    problem = Problem.from_dict(SEVERAL)
    words = FunctionWords(problem)
    elicitation = ways.elicitation()
    plan = elicitation.plan()
    shown = next(step for step in plan.steps if step.function != "RAISE_HOURS")
    assert words.find(shown.text, steps=plan.steps) == [shown.function]
    german = worlds.benchmark("german")
    step = replace(plan.steps[0], function="CHANGE_DURATION", text="Pay the loan back 10 months sooner")
    assert FunctionWords(german).find("10 months", steps=[step]) == ["CHANGE_DURATION"]
    assert FunctionWords(german).find("1", steps=[step]) == []
    assert len(words.find("raise")) == 4
    assert words.find("raise", steps=plan.steps) == [
        name for name in ways.FUNCTIONS if name in {step.function for step in plan.steps}
    ]
    assert words.find("raise", among=["RAISE_JOB"]) == ["RAISE_JOB"]
    assert words.find("RAISE_HOURS", among=["RAISE_JOB"]) == []
