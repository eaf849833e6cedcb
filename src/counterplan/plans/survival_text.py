"""The chance that a plan holds when the model is trained again, in words for the people who get the plan."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from counterplan.plans.robustness import Robustness, SurvivalBasis
from counterplan.problem.values import describe_target

if TYPE_CHECKING:
    from counterplan.plans.plan import Plan

NEARLY_ALL = 0.95
"""Chance from which on "nearly all" retrained models agree."""
NOT_LASTING = "It was not planned to last: this way of planning cannot do that."
"""Sentence on plans of planners that do not plan for survival, although it was required."""


def survival_text(plan: Plan) -> str:
    """The chance that a plan with steps holds when the model is trained again; empty if nothing is known about it."""
    return "" if plan.robustness is None else " ".join(_sentences(plan, plan.robustness))


def _sentences(plan: Plan, robustness: Robustness) -> Iterator[str]:
    basis = robustness.basis
    if robustness.survival is not None:
        yield _own_chance(plan, robustness.survival, basis)
        yield from _comparison(plan, robustness)
    elif basis is not None and basis.reason:
        yield basis.reason
    if basis is not None and basis.ignored:
        yield NOT_LASTING
    elif basis is not None and robustness.met is False and basis.at_least is not None:
        wanted = _wanted(basis.at_least)
        if robustness.proved:
            yield f"No plan within the rules reaches {wanted}; this one is the best there is."
        else:
            yield f"No plan was found that reaches {wanted}."
    if robustness.judged:
        models = "model" if robustness.judged == 1 else "models"
        yield f"Held in {robustness.held:,} of {robustness.judged:,} retrained {models}."


def _own_chance(plan: Plan, survival: float, basis: SurvivalBasis | None) -> str:
    """The decision today, if it is known, and the chance that it remains."""
    answer = describe_target(plan.target) if plan.target else "yes"
    share = share_of_models(survival)
    share = f"only {share}" if survival < 0.5 and share.startswith("about") else share
    share = f"judging by its score alone, {share}" if basis is not None and basis.source == "margin" else share
    share = f"{share[0].upper()}{share[1:]}"
    short = ", counting that you may fall a little short" if basis is not None and basis.execution else ""
    if plan.verified:
        return f"Today's model says {answer}. {share} retrained models would too{short}."
    return f"{share} retrained models would say {answer}{short}."


def _comparison(plan: Plan, robustness: Robustness) -> Iterator[str]:
    """The cheapest plan, if it takes less effort."""
    if robustness.cheapest_cost is None:
        return
    least, effort = _effort(robustness.cheapest_cost), _effort(plan.cost)
    if robustness.cheapest_cost >= plan.cost or least == effort:
        return
    takes = f"takes {least}" if robustness.cheapest_verified else f"would probably take about {least}"
    sentence = f"The cheapest plan {takes} instead of {effort}"
    if robustness.survival is None or robustness.cheapest_survival is None:
        yield f"{sentence}."
        return
    share = share_of_models(robustness.cheapest_survival)
    fewer = robustness.cheapest_survival < robustness.survival
    if share == share_of_models(robustness.survival):
        yield f"{sentence}, {'but a little fewer' if fewer else 'and as many'} would."
        return
    only = "only " if share.startswith("about") else ""
    yield f"{sentence}, {f'but {only}' if fewer else 'and '}{share} would."


def share_of_models(chance: float) -> str:
    """A chance as a share, rounded down to tenths: "about 8 in 10"."""
    if chance >= NEARLY_ALL:
        return "nearly all"
    tenths = math.floor(chance * 10 + 1e-9)
    return f"about {tenths} in 10" if tenths else "fewer than 1 in 10"


def _wanted(at_least: float) -> str:
    """A required chance: "8 in 10", "85 in 100"."""
    for of in (10, 100, 1000):
        if math.isclose(count := round(at_least * of), at_least * of, abs_tol=1e-9):
            return f"{count} in {of}"
    return f"a chance of {at_least:g}"


def _effort(cost: float) -> str:
    """An effort without superfluous digits: "9", "9.5"."""
    return f"{cost:.1f}".removesuffix(".0")
