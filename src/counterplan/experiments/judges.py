"""Plans judged by retrained models: planning by the committee and by the judges themselves, with several weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from counterplan.benchmarks import VARIATIONS, Benchmark, retrained
from counterplan.benchmarks.models import TrainedModel
from counterplan.blackbox import BlackBox
from counterplan.experiments.context import PEOPLE, CellRecord, Context
from counterplan.experiments.frontier import ACCEPTED, ORACLE
from counterplan.experiments.methods import SURROGATE
from counterplan.planners import ExactPlanner
from counterplan.plans import Plans, Status
from counterplan.problem import People, Problem
from counterplan.problem.transitions import Floats, Ints
from counterplan.survival.estimator import Source, SurvivalEstimator


class JudgeOracle(SurvivalEstimator):
    """The share of the judges themselves that are favourable: an upper limit for every estimate.

    Parameters
    ----------
    judges : sequence of TrainedModel
    """

    source: ClassVar[Source] = "refits"
    portable = False

    def __init__(self, judges: Sequence[TrainedModel]) -> None:
        self._judges = judges

    def chance(self, problem: Problem, people: People, states: Floats, rows: Ints) -> Floats:
        """See `SurvivalEstimator.chance`."""
        return share_of_judges(self._judges, states)


def share_of_judges(judges: Sequence[TrainedModel], states: Floats) -> Floats:
    """Share [n] of `judges` that are favourable to `states` [n, F]."""
    if not len(states):
        return np.empty(0)
    return np.asarray(np.mean([judge.favourable(states) for judge in judges], axis=0))


def judges_of(benchmark: Benchmark, number: int) -> list[TrainedModel]:
    """Retrained models, `number` of each variation, except those that equal the benchmark's model."""
    models = [retrained(benchmark, variation, one) for variation in VARIATIONS for one in range(number)]
    return [model for model in models if model.name != benchmark.model.name]


def judge_plans(context: Context, record: CellRecord) -> None:
    """Record how plans of exact search hold under judges, by estimate and weight of survival, and accepted people."""
    benchmark = context.benchmark
    judges = judges_of(benchmark, context.settings.judges)
    least: dict[int, float] = {}
    for estimator in (context.load(SURROGATE).survival_, JudgeOracle(judges)):
        method = ORACLE if isinstance(estimator, JudgeOracle) else estimator.source
        for weight in context.settings.weights if method else ():
            planner = ExactPlanner(benchmark.problem, BlackBox(benchmark.model))
            planner.survival = estimator
            plans = planner.plan(context.people, refused=True, survival=weight)
            if not least:
                cheapest = plans if not weight else planner.plan(context.people, refused=True)
                least = {row: plan.cost for row, plan in enumerate(cheapest) if plan.status is Status.FOUND}
            head = context.head | {"method": method, "value": weight}
            record.survival += _rows(head, plans, judges, least)
    states = benchmark.problem.read(benchmark.test).states
    accepted = states[benchmark.model.favourable(states)][: context.settings.people or PEOPLE]
    for person, share in enumerate(share_of_judges(judges, accepted)):
        record.survival.append(
            context.head
            | {"person": person, "method": ACCEPTED, "held": round(share * len(judges)), "judged": len(judges)}
        )


def _rows(
    head: dict[str, Any], plans: Plans, judges: Sequence[TrainedModel], least: dict[int, float]
) -> list[dict[str, Any]]:
    """A row for each person; without a plan, none of the judges is favourable."""
    report = plans.survival(judges)
    return [
        head
        | {"person": plan.person, "held": int(held), "judged": int(judged), "least_effort": least.get(row)}
        | {"cost": plan.cost if plan.status is Status.FOUND else None, "stated": _rounded(plan.survival)}
        for row, (plan, held, judged) in enumerate(zip(plans, report.held, report.checked, strict=True))
    ]


def _rounded(chance: float | None) -> float | None:
    return None if chance is None else round(chance, 9)
