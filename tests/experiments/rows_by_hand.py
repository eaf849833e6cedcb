"""Rows written by hand, small enough to compute every statistic on paper, and settings for a quick run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd

from counterplan.agent import NetworkConfig
from counterplan.agent.training_settings import TrainingSettings
from counterplan.experiments.rows import ExperimentRows
from counterplan.experiments.settings import ExperimentSettings
from counterplan.surrogate.active_learning import LearningSettings
from quick import FIT, SCORE_FIT, TRAINING

TINY = ExperimentSettings(
    people=6,
    training=replace(TRAINING, people=60, min_people=60, validation=8, validate_every=2),
    paper=replace(
        TrainingSettings.preset("paper"), people=60, min_people=60, first_people=60, validation=8, passes=2,
        gradient_steps=6, batch_size=32, network=NetworkConfig(16, 16, numbers=False),
    ),
    learning=LearningSettings(
        people=80, plans=80, validation=8, rounds=1, budget=400,
        fit=replace(FIT, steps=100, refit_steps=50, forests=1), score_fit=replace(SCORE_FIT, forests=1),
    ),
    program_people=60,
    program_rounds=1,
    imitated=20,
    traces=(10, 30),
    large=(4, 20),
    small=(2, 10),
    guided_budgets=((0, 0.015), (2, 0.015)),
    search_budgets=(1, 3),
    exact_budgets=(1, 20),
    judges=1,
    weights=(0, 4),
    alone=1,
)  # fmt: skip


def result(person: int, method: str, cost: float | None = None, **more: Any) -> dict[str, Any]:
    """A row of results: with a cost, the plan holds."""
    row: dict[str, Any] = {
        "benchmark": "german", "seed": 0, "person": person, "method": method, "success": cost is not None,
        "outcome": "refused" if cost is None else "holds", "cost": cost, "length": 1,
        "questions": 0 if method == "program" else 2,
        "rule_length": None, "actions": "CHANGE_JOB=skilled",
    }  # fmt: skip
    return row | more


def by_hand() -> ExperimentRows:
    """Two seeds of three and two people; of four feasible people search solves three, CSCF two, the program one."""
    none = {"outcome": "proved_none", "length": 0, "actions": ""}
    two = "CHANGE_JOB=skilled; CHANGE_HOUSING=own"
    results = [
        result(0, "exact", 10.0), result(1, "exact", 20.0), result(2, "exact", None, **none),
        result(0, "exact", 5.0, seed=1), result(1, "exact", 8.0, seed=1),
        result(0, "search", 10.0), result(1, "search", 30.0, length=2, actions=two),
        result(2, "search", None, outcome="no_plan", length=0, actions="", questions=9),
        result(0, "search", 5.0, seed=1), result(1, "search", None, seed=1),
        result(0, "evolution", 20.0), result(1, "evolution"), result(2, "evolution"),
        result(0, "evolution", 10.0, seed=1), result(1, "evolution", seed=1, outcome="illegal"),
        result(0, "program", 15.0, rule_length=2.0), result(1, "program", None, rule_length=4.0, length=3),
        result(2, "program", None, rule_length=1.0),
        result(0, "program", None, seed=1, rule_length=3.0), result(1, "program", None, seed=1, rule_length=3.0),
    ]  # fmt: skip
    curves = [
        result(0, "paper_program", 15.0, knob="traces", value=100, rule_length=2.0),
        result(1, "paper_program", 20.0, knob="traces", value=100, rule_length=2.0),
        result(0, "guided", 10.0, knob="budget", value=3),
    ]  # fmt: skip
    questions = [
        queried("exact", "prediction", 300, 3), queried("exact", "prediction", 100, 2, seed=1),
        queried("search", "prediction", 9, 3), queried("search", "prediction", 2, 2, seed=1),
        queried("evolution", "prediction", 600, 3), queried("evolution", "prediction", 200, 2, seed=1),
        queried("program", "prediction", 0, 3), queried("program", "prediction", 0, 2, seed=1),
        queried("agent", "training", 1_000), queried("agent", "training", 3_000, seed=1),
        queried("surrogate", "training", 500), queried("surrogate", "training", 700, seed=1),
        queried("program", "distillation", 0), queried("program", "trial", 40),
        queried("guided", "prediction", 6, 3, knob="budget", value=3),
    ]  # fmt: skip
    timing = [
        timed("exact", "prediction", 0.3, 3), timed("search", "prediction", 0.6, 3), timed("agent", "training", 20.0),
        timed("evolution", "prediction", 3.0, 3), timed("evolution", "one person", 2.0, 1),
        timed("surrogate", "training", 5.0), timed("program", "distillation", 7.0),
    ]  # fmt: skip
    people = [
        {"benchmark": "german", "seed": seed, "person": person, "feature": "sex", "group": group}
        for seed, person, group in ((0, 0, "female"), (0, 1, "male"), (0, 2, "male"), (1, 0, "female"), (1, 1, "male"))
    ]
    dataset = {
        "benchmark": "german", "rows": 1_000, "favourable": 600, "unfavourable": 400, "features": 9,
        "binary_features": 44, "functions": 7, "accuracy": 0.7,
    }  # fmt: skip
    datasets = [
        dataset | {"seed": 0, "refused": 3, "reachable": 2 / 3, "unreachable": 1, "optimal_cost": 15.0,
                   "optimal_length": 1.0, "shortest": 1, "longest": 1},
        dataset | {"seed": 1, "refused": 2, "reachable": 1.0, "unreachable": 0, "optimal_cost": 6.5,
                   "optimal_length": 1.0, "shortest": 1, "longest": 1},
    ]  # fmt: skip
    programs = [
        {"benchmark": "german", "seed": 0, "method": "program", "traces": None, "got": None, "leaves": 12},
        {"benchmark": "german", "seed": 0, "method": "paper_program", "traces": 100, "got": 100, "leaves": 50},
    ]
    record = {"results": results, "curves": curves, "questions": questions, "timing": timing, "people": people}
    record["survival"] = judged_by_hand()
    return ExperimentRows.collected([record, {"datasets": datasets, "programs": programs}])


def judged_by_hand() -> list[dict[str, Any]]:
    """Of four judges, the cheapest plans convince one or two, balanced ones three at twice the cost, or all four."""
    outcomes = {("committee", 0): (10.0, 0.5, 1), ("committee", 4): (20.0, 0.8, 3), ("oracle", 0): (10.0, 0.25, 1),
                ("oracle", 4): (15.0, 1.0, 4)}  # fmt: skip
    rows = [
        {"benchmark": "german", "seed": seed, "person": person, "method": method, "value": weight, "cost": cost,
         "least_effort": 10.0, "stated": stated, "held": held + (weight == 0) * person, "judged": 4}
        for (method, weight), (cost, stated, held) in outcomes.items() for seed in (0, 1) for person in (0, 1)
    ]  # fmt: skip
    infeasible = {"person": 2, "cost": None, "least_effort": None, "stated": None, "held": 0}
    accepted = {"benchmark": "german", "person": 0, "method": "accepted", "judged": 4}
    return [
        *rows, *(rows[0] | infeasible | {"method": method, "value": weight} for method, weight in outcomes),
        accepted | {"seed": 0, "held": 3}, accepted | {"seed": 1, "held": 4},
    ]  # fmt: skip


def with_paper() -> ExperimentRows:
    """The rows by hand with one seed of the paper's methods: all solve person 0, but the agent without search none."""
    plan = {"outcome": "refused", "success": False}
    results = [
        *(result(person, method, cost) for method, cost in PAPER_COSTS.items() for person in (0,)),
        *(result(person, method) | plan for method in PAPER_COSTS for person in (1, 2)),
        *(result(person, "unsearched") | plan for person in (0, 1, 2)),
    ]
    questions = [
        queried("paper-agent", "training", 40_000), queried("unsearched-agent", "training", 30_000),
        queried("imitation", "distillation", 6_000), queried("paper_program", "prediction", 0, 3),
        queried("paper_search", "prediction", 60, 3),
        queried("imitation", "distillation", 2_500, knob="traces", value=100),
    ]  # fmt: skip
    rows, more = by_hand(), ExperimentRows.collected([{"results": results, "questions": questions}])
    exact = rows.results[rows.results["method"] == "exact"].set_index(["seed", "person"])
    keys = list(zip(more.results["seed"], more.results["person"], strict=True))
    for column in ("reachable", "least_effort"):
        more.results[column] = exact.loc[keys, column].to_numpy()
    return replace(
        rows,
        results=pd.concat([rows.results, more.results], ignore_index=True),
        queries=pd.concat([rows.queries, more.queries], ignore_index=True),
    )


PAPER_COSTS = {"paper_search": 12.0, "paper_program": 15.0, "evolution_small": 20.0, "paper_policy": 10.0}


def queried(method: str, phase: str, rows: int, people: int | None = None, **more: Any) -> dict[str, Any]:
    """A row of queries."""
    row = {"benchmark": "german", "seed": 0, "method": method, "phase": phase, "rows": rows, "people": people}
    return row | {"knob": "", "remembered": 0} | more


def timed(method: str, phase: str, seconds: float, people: int | None = None) -> dict[str, Any]:
    """A row of times."""
    row = {"benchmark": "german", "seed": 0, "method": method, "phase": phase, "people": people}
    return row | {"cpu_seconds": seconds, "wall_seconds": seconds}
