"""The five benchmarks: their people, their black boxes, and what is possible in them."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from threadpoolctl import threadpool_limits

import worlds
from counterplan import BlackBox, CounterplanError, ExactPlanner, SettingError, benchmarks
from counterplan.benchmarks import boosting, models, suite, synthetic, tables
from counterplan.benchmarks.summary import COLUMNS, describe
from counterplan.models.identity import identity_of

EXPECTED = {  # least and most: rows, refused test people, accuracy, reachable, mean least effort, most steps
    "german": (1_000, (70, 105), (0.68, 0.80), 0.95, (8, 14), 4),
    "adult": (48_842, (7_000, 8_500), (0.84, 0.88), 0.97, (24, 32), 4),
    "syn": (10_004, (900, 1_100), (1, 1), 1.0, (10, 15), 4),
    "syn_long": (10_004, (900, 1_100), (1, 1), 1.0, (18, 27), 6),
    "taiwan": (30_000, (1_900, 2_300), (0.70, 0.77), 0.8, (13, 22), 6),
}


@pytest.mark.parametrize("name", benchmarks.NAMES)
def test_is_what_it_should_be(name: str) -> None:
    rows, refused, accuracy, reachable, effort, longest = EXPECTED[name]
    benchmark = benchmarks.load(name)
    assert len(benchmark.train) + len(benchmark.test) == rows
    assert len(benchmark.test) == round(rows * 0.2)
    assert refused[0] <= len(benchmark.refused_test) <= refused[1]
    box = BlackBox(benchmark.model)
    assert not box.favourable(benchmark.problem, benchmark.refused_train.head(500)).any()
    people = 78 if name == "german" else 30 if name == "syn_long" else 100
    figures = describe(benchmark, people)
    assert figures["favourable"] + figures["unfavourable"] == rows
    assert accuracy[0] <= figures["accuracy"] <= accuracy[1]
    assert figures["reachable"] >= reachable
    assert effort[0] <= figures["optimal_cost"] <= effort[1]
    assert figures["shortest"] == 1
    assert figures["longest"] <= longest + (name in synthetic.RULES)
    assert {key for key, _, _ in COLUMNS} <= set(figures)


def test_the_data_are_whole() -> None:
    german, adult = tables.german(), tables.adult()
    assert german["risk"].value_counts().to_dict() == {"good": 700, "bad": 300}
    assert not german.isna().any().any()
    assert german["sex"].value_counts().to_dict() == {"male": 690, "female": 310}
    assert (adult["income"] == ">50K").sum() == 11_687
    assert not adult.isna().any().any()
    assert (adult["workclass"] == "?").sum() == 2_799
    pairs = adult.groupby("education", observed=True)["education_num"].nunique()
    assert pairs.eq(1).all()
    problem = benchmarks.load("adult").problem
    ranks = problem.read(adult).states[:, next(f.index for f in problem.features if f.name == "education")]
    assert (ranks + 1 == adult["education_num"]).all(), "education is ordered by education_num"


def test_taiwan_is_decoded() -> None:
    people = tables.taiwan()
    assert people["next_payment"].value_counts().to_dict() == {"paid": 23_364, "defaulted": 6_636}
    assert people["sex"].value_counts().to_dict() == {"female": 18_112, "male": 11_888}
    assert people["education"].value_counts().to_dict() == {
        "university": 14_030, "graduate_school": 10_585, "high_school": 4_917, "other": 123,
    }  # fmt: skip
    assert people["education"].isna().sum() == 280 + 51 + 14
    assert people["marriage"].isna().sum() == 54
    assert people["repayment"].value_counts().to_dict() == {
        "revolving": 14_737, "in_full": 5_686, "late_1": 3_688, "no_use": 2_759, "late_2": 2_667, "late_3": 322,
        "late_4": 76 + 26 + 19 + 11 + 9,
    }  # fmt: skip
    assert people["pays_every_month"].dtype == bool
    assert people["pays_every_month"].sum() == 15_458
    assert people["late_months"].value_counts().sort_index().tolist() == [22_300, 3_286, 1_521, 1_060, 465, 1_368]
    assert not (people[["bill", "payment", "earlier_bill"]] % 100).any(axis=None)
    known = people.columns.difference(["marriage", "education", "earlier_bill", "share_paid"])
    assert not people[known].isna().any(axis=None)
    assert (people["earlier_bill"].isna() == people["share_paid"].isna()).all()


def test_derived_features_of_taiwan_are_what_their_formulas_give() -> None:
    benchmark = benchmarks.load("taiwan")
    problem, transitions = benchmark.problem, benchmark.problem.transitions
    states = problem.read(benchmark.test).states
    for cause in transitions.causes:
        if cause.formula is not None:
            np.testing.assert_array_equal(np.round(cause.formula(states)), states[:, cause.target])
    assert sum(cause.formula is not None for cause in transitions.causes) == 3


def test_boosted_trees_are_those_of_scikit_learn() -> None:
    benchmark = benchmarks.load("taiwan")
    problem, model, recipe = benchmark.problem, benchmark.model, suite.TRAINING_RECIPES["taiwan"]
    assert isinstance(model, boosting.BoostedModel)
    assert isinstance(recipe, boosting.BoostingRecipe)
    estimator = recipe.estimator(0)
    train = boosting.with_categories(problem.features, problem.read(benchmark.train).states)
    with threadpool_limits(1):
        estimator.fit(train, benchmark.train["next_payment"] == "paid")
    states = problem.read(benchmark.test).states
    states = np.concatenate([states, problem.read(worlds.random_people(problem, 0, 1_000)).states])
    table = boosting.with_categories(problem.features, states)
    expected = estimator.decision_function(table)
    assert (model.trees.decision(states) == expected).all()
    assert (model.trees.decision(states[:1]) == expected[:1]).all()
    assert model.score(states) == pytest.approx(estimator.predict_proba(table)[:, 1])
    assert len(model.score(states[:0])) == 0


def test_synthetic_people_follow_their_graph() -> None:
    people = synthetic.sample(60_000, np.random.default_rng(1), long=True)
    jobs = pd.crosstab(people["education"], people["job"], normalize="index")
    assert jobs.loc["none", "unemployed"] == pytest.approx(0.59, abs=0.02)
    assert jobs.loc["phd", "ceo"] == pytest.approx(0.30, abs=0.02)
    assert people["age"].between(30, 59).all()
    assert people["credit"].between(0, 49_999).all()
    workless = people["job"] == "unemployed"
    assert people.loc[workless, "income"].eq(9_000).all()
    assert people.loc[workless, "savings"].eq(9_000).all()
    assert people.loc[~workless, "income"].between(10_000, 200_000).all()
    assert people.loc[~workless, "savings"].between(5_000, 200_000).all()
    means = people.groupby("job")[["income", "savings", "expenses"]].mean()
    assert means.loc["manager"].tolist() == pytest.approx([80_000, 90_000, 3_000], rel=0.02)
    poor, rich = people["income"] < 20_000, people["income"] >= 40_000
    assert people[poor]["house"].eq("none").mean() == pytest.approx(0.4, abs=0.02)
    assert people[rich]["house"].eq("own").mean() == pytest.approx(0.7, abs=0.02)
    assert people[people["age"] < 45]["relationship"].eq("widowed").mean() == pytest.approx(0.1, abs=0.02)
    assert not people[people["education"] != "phd"]["purpose"].eq("education").any()
    assert sorted(people["credit_score"].unique()) == list(range(7))


@pytest.mark.parametrize(
    ("name", "change", "granted"),
    [
        ("syn", {}, True),
        ("syn", {"education": "diploma"}, False),
        ("syn", {"income": 79_999.0}, False),
        ("syn", {"job": "office_worker", "income": 50_000.0}, True),
        ("syn", {"job": "office_worker", "income": 50_000.0, "house": "rent"}, False),
        ("syn", {"job": "worker"}, False),
        ("syn_long", {}, True),
        ("syn_long", {"credit_score": 2}, False),
        ("syn_long", {"expenses": 5_500.0}, False),
        ("syn_long", {"savings": 60_000.0}, False),
        ("syn_long", {"savings": 30_001.0, "purpose": "car"}, True),
        ("syn_long", {"savings": 30_000.0, "purpose": "car"}, False),
        ("syn_long", {"savings": 20_001.0, "purpose": "furniture"}, True),
        ("syn_long", {"job": "office_worker", "credit_score": 4}, False),
        ("syn_long", {"job": "office_worker", "credit_score": 5, "savings": 50_001.0}, True),
        ("syn_long", {"job": "office_worker", "credit_score": 5, "savings": 50_001.0, "house": "rent"}, False),
        (
            "syn_long",
            {"job": "office_worker", "credit_score": 5, "savings": 50_001.0, "house": "rent", "purpose": "car"},
            True,
        ),
        ("syn_long", {"job": "office_worker", "credit_score": 5, "savings": 30_001.0, "purpose": "car"}, True),
        ("syn_long", {"job": "office_worker", "credit_score": 5, "expenses": 4_000.1}, False),
    ],
)
def test_rules_decide_as_written(name: str, change: dict, granted: bool) -> None:
    person = {
        "age": 40, "education": "bachelor", "job": "manager", "income": 80_000.0, "house": "own", "credit": 100,
        "sex": "male", "relationship": "single", "country": "italy", "savings": 60_001.0, "purpose": "house",
        "credit_score": 3, "expenses": 1_000.0,
    }  # fmt: skip
    model = benchmarks.load(name).model
    assert model(pd.DataFrame([person | change])).tolist() == ["granted" if granted else "refused"]


@pytest.mark.parametrize("name", benchmarks.NAMES)
def test_states_and_tables_get_the_same_answer(name: str) -> None:
    benchmark = benchmarks.load(name)
    people = benchmark.test.head(300)
    by_state = benchmark.model.labels_of_states(benchmark.problem.read(people).states)
    assert (benchmark.model.labels(people) == by_state).all()
    score = benchmark.model.scores(people, benchmark.problem.outcome.favourable)
    assert ((score >= benchmark.model.threshold) == np.isin(by_state, list(benchmark.problem.outcome.favourable))).all()
    other = [value for value in benchmark.problem.outcome.values if value not in benchmark.problem.outcome.favourable]
    assert benchmark.model.scores(people, other) == pytest.approx(1 - score)
    slow = BlackBox(lambda frame: benchmark.model.labels(frame))
    refused = benchmark.refused_test.head(3)
    scored = BlackBox(benchmark.model, threshold=benchmark.model.threshold)
    assert (scored.favourable(benchmark.problem, people) == (score >= benchmark.model.threshold)).all()
    exact = ExactPlanner(benchmark.problem, BlackBox(benchmark.model), state_limit=1_000).plan(refused)
    by_rows = ExactPlanner(benchmark.problem, slow, state_limit=1_000).plan(refused)
    assert [replace(plan, check=None) for plan in by_rows] == [replace(plan, check=None) for plan in exact]


def test_seeds_and_the_cache(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COUNTERPLAN_CACHE", str(tmp_path))
    first = benchmarks.load("german", seed=3)
    (kept,) = (tmp_path / "benchmarks").iterdir()
    content = kept.read_bytes()
    score = first.model.score(first.problem.read(first.test).states)

    def forbidden(*arguments: object) -> None:
        raise AssertionError("trained again although it was kept")

    with monkeypatch.context() as patch:
        patch.setattr(models, "train", forbidden)
        again = benchmarks.load("german", seed=3)
    assert (again.model.score(again.problem.read(again.test).states) == score).all()
    pd.testing.assert_frame_equal(first.test, again.test)
    train, trained = models.train, []

    def counted(*arguments: Any) -> Any:
        trained.append(trained[0] if trained else train(*arguments))  # once is enough to see that it is the same
        return trained[-1]

    monkeypatch.setattr(models, "train", counted)
    for damage in (content[: len(content) // 2], b"", content[:300] + b"\0" * 40 + content[340:]):
        kept.write_bytes(damage)
        repaired = benchmarks.load("german", seed=3)
        assert (repaired.model.score(repaired.problem.read(repaired.test).states) == score).all()
    assert kept.read_bytes() == content
    with np.load(kept) as arrays:
        stored = {name: arrays[name] for name in arrays.files}
    for name, wrong in (("weight_0", stored["weight_0"][1:]), ("bias_2", stored["bias_2"] * np.nan)):
        np.savez(kept, **(stored | {name: wrong}))
        repaired = benchmarks.load("german", seed=3)
        assert (repaired.model.score(repaired.problem.read(repaired.test).states) == score).all()
    assert len(trained) == 5, "once for each damaged file"
    assert not benchmarks.load("syn", seed=1).test.equals(benchmarks.load("syn", seed=2).test)
    pd.testing.assert_frame_equal(benchmarks.load("syn", seed=1).train, benchmarks.load("syn", seed=1).train)


def test_boosted_trees_in_the_cache(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer trees than the benchmark's, which take less time."""
    monkeypatch.setenv("COUNTERPLAN_CACHE", str(tmp_path))
    recipe = boosting.BoostingRecipe(trees=3, threshold=0.8)
    monkeypatch.setitem(suite.TRAINING_RECIPES, "taiwan", recipe)
    first = benchmarks.load("taiwan", seed=3)
    states = first.problem.read(first.test.head(500)).states
    score = first.model.score(states)
    (kept,) = (tmp_path / "benchmarks").iterdir()

    def forbidden(*arguments: object) -> None:
        raise AssertionError("trained again although it was kept")

    with monkeypatch.context() as patch:
        patch.setattr(boosting.BoostingRecipe, "fit", forbidden)
        again = benchmarks.load("taiwan", seed=3)
    assert (again.model.score(states) == score).all()
    assert again.model.name == first.model.name
    with np.load(kept) as arrays:
        stored = {name: arrays[name] for name in arrays.files}
    assert recipe.restore(first.problem, stored) is not None
    leaves, masks, thresholds = stored["leaves"], stored["masks_5"], stored["thresholds_5"]
    for name, wrong in (
        ("leaves", leaves[1:]),
        ("leaves", leaves * np.nan),
        ("baseline", np.array(np.inf)),
        ("masks_5", masks[1:]),
        ("masks_5", masks.astype(float)),
        ("thresholds_5", thresholds[::-1].copy()),
    ):
        assert recipe.restore(first.problem, stored | {name: wrong}) is None
    kept.write_bytes(b"")
    assert (benchmarks.load("taiwan", seed=3).model.score(states) == score).all()


def test_a_cache_that_cannot_be_written_is_no_obstacle(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("COUNTERPLAN_CACHE", str(tmp_path / "file"))
    assert len(benchmarks.load("german", seed=4).test) == 200


def test_unknown_names_and_seeds() -> None:
    with pytest.raises(CounterplanError, match="did you mean 'german'"):
        benchmarks.load("germany")
    with pytest.raises(CounterplanError, match="from 0 to"):
        benchmarks.load("syn", seed=-1)


def test_cached_weights_are_found_after_renames() -> None:
    """The name of a cached file contains a digest of this text, so it must not follow the names of classes."""
    assert suite.TRAINING_RECIPES["german"].cache_key() == (
        "Recipe(hidden=(32, 32, 32, 32), penalty=1.0, balanced=True, tries=5, batch=64, epochs=150, patience=10, "
        "held_out=0.2, decimals=9)"
    )


def test_networks_do_not_depend_on_the_kernels_of_matrix_products() -> None:
    """OpenBLAS selects kernels by processor, and they have different rounding errors; here they are forced."""
    code = (
        "from counterplan.benchmarks import suite, models\n"
        "suite.TRAINING_RECIPES['german'] = models.NetworkRecipe(epochs=6)\n"
        "print(suite.load('german').model.name)"
    )
    names = []
    for kernels in ("Nehalem", "Sandybridge"):
        environment = os.environ | {"OPENBLAS_CORETYPE": kernels, "COUNTERPLAN_CACHE": os.devnull}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        names.append(done.stdout)
    assert names[0] == names[1]
    assert names[0].startswith("model of german (")


def test_the_identity_of_a_model_is_its_name() -> None:
    """Cards and cached answers contain it, so it must not follow the names of classes."""
    model = suite.load("syn").model
    assert identity_of(model) == ""
    assert model.name == "model of syn"


@pytest.mark.parametrize("variation", benchmarks.VARIATIONS)
def test_retrained_models_are_others_and_cached(
    variation: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    german = benchmarks.load("german")
    monkeypatch.setenv("COUNTERPLAN_CACHE", str(tmp_path))
    first, second = (benchmarks.retrained(german, variation, number) for number in (0, 1))
    assert len({german.model.name, first.name, second.name}) == 3
    states = german.problem.read(german.test).states
    assert 0.6 < (first.favourable(states) == german.model.favourable(states)).mean() < 1
    before = sorted(path.name for path in (tmp_path / "benchmarks").iterdir())
    assert benchmarks.retrained(german, variation, 0).name == first.name
    assert sorted(path.name for path in (tmp_path / "benchmarks").iterdir()) == before


def test_what_cannot_be_retrained() -> None:
    german = benchmarks.load("german")
    with pytest.raises(SettingError, match="is a rule"):
        benchmarks.retrained(benchmarks.load("syn"), "seed")
    with pytest.raises(SettingError, match="no variation"):
        benchmarks.retrained(german, "other")  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="number of a retrained model"):
        benchmarks.retrained(german, "seed", -1)
