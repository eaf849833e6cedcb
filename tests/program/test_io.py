"""Programs as files: nothing is lost, equal programs make equal files, and what is wrong is said with its place."""

from __future__ import annotations

import json
import math
from importlib.resources import files
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import worlds
from counterplan import CounterplanError, Problem, ProblemError, StorageError
from counterplan.errors import SettingError
from counterplan.program import INTERVENE, Choice, Leaf, ModelCard, Program, Split, Test, Tree
from counterplan.program.io import DEEPEST, from_data, from_json, to_data, to_json
from program.random_programs import programs, random_program
from schemas import valid

LOAN = Problem.from_dict(
    {
        "counterplan": 1,
        "name": "loan",
        "outcome": {"column": "loan", "values": ["no", "yes"], "favourable": "yes"},
        "max_actions": 3,
        "features": {
            "income": {"kind": "number", "integer": True, "bins": [-math.inf, 0.1]},
            "job": {"kind": "ordered", "values": ["none", "worker", "manager"]},
            "purpose": {"kind": "category", "values": ["car", "repairs", 7, True]},
        },
        "functions": {
            "CHANGE_INCOME": {"add": "income", "arguments": [10, 20], "cost": 1},
            "CHANGE_JOB": {"set": "job", "arguments": "all", "cost": 2},
            "CHANGE_PURPOSE": {"set": "purpose", "arguments": [True, 7], "cost": 2},
        },
    }
)
STOP = Leaf((Choice(LOAN.transitions.stop),))
PROGRAM = Program(
    LOAN,
    {
        "CHANGE_JOB": Split(Test(0), STOP, Split(Test(0, at_least=0.1 + 0.2), Leaf((Choice(0, reach=1e300),)), STOP)),
        "CHANGE_INCOME": Split(Test(2, among=(3, 0)), Leaf((Choice(5), Choice(6))), STOP),
        INTERVENE: Split(Test(1, at_least=2.0), Leaf((Choice(1),)), Leaf((Choice(4), Choice(0, reach=24.5)))),
        "CHANGE_PURPOSE": STOP,
    },
    ModelCard.from_data({"b": [1, {"z": None, "a": 0.1}], "a": "ä"}),
)


def test_the_format_is_as_documented() -> None:
    data = json.loads(to_json(PROGRAM))
    assert [*data] == ["counterplan_program", "problem", "nodes", "card"]
    assert data["nodes"] == {
        "INTERVENE": {
            "if": {"feature": "job", "at_least": "manager"},
            "then": {"do": [{"function": "CHANGE_INCOME", "argument": 20}]},
            "else": {
                "do": [
                    {"function": "CHANGE_JOB", "argument": "manager"},
                    {"function": "CHANGE_INCOME", "reach": 24.5},
                ]
            },
        },
        "CHANGE_INCOME": {
            "if": {"feature": "purpose", "in": ["car", True]},
            "then": {
                "do": [
                    {"function": "CHANGE_PURPOSE", "argument": True},
                    {"function": "CHANGE_PURPOSE", "argument": 7},
                ]
            },
            "else": {"do": [{"stop": True}]},
        },
        "CHANGE_JOB": {
            "if": {"feature": "income", "missing": True},
            "then": {"do": [{"stop": True}]},
            "else": {
                "if": {"feature": "income", "at_least": 0.1 + 0.2},
                "then": {"do": [{"function": "CHANGE_INCOME", "reach": 1e300}]},
                "else": {"do": [{"stop": True}]},
            },
        },
        "CHANGE_PURPOSE": {"do": [{"stop": True}]},
    }
    assert [*data["nodes"]] == ["INTERVENE", "CHANGE_INCOME", "CHANGE_JOB", "CHANGE_PURPOSE"]


def test_infinity_is_plain_json() -> None:
    text = to_json(PROGRAM)
    assert "Infinity" not in text
    assert "-1e999" in text
    assert from_json(text).problem.features[0].bins == (-math.inf, 0.1)
    assert from_json(text).problem.fingerprint == LOAN.fingerprint
    assert to_json(from_json(json.dumps(json.loads(text)))) == text  # Python writes -Infinity


def test_a_file_keeps_everything(tmp_path: Path) -> None:
    path = tmp_path / "program.json"
    PROGRAM.save(path)
    back = Program.load(path)
    assert back.trees["CHANGE_JOB"] == PROGRAM.trees["CHANGE_JOB"]
    assert back.model_card == PROGRAM.model_card
    back.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()
    card = ModelCard.from_data(dict(reversed(PROGRAM.model_card.to_data().items())))
    shuffled = Program(LOAN, dict(reversed(PROGRAM.trees.items())), card)
    assert to_json(shuffled) == path.read_text("utf-8")
    with pytest.raises(StorageError, match="cannot be written"):
        PROGRAM.save(tmp_path / "nowhere" / "program.json")
    PROGRAM.save(path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["again.json", "program.json"]


@settings(max_examples=12)
@given(st.data())
def test_any_program_comes_back(data: st.DataObject) -> None:
    program = data.draw(programs(data.draw(worlds.problems())))
    text = to_json(program)
    back = from_json(text)
    assert back.trees == program.trees
    assert to_json(back) == text
    assert valid(json.loads(text), SCHEMA)


def test_benchmarks_come_back(benchmark_problem: Problem) -> None:
    program = random_program(benchmark_problem, 1, depth=5)
    assert from_json(to_json(program)).trees == program.trees
    assert valid(to_data(program), SCHEMA)


@pytest.mark.parametrize("card", [{"a": math.nan}, {"a": {1, 2}}, {1: 2}, {"a": object()}])
def test_a_card_holds_plain_data(card: Any) -> None:
    with pytest.raises(SettingError, match="plain data only"):
        to_json(Program(LOAN, PROGRAM.trees, ModelCard.from_data(card)))


def deep(levels: int) -> Tree:
    tree: Tree = STOP
    for _ in range(levels):
        tree = Split(Test(0, at_least=1.0), STOP, tree)
    return tree


def test_what_cannot_be_kept_is_refused() -> None:
    with pytest.raises(SettingError, match="'FLY', which is no function of loan"):
        to_json(Program(LOAN, {"FLY": STOP}))
    with pytest.raises(SettingError, match="more than 100 tests on a path"):
        to_json(Program(LOAN, {INTERVENE: deep(50_000)}))
    with pytest.raises(SettingError, match="leads from INTERVENE to CHANGE_INCOME, and has no tree for it"):
        to_json(Program(LOAN, {INTERVENE: Leaf((Choice(0),))}))
    with pytest.raises(SettingError, match="cannot test for inf"):
        to_json(Program(LOAN, {INTERVENE: Split(Test(0, at_least=math.inf), STOP, STOP)}))
    with pytest.raises(SettingError, match="a rank of job that no value has"):
        to_json(Program(LOAN, {INTERVENE: Split(Test(1, at_least=3), STOP, STOP)}))
    longest = Program(LOAN, {INTERVENE: deep(DEEPEST)})
    assert from_json(to_json(longest)).trees == longest.trees


def test_files_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "program.json"
    with pytest.raises(StorageError, match=r"program.json: there is no such file"):
        Program.load(path)
    with pytest.raises(StorageError, match="cannot be read"):
        Program.load(tmp_path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(StorageError, match="not text in UTF-8"):
        Program.load(path)
    path.write_bytes(b"\xef\xbb\xbf" + to_json(PROGRAM).encode())
    assert Program.load(path).trees.keys() == PROGRAM.trees.keys(), "editors of Windows write a mark before the text"
    path.write_text(to_json(PROGRAM)[:-40])
    with pytest.raises(StorageError, match=r"program.json: not JSON"):
        Program.load(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON"),
        ("[" * 100_000, "not JSON: it is nested too deeply"),
        ('{"if": ' * 100_000, "not JSON"),
        ("[]", "not a program of counterplan"),
        ('{"counterplan_plans": 1}', "not a program of counterplan"),
        ('{"counterplan_programs": 1}', "not a program of counterplan .'counterplan_program' is missing"),
        (
            '{"counterplan_program": true}',
            "counterplan_program: the version .* is an integer .*, not true",
        ),
        ('{"counterplan_program": "x"}', 'counterplan_program: the version .* is an integer .*, not "x"'),
        ('{"counterplan_program": 0}', "counterplan_program: the version .* is an integer .*, not 0"),
        ('{"counterplan_program": [1]}', "counterplan_program: the version .* is an integer .*, not a list"),
        ('{"counterplan_program": 9}', "newer counterplan .version 9; this one reads 1"),
        ('{"counterplan_program": 1}', "'problem' is missing"),
        ('{"counterplan_program": 1, "problem": []}', "problem: should be a mapping"),
        ('{"counterplan_program": 1, "problem": {}, "nodes": {}, "card": NaN}', "NaN is not a number"),
        (
            '{"counterplan_program": 1, "problem": {}, "problem": {}}',
            "program: 'problem' is there twice in one mapping",
        ),
        ('{"counterplan_program": 1, "card": {"a": {"b": 1, "b": 1}}}', "program: 'b' is there twice in one mapping"),
        ('{"counterplan_program": 1, "problem": {}, "nodes": {}, "card": {}, "nods": 1}', "did you mean 'nodes'"),
        ('{"counterplan_program": 1, "problem": {}, "nodes": {}, "card": {}, "x": 1}', "'x' is no part of a program"),
    ],
)
def test_foreign_texts(text: str, message: str) -> None:
    with pytest.raises(StorageError, match=message):
        from_json(text)


def test_a_damaged_problem_has_its_own_messages() -> None:
    data = to_data(PROGRAM)
    data["problem"] = LOAN.to_dict()
    data["problem"]["functions"]["CHANGE_JOB"]["set"] = "jobb"
    with pytest.raises(ProblemError, match=r"p.json: problem: functions.CHANGE_JOB.set: .*did you mean 'job'"):
        from_data(data, "p.json")


DO_STOP = {"do": [{"stop": True}]}


def asks(feature: Any, **test: Any) -> dict[str, Any]:
    return {"if": {"feature": feature} | {key.rstrip("_"): value for key, value in test.items()}} | BOTH


BOTH = {"then": DO_STOP, "else": DO_STOP}


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (
            asks("incom", at_least=3),
            r"p.json: nodes.CHANGE_JOB.if.feature: there is no feature 'incom'; did you mean 'income'\?",
        ),
        (7, "nodes.CHANGE_JOB: should be {do} or {if, then, else}, not '7'"),
        ({"do": [], "if": 1}, "not {do, if}"),
        ({"do": 3}, "nodes.CHANGE_JOB.do: should be a list"),
        ({"do": [{"function": "FLY", "argument": 1}]}, r"CHANGE_JOB.do\[0\].function: there is no function 'FLY'"),
        ({"do": [{"function": "CHANGE_JOB", "argument": "manger"}]}, "'manger' is not an .*did you mean 'manager'"),
        ({"do": [{"function": "CHANGE_JOB", "argument": ["x"]}]}, r"do\[0\].argument"),
        ({"do": [{"function": "CHANGE_JOB", "reach": 3}]}, "it needs an 'argument'"),
        ({"do": [{"function": "CHANGE_INCOME", "reach": "3"}]}, "'3' is not a number"),
        ({"do": [{"function": "CHANGE_INCOME", "reach": 10**400}]}, "is too large"),
        ({"do": [{"stop": False}]}, "stop: should be true"),
        ({"do": [{"exec": "import os"}]}, r"do\[0\]: should be"),
        (
            asks("purpose", at_least="car"),
            "have no order; use 'in'",
        ),
        (asks("income", in_=[3]), "is a number; use 'at_least'"),
        (
            asks("income", at_least=math.inf),
            "'inf' is not a number",
        ),
        (asks("purpose", in_=[]), "should be a list of values"),
        (
            asks("job", in_=["wroker"]),
            r"if.in\[0\]: 'wroker'.*'worker'",
        ),
        (asks("job", missing=1), "missing: should be true"),
        (asks({}, missing=True), "there is no feature"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tree: Any, message: str) -> None:
    data = to_data(PROGRAM) | {"problem": LOAN.to_dict()}
    data["nodes"]["CHANGE_JOB"] = tree
    with pytest.raises(StorageError, match=message):
        from_data(data, "p.json")


def test_nodes_are_checked() -> None:
    data = to_data(PROGRAM) | {"problem": LOAN.to_dict()}
    with pytest.raises(StorageError, match="nodes: there is no node INTERVENE"):
        from_data(data | {"nodes": {}})
    with pytest.raises(StorageError, match="there is no node 'CHANGE_JOBS'; did you mean 'CHANGE_JOB'"):
        from_data(data | {"nodes": {"CHANGE_JOBS": DO_STOP}})
    assert from_data(data | {"$schema": "program.schema.json"}).trees == from_data(data).trees
    second = {"function": "CHANGE_PURPOSE", "argument": 7}
    nodes = {"INTERVENE": {"do": [{"function": "CHANGE_JOB", "argument": "worker"}, second]}, "CHANGE_JOB": DO_STOP}
    with pytest.raises(StorageError, match="INTERVENE leads to CHANGE_PURPOSE, which is not there"):
        from_data(data | {"nodes": nodes})
    lacking = {name: tree for name, tree in data["nodes"].items() if name != "CHANGE_PURPOSE"}
    message = "p.json: nodes: CHANGE_INCOME leads to CHANGE_PURPOSE, which is not there.*'counterplan distil'"
    with pytest.raises(StorageError, match=message):
        from_data(data | {"nodes": lacking}, "p.json")
    tree: Any = DO_STOP
    for _ in range(DEEPEST + 1):
        tree = {"if": {"feature": "income", "at_least": 1}, "then": DO_STOP, "else": tree}
    with pytest.raises(StorageError, match="more than 100 tests on a path"):
        from_data(data | {"nodes": {"INTERVENE": tree}})


def test_any_damage_is_a_clear_error_or_none() -> None:
    text, random, refused = to_json(PROGRAM), Random(0), 0
    for _ in range(400):
        at, length = random.randrange(len(text)), random.choice([1, 1, 3, 20])
        damaged = text[:at] + random.choice(["", "0", "{", '"', "[]", "null", "-"]) + text[at + length :]
        try:
            from_json(damaged)
        except CounterplanError:
            refused += 1
    assert refused > 200


SCHEMA = json.loads(files("counterplan.program").joinpath("program.schema.json").read_text("utf-8"))


@pytest.mark.parametrize(
    "tree", [{}, {"do": 1}, {"do": [{"stop": 1}]}, {"if": {"feature": "x"}, "then": {}, "else": {}}]
)
def test_the_schema_refuses_what_is_no_tree(tree: Any) -> None:
    data = to_data(PROGRAM)
    assert valid(data, SCHEMA)
    data["nodes"]["INTERVENE"] = tree
    assert not valid(data, SCHEMA)


def test_errors_name_the_file_and_the_way_out(tmp_path: Path) -> None:
    whole = to_json(random_program(worlds.benchmark("german"), 1))
    file = tmp_path / "program.json"
    for text, way_out in [
        (whole[: len(whole) // 2], "make it again with 'counterplan distil'"),
        ("", "make it again with 'counterplan distil'"),
        ("{}", "give the program.json that 'counterplan distil' made"),
        (whole.replace('"counterplan_program": 1', '"counterplan_program": 99'), "update counterplan"),
    ]:
        file.write_text(text)
        with pytest.raises(StorageError, match=way_out) as caught:
            Program.load(file)
        assert str(caught.value).startswith(str(file))
