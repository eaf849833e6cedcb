"""Doubts about causal graphs: found where they are due, rare where not, and sound on poor tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from counterplan import PeopleError, Problem, SettingError
from counterplan.causal import GraphReport, GraphSettings, question_graph

pytest.importorskip("causallearn")

QUICK = {"halves": 3}
JOBS = ["none", "worker", "manager", "director"]


def problem(*causes: tuple[str, str], **more: Any) -> Problem:
    """A loan with education, job, income, house, and an unrelated credit."""
    features: dict[str, Any] = {
        "education": {"kind": "ordered", "values": ["school", "degree", "doctorate"]},
        "job": {"kind": "ordered", "values": JOBS, "missing": True},
        "income": {"kind": "number", "missing": True},
        "house": {"kind": "category", "values": ["rent", "own"]},
        "credit": {"kind": "number", "integer": True},
    }
    functions = {
        "STUDY": {"set": "education", "arguments": "all", "cost": 1},
        "WORK": {"set": "job", "arguments": "all", "cost": 1},
        "EARN": {"add": "income", "arguments": [5], "cost": 1},
        "BUY": {"set": "house", "arguments": ["own"], "cost": 1},
    }
    return Problem.from_dict({
        "counterplan": 1, "name": "loan", "max_actions": 3,
        "outcome": {"column": "loan", "values": ["granted", "refused"], "favourable": "granted"},
        "features": features, "functions": functions,
        "causes": [{"from": source, "to": target, **more} for source, target in causes],
    })  # fmt: skip


TRUE = (("education", "job"), ("job", "income"), ("income", "house"))


def people(count: int, seed: int = 0) -> pd.DataFrame:
    """People sampled from education → job → income → house."""
    random = np.random.default_rng(seed)
    education = random.integers(0, 3, count)
    shares = np.array([[0.5, 0.4, 0.08, 0.02], [0.1, 0.3, 0.4, 0.2], [0.02, 0.1, 0.38, 0.5]]).cumsum(axis=1)
    job = (random.random((count, 1)) >= shares[education]).sum(axis=1)
    income = np.array([20.0, 40.0, 60.0, 80.0])[job] + 12 * random.normal(size=count)
    owns = random.random(count) < np.where(income < 50, 0.1, 0.7)
    return pd.DataFrame({
        "education": np.array(["school", "degree", "doctorate"])[education], "job": np.array(JOBS)[job],
        "income": income.round(2), "house": np.where(owns, "own", "rent"), "credit": random.integers(0, 50_000, count),
        "shoe_size": random.integers(36, 46, count),
    })  # fmt: skip


def kinds(report: GraphReport) -> list[tuple[str, tuple[tuple[str, str], ...]]]:
    return [(doubt.kind, doubt.features) for doubt in report.doubts]


def test_true_graphs_are_not_doubted() -> None:
    for seed in range(3):
        assert kinds(question_graph(problem(*TRUE), people(3_000, seed), GraphSettings(seed=seed, **QUICK))) == []


@pytest.mark.parametrize("edge", TRUE[1:])  # a table of counts, as education and job, has hardly a direction
def test_reversed_edges_are_doubted(edge: tuple[str, str]) -> None:
    edges = [(one[1], one[0]) if one == edge else one for one in TRUE]
    report = question_graph(problem(*edges), people(3_000), GraphSettings(**QUICK))
    assert kinds(report) == [("direction", ((edge[1], edge[0]),))]
    (doubt,) = report.doubts
    assert doubt.location == ("causes", edges.index((edge[1], edge[0])))
    assert f"{edge[1]} → {edge[0]} may point the wrong way: {edge[0]} → {edge[1]}" in doubt.message
    assert doubt.details["people"] == 3_000
    assert doubt.details["gain"] >= np.log(100)


@pytest.mark.parametrize("edge", TRUE)
def test_deleted_edges_are_suggested(edge: tuple[str, str]) -> None:
    report = question_graph(problem(*(one for one in TRUE if one != edge)), people(3_000), GraphSettings(**QUICK))
    assert ("missing", (edge,)) in kinds(report)
    assert all("may be missing" in doubt.message for doubt in report.doubts)
    assert report.doubts[0].location == ("causes",)


def test_edges_without_a_dependence_are_doubted_if_the_table_could_show_one() -> None:
    graph = problem(*TRUE, ("credit", "house"))
    report = question_graph(graph, people(3_000), GraphSettings(**QUICK))
    assert kinds(report) == [("independence", (("credit", "house"),))]
    assert "what makes a change cheaper need not make it more frequent" in report.doubts[0].message
    assert report.doubts[0].details["given"] == ["income"]
    assert report.doubts[0].details["p_value"] > 0.01
    few = question_graph(graph, people(250), GraphSettings(**QUICK))
    assert ("independence", (("credit", "house"),)) not in kinds(few)
    assert any("credit → house" in note and "too small" in note for note in few.notes)


def test_consequences_are_told_from_costs() -> None:
    graph = problem(("credit", "income"), formula="income + 1")
    report = question_graph(graph, people(6_000), GraphSettings(**QUICK))
    (doubt,) = [doubt for doubt in report.doubts if doubt.kind == "independence"]
    assert "although the file computes income from credit" in doubt.message


def test_independent_features_give_almost_no_doubts() -> None:
    doubts = 0
    for seed in range(15):
        table = people(600, seed)
        random = np.random.default_rng(seed)
        shuffled = table.apply(lambda values, random=random: random.permutation(values.to_numpy()))
        doubts += len(question_graph(problem(), shuffled, GraphSettings(seed=seed, **QUICK)).doubts)
    assert doubts <= 1


def test_colliders_that_the_data_deny_are_doubted_though_not_which_edge() -> None:
    random = np.random.default_rng(5)
    first = random.normal(size=3_000)
    second = first + random.normal(size=3_000)
    third = second + random.normal(size=3_000)
    table = people(3_000).assign(income=second, credit=(1e6 * first).round(), duration=third)
    data = problem(("credit", "income")).to_dict()
    data["features"]["duration"] = {"kind": "number"}
    data["causes"] = [{"from": "credit", "to": "income"}, {"from": "duration", "to": "income"}]
    doubts = question_graph(Problem.from_dict(data), table, GraphSettings(**QUICK)).doubts
    (doubt,) = [doubt for doubt in doubts if doubt.kind != "missing"]
    assert (doubt.kind, doubt.features) == ("directions", (("credit", "income"), ("duration", "income")))
    assert "some of credit → income, duration → income" in doubt.message


def test_doubts_depend_on_the_seed_alone() -> None:
    graph, table = problem(("job", "education"), *TRUE[1:]), people(1_500)
    settings = GraphSettings(people=1_000, seed=3, **QUICK)
    assert question_graph(graph, table, settings) == question_graph(graph, table, settings)
    assert question_graph(graph, table, settings).people == 1_000


def test_poor_tables() -> None:
    graph = problem(*TRUE)
    report = question_graph(graph, people(60))
    assert (report.doubts, report.people) == ((), 60)
    assert "too few" in report.notes[0]
    assert question_graph(graph, people(0)).people == 0
    constant = question_graph(graph, people(500).assign(house="own"), GraphSettings(**QUICK))
    assert any(note.startswith("house: the same for everyone") for note in constant.notes)
    assert all("house" not in feature for doubt in constant.doubts for feature in doubt.features)


def test_gaps_are_left_out_where_they_matter() -> None:
    table = people(3_000)
    random = np.random.default_rng(6)
    for name in ("job", "income"):
        table.loc[random.random(len(table)) < 0.2, name] = None
    report = question_graph(problem(*TRUE[:1], ("income", "job"), TRUE[2]), table, GraphSettings(**QUICK))
    assert kinds(report) == [("direction", (("income", "job"),))]
    assert report.doubts[0].details["people"] == int(table[["job", "income"]].notna().all(axis=1).sum())
    table["income"] = np.nan
    assert question_graph(problem(*TRUE), table, GraphSettings(**QUICK)).people == 3_000
    table["income"] = np.where(np.arange(3_000) < 50, 1.0 + np.arange(3_000), np.nan)
    notes = question_graph(problem(*TRUE), table, GraphSettings(**QUICK)).notes
    assert any("too few people have values" in note for note in notes)


def test_people_chosen_by_outcome_are_weighed_by_the_share() -> None:
    table = people(20_000)
    table["loan"] = np.where((table.income > 70) & (table.credit < 20_000), "granted", "refused")
    share = float((table.loan == "granted").mean())
    granted = table[table.loan == "granted"]
    chosen = pd.concat([granted, table[table.loan == "refused"].head(len(granted))])
    as_it_is = question_graph(problem(*TRUE), chosen, GraphSettings(**QUICK))
    assert any("--share" in note for note in as_it_is.notes)
    assert any("credit" in edge for doubt in as_it_is.doubts for edge in doubt.features)
    weighed = question_graph(problem(*TRUE), chosen, GraphSettings(share=share, **QUICK))
    assert not any("--share" in note for note in weighed.notes)
    assert not any("credit" in edge for doubt in weighed.doubts for edge in doubt.features)
    with pytest.raises(PeopleError, match="no column 'loan'"):
        question_graph(problem(*TRUE), people(200), GraphSettings(share=0.2))
    with pytest.raises(PeopleError, match="all outcomes in the table are the same"):
        question_graph(problem(*TRUE), granted, GraphSettings(share=0.2))


@pytest.mark.parametrize(
    "wrong", [{"alpha": 0}, {"alpha": 0.5}, {"people": 5}, {"halves": 0}, {"recur": 0.4}, {"share": 1}, {"seed": -1}]
)
def test_settings_are_checked(wrong: dict[str, float]) -> None:
    with pytest.raises(SettingError, match=f"{next(iter(wrong))}"):
        GraphSettings(**wrong)  # type: ignore[arg-type]


def test_progress_ends() -> None:
    shares: list[float] = []
    question_graph(problem(*TRUE), people(300), GraphSettings(**QUICK), shares.append)
    assert shares[-1] == 1
    assert shares == sorted(shares)


def test_features_that_a_formula_reads_count_as_causes() -> None:
    table = people(2_000)
    table["credit"] = (100 * table.income).round()
    doubted = ("missing", (("income", "credit"),))
    assert doubted in kinds(question_graph(problem(*TRUE), table, GraphSettings(**QUICK)))
    data = problem(*TRUE).to_dict()
    data["causes"] = [*data["causes"], {"from": "job", "to": "credit", "formula": "100 * income"}]
    assert doubted not in kinds(question_graph(Problem.from_dict(data), table, GraphSettings(**QUICK)))
