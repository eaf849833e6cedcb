"""The listing of a program and its card."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from random_programs import programs, random_program

import worlds
from counterplan.program import INTERVENE, Choice, Leaf, Program, Split, Test
from counterplan.program.text import WIDTH, card_text

GERMAN = worlds.benchmark("german")
ACTIONS = {str(action): Choice(action.index) for action in GERMAN.transitions.actions}
NAMES = [feature.name for feature in GERMAN.features]
AGE, JOB, CREDIT = (NAMES.index(name) for name in ("age", "job", "credit_amount"))
STOP = Leaf((ACTIONS["STOP"],))


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
        "german: 3 nodes, 9 leaves, at most 4 steps",
        "",
        "To begin with:",
        '  if your age is below 25 years: change your job to "skilled"; else change your housing to "own"',
        "  else if the amount of the loan is at least 5,000 DM: lower the amount of the loan to no less than 1,000 DM,",
        "        or as little as possible",
        '  otherwise: change your job to "skilled"; else change your housing to "own"',
        "",
        "After CHANGE_JOB:",
        "  stop",
        "",
        "After CHANGE_CREDIT:",
        "  if your age is at least 25 years:",
        '    if your job is at least "skilled": stop',
        '    otherwise: change your job to "skilled"; else change your housing to "own"; else stop',
        '  else if your job is at least "unskilled, resident": change your job to "skilled"; else change your housing',
        '        to "own"; else stop',
        "  otherwise: no plan is known",
    ]


def test_lines_fit_the_page() -> None:
    text = random_program(GERMAN, 3, depth=4).to_text()
    assert max(len(line) for line in text.splitlines()) <= WIDTH


@settings(max_examples=60)
@given(st.data())
def test_every_program_has_a_listing(data: st.DataObject) -> None:
    program = data.draw(programs(data.draw(worlds.problems())))
    text = program.to_text()
    assert "To begin with:" in text
    assert all(f"After {name}:" in text for name in program.trees if name != INTERVENE)


def test_the_card() -> None:
    card = {
        "cannot": ["it never asks the model", "it knows no more than 4 steps"],
        "made_with": "counterplan 0.1.0",
        "seed": 12345,
        "success": 0.9432,
        "cost_ratio": 1.28444,
        "questions": {"surrogate": 1234, "check": 100},
        "groups": {"sex": {"f": {"success": 0.94, "mean_effort": 12.3}, "m": {"success": 0.5, "mean_effort": 13}}},
        "leaves": 1200,
        "fair": True,
        "note": None,
    }
    assert card_text(card).splitlines() == [
        "made with              counterplan 0.1.0",
        "seed                   12345",
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
        "fair                   yes",
        "note                   unknown",
    ]
    assert card_text({}) == "Nothing is written on the card."
    assert card_text({"cannot": []}) == "what it cannot do  none"
