"""The evolutionary planner: what it finds, by which chance, and what it asks."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest

from counterplan import (
    BlackBox,
    EvolutionPlanner,
    EvolutionSettings,
    ExactPlanner,
    Problem,
    Recourse,
    SettingError,
    Status,
    benchmarks,
)
from counterplan.benchmarks import Benchmark
from counterplan.cli import main

TINY = EvolutionSettings(generations=8, population=40)


@pytest.fixture(scope="module", params=["german", "syn_long"])
def benchmark(request: pytest.FixtureRequest) -> Benchmark:
    return benchmarks.load(request.param)


# What is found


def test_the_best_plan_is_never_lost(benchmark: Benchmark) -> None:
    people = benchmark.refused_test.head(20)
    settings = EvolutionSettings(generations=15, population=40)
    planner = EvolutionPlanner(benchmark.problem, BlackBox(benchmark.model), settings=settings)
    plans = planner.plan(people, refused=True)
    best = planner.history_.best_cost
    assert best.shape == (20, 15)
    later = np.where(np.isinf(best[:, 1:]), 1e9, best[:, 1:])
    assert (later <= best[:, :-1]).all()
    assert (later < best[:, :-1]).any(axis=1).sum() > 3, "and it gets better"
    costs = [plan.cost if plan.status is Status.FOUND else math.inf for plan in plans]
    assert best[:, -1].tolist() == pytest.approx(costs)


def test_comes_near_the_least_effort(benchmark: Benchmark) -> None:
    people = benchmark.refused_test.head(12)
    exact = ExactPlanner(benchmark.problem, BlackBox(benchmark.model)).plan(people, refused=True)
    box = BlackBox(benchmark.model)
    ratios: dict[str, list[float]] = {}
    for preset in ("small", "large"):
        plans = EvolutionPlanner(benchmark.problem, box, settings=preset).plan(people, refused=True)
        ratios[preset] = [a.cost / b.cost for a, b in zip(plans, exact, strict=True) if a.status is Status.FOUND]
        assert min(ratios[preset]) >= 1 - 1e-9
    assert len(ratios["large"]) >= 9
    assert np.mean(ratios["large"]) < 1.1
    assert len(ratios["small"]) <= len(ratios["large"])


# Chance and questions


def test_the_seed_decides_and_nobody_else_does(benchmark: Benchmark) -> None:
    people = benchmark.refused_test.head(8)

    def plan(some: pd.DataFrame, seed: int, **how: int) -> list[dict[str, Any]]:
        settings = EvolutionSettings(generations=8, population=40, **how)
        planner = EvolutionPlanner(benchmark.problem, BlackBox(benchmark.model), settings=settings, seed=seed)
        return [(plan.actions, plan.queries) for plan in planner.plan(some, budget=30)]

    once = plan(people, 0)
    assert plan(people, 0) == once
    assert plan(people, 1) != once
    assert plan(people, 0, batch_size=3) == once
    assert plan(people.iloc[::-1], 0) == once[::-1]
    assert plan(pd.concat([people, people]), 0) == once * 2


def test_questions_are_told_generation_by_generation(benchmark: Benchmark) -> None:
    people = benchmark.refused_test.head(10)
    box = BlackBox(benchmark.model)
    planner = EvolutionPlanner(benchmark.problem, box, settings=TINY)
    assert planner.repeated_queries == 0
    plans = planner.plan(people, refused=True)
    history = planner.history_
    assert planner.repeated_queries == history.evaluated.sum() - history.queries.sum() > 0
    assert history.model_rows.sum() == box.queries == plans.queries > 0
    assert history.queries.sum(axis=1).tolist() == [plan.queries for plan in plans]
    assert (history.queries <= history.evaluated).all()
    assert history.evaluated.max() <= TINY.population
    assert (history.feasible.sum(axis=1) > 0).tolist() == [plan.status is Status.FOUND for plan in plans]
    planner.plan(people, refused=True)
    assert planner.history_.model_rows.sum() == 0, "everything is remembered"
    assert (planner.history_.queries == history.queries).all()


def test_budgets_are_kept_person_by_person_and_in_all(benchmark: Benchmark) -> None:
    people = benchmark.refused_test.head(10)
    planner = EvolutionPlanner(benchmark.problem, BlackBox(benchmark.model), settings=TINY)
    plans = planner.plan(people, refused=True, budget=7)
    assert max(plan.queries for plan in plans) == 7
    assert all(plan.replay(benchmark.problem, BlackBox(benchmark.model)).ok for plan in plans)
    box = BlackBox(benchmark.model, budget=25)
    plans = EvolutionPlanner(benchmark.problem, box, settings=TINY).plan(people, refused=True)
    assert box.queries == 25
    assert sum(plan.queries for plan in plans) == 25
    assert all(plan.replay(benchmark.problem, BlackBox(benchmark.model)).ok for plan in plans)


def test_no_plan_is_longer_than_the_problem_allows() -> None:
    benchmark = benchmarks.load("german")
    short = Problem.from_dict(benchmark.problem.to_dict() | {"max_actions": 1})
    plans = EvolutionPlanner(short, BlackBox(benchmark.model), settings=TINY).plan(benchmark.refused_test.head(30))
    assert {len(plan.steps) for plan in plans} == {0, 1}


# Doors


def test_by_name_at_the_front_door_and_on_the_command_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    benchmark = benchmarks.load("german")
    recourse = Recourse(benchmark.problem, benchmark.model)
    people = benchmark.refused_test.head(2)
    plans = recourse.recommend(people, planner="evolution")
    monkeypatch.setattr(sys, "argv", ["counterplan", "recommend", "german", "--planner", "evolution", "--limit", "2"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert not stop.value.code
    told = capsys.readouterr().out
    for plan in plans:
        assert plan.status is Status.FOUND
        assert f"effort {plan.cost:.1f}" in told
    with pytest.raises(SettingError, match="not to 'evolution'"):
        recourse.planner("evolution", price=1)


def test_senseless_settings_are_refused() -> None:
    for wrong in ({"generations": 0}, {"population": 2.5}, {"batch_size": True}, {"bias": 1.1}, {"offspring": "many"}):
        with pytest.raises(SettingError, match=f"'{next(iter(wrong))}' must be a"):
            EvolutionSettings(**wrong)
    assert EvolutionSettings.preset("large") == EvolutionSettings(50, 200)
    assert EvolutionSettings.preset("small") == EvolutionSettings(25, 100)
    benchmark = benchmarks.load("german")
    with pytest.raises(SettingError, match="there are large and small"):
        EvolutionPlanner(benchmark.problem, benchmark.model, settings="huge")
    with pytest.raises(SettingError, match="'seed' must be an integer"):
        EvolutionPlanner(benchmark.problem, benchmark.model, seed=-1)


def test_without_pymoo_the_way_out_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pymoo.util.nds.non_dominated_sorting", None)
    benchmark = benchmarks.load("german")
    with pytest.raises(SettingError, match=r"requires pymoo: pip install 'counterplan\[experiments\]'"):
        EvolutionPlanner(benchmark.problem, benchmark.model)
    monkeypatch.setattr(sys, "argv", ["counterplan", "recommend", "german", "--planner", "evolution", "--limit", "1"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    assert "counterplan[experiments]" in capsys.readouterr().err
