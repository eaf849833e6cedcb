"""The listing of a program and its card."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import worlds
from counterplan.distillation.demonstrations import DemonstrationSettings
from counterplan.distillation.options import DistillOptions
from counterplan.problem import Problem
from counterplan.program import INTERVENE, Choice, Leaf, ModelCard, Program, Split, Test, Tree, leaves
from counterplan.program.model_card_text import card_text
from counterplan.program.text import WIDTH
from counterplan.storage.settings import settings_to_dict
from program.listings import Listing
from program.random_programs import programs, random_program, states_at

GERMAN = worlds.benchmark("german")
ACTIONS = {str(action): Choice(action.index) for action in GERMAN.transitions.actions}
NAMES = [feature.name for feature in GERMAN.features]
AGE, JOB, CREDIT = (NAMES.index(name) for name in ("age", "job", "credit_amount"))
STOP = Leaf((ACTIONS["STOP"],))


def test_the_page_on_reading_shows_a_program_made_with_todays_settings() -> None:
    docs = Path(__file__).parents[2] / "docs"
    page = " ".join((docs / "reading-a-program.md").read_text("utf-8").split())
    card = Program.load(docs / "examples" / "german-reading.json").model_card
    assert "counterplan show docs/examples/german-reading.json" in page
    assert "`counterplan fit german --out learned` and `counterplan distil learned`" in page
    now = DistillOptions()
    assert card.seed == now.seed
    assert card.made_with is not None
    assert card.made_with["prefer"] == "short"
    told = settings_to_dict(now.settings())
    del told["tree"]["max_conditions"]  # there is no limit
    assert card.made_with["distilling"] == told
    assert card.made_with["teaching"] == settings_to_dict(DemonstrationSettings()) | {
        "sure": list(DemonstrationSettings().confidences)
    }


def test_reads_like_a_recipe() -> None:
    job = Leaf((*[ACTIONS["CHANGE_JOB=skilled"]] * 2, ACTIONS["CHANGE_HOUSING=own"], *STOP.choices))
    credit = Leaf((Choice(ACTIONS["CHANGE_CREDIT=-100"].action, reach=1000.0),))
    program = Program(
        GERMAN,
        {
            INTERVENE: Split(Test(AGE, at_least=25), Split(Test(CREDIT, at_least=5000), credit, job), job),
            "CHANGE_CREDIT": Split(
                Test(AGE, at_least=25),
                Split(Test(AGE, at_least=20), Split(Test(JOB, at_least=2), STOP, job), job),
                Split(Test(JOB, at_least=1), job, Leaf(())),
            ),
            "CHANGE_JOB": Leaf((*STOP.choices, ACTIONS["CHANGE_HOUSING=own"])),
        },
    )
    assert program.to_text() == str(program)
    assert program.to_text().splitlines() == [
        "german: 3 nodes, 8 leaves, at most 4 steps",
        "Raise or lower “to” a number: by the smallest step that brings it there or beyond, else by the largest.",
        "Where none of the steps named is possible, no plan is known.",
        "",
        "To begin with:",
        "  if your age is below 25 years, or the amount of the loan is below 5,000 DM: change your job to "
        '"skilled", or',
        '      else change your housing to "own"',
        "  otherwise: lower the amount of the loan to 1,000 DM",
        "",
        "After CHANGE_JOB: stop",
        "",
        "After CHANGE_CREDIT:",
        "  if your age is at least 25 years:",
        '    if your job is "skilled" or "highly skilled": stop',
        '    otherwise: change your job to "skilled", or else change your housing to "own", or else stop',
        '  else if your job is at least "unskilled, resident": change your job to "skilled", or else change your',
        '      housing to "own", or else stop',
        "  otherwise: no plan is known",
    ]


def test_a_listing_says_only_what_can_happen() -> None:
    """No choice after one that leaves it no chance; neighbours that do the same are asked about together."""
    down = Choice(ACTIONS["CHANGE_CREDIT=-100"].action, reach=1000.0)
    further = replace(down, reach=5000.0)
    one = Leaf((ACTIONS["CHANGE_CREDIT=-5000"], down, further, ACTIONS["CHANGE_CREDIT=-100"], *STOP.choices))
    two = Leaf((ACTIONS["CHANGE_JOB=skilled"], *STOP.choices))
    tree = Split(
        Test(JOB, among=(2,)), two, Split(Test(AGE, at_least=60), one, Split(Test(CREDIT, at_least=9), one, two))
    )
    text = " ".join(Program(GERMAN, {INTERVENE: tree}).to_text().split())
    assert text.count("lower the amount") == 1
    assert "if your age is at least 60 years, or the amount of the loan is at least 9 DM: lower" in text
    assert "lower the amount of the loan by 5,000 DM, else to 1,000 DM" in text
    assert 'if your job is "skilled": no plan: nothing in this program is likely to help' in text
    assert "stop" not in text


def shared_rows(program: Program, spare: int, own: int = 1) -> Program:
    """The program with one way to fall back for each node, after some choices of a leaf's own; a few have another."""

    def same(tree: Tree, row: tuple[Choice, ...]) -> Tree:
        if isinstance(tree, Leaf):
            return tree if len(tree.choices) == 3 else Leaf(tuple(dict.fromkeys((*tree.choices[:own], *row))))
        return replace(tree, yes=same(tree.yes, row), no=same(tree.no, row))

    found = {name: [leaf.choices for _, leaf in leaves(tree)] for name, tree in program.trees.items()}
    rows = {name: max(ends, key=len)[:spare] for name, ends in found.items()}
    return replace(program, trees={name: same(tree, rows[name]) for name, tree in program.trees.items()})


@pytest.mark.parametrize("own", [1, 2])
def test_what_leaves_fall_back_on_is_said_once(own: int) -> None:
    program = shared_rows(random_program(GERMAN, 4, depth=6), 3, own)
    text = program.to_text()
    ends = sum(1 for tree in program.simplified().trees.values() for _ in leaves(tree))
    assert ends > 30
    assert text.count("Where none of these steps is possible") >= 2


def test_whoever_contradicts_the_others_says_so() -> None:
    row = (ACTIONS["CHANGE_HOUSING=own"], ACTIONS["CHANGE_SAVINGS=rich"])
    names = ("CHANGE_JOB=skilled", "CHANGE_CREDIT=-5000", "CHANGE_PURPOSE=car", "CHANGE_DURATION=-10")
    one, two, three, four = (ACTIONS[name] for name in names)
    tree: Tree = Leaf((one, *STOP.choices))
    for age, choices in ((30, (two, three, *row)), (40, (three, *row)), (50, (two, *row)), (60, (four,))):
        tree = Split(Test(AGE, at_least=age), Leaf(choices), tree)
    after = Program(GERMAN, {"CHANGE_CREDIT": tree}).to_text().split("After CHANGE_CREDIT:\n")[1]
    assert " ".join(after.split()) == " ".join(
        (
            "if your age is at least 60 years: lower the duration of the loan by 10 months, or else no plan is known",
            "else if your age is at least 50 years: lower the amount of the loan by 5,000 DM",
            'else if your age is at least 40 years: change the purpose of the loan to "car"',
            "else if your age is at least 30 years: lower the amount of the loan by 5,000 DM,",
            'or else change the purpose of the loan to "car"',
            'otherwise: change your job to "skilled", or else stop',
            'Where none of these steps is possible: change your housing to "own",',
            'or else change your savings to "rich".',
        )
    )


def test_whoever_reads_the_listing_does_what_the_program_does() -> None:
    rng = np.random.default_rng(0)
    shared = 0
    for seed in range(60):
        problem = GERMAN if seed % 3 == 0 else Problem.from_dict(worlds.random_problem(seed))
        program = shared_rows(random_program(problem, seed, depth=4), seed % 5, 1 + seed % 3)
        listing = Listing(program)
        shared += sum(bool(spare) for _, spare in listing.nodes.values())
        people = problem.read(worlds.random_people(problem, seed, 12)).states
        for node in program.trees:
            states = states_at(program.simplified(), node, people, rng)[:40]  # by choices that somebody takes
            legal = problem.transitions.legal(states) & (rng.random((len(states), len(problem.transitions))) < 0.6)
            legal[:, -1] = node != INTERVENE
            _, _, actions = program.decide(np.full(len(states), program.nodes.index(node)), states, legal)
            assert [listing.decide(node, *one) for one in zip(states, legal, strict=True)] == actions.tolist()
    assert shared > 30


def test_the_listing_is_the_same_in_another_process(tmp_path: Path) -> None:
    program = shared_rows(random_program(GERMAN, 4, depth=6), 3, 2)
    program.save(tmp_path / "program.json")
    show = "import sys; from counterplan import Program; print(Program.load(sys.argv[1]))"
    words = [sys.executable, "-c", show, str(tmp_path / "program.json")]
    ran = subprocess.run(words, capture_output=True, text=True, check=True)
    assert ran.stdout == f"{program.to_text()}\n"


def test_strangers_texts_do_not_steer_a_terminal() -> None:
    data = worlds.benchmark("german").to_dict()
    data["features"]["age"]["label"] = "your \x1b[2Jage"
    data["functions"]["CHANGE_JOB"]["phrase"] = "\u202eWork as {argument}"
    problem = Problem.from_dict(data)
    job = next(action.index for action in problem.transitions.actions if str(action) == "CHANGE_JOB=skilled")
    work = Leaf((Choice(job),))
    stop = Leaf((Choice(problem.transitions.stop),))
    program = Program(problem, {INTERVENE: Split(Test(AGE, at_least=25), work, Leaf(())), "CHANGE_JOB": stop})
    people = worlds.random_people(problem, 0, 40)
    told = program.to_text() + program.recommend(people).to_text()
    assert "your \N{REPLACEMENT CHARACTER}[2Jage" in told
    assert "\N{REPLACEMENT CHARACTER}Work as" in told
    assert not {"\x1b", "\u202e"} & set(told)


def test_lines_fit_the_page() -> None:
    text = random_program(GERMAN, 3, depth=4).to_text()
    assert max(len(line) for line in text.splitlines()) <= WIDTH


@settings(max_examples=12)
@given(st.data())
def test_every_program_has_a_listing(data: st.DataObject) -> None:
    program = data.draw(programs(data.draw(worlds.problems())))
    text = program.to_text()
    assert "To begin with:" in text
    assert all(f"After {name}:" in text for name in program.trees if name != INTERVENE)


def test_the_card() -> None:
    card = {
        "cannot": ["it never asks the model", "it knows no more than 4 steps"],
        "made_with": {"tree": {"leaf_price": 0.0003, "feature_price": 0.0125}},
        "seed": 12345,
        "transitions": {"INTERVENE>STOP": 1},
        "examples": [{"age": 3}],
        "success": 0.9432,
        "cost_ratio": 1.28444,
        "questions": {"surrogate": 1234, "check": 100},
        "groups": {"sex": {"f": {"success": 0.94, "mean_effort": 12.3}, "m": {"success": 0.5, "mean_effort": 13}}},
        "leaves": 1200,
        "fair": True,
        "note": None,
    }
    assert card_text(ModelCard.from_data(card)).splitlines() == [
        "success                94.3%",
        "effort / least effort  1.284",
        "questions asked        surrogate: 1,234",
        "                       check: 100",
        "leaves                 1,200",
        "by group               sex:",
        "                         f: success 94.0%, mean effort 12.3",
        "                         m: success 50.0%, mean effort 13",
        "what it cannot do      it never asks the model",
        "                       it knows no more than 4 steps",
        "made with              tree: leaf price 0.0003, feature price 0.013",
        "seed                   12345",
        "fair                   yes",
        "note                   unknown",
    ]
    long = card_text(ModelCard.from_data({"cannot": ["word " * 60]}))
    assert max(map(len, long.splitlines())) <= WIDTH
    assert card_text(ModelCard()) == "Nothing is written on the card."
    assert card_text(ModelCard.from_data({"cannot": []})) == "what it cannot do  none"
