"""The card and the program of the documentation are of the benchmark as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from counterplan import BlackBox, Program, Scorecard, benchmarks

EXAMPLES = Path(__file__).parents[1] / "docs" / "examples"


@pytest.mark.parametrize(("kind", "name"), [(Scorecard, "german-card.json"), (Program, "german-reading.json")])
def test_examples_are_of_the_present_problem_and_model(kind: type[Scorecard] | type[Program], name: str) -> None:
    example, german = kind.load(EXAMPLES / name), benchmarks.load("german")
    assert example.problem.fingerprint == german.problem.fingerprint
    assert example.model_card is not None
    assert example.model_card.model == BlackBox(german.model).fingerprint(german.problem)
