"""A proposed problem file is right for any table, changes nothing that it should not, and gives its reasons."""

import csv
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_draft import kinds, numbers, slow, tables

from counterplan import BlackBox, ExactPlanner
from counterplan.errors import PeopleError
from counterplan.problem import Problem, check, read_table
from counterplan.problem.draft import draft, draft_from
from counterplan.problem.proposal import MOST_ACTIONS

ROWS = 400


def people(seed=0):
    """Loans that income and savings decide; a duration that does not matter, and columns that nobody can change."""
    random = np.random.default_rng(seed)
    income = np.round(random.lognormal(10, 0.5, ROWS), -2).astype(int)
    savings = random.integers(0, 4, ROWS)
    school = random.integers(0, 4, ROWS)
    good = income + 6000 * savings + random.normal(0, 3000, ROWS) > 32000
    return pd.DataFrame(
        {
            "age": random.integers(18, 80, ROWS),
            "sex": random.choice(["female", "male"], ROWS),
            "marriage": random.integers(0, 3, ROWS),
            "income": income,
            "savings": np.array(["none", "little", "moderate", "rich"])[savings],
            "school": np.array(["basic", "college", "doctor", "apprentice"])[school],
            "school_years": np.array([9, 15, 19, 12])[school],
            "months": random.choice([6, 12, 24], ROWS),
            "owner": random.random(ROWS) < 0.4,
            "customers_since": random.integers(1990, 2020, ROWS),
            "previous_loans": random.integers(0, 5, ROWS),
            "gains": np.where(random.random(ROWS) < 0.9, 0, random.integers(100, 9000, ROWS)),
            "approved": good,
            "decision": np.where(good, "granted", "refused"),
        }
    )


def proposed(table, tmp_path, outcome="decision", **options):
    """The text of a proposal for a table and its problem, which `check` passes."""
    path = tmp_path / "proposed.yaml"
    path.write_text(draft(table, outcome, "p", propose=True, **options), "utf-8", newline="")
    problem, findings = check(path)
    assert [finding.text("") for finding in findings if finding.severity == "error"] == []
    return path.read_text("utf-8"), problem


@pytest.mark.parametrize("name", ["zip", "ZIP code", "postcode", "month", "day_of_week", "applicationMonth"])
def test_nobody_is_proposed_to_change_an_address_or_a_date(name, tmp_path):
    table = people().assign(**{name: np.random.default_rng(1).integers(1, 99_000, ROWS)})
    text, problem = proposed(table, tmp_path)
    assert name in {feature.name for feature in problem.features}
    assert name not in {problem.features[one.target].name for one in problem.transitions.functions}
    assert re.search(f"{name}: it is (about an address|part of a date)", text)


def test_counts_and_debts_have_a_least_value(tmp_path):
    table = people().assign(debts=np.random.default_rng(1).integers(0, 5, ROWS), change=np.repeat(range(-20, 20), 10))
    _, problem = proposed(table, tmp_path)
    low = {feature.name: feature.low for feature in problem.features if feature.is_number}
    assert (low["months"], low["debts"]) == (0, 0)
    assert np.isneginf(low["change"])


def function(problem, name):
    return next(one for one in problem.transitions.functions if one.name == name)


def targets(problem):
    return {problem.features[one.target].name for one in problem.transitions.functions}


def test_functions_for_what_people_can_change(tmp_path):
    text, problem = proposed(people(), tmp_path)
    assert targets(problem) == {"income", "savings", "school", "months", "owner", "gains"}
    for line in (
        "#   age: protected",
        "#   sex: protected",
        "#   marriage: protected",
        "#   school_years: it follows from school",
        "#   customers_since: it is about the past",
        "#   previous_loans: it is about the past",
        "#   approved: it is nearly a copy of the outcome",
    ):
        assert line in text.splitlines()
    names = [one.name for one in problem.transitions.functions]
    assert "RAISE_INCOME" in names
    assert "RAISE_INCOME_FURTHER" in names
    assert not [name for name in names if name.startswith("LOWER_INCOME")], "the outcomes tell the direction"
    assert {"RAISE_MONTHS", "LOWER_MONTHS"} <= {*names}, "the outcomes do not tell the direction"
    assert problem.max_actions == 5


def test_every_function_has_a_reason_and_an_explained_cost(tmp_path):
    text, problem = proposed(people(), tmp_path)
    for one in problem.transitions.functions:
        before, after = text.split(f"\n  {one.name}:\n")
        assert before.splitlines()[-1].startswith("  # guess: ")
        assert re.search(r"cost: \{base: .*\}  # guess: ", after.split("\n\n")[0])
    assert max(len(line) for line in text.splitlines()) < 160


def test_orders_by_words_and_by_a_number(tmp_path):
    text, problem = proposed(people(), tmp_path)
    features = {feature.name: feature for feature in problem.features}
    assert features["savings"].kind == features["school"].kind == "ordered"
    assert features["savings"].values == ("none", "little", "moderate", "rich")
    assert features["school"].values == ("basic", "apprentice", "college", "doctor")
    assert "kind: ordered  # guess: words of degree, the lowest first" in text
    assert "kind: ordered  # guess: the order of school_years" in text
    state = problem.read(people()).states[:1]
    index = features["school"].index
    state[0, index] = 0
    action = next(a.index for a in problem.transitions.actions if str(a) == "RAISE_SCHOOL=doctor")
    after = problem.transitions.apply(state, np.array([action]))
    assert after[0, features["school_years"].index] == 19, "consequences keep school_years consistent"


def test_costs_are_shares_of_people_passed(tmp_path):
    table = people()
    _, problem = proposed(table, tmp_path)
    raises, income = function(problem, "RAISE_INCOME"), np.sort(table.income.to_numpy())
    middle = np.median(income)
    for argument, cost in zip(raises.arguments, raises.base, strict=True):
        start = income[(income < argument) & (income < middle)]
        passed = [
            ((income > x) & (income < argument)).mean() + ((income == argument) | (income == x)).mean() / 2
            for x in start
        ]
        assert cost == pytest.approx(100 * np.mean(passed), abs=1.5)
    assert (np.diff(raises.base) > 0).all()
    assert {float(x) for x in raises.arguments} <= {round(float(x), -2) for x in raises.arguments}, "round numbers"
    further = function(problem, "RAISE_INCOME_FURTHER")
    assert further.base[-1] < raises.base[-1], "people above the median pass fewer"
    owner = function(problem, "CHANGE_OWNER")
    assert owner.natives == (False, True)
    assert owner.base.tolist() == pytest.approx([50 * table.owner.mean(), 50 * (1 - table.owner.mean())], abs=0.1)


def test_plans_are_made_without_an_edit_and_booleans_reach_the_model(tmp_path):
    table = people()
    table.to_csv(tmp_path / "loans.csv", index=False)
    (tmp_path / "loans.yaml").write_text(draft_from(tmp_path / "loans.csv", "decision", propose=True), "utf-8")
    problem = Problem.load(tmp_path / "loans.yaml")
    seen = set()

    def decide(people):
        seen.update(map(type, people.owner.tolist()))
        return np.where((people.income > 30000) & people.owner, "granted", "refused")

    read = read_table(tmp_path / "loans.csv", problem.features)
    plans = ExactPlanner(problem, BlackBox(decide)).plan(read.head(25))
    assert sum(len(plan.steps) > 0 for plan in plans) > 10
    assert all(plan.replay(problem, BlackBox(decide)).ok for plan in plans)
    assert all(plan.cost < np.inf for plan in plans)
    assert seen == {bool}


def test_missing_values_and_codes_are_not_moved(tmp_path):
    table = people()
    table["income"] = table["income"].astype(float)
    table.loc[:40, "income"] = np.nan
    table["job"] = ["clerk", "smith", None, "?"] * (ROWS // 4)
    table["debt"] = np.where(np.arange(ROWS) % 40 == 0, 99999, np.random.default_rng(0).integers(0, 900, ROWS))
    _, problem = proposed(table, tmp_path)
    states = problem.read(table).states
    legal = problem.transitions.legal(states)
    for one, span in zip(problem.transitions.functions, problem.transitions.spans, strict=True):
        assert not legal[np.isnan(states[:, one.target]), span].any()
    assert function(problem, "CHANGE_JOB").natives == ("clerk", "smith")
    debts = [one for one in problem.transitions.functions if problem.features[one.target].name == "debt"]
    assert [one.name for one in debts] == ["LOWER_DEBT", "LOWER_DEBT_FURTHER"], "the name tells the direction"
    assert max(one.arguments.max() for one in debts) < 1000


def test_codes_of_missing_values_are_no_arguments_and_no_amounts(tmp_path):
    table, random = people(), np.random.default_rng(0)
    absent = random.random(ROWS) < 0.2
    table["edu_code"] = np.where(absent, 999, random.integers(1, 5, ROWS))
    table["utilisation"] = np.where(absent, 999, random.integers(0, 100, ROWS))
    table["job_type"] = np.where(absent, -9, np.where(random.random(ROWS) < 0.1, -8, random.integers(1, 4, ROWS)))
    text, problem = proposed(table, tmp_path)
    assert function(problem, "CHANGE_EDU_CODE").natives == (1, 2, 3, 4)
    assert function(problem, "CHANGE_JOB_TYPE").natives == (1, 2, 3)
    lower = text.split("  LOWER_UTILISATION:")[1].split("cost")[0]
    assert re.search(r"when: utilisation > \d+ and utilisation > argument and utilisation != 999\n", lower)
    states = problem.read(table).states
    legal = problem.transitions.legal(states)
    for one, span in zip(problem.transitions.functions, problem.transitions.spans, strict=True):
        name = problem.features[one.target].name
        if name in ("edu_code", "utilisation", "job_type"):
            assert not legal[absent, span].any()
            assert legal[~absent, span].any()
    counts = table["edu_code"][~absent].value_counts(normalize=True).sort_index()
    assert function(problem, "CHANGE_EDU_CODE").base.tolist() == pytest.approx(50 * (1 - counts.to_numpy()), abs=0.06)


def test_many_columns_and_values_stay_within_the_limit(tmp_path):
    random = np.random.default_rng(0)
    decisions = random.random(ROWS) < 0.5
    table = pd.DataFrame({f"x{i}": random.normal(size=ROWS) for i in range(30)})
    table["x7"] += 2 * decisions
    table["town"] = random.integers(0, 30, ROWS).astype(str)
    table["town"] = "t" + table["town"]
    table["y"] = np.where(decisions, "yes", "no")
    text, problem = proposed(table, tmp_path, "y")
    assert 0 < len(problem.transitions) - 1 <= MOST_ACTIONS
    assert "x7" in targets(problem), "the features that tell most about the outcome come first"
    assert f"there are {MOST_ACTIONS} actions for features that tell more about the outcome" in text
    assert all(len(one.natives) <= 8 for one in problem.transitions.functions)


def test_names_that_give_the_same_function(tmp_path):
    random = np.random.default_rng(0)
    table = pd.DataFrame({"a b": random.choice(["x", "z"], 60), "a-b": random.choice(["x", "z"], 60), "y": [0, 1] * 30})
    _, problem = proposed(table, tmp_path, "y")
    assert [one.name for one in problem.transitions.functions] == ["CHANGE_A_B", "CHANGE_A_B_2"]


@pytest.mark.parametrize("unknown", ["unknown\n", "", "\tN/A", "#?", "?"])
def test_remarks_stay_in_their_lines(tmp_path, unknown):
    table = pd.DataFrame({"a\nb": ["low", "high", "medium", unknown] * 21, "y": [0, 1, 1] * 28})
    _, problem = proposed(table, tmp_path, "y")
    assert unknown in problem.features[0].values
    assert len(problem.transitions.functions) >= 1


def test_nothing_to_propose():
    table = pd.DataFrame({"sex": ["f", "m"] * 20, "constant": ["a"] * 40, "y": [0, 1] * 20})
    with pytest.raises(
        PeopleError, match=r"no feature to propose functions for \(sex: protected, constant: there is no"
    ):
        draft(table, "y", "p", propose=True)
    assert "functions:" in draft(table, "y", "p")


@settings(slow, max_examples=60)
@given(tables(kinds), st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
def test_any_csv_gives_a_right_proposal(tmp_path, made, quoting):
    path = tmp_path / "any.csv"
    made[0].to_csv(path, index=False, quoting=quoting)
    try:
        outcome = pd.read_csv(path, dtype=str, nrows=0).columns[-1]
        text = draft_from(path, outcome, propose=True)
    except pd.errors.ParserError:
        return
    except PeopleError as error:
        assert re.search("no column can|cannot be|more (cells|values)|no feature to propose", str(error))  # noqa: PT017
        return
    _is_right(text, tmp_path, lambda problem: read_table(path, problem.features))


@settings(slow, max_examples=40)
@given(tables([*kinds, numbers, st.booleans(), st.none() | st.booleans()]))
def test_any_frame_gives_a_right_proposal(tmp_path, made):
    table, outcome = made
    table = table.infer_objects()
    try:
        text = draft(table, outcome, "any", propose=True)
    except PeopleError as error:
        assert re.search("no column can be a feature|no feature to propose", str(error))  # noqa: PT017
        return
    _is_right(text, tmp_path, lambda problem: table)


def _is_right(text, tmp_path, read):
    (tmp_path / "any.yaml").write_text(text, "utf-8", newline="")
    problem, findings = check(tmp_path / "any.yaml")
    assert [finding.text("") for finding in findings if finding.severity == "error"] == []
    assert [finding.text("") for finding in findings if "never be legal" in finding.message] == []
    states = problem.read(read(problem)).states
    legal = problem.transitions.legal(states)
    assert legal[:, :-1].any(), "somebody can do something"
    assert not any(problem.features[one.target].protected for one in problem.transitions.functions)
    assert (problem.transitions.cost(states)[:, :-1] > 0).all()
