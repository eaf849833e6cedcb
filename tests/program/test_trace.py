from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlds
from counterplan import PeopleError, PlanError, Problem, Program, benchmarks
from counterplan.program import INTERVENE, Choice, Leaf
from counterplan.program.export import trace_svg
from counterplan.storage.workspace import Origin, Workspace
from program import programs
from program.random_programs import random_program
from program.test_export import hostile


def classed(svg: str, name: str) -> list[str]:
    """The texts of the elements of a class."""
    found = [element for element in ET.fromstring(svg).iter() if name in element.get("class", "").split()]
    return ["".join(element.itertext()) for element in found]


def people_with_plans(program: Program, count: int = 200) -> Any:
    people = worlds.random_people(program.problem, 3, count)
    return people, [plan for plan in program.recommend(people) if plan.steps]


def test_the_trace_has_every_action_and_rule_from_intervene_to_stop() -> None:
    program = programs.imitated()
    people, plans = people_with_plans(program)
    longest = max(plans, key=lambda plan: len(plan.steps))
    svg = trace_svg(program, people.loc[[longest.person]])
    actions = [f"{step.function} = {step.argument}" for step in longest.steps]
    assert [text for text in classed(svg, "bold") if " = " in text or text == "STOP"] == [*actions, "STOP"]
    rules = " ".join(classed(svg, "rule"))
    for step in longest.steps:
        assert step.because is not None
        assert step.because.rule in rules or step.because.rule == "true"
    nodes = [INTERVENE, *(step.function for step in longest.steps), "STOP"]
    lit = {
        element.get("data-node")
        for element in ET.fromstring(svg).iter()
        if element.get("class", "").endswith(" lit") and element.get("data-node")
    }
    assert lit == {str([*program.nodes, "STOP"].index(node)) for node in nodes}
    assert [text for text in classed(svg, "on") if text.isdigit()].count("1") == 2, "on the arc and beside it"
    assert f"total cost {longest.cost:g}" in classed(svg, "bold")
    assert svg == trace_svg(program, longest), "a plan stands for its person"
    assert svg == trace_svg(program, program.problem.read(people.loc[[longest.person]]))


def test_the_relevant_values_are_those_that_are_tested_or_changed() -> None:
    program = Program.load(Path(__file__).parents[2] / "docs" / "examples" / "german-reading.json")
    person = {
        "age": 30,
        "sex": "female",
        "job": "skilled",
        "housing": "own",
        "saving_accounts": "quite_rich",
        "checking_account": "moderate",
        "credit_amount": 8358,
        "duration": 48,
        "purpose": "car",
    }
    soft = " ".join(classed(trace_svg(program, person), "soft"))
    assert (
        "age = 30, job = skilled, saving_accounts = quite_rich, checking_account = moderate, credit_amount = 8358"
        in soft
    )
    assert "job: skilled → highly_skilled" in soft
    assert "sex" not in soft
    assert "duration = " not in soft
    red = classed(trace_svg(program, person), "rule")
    assert red[0] == "checking_account != 'unknown' and age < 34"
    assert red[-1] == "always"
    assert "not possible: CHANGE_HOUSING=own" in " ".join(red)


def test_a_function_that_follows_itself_is_numbered_on_one_arc() -> None:
    problem = worlds.benchmark("german")
    actions = {str(action): action.index for action in problem.transitions.actions}
    stop = Choice(problem.transitions.stop)
    lower = Choice(actions["CHANGE_CREDIT=-5000"])
    program = Program(problem, {INTERVENE: Leaf((lower,)), "CHANGE_CREDIT": Leaf((lower, stop))})
    row = problem.describe(problem.read(worlds.random_people(problem, 0, 1)).states[0]) | {"credit_amount": 16_000}
    svg = trace_svg(program, row)
    assert "2, 3" in classed(svg, "on")
    assert len([text for text in classed(svg, "bold") if text.startswith("CHANGE_CREDIT =")]) == 3


def test_forbidden_actions_change_the_trace() -> None:
    program = programs.distilled("german")
    people, plans = people_with_plans(program)
    for plan in plans:
        first = plan.steps[0].function
        other = program.recommend(people.loc[[plan.person]], forbid=first)[0]
        if other.steps:
            assert trace_svg(program, people.loc[[plan.person]], forbid=first) == trace_svg(
                program, other, forbid=first
            )
            with pytest.raises(PlanError, match="give the same 'forbid'"):
                trace_svg(program, other)
            return
    pytest.fail("nobody has another plan")


def test_no_plan_and_no_single_person_are_clear_errors() -> None:
    problem = worlds.benchmark("syn")
    program = Program(problem, {INTERVENE: Leaf(())})
    people = worlds.random_people(problem, 0, 3)
    with pytest.raises(PlanError, match="has no plan for person 1"):
        trace_svg(program, people.iloc[[1]])
    for several in (people, people.iloc[:0]):
        with pytest.raises(PeopleError, match="a trace is that of one person"):
            trace_svg(program, several)


@given(st.integers(0, 10**6))
def test_every_trace_can_be_drawn(seed: int) -> None:
    program = random_program(Problem.from_dict(worlds.random_problem(seed)), seed, depth=2, stops=0.8)
    people = worlds.random_people(program.problem, seed, 5)
    for plan in program.recommend(people):
        if plan.steps:
            ET.fromstring(trace_svg(program, plan))


def test_no_text_breaks_out() -> None:
    program, drawn = hostile(), 0
    people, plans = people_with_plans(program, 50)
    for plan in plans[:10]:
        svg = trace_svg(program, people.loc[[plan.person]])
        tags = {element.tag.split("}")[1] for element in ET.fromstring(svg).iter()}
        assert tags <= {"svg", "title", "desc", "style", "rect", "g", "path", "text"}
        assert "http" not in svg.replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"url\(|@import|href", svg)
        drawn += 1
    assert drawn


def test_draws_on_the_command_line(run, folder: Path) -> None:
    problem = Problem.load("loan.yaml")
    numbers = {str(action): action.index for action in problem.transitions.actions}
    begin, stop = Leaf((Choice(numbers["EARN=1000"]),)), Leaf((Choice(problem.transitions.stop),))
    program = Program(problem, {INTERVENE: begin, "EARN": stop})
    program.save(folder / "program.json")
    words = ("export", "program.json", "--people", "people.csv", "--to", "trace.svg", "--person")
    ran = run(*words, 0)
    assert ran.code == 0, ran.err
    row = pd.read_csv(folder / "people.csv").iloc[[0]]
    assert (folder / "trace.svg").read_text() == trace_svg(program, row)
    for given_words, message in (
        ((*words, 99), "there is no person 99"),
        ((*words, 0, "--forbid", "EARN"), "has no plan for person 0"),
        (("export", "program.json", "--person", 0, "--to", "trace.svg"), "no people given"),
        (("export", "program.json", "--person", 0, "--to", "trace.html"), "ends in .svg"),
        (("export", "program.json", "--people", "people.csv", "--to", "trace.svg"), "give --person as well"),
    ):
        wrong = run(*given_words)
        assert wrong.code == 2
        assert message in wrong.err
    (folder / "learned").mkdir()
    workspace = Workspace(folder / "learned")
    workspace.save_problem(syn := worlds.benchmark("syn"))
    workspace.save_origin(Origin("syn", 0))
    job = next(action.index for action in syn.transitions.actions if str(action) == "CHANGE_JOB=ceo")
    stop = Leaf((Choice(syn.transitions.stop),))
    of_syn = Program(syn, {INTERVENE: Leaf((Choice(job),)), "CHANGE_JOB": stop})
    of_syn.save(folder / "learned" / "program.json")
    ran = run("export", "learned", "--person", 3, "--to", "own.svg")
    assert ran.code == 0, ran.err
    refused = benchmarks.load("syn").refused_test
    assert (folder / "own.svg").read_text() == trace_svg(of_syn, refused.iloc[[3]]), "a benchmark has its own people"
    assert json.loads((folder / "program.json").read_text())["counterplan_program"] == 1
