"""A world where half of the refused people cannot be helped: programs say so, and help the others."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import strangers
from counterplan import Problem, Program, Recourse
from counterplan.plans import Status
from counterplan.program import INTERVENE, Leaf, Split, Test, leaves
from counterplan.program.wording import NOTHING_HELPS

PROBLEM = Problem.from_dict(
    strangers.PROBLEM
    | {
        "max_actions": 2,
        "features": strangers.PROBLEM["features"]
        | {"region": {"kind": "category", "values": ["north", "south"], "label": "your region"}},
    }
)


class OnlyTheNorth:
    """Grants loans to people in the north with an income from 3,000, or from 2,500 if they own a home."""

    classes_ = (0, 1)

    def predict(self, table: pd.DataFrame) -> np.ndarray:
        enough = table["income"] >= np.where(table["owner"].astype(bool), 2500, 3000)
        return ((table["region"] == "north") & enough).to_numpy().astype(int)


def people() -> pd.DataFrame:
    table = strangers.table().drop(columns="granted")
    table["income"] = 1500 + table["income"] // 4 * 2
    return table


@cache
def recourse() -> Recourse:
    made = Recourse(PROBLEM, OnlyTheNorth()).fit(people(), quality=False)
    made.distil(people(), traces=600, rounds=2)
    return made


@pytest.fixture(scope="module")
def program() -> Program:
    made = recourse().program_
    assert made is not None
    return made


@pytest.fixture(scope="module")
def refused() -> pd.DataFrame:
    everyone = people()
    return everyone[OnlyTheNorth().predict(everyone) == 0]


def test_nobody_gets_a_plan_that_cannot_help(program: Program, refused: pd.DataFrame) -> None:
    plans = program.recommend(refused)
    south = (refused["region"] == "south").to_numpy()
    assert 0.4 < south.mean() < 0.8
    given = np.array([plan.status is Status.FOUND for plan in plans])
    assert given[south].mean() < 0.05
    assert given[~south].mean() > 0.95
    checked = program.verify(refused, OnlyTheNorth())
    assert checked.plans == given.sum()
    assert checked.hold > 0.9 * checked.plans


def test_the_plan_and_the_listing_say_so(program: Program, refused: pd.DataFrame) -> None:
    person = refused[refused["region"] == "south"].head(1)
    plan = program.recommend(person)[0]
    assert plan.status is Status.NOT_FOUND
    assert plan.caution.startswith("Nothing in this program is likely to help where")
    assert "your region" in plan.caution
    assert str(plan).endswith(plan.caution)
    assert NOTHING_HELPS in program.to_text()


def test_the_card_counts_them(program: Program) -> None:
    card = program.model_card
    assert card.tried_on is not None
    assert card.given_up is not None
    assert card.given_up.people >= card.tried_on.without_plan > 0
    assert card.given_up.with_plan <= 0.1 * card.given_up.people
    assert any("It gave no plan to" in sentence for sentence in card.limitations or ())


def test_a_cascade_looks_further(refused: pd.DataFrame) -> None:
    made = recourse()
    south = refused[refused["region"] == "south"].head(5)
    plans = made.recommend(south, "cascade", refused=True)
    assert not any(plan.caution for plan in plans if plan.status is Status.FOUND)
    assert all(plan.status is not Status.FOUND for plan in plans)


def test_files_keep_leaves_without_choices(program: Program, refused: pd.DataFrame, tmp_path: Path) -> None:
    program.save(tmp_path / "program.json")
    again = Program.load(tmp_path / "program.json")
    assert again.trees == program.trees
    assert again.model_card == program.model_card
    assert any(not leaf.choices for _, leaf in leaves(again.trees[INTERVENE]))
    assert again.recommend(refused).cautions == program.recommend(refused).cautions


def test_a_program_may_give_up_on_everybody() -> None:
    nobody = Program(PROBLEM, {INTERVENE: Leaf(())})
    plan = nobody.recommend(people().head(1))[0]
    assert plan.caution == "Nothing in this program is likely to help."
    assert "To begin with: no plan: nothing in this program is likely to help" in nobody.to_text()
    test = Test(PROBLEM.features[0].index, at_least=2000)
    some = Program(PROBLEM, {INTERVENE: Split(test, Leaf(()), Leaf(()))})
    assert some.rule(INTERVENE, 0).text == "income is at least 2,000"
