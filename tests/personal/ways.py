"""A small problem with many ways to a favourable decision, and people for it."""

from __future__ import annotations

from typing import Any

import pandas as pd

from counterplan import BlackBox, ChoiceModel, Elicitation, Problem, Recourse

LEVELS = {"low": 0, "middle": 1, "high": 2}
NAMES = ("savings", "job", "hours", "school")
PROBLEM: dict[str, Any] = {
    "counterplan": 1,
    "name": "ways",
    "outcome": {"column": "loan", "values": ["no", "yes"], "favourable": "yes"},
    "max_actions": 3,
    "features": {
        "note": {"kind": "category", "values": ["a", "b"]},
        **{name: {"kind": "ordered", "values": [*LEVELS], "label": f"your {name}"} for name in NAMES},
    },
    "functions": {
        f"RAISE_{name.upper()}": {"set": name, "arguments": "all", "when": f"argument > {name}", "cost": cost}
        for name, cost in zip(
            NAMES, ({"base": [0, 2, 3]}, {"base": [0, 2, 4]}, {"base": [0, 1, 3]}, {"base": [0, 3, 4]}), strict=True
        )
    },
}
FUNCTIONS = tuple(PROBLEM["functions"])
POOR = {"note": "a", "savings": "low", "job": "low", "hours": "low", "school": "low"}
RICH = POOR | {"job": "high", "school": "high"}


def decide(people: pd.DataFrame) -> list[str]:
    """Favourable from three levels on."""
    return ["yes" if sum(LEVELS[row[name]] for name in NAMES) >= 3 else "no" for row in people.to_dict("records")]


def recourse() -> Recourse:
    """The problem and its model."""
    return Recourse(Problem.from_dict(PROBLEM), BlackBox(decide))


def timed_problem() -> dict[str, Any]:
    """The same problem, with functions that take 0, 1, 2 and 3 weeks, at the same time."""
    functions = {
        name: function | {"duration": weeks} for weeks, (name, function) in enumerate(PROBLEM["functions"].items())
    }
    return PROBLEM | {"time_unit": "weeks", "functions": functions}


def timed_recourse() -> Recourse:
    """Recourse with `timed_problem`."""
    return Recourse(Problem.from_dict(timed_problem()), BlackBox(decide))


def elicitation(person: Any = None, **settings: Any) -> Elicitation:
    """Questions for a person, planned exactly."""
    given = pd.DataFrame([POOR], index=["ann"]) if person is None else person
    small = ChoiceModel(particles=100, moves=4)
    return Elicitation(recourse(), given, **{"planner": "exact", "choice_model": small, **settings})
