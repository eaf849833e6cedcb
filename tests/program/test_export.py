from __future__ import annotations

import ast
import base64
import dataclasses
import itertools
import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlds
from counterplan.errors import PeopleError, SettingError, StorageError
from counterplan.problem import Problem
from counterplan.program import INTERVENE, Choice, Leaf, ModelCard, Program
from counterplan.program import export as exporting
from counterplan.program.export import export, to_dot, to_html, to_python, to_svg
from counterplan.program.io import to_json
from counterplan.program.model_card_text import card_text
from counterplan.program.wording import NOTHING_HELPS
from program import programs
from program.random_programs import random_program
from waiting import waiting

HOSTILE = "</script><img src=x onerror=alert(1)>\"'\n\\`${1}]]>-->"


def module_of(program: Program) -> ModuleType:
    """The exported module, as a Python file would be."""
    module = ModuleType("exported")
    exec(compile(to_python(program), "exported.py", "exec"), module.__dict__)  # only here: a test runs what it wrote
    return module


def expected(program: Program, people: Any, forbid: Any = ()) -> list[Any]:
    """What the program itself answers: status, steps with costs, texts and reasons, the whole cost, and a caution."""
    plans = program.recommend(people, forbid=forbid)
    return [
        [
            plan.status.value,
            [
                [step.function, step.argument, step.cost, step.text, step.reason, step.start, step.duration]
                for step in plan.steps
            ],
            plan.cost if plan.steps else None,
            plan.duration if plan.steps else None,
            plan.caution,
        ]
        for plan in plans
    ]


def answered(plan: dict[str, Any]) -> list[Any]:
    """The same of what an export answers."""
    keys = ("function", "argument", "cost", "text", "reason", "start", "duration")
    steps = [[step.get(key) for key in keys] for step in plan["steps"]]
    return [plan["status"], steps, plan["cost"], plan.get("duration"), plan["caution"]]


def rows(problem: Problem, people: Any) -> list[dict[str, Any]]:
    return [problem.describe(state) for state in problem.read(people).states]


def some_forbidden(problem: Problem) -> list[str]:
    """A function and an action of another."""
    return [problem.transitions.functions[0].name, str(problem.transitions.actions[-2])]


def wishes(problem: Problem) -> list[tuple[list[str], int]]:
    """What may be forbidden, and to how many people: nothing, several things, one function, a part of one."""
    second = problem.transitions.functions[1].name
    part = [str(action) for action in problem.transitions.actions if action.function == second][1:]
    return [([], 400), (some_forbidden(problem), 150), ([second], 150), (part, 150)]


@pytest.mark.parametrize("name", worlds.BENCHMARKS)
def test_python_agrees_on_every_benchmark(name: str) -> None:
    problem = worlds.benchmark(name)
    found = 0
    for seed, forbid in ((1, []), (2, some_forbidden(problem))):
        program = random_program(problem, seed, depth=4, stops=0.9)
        people = worlds.random_people(problem, seed, 300)
        recommend = module_of(program).recommend
        wanted = expected(program, people, forbid)
        assert [answered(recommend(row, set(forbid))) for row in rows(problem, people)] == wanted
        found += sum(status == "found" for status, *_ in wanted)
    assert found > 60


def test_python_agrees_on_a_real_program() -> None:
    program = programs.imitated()
    people = worlds.random_people(program.problem, 3, 500)
    recommend = module_of(program).recommend
    wanted = expected(program, people)
    assert [answered(recommend(row)) for row in rows(program.problem, people)] == wanted
    assert sum(status == "found" for status, *_ in wanted) > 250


@pytest.mark.parametrize("name", worlds.BENCHMARKS)
def test_python_agrees_on_distilled_programs(name: str) -> None:
    program = programs.distilled(name)
    recommend, said = module_of(program).recommend, set[str]()
    for forbid, count in wishes(program.problem):
        people = worlds.random_people(program.problem, 3, count)
        wanted = expected(program, people, forbid)
        assert [answered(recommend(row, set(forbid))) for row in rows(program.problem, people)] == wanted
        assert sum(status == "found" for status, *_ in wanted) > count / (4 if forbid else 2)
        said |= {caution for *_, caution in wanted}
        assert forbid or all(NOTHING_HELPS in caution.lower() for caution in said - {""})
        if len(forbid) != 1:
            assert not any("30 of its 39 other plans" in caution for *_, caution in wanted)
    assert any("30 of its 39 other plans" in caution for caution in said), "of the function that alone is forbidden"


@given(st.integers(0, 10**6))
def test_python_agrees_in_every_world(seed: int) -> None:
    """Conditions, formulas, tables, bounds, missing values: whatever a problem file can say."""
    problem = Problem.from_dict(worlds.random_problem(seed))
    program = random_program(problem, seed, depth=2, stops=0.8)
    people = worlds.random_people(problem, seed, 10)
    recommend = module_of(program).recommend
    assert [answered(recommend(row)) for row in rows(problem, people)] == expected(program, people)
    ET.fromstring(to_svg(program))
    assert to_html(program).count("<script") == 2


def test_python_agrees_on_consequences_with_the_amount() -> None:
    problem, found = waiting(), 0
    for seed in range(3):
        program, people = random_program(problem, seed, depth=3, stops=0.4), worlds.random_people(problem, seed, 60)
        recommend = module_of(program).recommend
        wanted = expected(program, people)
        assert [answered(recommend(row)) for row in rows(problem, people)] == wanted
        found += sum(status == "found" for status, *_ in wanted)
    assert found > 30


def test_nothing_to_do() -> None:
    data = worlds.benchmark("syn").to_dict() | {"functions": None}
    program = Program(Problem.from_dict(data), {INTERVENE: Leaf(())})
    person = rows(program.problem, worlds.random_people(program.problem, 0, 1))[0]
    assert module_of(program).recommend(person)["status"] == "not_found"
    assert all(write(program) for write in exporting.FORMATS.values())


def test_python_needs_nothing_but_python_39(tmp_path: Path) -> None:
    path = tmp_path / "german.py"
    export(programs.imitated(), path)
    tree = ast.parse(path.read_text(), feature_version=(3, 9))
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    imported |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert imported <= {"__future__", "difflib", "math", "re", "collections.abc", "typing"}
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert not called & {"eval", "exec", "compile", "__import__", "open"}
    person = programs.imitated().model_card.to_data()["examples"][0]
    code = f"import german; print(german.recommend({person!r})['status'], german.__doc__)"
    ran = subprocess.run([sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:0] = ['.']; {code}"], cwd=tmp_path, capture_output=True, text=True, check=True)  # fmt: skip  # noqa: E501
    assert ran.stdout.startswith("found What would turn the decision around: German Credit.")
    assert "not checked with the model" in ran.stdout


def test_python_says_what_is_wrong_with_a_person() -> None:
    program = programs.imitated()
    recommend = module_of(program).recommend
    person = program.model_card.to_data()["examples"][0]
    for wrong, told in (
        ({"job": "mangaer"}, "job is one of"),
        ({"age": None}, "age is not known"),
        ({"age": 3.5}, "whole number"),
        ({"age": "old"}, "age is a number"),
        ({"credit_amount": 10**400}, "credit_amount is a whole number; not one of so many digits"),
        ({"credit_amount": 2**53 + 2}, "credit_amount is a whole number; not one of so many digits"),
    ):
        with pytest.raises(ValueError, match=told):
            recommend(person | wrong)
    with pytest.raises(ValueError, match="no function or action 'FLY'"):
        recommend(person, {"FLY"})
    assert recommend(person, "CHANGE_JOB") == recommend(person, {"CHANGE_JOB"}), "a name is not its letters"
    (first, *_) = recommend(person)["steps"]
    other = recommend(person, iter([first["function"]]))["steps"]
    assert all(step["function"] != first["function"] for step in other)
    for nobody in (None, "ann", [person]):
        with pytest.raises(ValueError, match="a person is a dict with a value for each feature, not"):
            recommend(nobody)


def test_python_takes_the_rows_that_the_program_takes() -> None:
    """A column more is no matter; one that is absent is told, with the name it may have been given by mistake."""
    program = programs.imitated()
    recommend = module_of(program).recommend
    person = program.model_card.to_data()["examples"][0]
    more = person | {"risk": "bad", "jobs": "many", 7: None}
    assert answered(recommend(more)) == answered(recommend(person)) == expected(program, pd.DataFrame([more]))[0]
    numpys = pd.DataFrame([person]).iloc[0].map(lambda value: np.int64(value) if isinstance(value, int) else value)
    assert any(isinstance(value, np.int64) for value in numpys)
    assert answered(recommend(dict(numpys))) == answered(recommend(person))
    misspelt = {{"job": "jbo"}.get(name, name): value for name, value in more.items() if name != "jobs"}
    for read, wrong in ((recommend, ValueError), (lambda row: program.recommend(pd.DataFrame([row])), PeopleError)):
        with pytest.raises(wrong, match=r"lacks .*'job'(; | \()did you mean 'jbo'"):
            read(misspelt)
        with pytest.raises(wrong, match=r"lacks .*'age'"):
            read({name: value for name, value in person.items() if name != "age"})


def test_what_may_be_missing_is_still_to_be_named() -> None:
    data = worlds.benchmark("german").to_dict()
    data["features"]["age"]["missing"] = True
    program = random_program(Problem.from_dict(data), 0, stops=0.8)
    row = rows(program.problem, worlds.random_people(program.problem, 0, 1))[0]
    recommend = module_of(program).recommend
    for nothing in (None, float("nan"), pd.NA, pd.NaT):
        told = expected(program, pd.DataFrame([row | {"age": None}]))[0]
        assert answered(recommend(row | {"age": nothing})) == told
    del row["age"]
    for read, wrong in ((recommend, ValueError), (lambda row: program.recommend(pd.DataFrame([row])), PeopleError)):
        with pytest.raises(wrong, match=r"lacks .*'age'"):
            read(row)


def test_extension_decides(tmp_path: Path) -> None:
    program = programs.imitated()
    for extension in exporting.FORMATS:
        export(program, tmp_path / f"german{extension}")
    assert json.loads((tmp_path / "german.json").read_text())["counterplan_program"] == 1
    with pytest.raises(SettingError, match=r"\.json, \.html, \.py, \.svg, \.dot"):
        export(program, tmp_path / "german.pdf")
    with pytest.raises(StorageError, match="cannot be written"):
        export(program, tmp_path / "nowhere" / "german.py")
    assert {path.name for path in tmp_path.iterdir()} == {f"german{extension}" for extension in exporting.FORMATS}


@pytest.mark.parametrize("write", [to_dot, to_html, to_python, to_svg])
def test_same_program_same_text(write: Any) -> None:
    program = programs.imitated()
    assert write(program) == write(program)


def test_drawing_holds_every_way() -> None:
    program = programs.imitated()
    svg = ET.fromstring(to_svg(program))
    space = {"s": "http://www.w3.org/2000/svg"}
    ways = {group.get("data-way") for group in svg.findall(".//s:g[@class]", space) if group.get("data-way")}
    run = program.run(program.problem.read(worlds.random_people(program.problem, 0, 500)).states)
    stop = len(program.nodes)
    for nodes, stopped in zip(run.nodes.tolist(), run.stopped.tolist(), strict=True):
        seen = [node for node in nodes if node >= 0] + ([stop] if stopped else [])
        assert {f"{a}-{b}" for a, b in itertools.pairwise(seen)} <= ways
    titles = [title.text for title in svg.findall(".//s:title", space)]
    assert any("people" in str(title) for title in titles)
    assert "prefers-color-scheme: dark" in to_svg(program)


def test_drawing_without_counts_and_with_unreached_nodes() -> None:
    problem = worlds.benchmark("german")
    job = problem.transitions.spans[1].start + 3
    stop = Choice(problem.transitions.stop)
    program = Program(problem, {INTERVENE: Leaf((Choice(job), stop)), "CHANGE_JOB": Leaf((stop,))})
    dot = to_dot(program)
    assert '"INTERVENE" -> "CHANGE_JOB"' in dot
    assert "CHANGE_HOUSING" not in dot
    assert "rules" in to_svg(program)


def hostile() -> Program:
    """A program whose every text tries to break out."""
    problem = worlds.benchmark("german").to_dict() | {"title": HOSTILE}
    features = json.loads(json.dumps(problem["features"]))
    features["age"] |= {"label": HOSTILE, "unit": HOSTILE}
    features["job"]["labels"] = {"skilled": HOSTILE}
    features["job"]["values"][3] = HOSTILE
    functions = json.loads(json.dumps(problem["functions"]))
    phrase = "{argument}" + HOSTILE.replace("{1}", "")
    functions["CHANGE_JOB"] |= {"arguments": ["skilled", HOSTILE], "cost": 1, "duration": 1, "phrase": phrase}
    name = '"""</title><script>alert(1)</script>'
    read = Problem.from_dict(problem | {"features": features, "functions": functions | {name: functions["CHANGE_JOB"]}})
    program = random_program(read, 5, stops=0.8)
    card = {HOSTILE: HOSTILE, "cannot": [HOSTILE, '"""'], "made_with": '\\"""'}
    return dataclasses.replace(program, model_card=ModelCard.from_data(card))


def test_no_text_breaks_out() -> None:
    program = hostile()
    assert HOSTILE in repr(program.problem.features[0].label) or program.problem.features[0].label == HOSTILE
    for element in ET.fromstring(to_svg(program)).iter():
        assert element.tag.split("}")[1] in {"svg", "title", "desc", "style", "rect", "g", "path", "text"}
    page = to_html(program)
    assert page.count("<script") == page.count("</script>") == 2
    assert "<img" not in page
    people = worlds.random_people(program.problem, 0, 50)
    recommend = module_of(program).recommend
    assert [answered(recommend(row)) for row in rows(program.problem, people)] == expected(program, people)
    for line in to_dot(program).splitlines():
        assert line.endswith(("{", ";", "}"))


def test_page_asks_nobody() -> None:
    page = to_html(programs.imitated())
    assert "default-src 'none'" in page.replace("&#x27;", "'")
    for word in ("http:", "https:", "fetch(", "XMLHttpRequest", "import(", "innerHTML", "eval(", "Function("):
        assert word not in page.replace("http://www.w3.org/2000/svg", "")


@pytest.mark.parametrize("odd", ["text", 5, None, True, [], [1, None], {"a": {"b": {"c": 1}}}, {"a": 1.5}])
def test_any_card_can_be_shown(odd: Any) -> None:
    """A card is plain data that anybody may write: nothing on it stops an export."""
    program = programs.imitated(people=20, depth=1)
    usual = program.model_card.to_data()
    keys = [*usual, "tried_on", "rule_length_mean", "leaves", "protected_tested", "seed"]
    for card in (dict.fromkeys(keys, odd), *({**usual, key: odd} for key in keys)):
        for write in exporting.FORMATS.values():
            assert write(dataclasses.replace(program, model_card=ModelCard.from_data(card)))
        assert card_text(ModelCard.from_data(card))


def test_odd_figures_on_a_card_can_be_shown() -> None:
    program = programs.imitated()
    usual = program.model_card.to_data()
    ways = usual["transitions"]
    for card in (
        {**usual, "transitions": dict.fromkeys(ways, -1)},
        {**usual, "transitions": dict.fromkeys(ways, 10**400)},
        {**usual, "leaves": 10**400, "cost_ratio": 10**400},
        {"cannot": ["\x1b[2Jall", "\u202eall"], "note": "\x1b[31m"},
    ):
        for write in exporting.FORMATS.values():
            text = write(dataclasses.replace(program, model_card=ModelCard.from_data(card)))
            assert "\u202e" not in text or write is to_json
        assert not {"\x1b", "\u202e"} & set(card_text(ModelCard.from_data(card)))


def test_a_notebook_shows_the_drawing_and_the_card_and_no_text_breaks_out() -> None:
    program = programs.imitated()
    shown = program._repr_html_()
    image = shown.split('src="data:image/svg+xml;base64,')[1].split('"')[0]
    assert base64.b64decode(image).decode() == to_svg(program)
    assert "72%" in shown
    assert "It was made from few people, for a test." in shown
    odd = hostile()._repr_html_()
    assert "<script" not in odd
    assert odd.count("<img") == 1
    assert {element.tag for element in ET.fromstring(odd).iter()} <= {
        *("div", "img", "table", "tr", "th", "td", "details", "summary", "ul", "li")
    }
