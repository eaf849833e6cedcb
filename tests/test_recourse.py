"""Recourse: fit, recommend, save and load, with a surrogate, an agent or both; no query is sent twice."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from counterplan import (
    BlackBox,
    LabelledStates,
    ModelError,
    NotFittedError,
    PeopleError,
    Problem,
    Program,
    Recourse,
    SettingError,
    StorageError,
    benchmarks,
)
from counterplan.errors import CounterplanError
from counterplan.program import Choice, Leaf
from counterplan.storage.workspace import ANSWERS, WRITE_AHEAD, Origin

pytest.importorskip("jax")
from counterplan.surrogate.active_learning import LearningSettings
from quick import FIT, TRAINING

pytestmark = pytest.mark.usefixtures("steady_clock")

SYN = benchmarks.load("syn")
PEOPLE = SYN.train.head(400)
REFUSED = SYN.refused_test.head(25)
GUIDED = LearningSettings(people=60, plans=60, rounds=2, validation=12, fit=FIT)
SEARCH = replace(TRAINING, passes=1)


@pytest.fixture(scope="module")
def both() -> Recourse:
    return Recourse(SYN.problem, SYN.model).fit(PEOPLE, method="both", seed=1, settings=(GUIDED, SEARCH))


@pytest.fixture
def saved(both: Recourse, tmp_path: Path) -> Path:
    both.save(tmp_path)
    return tmp_path


def test_guided_is_the_default(both: Recourse, tmp_path: Path) -> None:
    recourse = Recourse(SYN.problem, SYN.model).fit(PEOPLE, seed=1, settings=GUIDED)
    assert recourse.agent_ is None
    assert recourse.surrogate_ is not None
    assert both.surrogate_ is not None
    states = SYN.problem.read(REFUSED).states
    np.testing.assert_array_equal(recourse.surrogate_.logit(states), both.surrogate_.logit(states))
    plans = recourse.recommend(REFUSED)
    assert plans.counts["found"] > 20
    assert all(plan.verified for plan in plans if plan.steps)
    recourse.save(tmp_path)
    assert not (tmp_path / "agent.json").exists()
    loaded = Recourse.load(tmp_path, SYN.model)
    assert loaded.agent_ is None
    again = loaded.recommend(REFUSED)
    assert again.to_json() == plans.with_queries(0, again.cached).to_json()
    assert loaded.box.queries == 0


def test_the_settings_choose_the_method() -> None:
    recourse = Recourse(SYN.problem, SYN.model).fit(PEOPLE, settings=SEARCH)
    assert recourse.surrogate_ is None
    assert recourse.agent_ is not None
    for method, settings in (("guided", SEARCH), ("guided", "paper"), ("search", GUIDED)):
        with pytest.raises(SettingError, match=f"method='{method}' expects"):
            recourse.fit(PEOPLE, method=method, settings=settings)
    with pytest.raises(SettingError, match="did you mean 'guided'"):
        recourse.fit(PEOPLE, method="guide")
    with pytest.raises(SettingError, match="there is no preset 'papr'"):
        recourse.fit(PEOPLE, settings="papr")
    with pytest.raises(SettingError, match="one or more"):
        recourse.fit(PEOPLE, budget=0)


def test_every_planner_comes_back_from_disk(both: Recourse, saved: Path) -> None:
    loaded = Recourse.load(saved, SYN.model)
    assert [planner.name for planner in loaded.planner("cascade").planners] == ["policy", "guided", "search"]  # type: ignore[attr-defined]
    for planner in (None, "auto", "guided", "cascade", "search", "policy", "paper", "exact", "cascade+exact"):
        before, after = both.recommend(REFUSED, planner), loaded.recommend(REFUSED, planner)
        assert [plan.actions for plan in before] == [plan.actions for plan in after], planner
    assert loaded.recommend(REFUSED).to_json() == loaded.recommend(REFUSED, "auto").to_json()
    everybody = loaded.recommend(REFUSED, "cascade+exact")
    assert everybody.counts["found"] == len(REFUSED)


def test_what_is_missing_is_named(both: Recourse, tmp_path: Path) -> None:
    nothing = Recourse(SYN.problem, SYN.model)
    assert nothing.recommend(REFUSED).counts["found"] == len(REFUSED), "exact search needs nothing"
    for planner in ("cascade", "cascade+exact"):
        with pytest.raises(NotFittedError, match="requires an agent or a surrogate"):
            nothing.recommend(REFUSED, planner)
    with pytest.raises(NotFittedError, match=r"'guided' requires a surrogate.*method='guided'"):
        Recourse(SYN.problem, SYN.model, agent=both.agent_).planner("guided")
    for planner in ("search", "policy", "paper"):
        with pytest.raises(NotFittedError, match=rf"'{planner}' requires an agent.*method='search'"):
            Recourse(SYN.problem, SYN.model, surrogate=both.surrogate_).planner(planner)
    with pytest.raises(NotFittedError, match="nothing to save"):
        nothing.save(tmp_path)
    both.save(tmp_path)
    for path in (*tmp_path.glob("agent.*"), *tmp_path.glob("surrogate.*")):
        path.unlink()
    with pytest.raises(
        CounterplanError, match=r"surrogate\.json: there is no such file; make one with 'counterplan fit'"
    ):
        Recourse.load(tmp_path, SYN.model)


def test_an_earlier_agent_does_not_outlive_a_surrogate_saved_in_its_place(both: Recourse, saved: Path) -> None:
    Recourse(SYN.problem, SYN.model, surrogate=both.surrogate_).save(saved)
    assert Recourse.load(saved, SYN.model).agent_ is None


def test_nothing_is_queried_twice(both: Recourse, saved: Path) -> None:
    others = SYN.refused_test.iloc[25:40]
    recourse = Recourse.load(saved, SYN.model)
    first = recourse.recommend(others)
    assert first.queries > 0
    again = recourse.recommend(others)
    assert again.queries == 0
    recourse.save(saved)
    later = Recourse.load(saved, SYN.model)
    assert [plan.actions for plan in later.recommend(others)] == [plan.actions for plan in first]
    assert later.box.queries == 0
    afresh = Recourse.load(saved, SYN.model, answers=False)
    assert [plan.actions for plan in afresh.recommend(others)] == [plan.actions for plan in first]
    assert afresh.box.queries > 0


def test_answers_of_another_model_are_not_used(saved: Path) -> None:
    def lenient(frame: pd.DataFrame) -> list[str]:
        return ["granted"] * len(frame)

    plans = Recourse.load(saved, lenient).recommend(REFUSED)
    assert plans.counts["already_favourable"] == len(REFUSED)
    strict = BlackBox(lambda frame: np.full(len(frame), 0.6), threshold=0.5)
    recourse = Recourse(SYN.problem, strict)
    strict.favourable(SYN.problem, REFUSED)
    recourse.save_answers(saved)
    stricter = BlackBox(lambda frame: np.full(len(frame), 0.6), threshold=0.7)
    assert Recourse.load(saved, stricter).recommend(REFUSED, budget=1).counts["already_favourable"] == 0
    assert Recourse.load(saved, strict).box.favourable(SYN.problem, REFUSED).all()


@pytest.mark.parametrize("damage", [b"", b"nothing", None])
def test_damaged_answers_are_named(saved: Path, damage: bytes | None) -> None:
    path = saved / ANSWERS
    path.write_bytes(path.read_bytes()[:-50] if damage is None else damage)
    with pytest.raises(StorageError, match=r"answers\.csv\.gz: .*nothing is lost but the queries that it saves"):
        Recourse.load(saved, SYN.model)
    assert len(Recourse.load(saved, SYN.model, answers=False).recommend(REFUSED)) == len(REFUSED)
    path.unlink()
    assert len(Recourse.load(saved, SYN.model).recommend(REFUSED)) == len(REFUSED)


def test_given_answers_are_not_queried_again(both: Recourse, saved: Path) -> None:
    answers = LabelledStates.from_cache(both.box, SYN.problem)
    for given in (answers, saved / ANSWERS, str(saved / ANSWERS)):
        recourse = Recourse(SYN.problem, SYN.model)
        recourse.fit(PEOPLE, seed=1, settings=replace(GUIDED, rounds=1), answers=given, quality=False)
        assert recourse.box.queries < GUIDED.people
        assert len(LabelledStates.from_cache(recourse.box, SYN.problem)) == len(answers) + recourse.box.queries

    def decide(frame: pd.DataFrame) -> list[str]:
        return ["refused"] * len(frame)

    with pytest.raises(SettingError, match="these are answers of model of syn, not of model 'decide'"):
        Recourse(SYN.problem, decide).fit(PEOPLE, settings=GUIDED, answers=answers)
    with pytest.raises(CounterplanError, match="no such file"):
        Recourse(SYN.problem, SYN.model).fit(PEOPLE, settings=GUIDED, answers="nothing.csv.gz")


def test_an_interrupted_fit_leaves_the_best_so_far_and_resumes(tmp_path: Path) -> None:
    def impatient(report) -> None:  # type: ignore[no-untyped-def]
        if report.round == 0:
            raise KeyboardInterrupt

    recourse = Recourse(SYN.problem, SYN.model)
    with pytest.raises(KeyboardInterrupt):
        recourse.fit(PEOPLE, seed=1, settings=replace(GUIDED, rounds=1), progress=impatient, quality=False)
    assert recourse.recommend(REFUSED).counts["found"] > 10
    rows = 0

    def fragile(frame: pd.DataFrame) -> np.ndarray:
        nonlocal rows
        rows += len(frame)
        if rows > 200:
            raise KeyboardInterrupt
        return SYN.model.labels(frame)

    fragile.identity = ""  # type: ignore[attr-defined]
    broken = Recourse(SYN.problem, fragile)
    with pytest.raises(KeyboardInterrupt):
        broken.fit(PEOPLE, seed=1, settings=GUIDED, folder=tmp_path)
    assert (tmp_path / WRITE_AHEAD).exists()

    def decide(frame: pd.DataFrame) -> np.ndarray:
        return SYN.model.labels(frame)

    decide.__name__, decide.identity = "fragile", ""  # type: ignore[attr-defined]
    resumed = Recourse(SYN.problem, decide).fit(
        PEOPLE, seed=1, settings=GUIDED, folder=tmp_path, resume=True, quality=False
    )
    whole = Recourse(SYN.problem, decide).fit(PEOPLE, seed=1, settings=GUIDED, quality=False)
    assert resumed.surrogate_ is not None
    assert whole.surrogate_ is not None
    states = SYN.problem.read(REFUSED).states
    np.testing.assert_array_equal(resumed.surrogate_.logit(states), whole.surrogate_.logit(states))
    assert resumed.box.queries < whole.box.queries


def test_a_larger_budget_resumes_every_method(tmp_path: Path) -> None:
    first = Recourse(SYN.problem, SYN.model)
    with pytest.raises(SettingError, match="spent on the surrogate"):
        first.fit(PEOPLE, settings=(GUIDED, SEARCH), budget=150, folder=tmp_path)
    assert first.budget_spent_
    second = Recourse(SYN.problem, SYN.model)
    second.fit(PEOPLE, settings=(GUIDED, SEARCH), budget=500, folder=tmp_path, resume=True)
    assert second.agent_ is not None
    assert second.budget_spent_, "the agent could have asked more"
    third = Recourse(SYN.problem, SYN.model)
    third.fit(PEOPLE, settings=(GUIDED, SEARCH), budget=900, folder=tmp_path, resume=True)
    assert third.agent_ is not None
    asked = [one.box.queries for one in (first, second, third)]
    assert asked[0] <= 150
    assert sum(asked[:2]) <= 500
    assert sum(asked) <= 900
    assert asked[2] > 0


def test_answers_given_when_resuming_are_learned_from(both: Recourse, tmp_path: Path) -> None:
    options = {"seed": 1, "settings": replace(GUIDED, rounds=1), "folder": tmp_path, "quality": False}
    first = Recourse(SYN.problem, SYN.model).fit(PEOPLE, **options)
    answers = LabelledStates.from_cache(both.box, SYN.problem)
    later = Recourse(SYN.problem, SYN.model)
    later.fit(PEOPLE, resume=True, answers=answers, **options)
    assert first.surrogate_ is not None
    assert later.surrogate_ is not None
    states = SYN.problem.read(REFUSED).states
    assert (first.surrogate_.logit(states) != later.surrogate_.logit(states)).any()


def test_a_box_without_a_cache_saves_its_answers(tmp_path: Path) -> None:
    forgetful = BlackBox(SYN.model, cache_size=0)
    recourse = Recourse(SYN.problem, forgetful)
    recourse.fit(PEOPLE, seed=1, settings=replace(GUIDED, rounds=1), quality=False).save(tmp_path)
    saved = LabelledStates.load(tmp_path / ANSWERS, SYN.problem)
    assert len(saved) == recourse.n_queries_["guided"] > 100
    settings = replace(SEARCH, passes=1)
    agent = Recourse(SYN.problem, BlackBox(SYN.model, cache_size=0))
    agent.fit(SYN.refused_train.head(150), settings=settings, folder=tmp_path / "agent")
    agent.save(tmp_path / "agent")
    again = Recourse(SYN.problem, BlackBox(SYN.model, cache_size=0))
    again.fit(SYN.refused_train.head(150), settings=settings, folder=tmp_path / "agent", resume=True)
    assert again.n_queries_ == agent.n_queries_
    assert again.box.queries == 0


def test_discarded_answers_do_not_come_back_from_checkpoints(tmp_path: Path) -> None:
    options = {"seed": 1, "settings": GUIDED, "folder": tmp_path, "quality": False}
    Recourse(SYN.problem, SYN.model).fit(PEOPLE, **options).save(tmp_path)
    assert (tmp_path / "learning.npz").exists()
    afresh = Recourse.load(tmp_path, SYN.model, answers=False)
    afresh.recommend(REFUSED)
    afresh.save(tmp_path)
    assert not (tmp_path / "learning.npz").exists()
    assert len(LabelledStates.load(tmp_path / ANSWERS, SYN.problem)) == afresh.box.queries
    again = Recourse.load(tmp_path, SYN.model, answers=False)
    again.fit(PEOPLE, resume=True, **options)
    assert again.box.queries >= again.n_queries_["guided"] > 0
    again.save(tmp_path)
    assert (tmp_path / "learning.npz").exists(), "it is of the new run"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"budget": "3"}, "the query budget is a whole number, one or more, not '3'"),
        ({"budget": float("nan")}, "one or more, not nan"),
        ({"budget": True}, "one or more, not True"),
        ({"budget": 2.5}, "one or more, not 2.5"),
        ({"seed": -1}, "the seed is a whole number, zero or more, not -1"),
        ({"seed": "x"}, "zero or more, not 'x'"),
        ({"settings": {}}, "settings are LearningSettings, TrainingSettings or the name of a preset, not {}"),
        ({"settings": None}, "or the name of a preset, not None"),
        ({"method": 3}, "there is no method '3'"),
        ({"resume": True}, "nothing to resume without a folder"),
        ({"answers": 3}, "or the path of a file of them, not 3"),
        ({"folder": 3}, "a folder is a path, not 3"),
    ],
)
def test_invalid_parameters_of_fit_are_rejected_before_any_query(wrong: dict, message: str) -> None:
    recourse = Recourse(SYN.problem, SYN.model)
    with pytest.raises(SettingError, match=message):
        recourse.fit(PEOPLE, **wrong)
    assert recourse.box.queries == 0
    for planner in (3, 0, "", ["exact"]):
        with pytest.raises(SettingError, match="there is no planner"):
            recourse.recommend(REFUSED, planner)  # type: ignore[arg-type]


@pytest.mark.parametrize("budget", [1, 5, 50, 300])
def test_the_budget_is_respected(budget: int) -> None:
    recourse = Recourse(SYN.problem, SYN.model).fit(SYN.refused_train.head(200), settings=GUIDED, budget=budget)
    assert recourse.box.queries <= budget
    assert len(recourse.recommend(REFUSED.head(2))) == 2


def test_the_budget_is_for_both_together() -> None:
    recourse = Recourse(SYN.problem, SYN.model)
    recourse.fit(PEOPLE, settings=(GUIDED, SEARCH), budget=700)
    assert recourse.box.queries <= 700
    assert recourse.agent_ is not None
    spent = Recourse(SYN.problem, SYN.model)
    with pytest.raises(SettingError, match="spent on the surrogate; raise it"):
        spent.fit(PEOPLE, settings=(GUIDED, SEARCH), budget=100)
    assert spent.surrogate_ is not None


def test_odd_people() -> None:
    options = {"settings": GUIDED, "quality": False}
    happy = Recourse(SYN.problem, lambda frame: ["granted"] * len(frame))
    with pytest.raises(PeopleError, match=r"nobody among 72 people asked about was refused.*hand in people who were"):
        happy.fit(PEOPLE, settings=GUIDED)
    assert happy.surrogate_ is None
    sad = Recourse(SYN.problem, lambda frame: ["refused"] * len(frame)).fit(PEOPLE.head(20), **options)
    assert sad.recommend(REFUSED.head(3), "guided").counts["not_found"] == 3
    assert sad.recommend(REFUSED.head(1)).counts["infeasible"] == 1
    two = Recourse(SYN.problem, SYN.model).fit(SYN.refused_train.head(2), **options)
    assert len(two.recommend(REFUSED)) == len(REFUSED)
    refused = Recourse(SYN.problem, SYN.model).fit(SYN.refused_train.head(200), **options)
    assert refused.recommend(REFUSED).counts["found"] > 20
    with pytest.raises(PeopleError, match="nobody to learn from"):
        two.fit(PEOPLE.head(0), settings=GUIDED)


def test_queries_are_sent_in_batches() -> None:
    calls = []

    def service(frame: pd.DataFrame) -> list[str]:
        calls.append(len(frame))
        return SYN.model.labels(frame).tolist()

    box = BlackBox(service, batch=50)
    recourse = Recourse(SYN.problem, box).fit(PEOPLE, settings=GUIDED, quality=False)
    plans = recourse.recommend(REFUSED)
    assert plans.counts["found"] > 15
    assert max(calls) <= 50
    assert sum(calls) == box.queries
    assert len(calls) < box.queries / 5


def test_the_price_of_a_query_limits_queries(both: Recourse) -> None:
    free, expensive = (both.recommend(REFUSED, price=price) for price in (0, 1e9))
    queries = [sum(plan.queries for plan in plans) for plans in (free, expensive)]
    assert queries[0] > queries[1]
    assert np.nansum(free.costs) <= np.nansum(expensive.costs)
    assert both.recommend(REFUSED, "cascade", price=0).counts["found"] > 20
    for wrong in (-1, float("nan"), "1", True, 10**400):
        with pytest.raises(SettingError, match="the price of a query is a finite number"):
            both.recommend(REFUSED, price=wrong)  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="not to 'exact'"):
        both.recommend(REFUSED, "exact", price=1)
    with pytest.raises(SettingError, match="settings of its own"):
        both.recommend(REFUSED, both.planner("guided"), price=1)


def changed_problem(**changes: object) -> Problem:
    """The syn problem with other costs, and as `changes` say."""
    data = SYN.problem.to_dict() | changes
    functions = {name: {**function, "cost": 7} for name, function in data["functions"].items()}
    return Problem.from_dict(data | {"functions": functions})


def test_other_costs_need_no_new_fit(both: Recourse, saved: Path) -> None:
    for problem in (changed_problem(), changed_problem(max_actions=2)):
        recourse = Recourse.load(saved, SYN.model, problem=problem)
        assert recourse.agent_ is None
        assert recourse.program_ is None
        plans = recourse.recommend(REFUSED)
        assert plans.counts["found"] > 15
        for plan in plans:
            assert plan.replay(problem, recourse.box).ok
            assert len(plan.steps) <= problem.max_actions
        assert recourse.box.cached > 0, "answers do not depend on costs"
    recourse.save(saved / "changed")
    again = Recourse.load(saved / "changed", SYN.model)
    assert [plan.actions for plan in again.recommend(REFUSED)] == [plan.actions for plan in plans]
    same = Recourse.load(saved, SYN.model, problem=Problem.from_dict(SYN.problem.to_dict()))
    assert same.agent_ is not None


def test_a_program_of_another_problem_is_named(saved: Path) -> None:
    stop = Leaf((Choice(SYN.problem.transitions.stop),))
    Program(SYN.problem, {"INTERVENE": stop}).save(saved / "program.json")
    recourse = Recourse.load(saved, SYN.model, problem=changed_problem())
    unusable = "The program and the agent in .* cannot be used for another problem than the one saved there"
    with pytest.raises(NotFittedError, match=f"requires a program: .*{unusable}"):
        recourse.planner("program")
    with pytest.raises(NotFittedError) as found:
        Recourse(SYN.problem, SYN.model).planner("program")
    assert "saved there" not in str(found.value)


def test_other_features_need_a_new_fit(saved: Path) -> None:
    german = benchmarks.load("german")
    with pytest.raises(SettingError, match="differ from those of german; only costs, limits"):
        Recourse.load(saved, SYN.model, problem=german.problem)


def test_fit_into_a_folder_saves_everything(tmp_path: Path) -> None:
    recourse = Recourse(SYN.problem, SYN.model)
    options = {"settings": replace(GUIDED, rounds=1), "quality": False}
    recourse.fit_into(tmp_path, PEOPLE, origin=Origin("syn", 0), **options)
    assert recourse.workspace is not None
    assert recourse.workspace.load_origin() == Origin("syn", 0)
    assert Recourse.load(tmp_path, SYN.model).recommend(REFUSED).counts["found"] > 15
    with pytest.raises(StorageError, match="holds the results of an earlier run"):
        Recourse(SYN.problem, SYN.model).fit_into(tmp_path, PEOPLE)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def fail(people: pd.DataFrame) -> None:
        raise RuntimeError("out of order")

    with pytest.raises(ModelError, match="out of order"):
        Recourse(SYN.problem, fail).fit_into(tmp_path, PEOPLE, force=True)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    Recourse(SYN.problem, SYN.model).fit_into(tmp_path, PEOPLE, force=True, **options)
    assert recourse.workspace.load_origin() == Origin(None, 0)


def test_an_interrupted_fit_into_a_folder_saves_the_best_so_far(tmp_path: Path) -> None:
    def interrupt(report: object) -> None:
        raise KeyboardInterrupt

    recourse = Recourse(SYN.problem, SYN.model)
    with pytest.raises(KeyboardInterrupt):
        recourse.fit_into(tmp_path, PEOPLE, settings=GUIDED, progress=interrupt)
    assert Recourse.load(tmp_path, SYN.model).surrogate_ is not None


def test_recorded_answers_are_merged(both: Recourse, saved: Path) -> None:
    recourse, other = Recourse.load(saved, SYN.model), Recourse.load(saved, SYN.model)
    before = len(LabelledStates.load(saved / ANSWERS, SYN.problem))
    new = SYN.refused_test.iloc[40:60]
    with recourse.recording_answers(saved) as update:
        recourse.recommend(new.head(10))
        with other.recording_answers(saved):
            other.recommend(new.tail(10))
    assert other.box.queries > 0
    assert update.saved == len(LabelledStates.load(saved / ANSWERS, SYN.problem))
    assert update.saved >= before + other.box.queries
    assert update.error is None
    assert not (saved / WRITE_AHEAD).exists()


def test_a_notebook_shows_what_is_fitted(both: Recourse) -> None:
    shown = both._repr_html_()
    assert "surrogate, agent" in shown
    assert "syn" in shown
    assert f"{both.box.queries:,} sent to the model" in shown
    assert "surrogate, agent" in repr(both)
    data = SYN.problem.to_dict() | {"name": "<script>\x1b[31m"}
    shown = Recourse(Problem.from_dict(data), SYN.model)._repr_html_()
    assert "&lt;script&gt;" in shown
    assert "<script>" not in shown
    assert "\x1b" not in shown
    assert "nothing yet: call fit(people)" in shown


def test_planning_needs_neither_jax_nor_matplotlib(saved: Path) -> None:
    script = (
        "import sys; from counterplan import Recourse, benchmarks\n"
        f"b = benchmarks.load('syn'); r = Recourse.load({str(saved)!r}, b.model)\n"
        "assert len(r.recommend(b.refused_test.head(2))) == 2\n"
        "assert not [name for name in sys.modules if name.startswith(('jax', 'optax', 'sklearn', 'matplotlib'))]\n"
        "import counterplan.cli\n"
        "assert not [name for name in sys.modules if name.startswith(('jax', 'matplotlib'))]\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
