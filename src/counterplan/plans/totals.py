"""Totals of plans: costs and durations."""

from __future__ import annotations

import numpy as np

from counterplan.plans.distinct import distinct
from counterplan.plans.plan import total_cost, unweighted
from counterplan.plans.sources import PlanSource
from counterplan.plans.status import Status
from counterplan.problem.transitions import Floats


def total_durations(source: PlanSource) -> Floats:
    """[B] durations of plans: NaN for people without a plan or without durations."""
    times, columns = source.schedule, source.columns
    total = np.full(len(columns), np.nan) if times is None else times.makespan
    without = (Status.INFEASIBLE, Status.NOT_FOUND)
    total[np.fromiter((status in without for status in columns.status), bool, len(columns))] = np.nan
    return total


def total_costs(source: PlanSource) -> Floats:
    """[B] total costs: NaN for people without a plan, 0 if the decision is already favourable."""
    columns = source.columns
    codes, first = distinct(np.zeros(len(columns)), *source.step_costs.T)
    total = np.array([total_cost(costs) for costs in source.step_costs[first].tolist()], float)[codes]
    without = (Status.INFEASIBLE, Status.NOT_FOUND)
    total[np.fromiter((status in without for status in columns.status), bool, len(columns))] = np.nan
    return total


def unweighted_costs(source: PlanSource, weights: Floats) -> Floats:
    """[B] total costs without the `weights` [B, T] of steps."""
    codes, first = distinct(np.zeros(len(weights)), *source.step_costs.T, *weights.T)
    pairs = zip(source.step_costs[first].tolist(), weights[first].tolist(), strict=True)
    total = [total_cost([*map(unweighted, costs, own)]) for costs, own in pairs]
    return np.array(total, float)[codes]
