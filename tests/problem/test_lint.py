import numpy as np
import pandas as pd
import pytest

import worlds
from counterplan.problem import Problem, check
from counterplan.problem.lint import lint

NUMBER = {"kind": "number"}
LETTERS = {"kind": "ordered", "values": ["a", "b", "c"]}


TYPED = """\
counterplan: 1
name: typed
max_actions: 1
outcome: {{column: y, values: [0, 1], favourable: 1}}
features:
  x: {{kind: category, values: {values}}}
functions:
  F: {{set: x, arguments: all, cost: 1}}
"""


def lint_of(features, functions, causes=()):
    """Every doubt as `(message, place)`."""
    problem = Problem.from_dict(
        {
            "counterplan": 1, "name": "x", "max_actions": 2, "features": features, "functions": functions,
            "causes": list(causes), "outcome": {"column": "decision", "values": [0, 1], "favourable": 1},
        }
    )  # fmt: skip
    return list(lint(problem))


def function(when="true", **more):
    return {"set": "x", "arguments": "all", "cost": 1, "when": when} | more


def test_a_sound_problem_has_no_warnings():
    assert lint_of({"x": LETTERS}, {"F": function("argument != x")}) == []


def test_durations():
    assert lint_of({"x": LETTERS}, {"F": function("argument != x", overlaps=False)}) == [
        ("'overlaps' has no effect: no function has a duration", ("functions", "F", "overlaps"))
    ]
    assert lint_of({"x": LETTERS}, {"F": function("argument != x", overlaps=False, duration=2)}) == []


def test_a_function_without_a_duration_among_others(tmp_path):
    file = tmp_path / "x.yaml"
    text = TYPED.format(values="[a, b]") + "  G: {set: x, arguments: all, cost: 1, duration: 2}\n"
    file.write_text(text)
    _, findings = check(file)
    assert [(finding.line, finding.message) for finding in findings] == [
        (8, "has no duration, although others have; write 'duration: 0' if it takes no time")
    ]
    file.write_text(text.replace("cost: 1}", "cost: 1, duration: 0}"))
    assert check(file)[1] == []


def test_no_functions():
    assert lint_of({"x": NUMBER}, {}) == [("there are no functions yet, so there are no plans", ("functions",))]


@pytest.mark.parametrize(
    ("values", "column", "message"),
    [
        ("['False', 'True']", [False, True], "texts, but the data has booleans; write true and false, without quotes"),
        ("['1', '2']", [1, 2], "texts, but the data has numbers; write them without quotes"),
        (
            "[1e3, 2e3]",
            [1e3, 2e3],
            "texts, but the data has numbers; write them as whole numbers, such as 1000 for 1e3",
        ),
        ("[1, 2]", ["1", "2"], "numbers, but the data has texts; the model receives numbers, unless"),
        ("[false, true]", ["False", "True"], "booleans, but the data has texts; the model receives booleans, unless"),
        ("[1, 2]", pd.Categorical(["1", "2"]), "numbers, but the data has texts"),
        ("[false, true]", pd.Series([True, None], dtype=object), None),
        ("[1, 2]", pd.Categorical([1, 2]), None),
        ("[a, 2]", ["a", "2"], None),
        ("['007', '008']", ["007", "008"], None),
    ],
)
def test_values_of_another_type_than_the_data(tmp_path, values, column, message):
    file = tmp_path / "problem.yaml"
    file.write_text(TYPED.format(values=values))
    found = [finding for finding in check(file, pd.DataFrame({"x": column}))[1] if "but the data" in finding.message]
    assert [(finding.location, finding.line) for finding in found] == [(("features", "x", "values"), 6)] * bool(message)
    assert all(message in finding.message for finding in found)


@pytest.mark.parametrize(
    ("values", "dtype", "message"),
    [
        ("['False', 'True']", "bool", "these values are texts, but the model expects booleans"),
        ("[1, 2]", pd.CategoricalDtype(["1", "2"]), "these values are numbers, but the model expects texts"),
        ("[a, b]", pd.CategoricalDtype(["b", "c"]), "a: not among the categories that the model knows"),
        ("[a, b]", pd.CategoricalDtype(["b", "c", "a"]), None),
        ("[a, b]", "object", None),
    ],
)
def test_values_of_another_type_than_the_model(tmp_path, values, dtype, message):
    file = tmp_path / "problem.yaml"
    file.write_text(TYPED.format(values=values))
    found = [finding.message for finding in check(file, dtypes={"x": dtype})[1] if "the model" in finding.message]
    assert [message in text for text in found] == [True] * bool(message)


def test_texts_that_spell_booleans():
    assert lint_of({"x": {"kind": "category", "values": ["False", "True"]}}, {"F": function("argument != x")}) == [
        ("False, True: these are texts; write true and false if they are booleans", ("features", "x", "values"))
    ]
    assert lint_of({"x": {"kind": "category", "values": [False, True]}}, {"F": function("x == false")}) == [
        ("can never be legal for false", ("functions", "F", "arguments"))
    ]


def test_a_function_that_changes_what_is_protected():
    assert lint_of({"x": LETTERS | {"protected": True}}, {"F": function()}) == [
        ("changes the protected feature x", ("functions", "F"))
    ]


def test_a_consequence_that_changes_what_is_protected():
    features = {"x": LETTERS, "y": LETTERS | {"protected": True}, "z": LETTERS}
    table = {"from": "x", "to": "y", "table": {"a": "b"}}
    assert lint_of(features, {"F": function()}, [table]) == [
        ("a change of x changes the protected feature y", ("causes", 0))
    ]
    assert lint_of(features, {"F": function(set="z")}, [table]) == [], "nobody changes x"
    scaled = lint_of(features, {"F": function()}, [{"from": "x", "to": "y", "scale": [1, 2, 3]}])
    assert not any("protected" in message for message, _ in scaled)


def test_arguments_that_are_never_legal():
    values = LETTERS["values"]
    assert lint_of({"x": LETTERS}, {"F": function("argument > x", arguments=values)}) == [
        ("can never be legal for a", ("functions", "F", "arguments"))
    ]
    assert lint_of({"x": LETTERS}, {"F": function("argument == 'b'")}) == [
        ("can never be legal for a, c", ("functions", "F", "arguments"))
    ]


@pytest.mark.parametrize(
    ("when", "never"),
    [
        ("false", True),
        ("x != x", True),
        ("argument == x", True),
        ("n < 3 and n > 4", True),
        ("n < 0", True),
        ("n > 10", True),
        ("n + m > 1000000", False),
        ("missing(n)", True),
        ("missing(m)", False),
        ("not missing(m) and m > 3", False),
        ("n >= 10", False),
        ("n > 0.1 and n < 0.2", False),
        ("n == 3.25", False),
        ("3 < n < 3.0001", False),
        ("i > 3 and i < 4", True),
        ("i > 3 and i < 5", False),
        ("i > 3.2 and i < 4.5", False),
        ("m > 1e6", False),
        ("m < -1e6 and n < 1", False),
        ("rank(x) > 2", True),
        ("y == 'b' and x == 'c'", False),
    ],
)
def test_functions_that_are_never_legal_and_those_that_only_look_like_it(when, never):
    features = {
        "x": LETTERS, "y": LETTERS, "n": NUMBER | {"minimum": 0, "maximum": 10}, "m": NUMBER | {"missing": True},
        "i": NUMBER | {"integer": True},
    }  # fmt: skip
    messages = [message for message, place in lint_of(features, {"F": function(when)}) if place == ("functions", "F")]
    assert bool(messages) == never
    assert not never or messages == ["can never be legal: its condition holds for no value of the features it mentions"]


@pytest.mark.parametrize(
    ("argument", "when", "never"),
    [
        (-5, "n + argument >= 4", False),
        (7, "n + argument <= 7", False),
        (7, "n + argument < 7", True),
        (11, "true", True),
    ],
)
def test_bounds_count_too(argument, when, never):
    features = {"n": NUMBER | {"minimum": 0, "maximum": 10}}
    change = {"add": "n", "arguments": [argument], "cost": 1, "when": when}
    assert bool(lint_of(features, {"F": change})) == never


def test_a_formula_with_features_of_its_own_is_tried_on_their_values_too():
    features = {"n": NUMBER, "k": NUMBER | {"minimum": 0, "maximum": 5}, "z": NUMBER | {"minimum": 0, "maximum": 9}}
    change = {"add": "n", "arguments": [1], "cost": 1}
    assert lint_of(features, {"F": change}, [{"from": "n", "to": "z", "formula": "k + 5"}]) == []
    assert len(lint_of(features, {"F": change}, [{"from": "n", "to": "z", "formula": "k + 50"}])) == 1


@pytest.mark.parametrize("kind", ["ordered", "category"])
@pytest.mark.parametrize(
    ("when", "never"),
    [("argument > x", "a"), ("argument < x", "c"), ("argument != 'b'", "b"), ("argument == 'b'", "a, c")],
)
def test_all_arguments_but_one_end_of_a_scale_is_an_idiom(kind, when, never):
    when = when if kind == "ordered" else {"a": "argument != 'a'", "c": "argument != 'c'"}.get(never, when)
    found = lint_of({"x": LETTERS | {"kind": kind}}, {"F": function(when)})
    quiet = kind == "ordered" and never in ("a", "c")
    assert found == ([] if quiet else [(f"can never be legal for {never}", ("functions", "F", "arguments"))])


def test_a_feature_that_two_causes_set():
    features = {"x": LETTERS, "y": LETTERS, "z": LETTERS}
    first, second = ({"from": name, "to": "z", "table": {"a": "b"}} for name in ("x", "y"))
    assert lint_of(features, {"F": function()}, [first, second]) == [
        ("z is set by more than one cause; the later one counts, in causal order", ("causes", 1))
    ]
    assert lint_of(features, {"F": function()}, [first, second | {"table": None, "scale": [1, 2, 3]}]) == []


def test_two_causes_that_set_a_feature_by_the_same_formula_agree():
    features = {name: {"kind": "number"} for name in ("x", "y", "z", "w")}
    spending = {"F": {"add": "x", "arguments": [1], "cost": 1}}
    first, second = ({"from": name, "to": "z", "formula": "x - y"} for name in ("x", "y"))
    assert lint_of(features, spending, [first, second]) == []
    assert lint_of(features, spending, [first, second | {"formula": "y - x"}]) == [
        ("z is set by more than one cause; the later one counts, in causal order", ("causes", 1))
    ]


def test_a_condition_on_very_many_values_is_tried_on_some_of_them():
    features = {f"f{i}": {"kind": "category", "values": list(range(12))} for i in range(6)} | {"x": LETTERS}
    when = " or ".join(f"f{i} == 3" for i in range(6))
    assert lint_of(features, {"F": function(when)}) == []


def test_values_that_nothing_leads_to():
    assert lint_of({"x": LETTERS}, {"F": function(arguments=["a", "b"])}) == [
        ("no action leads to c", ("features", "x", "values"))
    ]
    features = {"x": LETTERS, "y": {"kind": "category", "values": ["s", "t"]}}
    functions = {"F": function(arguments=["a", "b"]), "G": function(set="y")}
    assert lint_of(features, functions, [{"from": "y", "to": "x", "table": {"s": "c"}}]) == []


def test_whole_numbers_with_no_room_between_their_bounds_are_accepted():
    features = {"n": NUMBER | {"integer": True, "minimum": 0.2, "maximum": 0.8}, "x": LETTERS}
    assert lint_of(features, {"F": function("n > 0")}) == []


def test_huge_numbers_are_accepted():
    features = {"n": NUMBER | {"integer": True, "bins": [-1e308, 1e308]}, "m": NUMBER, "x": LETTERS}
    assert lint_of(features, {"F": function("n < 1e308 and m > -1e308")}) == []


@pytest.mark.parametrize("seed", range(40))
def test_what_is_never_legal_is_never_done(seed):
    problem = Problem.from_dict(worlds.random_problem(seed))
    states = problem.read(worlds.random_people(problem, seed, 200)).states
    done = worlds.random_plan_actions(problem, states, np.random.default_rng(seed)).actions
    seen = {str(problem.transitions.actions[index]) for index in np.unique(done)}
    for message, place in lint(problem):
        if message.startswith("can never be legal for "):
            wrong = {f"{place[1]}={value}" for value in message.removeprefix("can never be legal for ").split(", ")}
        elif message.startswith("can never be legal"):
            wrong = {action for action in seen if action.startswith(f"{place[1]}=")}
        else:
            continue
        assert not wrong & seen


def test_the_benchmarks_have_warnings_only_about_arguments_never_legal(benchmark_problem):
    _, findings = check(worlds.benchmark_file(benchmark_problem.name))
    assert len(findings) == {"german": 0, "syn": 1, "syn_long": 1, "adult": 3, "taiwan": 3}[benchmark_problem.name]
    assert all(finding.severity == "warning" and finding.line for finding in findings)
    assert all(finding.message.startswith(("can never be legal for ", "no action leads to ")) for finding in findings)


def test_edges_to_features_that_nothing_changes():
    features, functions = {"x": LETTERS, "y": NUMBER}, {"F": function("argument != x")}
    message = "functions change x, but none changes y: the edge has no effect; is it y that affects x?"
    assert lint_of(features, functions, [{"from": "x", "to": "y"}]) == [(message, ("causes", 0))]
    assert lint_of(features, functions, [{"from": "y", "to": "x"}]) == []
    assert lint_of(features, functions, [{"from": "x", "to": "y", "table": {"a": 1, "b": 2, "c": 3}}]) == []
