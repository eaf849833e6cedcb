"""Plans that last on the command line: --refit, --agree, --survival, --survival-at-least and --execution."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from counterplan import Agreement, BlackBox, Plans, Status
from counterplan.inputs import resolve

pytestmark = pytest.mark.usefixtures("quick_fits")
RETRAINED = """\
import bank

def strict(people):
    return ["yes" if row.income >= 2500 and row.job != "none" else "no" for row in people.itertuples()]

def stricter(people):
    return ["yes" if row.income >= 2500 and row.job == "manager" else "no" for row in people.itertuples()]

def higher(people):
    return (people["income"] / 5000).to_list()

def broken(people):
    raise ValueError("out of order")
"""
WORDS = ("loan.yaml", "--people", "people.csv", "--model", "bank:decide")
REFITS = ("--refit", "retrained:strict", "--refit", "retrained:stricter")


@pytest.fixture
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with retrained models, too."""
    monkeypatch.delitem(sys.modules, "retrained", raising=False)
    (folder / "retrained.py").write_text(RETRAINED)
    return folder


@pytest.mark.parametrize(
    ("agree", "actions"),
    [
        (1, [["EARN=1000"], ["EARN=500", "WORK=clerk"], []]),
        (2, [["EARN=500", "EARN=1000"], ["EARN=1000", "WORK=clerk"], []]),
        (3, [[], ["EARN=1000", "WORK=manager"], []]),
    ],
)
def test_so_many_models_have_to_agree(run, here: Path, agree: int, actions: list[list[str]]) -> None:
    ran = run("recommend", *WORDS, *REFITS, "--agree", agree, "--planner", "exact", "--json", "plans.json")
    assert ran.code == 0, ran.err
    plans = Plans.load(here / "plans.json")
    assert [plan.actions for plan in plans] == actions
    first = Status.INFEASIBLE if agree == 3 else Status.FOUND
    assert [plan.status for plan in plans] == [first, Status.FOUND, Status.ALREADY_FAVOURABLE]
    names = "model 'bank:decide', model 'retrained:strict', model 'retrained:stricter'"
    assert plans[1].check is not None
    assert plans[1].check.model == f"at least {agree} of 3 models ({names})"


def test_thresholds_hold_for_the_refits_too(here: Path) -> None:
    given = resolve("loan.yaml", "people.csv", "bank:score", threshold=0.5, refits=["retrained:higher"], agree=2)
    assert isinstance(given.box, Agreement)
    assert [member.threshold for member in given.box.members] == [0.5, 0.5]
    assert given.refits == ()
    apart = resolve("loan.yaml", "people.csv", "bank:score", threshold=0.5, refits=["retrained:higher"])
    assert type(apart.box) is BlackBox
    assert [box.threshold for box in apart.refits] == [0.5]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--agree", "2"), "--agree 2: give retrained models that have to agree with the model, with --refit"),
        ((*REFITS, "--agree", "4"), "--agree 4: there are 3 models, with the refits; choose a number from 1 to 3"),
        ((*REFITS, "--agree", "0"), "--agree 0: there are 3 models"),
        (("--refit", "retrained:stirct", "--agree", "2"), "has no attribute 'stirct'; did you mean 'strict'?"),
        (
            ("--refit", "retrained:broken", "--agree", "2"),
            "model 2 of 2 that have to agree: model 'retrained:broken' failed on 3 rows: ValueError: out of order",
        ),
        (("--survival", "hihg"), "'survival' must be none, balanced, high or a number, not 'hihg'; did you mean"),
        (("--survival", "-1"), "from 0 to 1000, not -1.0"),
        (("--survival-at-least", "80"), "'survival_at_least' must be a chance, above 0 and at most 1, not 80.0"),
        (("--execution", "6%"), "--execution 6%: expected a number such as 0.06, or FUNCTION=0.06"),
    ],
)
def test_refuses_with_a_message_and_code_2(run, here: Path, words: tuple[str, ...], message: str) -> None:
    ran = run("recommend", *WORDS, *words)
    assert ran.code == 2, ran.err
    assert message in " ".join(ran.err.split())


def test_fits_an_agreement_and_names_the_options_that_plan_with_it(run, here: Path) -> None:
    from loans import MANY

    MANY.to_csv("many.csv", index=False)
    words = ("--people", "many.csv", "--model", "bank:decide", "--refit", "retrained:strict", "--agree", "2")
    ran = run("fit", "loan.yaml", "--out", "learned", *words, "--budget", "200", "--no-quality")
    assert ran.code == 0, ran.err
    assert "--refit retrained:strict --agree 2" in ran.out
    ran = run("recommend", "learned", *words, "--planner", "guided", "--json", "plans.json")
    assert ran.code == 0, ran.err
    assert "not used" not in ran.err
    assert Plans.load(here / "plans.json").counts["found"] > 10
    ran = run("recommend", "learned", *words[:4], "--planner", "exact")
    assert "The answers in learned are those of at least 2 of 2 models" in " ".join(ran.err.split())


def test_plans_with_the_weight_or_the_chance_that_was_given(run, here: Path) -> None:
    assert run("fit", "german", "--out", "learned", "--budget", "600", "--no-quality").code == 0
    costs, chances = [], []
    for words in ((), ("--survival", "balanced"), ("--survival", "20"), ("--survival-at-least", "0.9")):
        ran = run("recommend", "learned", "--limit", "8", "--planner", "exact", *words, "--json", "plans.json")
        assert ran.code == 0, ran.err
        plans = Plans.load(here / "plans.json")
        costs.append(sum(plan.cost for plan in plans))
        chances.append(sum(plan.survival or 0 for plan in plans))
    assert costs[0] < costs[1] < costs[2]
    assert chances[0] < chances[1] < chances[2]
    assert costs[3] > costs[0]
    ran = run("distil", "learned", "--survival", "balancd")
    assert ran.code == 2
    assert "did you mean 'balanced'" in ran.err


def test_refits_state_and_raise_the_chance_of_plans(run, here: Path) -> None:
    words = (*WORDS, *REFITS, "--planner", "exact", "--json", "plans.json")
    ran = run("recommend", *words)
    assert ran.code == 0, ran.err
    cheapest = Plans.load(here / "plans.json")
    assert [plan.actions for plan in cheapest][:2] == [["EARN=1000"], ["EARN=500", "WORK=clerk"]]
    assert run("recommend", *words, "--survival", "900").code == 0
    lasting = Plans.load(here / "plans.json")
    assert lasting[1].actions == ["EARN=1000", "WORK=manager"]
    for before, after in zip(cheapest[:2], lasting[:2], strict=True):
        assert before.survival is not None
        assert after.survival is not None
        assert before.survival < after.survival
    assert lasting[1].robustness is not None
    assert lasting[1].robustness.basis is not None
    assert (lasting[1].robustness.basis.source, len(lasting[1].robustness.basis.refits)) == ("refits", 2)
    assert run("recommend", *words, "--survival", "900", "--execution", "EARN=0.5").code == 0
    short = Plans.load(here / "plans.json")
    assert short[1].survival is not None
    assert lasting[1].survival is not None
    assert short[1].survival < lasting[1].survival, "1,600 + 500 is not enough for any of them"
    ran = run("recommend", *words, "--survival", "balanced", "--execution", "WORK=0.5")
    assert ran.code == 2
    assert "WORK sets a value" in ran.err
    ran = run("recommend", *words, "--refit", "retrained:broken")
    assert ran.code == 2
    assert "refit 3 of 3: model 'retrained:broken' failed" in " ".join(ran.err.split())


def test_refits_are_calibrated_by_fit_and_used_by_recommend(run, here: Path) -> None:
    from loans import MANY

    MANY.to_csv("many.csv", index=False)
    words = ("--people", "many.csv", "--model", "bank:decide", *REFITS)
    ran = run("fit", "loan.yaml", "--out", "learned", *words, "--budget", "200", "--no-quality")
    assert ran.code == 0, ran.err
    assert "--refit retrained:strict --refit retrained:stricter" in ran.out
    saved = (here / "learned" / "survival.json").read_bytes()
    ran = run("recommend", "learned", *words, "--planner", "guided", "--survival", "high", "--json", "plans.json")
    assert ran.code == 0, ran.err
    plans = [plan for plan in Plans.load(here / "plans.json") if plan.status is Status.FOUND]
    assert {plan.robustness.basis.source for plan in plans} == {"refits"}
    assert (here / "learned" / "survival.json").read_bytes() == saved
    ran = run("fit", "loan.yaml", "--out", "learned", *words, "--budget", "400", "--no-quality", "--resume")
    assert ran.code == 0, ran.err
    ran = run("distil", "learned", *words, "--survival", "balanced", "--traces", "50", "--rounds", "1")
    assert ran.code == 0, ran.err
