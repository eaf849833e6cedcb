"""Costs that are learned from histories: rank, intervals, matching of changes to actions, and mistakes in the table."""

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr
from test_proposal import people, proposed

from counterplan.errors import PeopleError
from counterplan.problem import Problem
from counterplan.problem.draft import draft
from counterplan.problem.histories import AFTER, fit_choices, learn_costs

PROBLEM = {
    "counterplan": 1,
    "name": "p",
    "outcome": {"column": "y", "values": [0, 1], "favourable": 1},
    "max_actions": 2,
    "features": {
        "income": {"kind": "number", "bins": []},
        "job": {"kind": "category", "values": ["none", "clerk", "smith"], "missing": True},
    },
    "functions": {
        "EARN": {"add": "income", "arguments": [100, 200], "cost": 10},
        "WORK": {"set": "job", "arguments": ["clerk", "smith"], "when": "job == 'none'", "cost": 10},
    },
}


def problem():
    return Problem.from_dict(PROBLEM)


def histories(rows):
    """A table of (income, income after, job, job after)."""
    return pd.DataFrame(rows, columns=["income", f"income{AFTER}", "job", f"job{AFTER}"])


def test_changes_are_matched_to_actions():
    rows = [
        *[(1000, 1000, "none", "none")] * 60,
        *[(1000, 1040, "none", "none")] * 5,  # nearer to no change
        *[(1000, 1090, "none", "none")] * 9,  # nearest to 100
        *[(1000, 5000, "none", "none")] * 4,  # nearest to 200
        *[(1000, 900, "none", "none")] * 3,  # no action lowers it
        *[(1000, 1000, "none", "clerk")] * 20,
        *[(1000, 1000, "clerk", "smith")] * 2,  # only people without a job can work
        *[(1000, 1000, None, "smith")] * 2,
        *[(None, 1000, "none", "smith")] * 1,
    ]
    found = learn_costs(problem(), histories(rows))
    assert found.people == len(rows)
    assert found.taken.tolist() == [9, 4, 20, 1]
    assert found.unmatched == 5
    nothing_but_this = 60 + 5 + 2 + 2  # people change one thing each: no change means none at all
    assert found.exposed.tolist() == [nothing_but_this + 13] * 2 + [60 + 5 + 3 + 21] * 2
    assert np.argsort(-found.cost).tolist() == [3, 1, 0, 2]
    assert (found.low < found.cost).all()
    assert (found.cost < found.high).all()
    assert np.median(found.cost) == pytest.approx(10)


def test_several_changes_by_one_person_are_separate_choices():
    rows = [(1000, 1000 + 100 * a, "none", ["none", "clerk"][b]) for a in (0, 1) for b in (0, 1) for _ in range(50)]
    found = learn_costs(problem(), histories(rows))
    assert found.exposed.tolist() == [200] * 4
    assert found.taken.tolist() == [100, 0, 100, 0]
    assert found.cost[0] == pytest.approx(found.cost[2])
    assert found.cost[0] == pytest.approx(found.unit * np.log(2), rel=0.02)
    assert np.isfinite(found.high).all(), "also of actions that nobody took"


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(20, 300))
def test_the_fit_is_a_maximum(seed, alternatives, size):
    random = np.random.default_rng(seed)
    legal = random.random((size, alternatives)) < 0.6
    taken = [int(random.integers(0, count + 1)) // alternatives for count in legal.sum(axis=0)]
    cost, error = fit_choices(legal, taken)

    def posterior(cost):
        total = np.log(1 + np.where(legal, np.exp(-cost), 0).sum(axis=1)).sum() + np.log1p(np.exp(-cost)).sum()
        return total + (np.array(taken) + 0.5) @ cost

    assert (error > 0).all()
    for step in np.eye(alternatives) * 1e-3:
        assert posterior(cost) <= min(posterior(cost + step), posterior(cost - step)) + 1e-9


def test_one_alternative_is_the_smoothed_share():
    cost, _ = fit_choices(np.ones((99, 1), bool), [24])
    assert np.exp(-cost[0]) == pytest.approx(24.5 / 75.5)


def simulated(seed, size=5000):
    """A proposal, histories of people who choose by true costs, and these costs."""
    random = np.random.default_rng(seed)
    table = people().drop(columns=["approved", "gains", "months"])
    made = Problem.from_yaml(draft(table, "decision", "p", propose=True))
    read = made.read(table.iloc[random.integers(0, len(table), size)].drop(columns="decision").reset_index(drop=True))
    transitions, after = made.transitions, read.states.copy()
    true = random.uniform(1.5, 5.5, len(transitions) - 1)
    legal = transitions.legal(read.states)[:, :-1]
    targets = np.array([transitions.functions[f].target for f in transitions.function_of[:-1]])
    for feature in np.unique(targets):
        actions = np.flatnonzero(targets == feature)
        utility = np.where(legal[:, actions], -true[actions], -np.inf) + random.gumbel(size=(size, len(actions)))
        moves = np.flatnonzero(utility.max(axis=1) > random.gumbel(size=size))
        chosen = actions[utility[moves].argmax(axis=1)]
        after[moves, feature] = transitions.apply(read.states[moves], chosen)[:, feature]
    later = read.frame(after).add_suffix(AFTER)
    return table, made, pd.concat([read.table, later], axis=1), true


def test_learned_costs_have_the_rank_of_the_true_ones(tmp_path):
    table, made, together, true = simulated(1)
    text, learned = proposed(table, tmp_path, histories=together)
    costs = np.concatenate([one.base for one in learned.transitions.functions])
    found = learn_costs(made, together)
    known = found.learned
    assert known.sum() >= 15
    assert spearmanr(costs[known], true[known]).statistic > 0.9
    expected = found.unit * np.logaddexp(0, true)
    assert ((found.low <= expected) & (expected <= found.high))[known].mean() > 0.8
    remark = r"        - [\d.]+  # [\d.]+ to [\d.]+ \(95 %\), from [\d,]+ of [\d,]+ people who could\n"
    assert len(re.findall(remark, text)) == known.sum()
    assert "# Costs are learned from the histories of 5,000 people" in text
    assert costs[known] == pytest.approx(found.cost[known], abs=0.006)


def test_codes_of_missing_values_are_neither_before_nor_after(tmp_path):
    table, _, together, _ = simulated(4, 500)
    table["months"] = np.where(np.arange(len(table)) % 5 == 0, 999, np.resize([6, 12, 24], len(table)))
    both = together[["income", f"income{AFTER}"]].assign(months=np.resize([12, 999], 500), months_after=6)
    both.loc[250:, "months_after"] = 999
    text, _ = proposed(table, tmp_path, histories=both)
    assert "from 125 of 125 people who could" in text.split("  LOWER_MONTHS:")[1].split("phrase")[0]
    assert "Changes that no action explains" not in text


def test_features_without_histories_keep_their_guesses(tmp_path):
    table, made, together, _ = simulated(2, 500)
    text, learned = proposed(table, tmp_path, histories=together[["income", f"income{AFTER}"]])
    for old, new in zip(made.transitions.functions, learned.transitions.functions, strict=True):
        assert (new.base.tolist() == old.base.tolist()) == ("INCOME" not in old.name)
    assert text.count("(95 %)") == sum(len(f.natives) for f in made.transitions.functions if "INCOME" in f.name)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.drop(columns=f"job{AFTER}"), r"lack the column 'job_after': a column with the name"),
        (lambda t: t.drop(columns="income"), r"lack the column 'income': a column"),
        (lambda t: t.rename(columns={"job_after": "job_aftr"}), r"'job_after' \(did you mean 'job_aftr'\?\): a column"),
        (lambda t: t.rename(columns=str.upper), r"no column of a feature that functions change.*income, job"),
        (lambda t: t.iloc[:0], "have no rows"),
        (lambda t: t.assign(job_after="king"), r"column 'job_after', row 0: 'king' is not a value of this feature"),
        (lambda t: t.assign(income="much"), r"column 'income', row 0: 'much' is not a number"),
        (lambda t: t.assign(job="clerk", job_after="clerk", income=None), "nobody in the histories could take any"),
    ],
)
def test_mistakes(change, message):
    table = histories([(1000, 1000, "none", "none"), (1000, 1100, "none", "clerk")])
    with pytest.raises(PeopleError, match=message):
        learn_costs(problem(), change(table))


def test_on_the_command_line(tmp_path, run):
    table, _, together, _ = simulated(3, 300)
    table.to_csv(tmp_path / "loans.csv", index=False)
    together.to_csv(tmp_path / "histories.csv", index=False)
    ran = run("init", tmp_path / "loans.csv", "--outcome", "decision", "--histories", tmp_path / "histories.csv")
    assert ran.code == 0
    assert "Read the guesses in it" in ran.out
    assert run("check", tmp_path / "loans.yaml").code == 0
    assert "(95 %), from" in (tmp_path / "loans.yaml").read_text("utf-8")
    together.drop(columns=f"income{AFTER}").to_csv(tmp_path / "histories.csv", index=False)
    arguments = ("--outcome", "decision", "--histories", tmp_path / "histories.csv", "--out", tmp_path / "new.yaml")
    ran = run("init", tmp_path / "loans.csv", *arguments)
    assert ran.code == 2
    assert "histories.csv: the histories lack the column 'income_after'" in " ".join(ran.err.split())
    assert not (tmp_path / "new.yaml").exists()
    ran = run("init", tmp_path / "loans.csv", *arguments[:3], tmp_path / "none.csv")
    assert ran.code == 2
    assert "none.csv: there is no such file" in " ".join(ran.err.split())
