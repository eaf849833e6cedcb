"""The random worlds themselves: varied enough that a test over them means something."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import worlds
from counterplan.problem import Problem
from counterplan.problem.conditions import parse

SEEDS = range(300)


def test_the_worlds_hold_everything_that_a_problem_can_hold():
    seen, spoken = set(), set()

    def note(tree):
        spoken.add(tree.op)
        for arg in tree.args:
            if not isinstance(arg, (str, float)):
                note(arg)

    for seed in SEEDS:
        file = worlds.random_problem(seed)
        for spec in file["features"].values():
            seen |= {spec["kind"], *spec} | {type(native) for native in spec.get("values", [])}
        for spec in file["functions"].values():
            seen |= {*spec, "all" if spec["arguments"] == "all" else "some"}
            cost = spec["cost"] if isinstance(spec["cost"], dict) else {"one": spec["cost"]}
            seen |= {(key, type(amount)) for key, amount in cost.items()}
            seen |= {("duration", type(spec.get("duration"))), ("overlaps", spec.get("overlaps"))}
            note(parse(spec.get("when", "true")))
        for cause in file["causes"]:
            seen |= {*cause} | {type(cause.get("scale")).__name__}
            if isinstance(cause.get("scale"), list):
                seen |= {key for item in cause["scale"] if isinstance(item, dict) for key in item}
            note(parse(cause.get("formula", "true")))
    assert spoken >= {
        "and", "or", "not", "in", "==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "negate", "rank", "base",
        "missing", "argument", "text", "name", "number",
    }  # fmt: skip
    assert seen >= {
        "number", "category", "ordered", "missing", "integer", "minimum", "maximum", "bins", "protected", "labels",
        str, int, bool, "set", "add", "when", "phrase", "all", "some", ("one", float), ("base", int), ("base", list),
        ("base", dict), ("surcharge", int), ("surcharge", list), ("surcharge", dict), "scale", "table", "formula",
        "above", "at_least", "below", "at_most", "dict", "list", ("duration", dict), ("duration", list),
        ("duration", int), ("overlaps", True), ("overlaps", False),
    }  # fmt: skip


def test_people_fit_their_problem_and_can_do_something():
    busy = 0
    for seed in SEEDS[:100]:
        problem = Problem.from_dict(worlds.random_problem(seed))
        states = problem.read(worlds.random_people(problem, seed, 10)).states
        plans = worlds.random_plan_actions(problem, states, np.random.default_rng(seed))
        busy += (plans.actions != problem.transitions.stop).any()
    assert busy > 80


def test_black_boxes_favour_a_few_and_sometimes_nobody():
    shares = []
    for seed in range(60):
        problem = Problem.from_dict(worlds.random_problem(seed))
        box = worlds.random_black_box(problem, seed)
        shares.append(box.favourable(worlds.random_people(problem, seed + 1, 300)).mean())
    usual = [share for share in shares if 0.05 <= share <= 0.35]
    assert len(usual) > 0.5 * len(shares)
    assert min(shares) == 0
    assert max(shares) < 0.6


@given(st.data())
@settings(max_examples=20)
def test_a_black_box_depends_on_the_person_and_nothing_else(data):
    problem = data.draw(worlds.problems())
    box = data.draw(worlds.black_boxes(problem))
    table = data.draw(worlds.people(problem))
    answers = box(table)
    assert box.queries == len(table)
    assert all(any(answer is native for native in problem.outcome.natives) for answer in answers)
    assert box(table.iloc[::-1]).tolist() == answers[::-1].tolist()
    assert [box(table.iloc[[row]])[0] for row in range(len(table))] == answers.tolist()
    people = problem.read(table)
    assert box(people.frame(people.states)).tolist() == answers.tolist()


def test_the_same_seed_gives_the_same_world():
    assert worlds.random_problem(5) == worlds.random_problem(5)
    problem = Problem.from_dict(worlds.random_problem(5))
    assert worlds.random_people(problem, 1, 5).equals(worlds.random_people(problem, 1, 5))
    table = worlds.random_people(problem, 2, 50)
    assert worlds.random_black_box(problem, 3)(table).tolist() == worlds.random_black_box(problem, 3)(table).tolist()


@pytest.mark.parametrize("name", worlds.BENCHMARKS)
def test_people_of_the_benchmarks_are_varied(name):
    problem = worlds.benchmark(name)
    encoding = problem.encoding()
    bits = encoding(problem.read(worlds.random_people(problem, 0, 1500)).states)
    assert bits.any(axis=0).mean() > 0.95
