"""Outcomes with several classes, both ways: grouped as favourable, and with a target for a run or for each person."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

import grades
import worlds
from counterplan import (
    BlackBox,
    ExactPlanner,
    LearningSettings,
    NotFittedError,
    PeopleError,
    Plans,
    Problem,
    Recourse,
    SearchPlanner,
    SettingError,
    Status,
    StorageError,
    Surrogate,
    Workspace,
    benchmarks,
)
from counterplan.program.export.html import to_html
from counterplan.program.export.svg import figure
from counterplan.recourse import load_program
from counterplan.storage.workspace import TARGETS
from counterplan.surrogate.surrogate import from_arrays, to_arrays
from quick import FIT, TRAINING, quick_fits

GRADES = grades.grades()
PEOPLE = grades.people(24, seed=1)
SMALL = LearningSettings(people=120, plans=120, rounds=2, validation=12, fit=FIT)


def brute_force(problem: Problem, labels: Callable[[pd.DataFrame], np.ndarray], state: np.ndarray) -> dict[str, float]:
    """The least cost of reaching each outcome within `max_actions`, by trying every sequence of actions."""
    transitions = problem.transitions
    reached = {state.tobytes(): (0.0, state)}
    best: dict[str, float] = {}
    for depth in range(problem.max_actions + 1):
        states = np.array([one for _, one in reached.values()])
        costs = [cost for cost, _ in reached.values()]
        people = problem.read(pd.DataFrame([problem.describe(one) for one in states], dtype=object))
        for outcome, cost in zip(map(str, labels(people.table)), costs, strict=True):
            best[outcome] = min(best.get(outcome, np.inf), cost)
        if depth == problem.max_actions:
            return best
        step: dict[bytes, tuple[float, np.ndarray]] = {}
        legal, prices = transitions.legal(states), transitions.cost(states)
        for row, action in np.argwhere(legal[:, : transitions.stop]):
            end = transitions.apply(states[[row]], np.array([action]))[0]
            cost = costs[row] + float(prices[row, action])
            if cost < step.get(end.tobytes(), (np.inf, end))[0]:
                step[end.tobytes()] = (cost, end)
        reached = step
        if not reached:
            return best
    return best


def three_classes(problem: Problem, seed: int) -> Callable[[pd.DataFrame], np.ndarray]:
    """A model whose class is a hash of a person's state."""

    def labels(frame: pd.DataFrame) -> np.ndarray:
        states = problem.read(frame).states + 0.0
        numbers = [zlib.crc32(state.tobytes() + bytes([seed % 256])) >> 3 for state in states]
        return np.array(problem.outcome.values, object)[np.array(numbers) % 3]

    return labels


def same(one: Plans, other: Plans) -> bool:
    return [(p.person, p.status, p.actions, p.cost, p.verified) for p in one if p.steps or p.cost == 0] == [
        (p.person, p.status, p.actions, p.cost, p.verified) for p in other if p.steps or p.cost == 0
    ] and [p.status for p in one] == [p.status for p in other]


# Grouping


def test_grouping_outcomes_reaches_any_of_them_at_the_least_cost() -> None:
    plans = Recourse(GRADES, grades.model).recommend(PEOPLE, "exact")
    labels = grades.model(PEOPLE)
    assert {*labels} == {"A", "B", "C"}
    states = GRADES.read(PEOPLE).states
    for row, plan in enumerate(plans):
        assert (plan.status is Status.ALREADY_FAVOURABLE) == (labels[row] in ("A", "B"))
        if plan.steps:
            best = brute_force(GRADES, grades.model, states[row])
            assert plan.cost == pytest.approx(min(best.get("A", np.inf), best.get("B", np.inf)))
    ends = pd.DataFrame([plan.steps[-1].after for plan in plans if plan.steps])
    assert {*grades.model(ends)} <= {"A", "B"}


def test_groups_of_the_problem_and_of_the_black_box_are_the_same() -> None:
    of_problem = Recourse(GRADES, grades.model).recommend(PEOPLE, "exact")
    narrow = grades.grades(favourable="A")
    of_box = Recourse(narrow, BlackBox(grades.model, favourable=["A", "B"])).recommend(PEOPLE, "exact")
    by_target = Recourse(narrow, grades.model).recommend(PEOPLE, "exact", target={"A", "B"})
    assert same(of_problem, of_box)
    assert same(of_problem, by_target)
    with pytest.raises(SettingError, match="favourable outcomes of its own"):
        Recourse(narrow, BlackBox(grades.model, favourable=["A", "B"])).recommend(PEOPLE, "exact", target="B")


def test_grouping_with_probabilities_and_with_codes() -> None:
    table = grades.people(400)
    numbers = table[["age", "income", "debt"]]
    codes = {"A": 2, "B": 1, "C": 0}
    estimator = LogisticRegression(max_iter=2000).fit(numbers, pd.Series(grades.model(table)).map(codes))
    problem = grades.grades(codes=codes)
    box = BlackBox(estimator)
    favourable = box.favourable(problem, table)
    assert favourable.tolist() == np.isin(estimator.predict(numbers), [1, 2]).tolist()
    scored = BlackBox(estimator, threshold=0.7).favourable(problem, table)
    assert scored.tolist() == (estimator.predict_proba(numbers)[:, 1:].sum(axis=1) >= 0.7).tolist()
    assert box.favourable(problem.with_target("C"), table).tolist() == (~favourable).tolist()
    assert box.queries == len(table.drop_duplicates())


# Targets


class ForeignPlanner(ExactPlanner):
    """A planner of another package."""

    name = "foreign"


@pytest.mark.parametrize("name", ["exact", "auto", "evolution", ForeignPlanner])
def test_a_target_for_a_run_is_the_problem_with_that_favourable_outcome(name) -> None:
    for target in ("A", "B", "C", {"B", "C"}):
        favourable = sorted(target) if isinstance(target, set) else target
        alone = Recourse(grades.grades(favourable=favourable), grades.model).recommend(PEOPLE, name)
        plans = Recourse(GRADES, grades.model).recommend(PEOPLE, name, target=target)
        assert same(alone, plans)
        assert plans.targets == [tuple(sorted(target))] * len(PEOPLE)
        fresh = BlackBox(grades.model)
        assert all(plan.replay(GRADES, fresh).ok for plan in plans)


def test_one_query_serves_every_target() -> None:
    recourse = Recourse(GRADES, grades.model)
    for target in ("A", "B", "C"):
        recourse.recommend(PEOPLE, "exact", target=target)
    queries = recourse.box.queries
    again = recourse.recommend(PEOPLE, "exact", target=["A", "B", "C", {"A", "C"}] * 6)
    assert recourse.box.queries == queries
    assert again.queries == 0
    assert again.cached > 0
    assert recourse.recommend(PEOPLE, "exact").queries == 0, "the group of the problem too"


@pytest.mark.parametrize("form", [list, tuple, np.array, pd.Series, pd.Categorical])
def test_targets_of_each_person_are_those_of_runs(form) -> None:
    targets = ["A", "B", "C"] * 8
    plans = Recourse(GRADES, grades.model).recommend(PEOPLE, "exact", target=form(targets))
    assert plans.targets == [(target,) for target in targets]
    for target in ("A", "B", "C"):
        run = Recourse(GRADES, grades.model).recommend(PEOPLE, "exact", target=target)
        for row in range(len(PEOPLE)):
            if targets[row] == target:
                assert plans[row] == run[row]


def test_a_series_of_targets_is_aligned_by_label() -> None:
    people = PEOPLE.head(6).set_axis(list("abcdef"))
    targets = pd.Series(["A", "B", "C", "A", "B", "C"], list("fedcba"))
    plans = Recourse(GRADES, grades.model).recommend(people, "exact", target=targets)
    assert plans.targets == [("C",), ("B",), ("A",)] * 2
    for wrong in (targets.iloc[:5], targets.set_axis(list("fedcbx")), targets.set_axis(list("fedcbb"))):
        with pytest.raises(SettingError, match="index labels are not those of the people"):
            Recourse(GRADES, grades.model).recommend(people, "exact", target=wrong)
    with pytest.raises(SettingError, match=r"row 1 \(counted from 0\) of 'target': the target 'Z' is not one of"):
        Recourse(GRADES, grades.model).recommend(people, "exact", target=["A", "Z", "B", "B", "B", "B"])


def test_constraints_and_weights_stay_with_their_person() -> None:
    targets, count = ["B", "A"] * 12, len(PEOPLE)
    random = np.random.default_rng(0)
    weights = random.choice([0.5, 1.0, 3.0], (count, len(GRADES.transitions)))
    forbid = {3: ["EARN"], 4: ["REPAY"]}
    plans = Recourse(GRADES, grades.model).recommend(
        PEOPLE, "exact", target=targets, forbid=forbid, weights=weights, progress=None
    )
    for target in ("A", "B"):
        rows = [row for row in range(count) if targets[row] == target]
        run = Recourse(GRADES, grades.model).recommend(PEOPLE, "exact", target=target, forbid=forbid, weights=weights)
        assert [plans[row] for row in rows] == [run[row] for row in rows]
    assert not any(step.function == "EARN" for step in plans[3].steps)


@settings(max_examples=25)
@given(worlds.problem_dicts(), st.integers(0, 1000))
def test_exact_with_targets_equals_brute_force(data: dict, seed: int) -> None:
    outcome = {"column": "outcome", "values": ["bad", "fair", "good"], "favourable": "good"}
    problem = Problem.from_dict(data | {"outcome": outcome, "max_actions": min(2, data["max_actions"])})
    table = worlds.random_people(problem, seed, 4)
    model = three_classes(problem, seed)
    recourse = Recourse(problem, model)
    states = problem.read(table).states
    bests = [brute_force(problem, model, state) for state in states]
    plans = recourse.recommend(table, "exact", target="fair")
    everybody = recourse.recommend(table, "exact", target=["good", "fair", "bad", {"good", "bad"}][: len(table)])
    for row, best in enumerate(bests):
        if "fair" in best:
            assert plans[row].cost == pytest.approx(best["fair"])
            assert plans[row].optimal
        else:
            assert plans[row].status is Status.INFEASIBLE
        wanted = [best[name] for name in everybody.targets[row] if name in best]
        assert everybody[row].cost == pytest.approx(min(wanted)) if wanted else everybody[row].lower_bound is None


def test_targets_that_make_no_sense_are_refused() -> None:
    recourse, people = Recourse(GRADES, grades.model), PEOPLE.head(3)
    for wrong, message in [
        ("D", "'D' is not one of the problem's outcomes; they are A, B, C"),
        ("a", "did you mean 'A'"),
        ({"A", "B", "C"}, "has all outcomes"),
        (set(), "the target is empty"),
        (["A", "B"], "2 entries for 3 people"),
        (["A", None, "B"], "no entry for row 1"),
        (["A", ["B"], "C"], "one outcome, a set of outcomes"),
        (pd.DataFrame({"t": ["A"] * 3}), "cannot be a DataFrame"),
        (3.5, "'3.5' is not one"),
        ({"A": 1}, "cannot be a dict"),
    ]:
        with pytest.raises(SettingError, match=message):
            recourse.recommend(people, "exact", target=wrong)
    assert recourse.box.queries == 0
    with pytest.raises(SettingError, match="a planner object is for the favourable outcomes"):
        recourse.recommend(people, recourse.planner("exact"), target="A")
    with pytest.raises(SettingError, match=r"has a threshold of 0\.5"):
        Recourse(GRADES, BlackBox(grades.points, threshold=0.5)).recommend(people, "exact", target="A")
    score = Problem.from_dict(grades.GRADES | {"outcome": {"column": "grade", "favourable": {"at_least": 7}}})
    with pytest.raises(SettingError, match="this one is a score"):
        Recourse(score, grades.points).recommend(people, "exact", target="A")


def test_texts_name_the_outcome() -> None:
    plans = Recourse(GRADES, grades.model).recommend(PEOPLE, "exact", target=["A", "B", "C"] * 8)
    for plan in plans:
        (target,) = plan.target
        words = {
            Status.FOUND: f"would change the decision to {target} (",
            Status.ALREADY_FAVOURABLE: f"The decision is already {target}: nothing needs to change.",
            Status.INFEASIBLE: f"The decision is not {target} yet. No plan within the rules changes that",
        }
        assert words[plan.status] in str(plan)
        assert "Refused" not in str(plan)
        assert plan.status is not Status.FOUND or f"on 17 November 2026: {target}." in str(plan)
        assert "avourable" not in plan._repr_html_()
        assert f"target='{target}'" in repr(plan)
    assert {plan.status for plan in plans} == {Status.FOUND, Status.ALREADY_FAVOURABLE, Status.INFEASIBLE}
    rows = [next(row for row, plan in enumerate(plans) if plan.status is status) for status in words]
    found, already, infeasible = (plans[row].target[0] for row in rows)
    shown = plans.take(np.array(rows))._repr_html_()
    assert all(
        text in shown for text in (f"plan found to {found}", f"already {already}", f"no plan possible to {infeasible}")
    )
    several = Recourse(GRADES, grades.model).recommend(PEOPLE, "exact", target={"A", "C"})
    assert any("would change the decision to A or C" in str(plan) for plan in several)


def test_plans_with_targets_are_saved_and_loaded(tmp_path: Path) -> None:
    recourse = Recourse(GRADES, grades.model)
    plans = recourse.recommend(PEOPLE, "exact", target=["A", "B", {"A", "B"}] * 8)
    assert Plans.from_json(plans.to_json()) == plans
    for name in ("plans.json", "plans.parquet"):
        plans.save(tmp_path / name)
        loaded = Plans.load(tmp_path / name)
        assert loaded == plans
        assert loaded.targets == plans.targets
    frame = plans.to_frame()
    assert frame["target"].unique().tolist() == ["A", "B", "A or B"]
    assert ",target\n" in plans.to_csv()
    plain = recourse.recommend(PEOPLE, "exact")
    assert "target" not in plain.to_frame().columns
    assert '"target"' not in plain.to_json()
    mixed = Plans.join([plans, plain])
    assert mixed.targets == plans.targets + [()] * len(PEOPLE)
    assert mixed.to_frame()["target"].iloc[-1] == ""


def test_a_replay_notices_another_target() -> None:
    plans = Recourse(GRADES, grades.model).recommend(PEOPLE, "exact", target="B")
    data = json.loads(plans.to_json())
    for plan in data["plans"]:
        plan["target"] = ["C"]
    box = BlackBox(grades.model)
    outcomes = {plan.replay(GRADES, box).outcome for plan in Plans.from_json(json.dumps(data)) if plan.steps}
    assert outcomes == {"does not hold"}
    data["plans"][0]["target"] = ["Z"]
    assert not Plans.from_json(json.dumps(data))[0].replay(GRADES, box).checked


# Answers


def test_answers_are_saved_with_their_outcomes_and_serve_any_target(tmp_path: Path) -> None:
    recourse = Recourse(GRADES, grades.model, surrogate=_constant())
    recourse.recommend(PEOPLE, "exact", target="A")
    recourse.save(tmp_path)
    text = gzip.decompress((tmp_path / "answers.csv.gz").read_bytes()).decode()
    assert "counterplan: outcome" in text.splitlines()[1]
    again = Recourse.load(tmp_path, grades.model)
    again.recommend(PEOPLE, "exact", target=["A", "C"] * 12)
    again.recommend(PEOPLE, "exact")
    first = again.box.queries
    assert first < recourse.box.queries
    with again.recording_answers(tmp_path):
        again.recommend(PEOPLE, "exact", target="B")
    third = Recourse.load(tmp_path, grades.model)
    assert third.recommend(PEOPLE, "exact", target="B").queries == 0
    assert len(third.answers_) == len(again.answers_)
    assert third.answers_.favourable.tolist() == [outcome != "C" for outcome in third.answers_.outcomes]


def test_answers_of_earlier_versions_serve_the_favourable_outcomes(tmp_path: Path) -> None:
    recourse = Recourse(GRADES, grades.model, surrogate=_constant())
    recourse.recommend(PEOPLE, "exact")
    recourse.save(tmp_path)
    path = tmp_path / "answers.csv.gz"
    head, *rows = gzip.decompress(path.read_bytes()).decode().splitlines()
    path.write_bytes(gzip.compress("\n".join([head, *(row.rsplit(",", 1)[0] for row in rows), ""]).encode()))
    old = Recourse.load(tmp_path, grades.model)
    assert old.recommend(PEOPLE, "exact").queries == 0
    assert {*old.answers_.outcomes} == {None}
    fresh = Recourse(GRADES, grades.model).recommend(PEOPLE, "exact", target="A")
    targeted = old.recommend(PEOPLE, "exact", target="A")
    assert same(fresh, targeted)
    assert targeted.queries == fresh.queries


def test_files_of_two_outcomes_are_unchanged(tmp_path: Path) -> None:
    syn = benchmarks.load("syn")
    recourse = Recourse(syn.problem, syn.model, surrogate=_constant(syn.problem))
    recourse.recommend(syn.refused_test.head(3), "exact", target=[*syn.problem.outcome.favourable] * 3)
    recourse.save(tmp_path)
    header = gzip.decompress((tmp_path / "answers.csv.gz").read_bytes()).decode().splitlines()[1]
    assert header.endswith("counterplan: other columns,counterplan: favourable,counterplan: score")
    assert "heads" not in json.loads((tmp_path / "surrogate.json").read_text())
    assert not (tmp_path / TARGETS).exists()


def _constant(problem: Problem = GRADES) -> Surrogate:
    """A surrogate that knows nothing."""
    from counterplan.surrogate.fitting import fit

    states = np.zeros((2, len(problem.features)))
    return fit(problem, states, np.zeros(2, bool), FIT)


# Learning


@pytest.fixture(scope="module")
def fitted() -> Recourse:
    recourse = Recourse(GRADES, grades.model)
    return recourse.fit(grades.people(500), target=["A", "B"], settings=SMALL, quality=False)


def test_one_surrogate_knows_every_outcome(fitted: Recourse) -> None:
    surrogate = fitted.surrogate_
    assert surrogate is not None
    assert {*surrogate.targets} == {frozenset("AB"), frozenset("A"), frozenset("B"), frozenset("C")}
    table = grades.people(800, seed=9)
    states, labels = GRADES.read(table).states, grades.model(table)
    for target in ("A", "B", "C", {"A", "B"}):
        wanted = np.isin(labels, [*target])
        assert ((surrogate.logit(states, target) > 0) == wanted).mean() > 0.85, target
        assert surrogate(states, target).tolist() == surrogate.for_target(target)(states).tolist()
    assert surrogate.logit(states).tolist() == surrogate.logit(states, {"A", "B"}).tolist()
    with pytest.raises(NotFittedError, match=r"fitted for the targets A or B; A; B; C, not for A or C"):
        surrogate.logit(states, {"A", "C"})
    assert fitted.n_queries_["guided"] == fitted.box.queries


def test_guided_plans_reach_their_targets_near_the_least_cost(fitted: Recourse) -> None:
    people = grades.people(60, seed=5)
    for target in ("A", "B", "C"):
        guided = fitted.recommend(people, "guided", target=target)
        exact = Recourse(GRADES, grades.model).recommend(people, "exact", target=target)
        assert guided.queries < exact.queries / 3
        helped = [(g.cost, e.cost) for g, e in zip(guided, exact, strict=True) if e.steps and g.steps]
        assert len(helped) >= 0.9 * exact.counts["found"]
        assert sum(g for g, _ in helped) <= 1.15 * sum(e for _, e in helped) if helped else target == "C"


def test_there_is_one_program_for_each_target(fitted: Recourse, tmp_path: Path) -> None:
    train, people = grades.people(500), grades.people(40, seed=7)
    programs = {target: fitted.distil(train, target=target, traces=300, rounds=2) for target in ("A", "B")}
    assert fitted.program_ is None
    for target, program in programs.items():
        assert fitted.for_target(target).program_ is program
        assert program.problem.outcome.favourable == frozenset(target)
        assert program.model_card.favourable == (target,)
    assert "should be A now" in figure(programs["A"])
    assert '"goal":"B"' in to_html(programs["B"])
    alone = next(plan for plan in programs["B"].recommend(people) if plan.steps)
    assert "should change the decision to B" in str(alone)
    plans = fitted.recommend(people, "program", target=["A", "B"] * 20)
    held = [row for row, plan in enumerate(plans) if plan.steps]
    ends = pd.DataFrame([plans[row].steps[-1].after for row in held])
    assert (grades.model(ends) == np.array(["A", "B"] * 20)[held]).mean() > 0.6
    assert not plans.verified[held].any()
    cascade = fitted.recommend(people, "cascade", target=["A", "B"] * 20)
    assert cascade.verified[cascade.statuses == "found"].all()
    with pytest.raises(NotFittedError, match=r"requires a program.*The target is C; .*A \(surrogate, program\)"):
        fitted.recommend(people, "program", target="C")
    fitted.save(tmp_path)
    loaded = Recourse.load(tmp_path, grades.model)
    assert loaded.recommend(people, "program", target=["A", "B"] * 20).plans == plans.plans
    assert loaded.surrogate_ is not None
    assert loaded.surrogate_.targets == fitted.surrogate_.targets
    for target, program in programs.items():
        assert load_program(tmp_path, target=target).to_text() == program.to_text()
    with pytest.raises(StorageError, match="no program yet"):
        load_program(tmp_path, target="C")
    with pytest.raises(SettingError, match="save the one that it was made from"):
        loaded.for_target("A").save(tmp_path)
    reasons = loaded.explain(loaded.recommend(people, "exact", target=["A", "B"] * 20)).reasons
    assert reasons["rule"] > 0
    assert reasons["none"] == 0
    plain = Recourse(GRADES, grades.model)
    contrasts = plain.explain(plain.recommend(people, "exact", target="B"), ask=True)
    texts = [step.reason or "" for plan in contrasts for step in plan.steps]
    assert any("would still not be B" in text for text in texts)
    assert not any("favourable" in text for text in texts)


def test_an_agent_is_trained_for_one_target(tmp_path: Path) -> None:
    table = grades.people(300)
    refused = table[grades.model(table) != "A"]
    recourse = Recourse(GRADES, grades.model)
    recourse.fit(refused, target="A", method="search", settings=TRAINING)
    people = grades.people(12, seed=3)
    plans = recourse.recommend(people, "search", target="A")
    assert plans.counts["found"] > 0
    assert all(plan.replay(GRADES, BlackBox(grades.model)).ok for plan in plans if plan.verified)
    for name in ("search", "policy"):
        with pytest.raises(NotFittedError, match=r"requires an agent.*The target is B; learned was for .*A \(agent\)"):
            recourse.recommend(people, name, target="B")
    recourse.save(tmp_path)
    loaded = Recourse.load(tmp_path, grades.model)
    assert loaded.recommend(people, "search", target="A").plans == plans.plans
    agent = loaded.for_target("A").agent_
    with pytest.raises(SettingError, match="another problem"):
        SearchPlanner(GRADES, BlackBox(grades.model), agent)


def test_a_fit_with_targets_resumes_and_shares_its_budget(tmp_path: Path) -> None:
    table = grades.people(400)
    options = {"target": ["A", "C"], "settings": SMALL, "quality": False}
    whole = Recourse(GRADES, grades.model).fit_into(tmp_path / "whole", table, **options)
    assert sorted(path.name[0] for path in (tmp_path / "whole" / TARGETS).iterdir()) == ["A", "C"]

    def interrupt(report: object) -> None:
        nonlocal rounds
        rounds += 1
        if rounds == 2:
            raise KeyboardInterrupt

    rounds = 0
    with pytest.raises(KeyboardInterrupt):
        Recourse(GRADES, grades.model).fit_into(tmp_path / "half", table, progress=interrupt, **options)
    half = Recourse.resuming(tmp_path / "half", GRADES, grades.model, "guided")
    half.fit_into(tmp_path / "half", table, resume=True, **options)
    states = GRADES.read(table).states
    assert whole.surrogate_ is not None
    assert half.surrogate_ is not None
    for target in whole.surrogate_.targets:
        assert whole.surrogate_.logit(states, target).tolist() == half.surrogate_.logit(states, target).tolist()
    small = Recourse(GRADES, grades.model)
    small.fit(table, budget=300, **options)
    assert small.box.queries <= 300
    assert small.budget_spent_
    assert small.surrogate_ is not None
    assert len(small.surrogate_.targets) == 4


def test_another_fit_replaces_what_was_learned_for_targets(tmp_path: Path) -> None:
    table = grades.people(300)
    options = {"settings": SMALL, "quality": False}
    recourse = Recourse(GRADES, grades.model).fit_into(tmp_path, table, target=["A", {"A", "C"}], **options)
    recourse.distil(table, target="A", traces=150, rounds=1)
    recourse.save(tmp_path)
    folder = Workspace(tmp_path).for_target("A").folder
    assert {"learning.npz", "program.json"} <= {path.name for path in folder.iterdir()}
    changed = Recourse.load(tmp_path, grades.model, answers=False)
    changed.recommend(table.head(3), "exact", target="A")
    changed.save_answers(tmp_path)
    assert not any(path.name == "learning.npz" for path in folder.iterdir())
    loaded = Recourse.load(tmp_path, grades.model)
    assert loaded.surrogate_ is not None
    assert frozenset("AC") in loaded.surrogate_.targets
    loaded.fit(table, target="B", **options)
    assert loaded.for_target("A").program_ is None
    assert frozenset("AC") not in loaded.surrogate_.targets
    loaded.save(tmp_path)
    assert not (folder / "program.json").exists()
    with pytest.raises(NotFittedError, match="there is no surrogate for the target A or C"):
        loaded.distil(table, target={"A", "C"})
    loaded.fit(table, **options)
    assert loaded.surrogate_.heads == {}
    with pytest.raises(NotFittedError, match="The target is B"):
        loaded.recommend(table, "guided", target="B")


def test_a_surrogate_with_heads_serves_other_costs_and_refuses_damage(tmp_path: Path, fitted: Recourse) -> None:
    fitted.save(tmp_path)
    data = GRADES.to_dict()
    data["functions"]["EARN"]["cost"] = 1
    cheaper = Recourse.load(tmp_path, grades.model, problem=Problem.from_dict(data))
    plans = cheaper.recommend(PEOPLE, "guided", target="A")
    assert all(plan.replay(cheaper.problem, BlackBox(grades.model)).ok for plan in plans if plan.steps)
    surrogate = fitted.surrogate_
    assert surrogate is not None
    with pytest.raises(SettingError, match="belongs to another problem or target"):
        replace(surrogate, heads={frozenset("A"): surrogate.for_target("B")})
    for wrong in ([1], [{"target": "A"}], [{"target": ["Z"]}], [{"heads": []}], "A"):
        arrays, facts = to_arrays(surrogate)
        with pytest.raises((ValueError, KeyError, TypeError)):
            from_arrays(GRADES, arrays, facts | {"heads": wrong})


def test_people_without_anybody_to_learn_from_are_refused_with_the_target() -> None:
    table = grades.people(300)
    top = table[grades.model(table) == "A"]
    with pytest.raises(PeopleError, match="target A: nobody among"):
        Recourse(GRADES, grades.model).fit(top, target=["A"], settings=SMALL)
    with pytest.raises(SettingError, match="'target' is empty"):
        Recourse(GRADES, grades.model).fit(top, target=[], settings=SMALL)


def test_a_fit_without_a_target_is_as_before(fitted: Recourse) -> None:
    recourse = Recourse(GRADES, grades.model).fit(grades.people(300), settings=SMALL, quality=False)
    assert recourse.surrogate_ is not None
    assert recourse.surrogate_.heads == {}
    with pytest.raises(NotFittedError, match="The target is A"):
        recourse.recommend(PEOPLE, "guided", target="A")
    assert recourse.recommend(PEOPLE, target="A").counts["not_found"] == 0, "auto plans by exact search"


def test_the_other_one_of_two_outcomes_can_be_a_target() -> None:
    syn = benchmarks.load("syn")
    (favourable,) = syn.problem.outcome.favourable
    (other,) = {*syn.problem.outcome.values} - {favourable}
    granted = syn.test[syn.model.labels(syn.test) == favourable].head(5)
    recourse = Recourse(syn.problem, syn.model)
    recourse.fit(syn.train.head(400), target=[favourable, other], settings=SMALL, quality=False)
    assert recourse.surrogate_ is not None
    states = syn.problem.read(syn.test).states
    correct = (recourse.surrogate_.logit(states, other) > 0) == (syn.model.labels(syn.test) == other)
    assert correct.mean() > 0.7
    plans = recourse.recommend(granted, "guided", target=other)
    assert plans.counts["already_favourable"] == 0
    assert all(plan.replay(syn.problem, BlackBox(syn.model)).ok for plan in plans if plan.steps)


# Folders


def test_names_of_targets_are_safe_and_distinct(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    hostile = ["../../etc", "a/b", "a\\b", "", " ", ".", "..", "NUL", "A", "a", "Ä", "x" * 500, "a\n", "A,B", "*"]
    targets = [frozenset(group) for size in (1, 2) for group in combinations(hostile, size)]
    folders = [workspace.for_target(target).folder for target in targets]
    assert len({str(folder).casefold() for folder in folders}) == len(targets)
    for folder in folders:
        assert folder.parent == tmp_path / TARGETS
        assert len(folder.name) < 60
        assert folder.name.isascii()
        assert folder.name.replace("-", "").isalnum()
    for target in targets[:15]:
        workspace.create_for_target(target)
    assert {*workspace.targets(hostile)} == {*targets[:15]}
    assert workspace.targets(["A", "B"]) == [frozenset("A")]


def test_links_and_damaged_folders_of_targets_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / TARGETS).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StorageError, match="is a link"):
        Workspace(tmp_path / "one").for_target({"A"})
    assert Workspace(tmp_path / "one").targets(["A"]) == []
    workspace = Workspace(tmp_path / "two")
    folder = workspace.create_for_target({"A"}).folder
    (folder / "target.json").write_text('{"target": ["B"]}')
    assert workspace.targets(["A", "B"]) == []
    (folder / "target.json").write_text("[1]")
    assert workspace.targets(["A", "B"]) == []


def test_quick_settings_reach_targets() -> None:
    with quick_fits():
        recourse = Recourse(GRADES, grades.model).fit(grades.people(300), target={"B"}, budget=400)
    assert recourse.for_target("B").quality_ is not None
    assert recourse.box.queries <= 400
