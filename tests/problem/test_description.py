from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlds
from counterplan.problem import Problem
from counterplan.storage.workspace import Workspace

HOSTILE = "</text><script>alert(1)</script>\"'&\x1b[2J\u202e"


def texts_of(svg: str) -> list[str]:
    return ["".join(element.itertext()) for element in ET.fromstring(svg).iter() if element.tag.endswith("}text")]


def test_the_text_lists_functions_costs_and_edges() -> None:
    text = worlds.benchmark("german").to_text()
    words = " ".join(text.split())
    assert text.startswith("german: German Credit\n9 features, 6 functions, 27 actions; plans of at most 4 actions")
    assert "CHANGE_JOB set job ordered" in words
    assert "{0, 1, 2, 3} + 10" in words
    assert "× s(age)" in words
    assert "STOP end the plan none" in words
    assert "age → job: cost × 0.2 if below 25, 0.3 if below 40, 0.7 if below 55, 1 otherwise" in words
    assert "sex category female, male immutable, protected" in words
    assert "CHANGE_SAVINGS {0, 3, 6, 9, 12} × s(job) yes" in words
    assert "CHANGE_HOUSING {1, 2, 3} no" in words
    assert max(map(len, text.splitlines())) <= 112


def test_problems_without_durations_do_not_speak_of_them() -> None:
    german, syn = worlds.benchmark("german").description(), worlds.benchmark("syn").description()
    assert german["time_unit"] == "months"
    assert german["functions"][0]["duration_base"] == [0, 3, 6, 9, 12]
    assert "time_unit" not in syn
    assert not any("duration_base" in function for function in syn["functions"])
    assert "uration" not in worlds.benchmark("syn").to_text()


def test_consequences_and_edges_without_an_effect_are_described() -> None:
    assert "payment → share_paid: sets it to 100 * payment / earlier_bill" in worlds.benchmark("taiwan").to_text()
    assert "relationship → marital_status: sets it to Married" in worlds.benchmark("adult").to_text()
    assert "age → relationship: without an effect" in worlds.benchmark("syn").to_text()
    lonely = Problem.from_dict(worlds.benchmark("syn").to_dict() | {"causes": None})
    assert "no edges: the order of actions does not change their costs" in lonely.to_text()
    assert "features without edges" not in lonely.to_svg()


@pytest.mark.parametrize("name", worlds.BENCHMARKS)
def test_the_data_agree_with_the_transitions(name: str) -> None:
    problem = worlds.benchmark(name)
    data = json.loads(json.dumps(problem.description()))
    states = problem.read(worlds.random_people(problem, 0, 50)).states
    costs, place = problem.transitions.cost(states), 0
    for function in data["functions"]:
        for i, _ in enumerate(function["arguments"] or [None]):
            assert (costs[:, place] >= function["least_cost"][i] - 1e-9).all()
            assert (costs[:, place] <= function["most_cost"][i] + 1e-9).all()
            place += 1
    assert place == len(problem.transitions)
    immutable = [feature["name"] for feature in data["features"] if feature["immutable"]]
    mutable = {problem.features[i].name for i in problem.transitions.mutable}
    assert set(immutable) == {feature.name for feature in problem.features} - mutable
    assert [(c["from"], c["to"]) for c in data["causes"]] == [
        (problem.features[c.source].name, problem.features[c.target].name) for c in problem.transitions.causes
    ]


def test_the_factors_are_those_of_the_costs() -> None:
    """A cost that the description gives is the one that the transitions compute."""
    problem = worlds.benchmark("german")
    job = next(cause for cause in problem.description()["causes"] if cause["to"] == "saving_accounts")
    savings = next(f for f in problem.description()["functions"] if f["name"] == "CHANGE_SAVINGS")
    state = worlds.random_people(problem, 0, 1).iloc[0].to_dict()
    for value, factor in job["scale"]:
        cost = problem.transitions.cost(problem.state(state | {"job": value})[None])[0, problem.transitions.spans[0]]
        assert np.allclose(cost, np.add(savings["surcharge"], np.multiply(savings["base"], factor)))


@pytest.mark.parametrize("name", worlds.BENCHMARKS)
def test_the_drawing_has_every_feature_and_edge(name: str) -> None:
    problem = worlds.benchmark(name)
    svg = problem.to_svg()
    texts = texts_of(svg)
    assert {feature.name for feature in problem.features} <= set(texts)
    assert svg.count('class="head') == len(problem.transitions.causes)
    root = ET.fromstring(svg)
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    for element in root.iter():
        if element.tag.endswith("}rect"):
            assert 0 <= float(element.get("x", 0)) <= width - float(element.get("width", 0))
            assert 0 <= float(element.get("y", 0)) <= height - float(element.get("height", 0))
    assert "prefers-color-scheme: dark" in svg
    assert "http" not in svg.replace("http://www.w3.org/2000/svg", "")
    assert "url(" not in svg


@given(st.integers(0, 10**6))
def test_every_problem_can_be_described(seed: int) -> None:
    problem = Problem.from_dict(worlds.random_problem(seed))
    ET.fromstring(problem.to_svg())
    json.dumps(problem.description(), allow_nan=False)
    assert all(function.name in problem.to_text() for function in problem.transitions.functions)


def test_no_text_breaks_out() -> None:
    data = json.loads(json.dumps(worlds.benchmark("german").to_dict())) | {"title": HOSTILE}
    data["features"]["job"] = {"kind": "ordered", "values": ["a", "b", "c", HOSTILE]}
    data["functions"]["CHANGE_JOB"]["arguments"] = ["a", "b", "c", HOSTILE]
    data["features"]["age"] |= {"unit": HOSTILE, "label": HOSTILE}
    data["functions"] = {f"{HOSTILE}{name}": spec for name, spec in data["functions"].items()}
    problem = Problem.from_dict(data)
    tags = {element.tag.split("}")[1] for element in ET.fromstring(problem.to_svg()).iter()}
    assert tags == {"svg", "title", "desc", "style", "rect", "path", "text"}
    for text in (problem.to_text(), problem.to_svg()):
        assert not {"\x1b", "\u202e"} & set(text)


def test_a_large_graph_is_drawn_in_time() -> None:
    names = [f"f{i}" for i in range(300)]
    data = {
        "counterplan": 1,
        "name": "large",
        "outcome": {"column": "y", "values": ["no", "yes"], "favourable": "yes"},
        "max_actions": 2,
        "features": {name: {"kind": "ordered", "values": ["a", "b"]} for name in names},
        "functions": {"DO": {"set": "f0", "arguments": "all", "cost": 1}},
        "causes": [
            {"from": names[i], "to": names[j], "scale": [1, 0.5]}
            for i in range(299)
            for j in (i + 1, i + 50)
            if j < 300
        ],
    }
    assert Problem.from_dict(data).to_svg().count('class="head') == len(data["causes"])


def test_describes_on_the_command_line(run, folder: Path) -> None:
    german = worlds.benchmark("german")
    assert run("describe", "german").out == german.to_text() + "\n"
    assert json.loads(run("describe", "german", "--json").out) == german.description()
    assert "Wrote graph.svg" in run("describe", "loan.yaml", "--to", "graph.svg").out
    assert (folder / "graph.svg").read_text() == Problem.load(folder / "loan.yaml").to_svg()
    (folder / "learned").mkdir()
    Workspace(folder / "learned").save_problem(german)
    assert run("describe", "learned").out == german.to_text() + "\n"


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("germn", "did you mean 'german'"),
        ("nowhere.yaml", "there is no such file"),
        ("german --to graph.png", "give a file that ends in .svg"),
        ("german --to nowhere/graph.svg", "there is no folder nowhere"),
        ("german --json --to graph.svg", "give one of them"),
        ("people.csv", "people.csv"),
        (".", "is . what 'counterplan fit' wrote?"),
    ],
)
def test_the_command_says_what_is_wrong(run, words: str, message: str) -> None:
    ran = run("describe", *words.split())
    assert ran.code == 2
    assert message in ran.err
    assert "Traceback" not in ran.err
