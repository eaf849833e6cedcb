import copy
import json
import math
from importlib.resources import files

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import worlds
from counterplan.errors import PeopleError, ProblemError, SettingError
from counterplan.problem import STOP, Action, Problem, check, json_schema
from counterplan.problem.builder import build
from counterplan.problem.source import Source
from worlds import BENCHMARKS, benchmark, benchmark_file


def same(a, b):
    """Assert that two problems have the same dynamics."""
    assert (a.name, a.features, a.outcome, a.max_actions) == (b.name, b.features, b.outcome, b.max_actions)
    assert a.transitions.actions == b.transitions.actions
    states = a.read(worlds.random_people(a, 0, 40)).states
    np.testing.assert_array_equal(a.transitions.legal(states), b.transitions.legal(states))
    np.testing.assert_array_equal(a.transitions.cost(states), b.transitions.cost(states))
    actions = np.arange(40) % len(a.transitions)
    np.testing.assert_array_equal(a.transitions.apply(states, actions), b.transitions.apply(states, actions))


# There and back


def test_the_benchmarks_survive_a_dict_and_json(benchmark_problem):
    data = benchmark_problem.to_dict()
    again = Problem.from_dict(data)
    same(again, benchmark_problem)
    assert again.to_dict() == data
    through_json = Problem.from_dict(json.loads(json.dumps(data)))
    assert through_json.fingerprint == again.fingerprint == benchmark_problem.fingerprint


@given(worlds.problem_dicts())
@settings(max_examples=20)
def test_any_problem_survives_a_dict_and_json(file):
    before = copy.deepcopy(file)
    problem = Problem.from_dict(file)
    assert file == before, "what is handed in stays as it is"
    data = problem.to_dict()
    again = Problem.from_dict(json.loads(json.dumps(data)))
    same(again, problem)
    assert again.to_dict() == data
    assert again.fingerprint == problem.fingerprint


def test_a_file_says_the_same_as_its_dict(benchmark_problem, tmp_path):
    path = tmp_path / "again.yaml"
    path.write_text(yaml.safe_dump(benchmark_problem.to_dict(), sort_keys=False), "utf-8")
    again, findings = check(path)
    assert again is not None, findings
    same(again, benchmark_problem)
    assert again.fingerprint == benchmark_problem.fingerprint


# Fingerprints


def leaves(data, way=()):
    """The way to each scalar in nested dicts and lists."""
    if isinstance(data, (dict, list)):
        for key, item in data.items() if isinstance(data, dict) else enumerate(data):
            yield from leaves(item, (*way, key))
    else:
        yield way


def changed(data, way):
    """A copy of `data` with another scalar at `way`."""
    data = copy.deepcopy(data)
    here = data
    for key in way[:-1]:
        here = here[key]
    old = here[way[-1]]
    here[way[-1]] = not old if isinstance(old, bool) else f"{old}_" if isinstance(old, str) else (old or 0) + 0.125
    return data


@pytest.mark.parametrize(
    "file", [*(benchmark(name).to_dict() for name in BENCHMARKS), *map(worlds.random_problem, range(15))]
)
def test_a_fingerprint_changes_with_anything(file):
    problem = Problem.from_dict(file)
    data = problem.to_dict()
    seen = {problem.fingerprint}
    ways = list(leaves(data))
    for way in ways[:: max(1, len(ways) // 120)]:
        if math.inf in [abs(here) for here in [_at(data, way)] if isinstance(here, float)]:
            continue
        source = Source("changed", changed(data, way))
        parts = build(source)
        if parts is not None:
            fingerprint = Problem(parts).fingerprint
            assert fingerprint not in seen, way
            seen.add(fingerprint)
    assert len(seen) > 4


def _at(data, way):
    for key in way:
        data = data[key]
    return data


@pytest.mark.parametrize("part", ["features", "functions"])
def test_a_fingerprint_tells_the_order_of_features_and_actions(part):
    data = benchmark("syn").to_dict()
    turned = data | {part: dict(reversed(data[part].items()))}
    assert Problem.from_dict(turned).fingerprint != Problem.from_dict(data).fingerprint


def test_a_fingerprint_does_not_depend_on_what_is_left_to_default():
    data = benchmark("syn").to_dict()
    spelled = copy.deepcopy(data)
    spelled["features"]["age"] |= {"missing": False, "protected": False}
    spelled["functions"]["CHANGE_JOB"]["cost"]["surcharge"] = 0
    assert Problem.from_dict(spelled).fingerprint == Problem.from_dict(data).fingerprint


def test_a_fingerprint_of_any_characters():
    data = benchmark("syn").to_dict()
    prints = {Problem.from_dict(data | {"name": name}).fingerprint for name in ("größe", "\ud800", "名前", "groesse")}
    assert len(prints) == 4
    assert all(len(text) == 16 for text in prints)


# States


def test_a_state_from_values_and_back():
    problem = benchmark("syn")
    person = {
        "age": 40, "education": "master", "job": "ceo", "income": 12.5, "house": "own", "credit": 5000, "sex": "female",
        "relationship": "single", "country": "italy",
    }  # fmt: skip
    state = problem.state(person)
    assert state.tolist() == [40, 3, 5, 12.5, 2, 5000, 1, 0, 0]
    assert problem.describe(state) == person
    assert type(problem.describe(state)["age"]) is int
    assert problem.states([person, person | {"age": 41}])[:, 0].tolist() == [40, 41]
    with pytest.raises(PeopleError, match="column 'job', row 1: 'cto'"):
        problem.states([person, person | {"job": "cto"}])
    with pytest.raises(
        PeopleError, match="column 'job', row 0: 'cto' is not a value of this feature; did you mean 'ceo'"
    ):
        problem.state(person | {"job": "cto"})
    del person["job"]
    with pytest.raises(PeopleError, match="column 'job', row 0: the value is missing"):
        problem.state(person)


@given(st.data())
@settings(max_examples=12)
def test_any_state_from_values_and_back(data):
    problem = data.draw(worlds.problems())
    for state in problem.read(data.draw(worlds.people(problem))).states:
        person = problem.describe(state)
        np.testing.assert_array_equal(problem.state(person), state)
        assert all(type(value) in (int, float, bool, str, type(None)) for value in person.values())
        json.dumps(person, allow_nan=False)


def test_people_are_read_once():
    problem = benchmark("syn")
    people = problem.read(worlds.random_people(problem, 0, 3))
    assert problem.read(people) is people


# What is forbidden


def forbidden(problem, *wishes):
    return [str(problem.transitions.actions[i]) for i in np.flatnonzero(~problem.allowed(wishes))]


def test_functions_and_actions_can_be_forbidden():
    problem = benchmark("syn")
    assert problem.allowed().all()
    assert len(problem.allowed()) == len(problem.transitions) == 25
    assert forbidden(problem, "CHANGE_HOUSE") == ["CHANGE_HOUSE=none", "CHANGE_HOUSE=rent", "CHANGE_HOUSE=own"]
    assert forbidden(problem, "CHANGE_JOB=ceo", "CHANGE_INCOME=5000") == ["CHANGE_JOB=ceo", "CHANGE_INCOME=5000"]
    assert forbidden(benchmark("german"), "CHANGE_CREDIT=-100") == ["CHANGE_CREDIT=-100"]
    assert not problem.allowed("CHANGE_JOB=ceo")[problem.transitions.actions.index(Action(10, "CHANGE_JOB", "ceo"))]


@pytest.mark.parametrize(
    ("item", "hint"),
    [
        ("CHANGE_JOBB", "did you mean 'CHANGE_JOB'?"),
        ("CHANGE_JOB=cto", "did you mean 'CHANGE_JOB=ceo'?"),
        ("xyz", "there are CHANGE_EDUCATION, CHANGE_JOB"),
        (STOP, "there is no such function or action"),
    ],
)
def test_what_is_not_there_cannot_be_forbidden(item, hint):
    with pytest.raises(SettingError, match=f"cannot forbid '{item}'") as caught:
        benchmark("syn").allowed([item])
    assert hint in str(caught.value)


# Loading


def test_a_problem_prints_what_it_is():
    assert repr(benchmark("adult")) == "Problem('adult': 14 features, 5 functions, 47 actions)"


def test_a_notebook_shows_features_and_actions() -> None:
    problem = benchmark("german")
    html = problem._repr_html_()
    for feature in problem.features:
        assert f"<td>{feature.name}</td>" in html
    for function in problem.transitions.functions:
        assert f"<td>{function.name}</td>" in html
    assert "immutable" in html
    assert "src=" not in html
    assert "http" not in html


def test_a_notebook_escapes_foreign_text() -> None:
    problem = benchmark("german")
    data = problem.to_dict()
    data["name"] = "<script>alert(1)</script>\x1b"
    data["features"]["<b>'&"] = {"kind": "category", "values": ["<i>", '"']}
    html = Problem.from_dict(data)._repr_html_()
    assert not [text for text in ("<script>", "<b>", "<i>", "\x1b") if text in html]
    assert "&lt;script&gt;" in html


def test_people_print_in_one_line() -> None:
    problem = benchmark("german")
    people = problem.read(worlds.random_people(problem, 0, 3).assign(note="x"))
    assert repr(people) == f"People(3 people, {len(problem.features)} features, 1 extra columns)"


def test_control_characters_in_messages_are_visible(tmp_path) -> None:
    problem = benchmark("german")
    path = tmp_path / "loan.yaml"
    data = problem.to_dict()
    data["features"]["evil\x1b[2J"] = {"kind": "\u202enumber"}
    path.write_text(json.dumps(data))
    with pytest.raises(ProblemError) as caught:
        Problem.load(path)
    _, findings = check(path)
    for text in (str(caught.value), *(finding.text("loan") for finding in findings)):
        assert not {"\x1b", "\u202e"} & set(text)
    assert "features.evil\ufffd[2J.kind: unknown kind '\ufffdnumber'" in str(caught.value)
    frame = worlds.random_people(problem, 0, 3).rename(columns={problem.features[0].name: "\x1b[2J"})
    with pytest.raises(PeopleError, match="\ufffd") as caught_people:
        problem.read(frame)
    assert "\x1b" not in str(caught_people.value)


def test_an_error_lists_everything_with_file_and_line(tmp_path):
    path = tmp_path / "loan.yaml"
    text = benchmark_file("syn").read_text("utf-8")
    path.write_text(
        text.replace("max_actions: 6", "max_actions: 600").replace("argument > job", "argument > jab"), "utf-8"
    )
    with pytest.raises(ProblemError) as caught:
        Problem.load(path)
    first, second = str(caught.value).splitlines()
    assert first.startswith(f"{path}:11: max_actions: ")
    assert second.startswith(f"{path}:53: functions.CHANGE_JOB.when: unknown name 'jab'; did you mean 'job'?")


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(ProblemError, match="there is no such file"):
        Problem.load(tmp_path / "nowhere.yaml")
    problem, findings = check(tmp_path / "nowhere.yaml")
    assert problem is None
    assert [finding.message for finding in findings] == ["there is no such file"]


@pytest.mark.parametrize(
    ("name", "steps", "actions"),
    [("syn", 6, 24), ("syn_long", 8, 45), ("german", 4, 27), ("adult", 4, 47), ("taiwan", 6, 23)],
)
def test_the_sizes_of_the_benchmarks(name, steps, actions):
    problem = benchmark(name)
    assert (problem.name, problem.max_actions, len(problem.transitions) - 1) == (name, steps, actions)
    assert problem.transitions.actions[-1] == Action(actions, STOP)


# The JSON Schema


def fits(data, schema, root):
    """Whether `data` fits a JSON Schema, as far as the schemas of pydantic go."""
    if "$ref" in schema:
        target = root
        for key in schema["$ref"].removeprefix("#/").split("/"):
            target = target[key]
        return fits(data, target, root)
    known = {
        "$schema", "$defs", "title", "description", "default", "discriminator", "type", "properties", "required",
        "additionalProperties", "items", "oneOf", "anyOf", "const", "enum", "minimum", "maximum", "minItems",
        "minProperties", "uniqueItems", "not", "allOf",
    }  # fmt: skip
    assert not set(schema) - known, set(schema) - known
    if "oneOf" in schema and sum(fits(data, option, root) for option in schema["oneOf"]) != 1:
        return False
    if "anyOf" in schema and not any(fits(data, option, root) for option in schema["anyOf"]):
        return False
    if "not" in schema and fits(data, schema["not"], root):
        return False
    if not all(fits(data, option, root) for option in schema.get("allOf", [])):
        return False
    types = schema.get("type", [])
    is_number = isinstance(data, (int, float)) and not isinstance(data, bool)
    is_type = {
        "object": isinstance(data, dict), "array": isinstance(data, list), "string": isinstance(data, str),
        "number": is_number, "integer": is_number and data == int(data) if is_number and math.isfinite(data) else False,
        "boolean": isinstance(data, bool), "null": data is None,
    }  # fmt: skip
    if types and not any(is_type[name] for name in ([types] if isinstance(types, str) else types)):
        return False
    if data != schema.get("const", data) or data not in schema.get("enum", [data]):
        return False
    if is_number and not schema.get("minimum", -math.inf) <= data <= schema.get("maximum", math.inf):
        return False
    if isinstance(data, list):
        if schema.get("uniqueItems") and len({json.dumps(item) for item in data}) < len(data):
            return False
        return len(data) >= schema.get("minItems", 0) and all(fits(i, schema.get("items", {}), root) for i in data)
    if isinstance(data, dict):
        others = schema.get("additionalProperties", True)
        return (
            not set(schema.get("required", [])) - set(data)
            and len(data) >= schema.get("minProperties", 0)
            and (others is not False or not set(data) - set(schema.get("properties", {})))
            and all(
                fits(item, schema.get("properties", {}).get(key, others if isinstance(others, dict) else {}), root)
                for key, item in data.items()
            )
        )
    return True


def test_the_schema_is_json_of_a_known_draft():
    schema = json.loads(json.dumps(json_schema(), allow_nan=False))
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["title"] == "counterplan problem"
    assert set(schema["required"]) == {"counterplan", "name", "outcome", "max_actions", "features"}
    function = schema["$defs"]["FunctionSpec"]["properties"]
    keys = {"set", "add", "arguments", "when", "cost", "duration", "overlaps", "phrase"}
    assert keys == set(function), "as files spell it"
    assert {"from", "to"} <= set(schema["$defs"]["CauseSpec"]["properties"])
    undescribed = [key for key, field in function.items() if "description" not in field]
    assert undescribed == []


def test_the_schema_accepts_the_benchmark_files(benchmark_problem):
    data = yaml.safe_load(benchmark_file(benchmark_problem.name).read_text("utf-8"))
    schema = json_schema()
    assert fits(data, schema, schema)
    for key in ("name", "outcome", "max_actions", "features"):
        assert not fits({k: v for k, v in data.items() if k != key}, schema, schema)


@given(worlds.problem_dicts())
@settings(max_examples=12)
def test_the_schema_accepts_any_problem(file):
    schema = json_schema()
    assert fits(Problem.from_dict(file).to_dict(), schema, schema)


@pytest.mark.parametrize(
    "change",
    [
        {"counterplan": 2},
        {"extra": 1},
        {"max_actions": 0},
        {"features": {"age": {"kind": "nothing"}}},
        {"features": {"age": {"kind": "number", "values": [1]}}},
        {"functions": {"F": {"set": "age", "arguments": "all"}}},
        {"causes": [{"from": "age"}]},
        {"outcome": {"column": "y", "values": ["a"], "favourable": "a"}},
        {"outcome": {"column": "y", "values": ["a", "b"], "favourable": []}},
        {"outcome": {"column": "y", "values": ["a", "b", "a"], "favourable": "a"}},
        {"max_actions": 65},
        {"features": {}},
        {"features": {"age": {"kind": "category", "values": []}}},
        {"features": {"age": {"kind": "category", "values": [1, 2, 1]}}},
        {"functions": {"F": {"set": "age", "arguments": "all", "cost": -1}}},
        {"functions": {"F": {"set": "age", "arguments": "all", "cost": {"base": 1, "surcharge": -1}}}},
        {"functions": {"F": {"set": "age", "arguments": "all", "cost": {"base": [1, -1]}}}},
        {"functions": {"F": {"set": "age", "arguments": "all", "cost": {"base": {"a": -1}}}}},
        {"functions": {"F": {"set": "age", "arguments": "all", "cost": {"base": []}}}},
        {"functions": {"F": {"set": "age", "arguments": [], "cost": 1}}},
        {"functions": {"F": {"set": "age", "arguments": [1, 1], "cost": 1}}},
        {"functions": {"F": {"set": "age", "add": "age", "arguments": [1], "cost": 1}}},
        {"functions": {"F": {"arguments": [1], "cost": 1}}},
        {"causes": [{"from": "age", "to": "job", "table": {"a": "b"}, "formula": "1"}]},
        {"causes": [{"from": "age", "to": "job", "scale": []}]},
        {"causes": [{"from": "age", "to": "job", "scale": [1, -1]}]},
        {"causes": [{"from": "age", "to": "job", "scale": [{"below": 1, "scale": -1}]}]},
        {"causes": [{"from": "age", "to": "job", "scale": [{"below": 1, "at_most": 2, "scale": 1}]}]},
    ],
)
def test_the_schema_refuses_what_is_wrong(change):
    schema = json_schema()
    data = benchmark("syn").to_dict()
    assert fits(data, schema, schema)
    assert not fits(data | change, schema, schema)


@pytest.mark.parametrize(
    "change",
    [
        {"name": 2024, "max_actions": 64, "causes": None},
        {"features": {"age": {"kind": "category", "values": [0.5, 1.5, True, 7, "x"], "label": 5}}, "causes": []},
        {"functions": {"F": {"set": "sex", "arguments": ["male", 7, 0.5, False], "cost": 0, "when": True}}},
        {"functions": {"F": {"add": "age", "arguments": [0.5, -1], "cost": {"base": [0.5, 0], "surcharge": {"1": 2}}}}},
        {"outcome": {"column": "y", "values": [True, False], "favourable": [True]}},
    ],
)
def test_the_schema_accepts_scalars_as_editors_read_them(change):
    schema = json_schema()
    assert fits(benchmark("syn").to_dict() | change, schema, schema)


def test_the_shipped_schema_is_the_one_that_the_code_makes():
    shipped = files("counterplan.problem").joinpath("problem.schema.json").read_text("utf-8")
    assert json.loads(shipped) == json_schema(), "counterplan schema --out src/counterplan/problem/problem.schema.json"


def test_misspelt_names_and_people_of_another_problem_are_refused() -> None:
    syn, german = worlds.benchmark("syn"), worlds.benchmark("german")
    with pytest.raises(PeopleError, match="did you mean 'education'"):
        syn.state({"educaton": "phd"})
    with pytest.raises(PeopleError, match="another problem"):
        german.read(syn.read(worlds.random_people(syn, 1, 2)))
    with pytest.raises(ProblemError, match="used twice"):
        Problem.from_dict(syn.to_dict() | {"features": {1: {"kind": "number"}, "1": {"kind": "number"}}})
