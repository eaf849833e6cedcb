"""`Plan`: a recommended sequence of actions for one person, and its parts."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from counterplan.errors import PlanError
from counterplan.plans.constraints import Constraints
from counterplan.plans.html import plan_html
from counterplan.plans.plan_plot import draw_plan
from counterplan.plans.replay import Replay, replay
from counterplan.plans.robustness import Check, Robustness
from counterplan.plans.status import Status
from counterplan.plans.text import plan_text
from counterplan.problem.dtypes import Schema
from counterplan.problem.values import Native, describe_target, text_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from counterplan.blackbox import BlackBox
    from counterplan.problem import Problem


@dataclass(frozen=True)
class Reason:
    """Machine-readable reason for a step.

    Parameters
    ----------
    source : {"rule", "card", "points", "contrast"}
        A rule of a program, the points of a card, points that were fitted for this person, or a comparison with the
        plan without the step.
    rule : str
        The rule in the language of conditions: `income < 50000 and housing in ['rent']`. Empty for other sources.
    conditions : tuple of dict
        The same as data, one entry for each feature, followed by the actions that were not legal, which the language
        of conditions cannot express. For points and a contrast: the facts that the sentence states.
    points : int, optional
        Points of the step, which those of the other steps add up to the points of the plan; None for other sources.
    needed : int, optional
        Points that a favourable decision takes, counted from the person as they are; None for other sources.

    Examples
    --------
    >>> from counterplan import Recourse, benchmarks
    >>> german = benchmarks.load("german")
    >>> recourse = Recourse(german.problem, german.model)
    >>> plans = recourse.explain(recourse.recommend(german.refused_test.head(1), "exact"))
    >>> plans[0].steps[0].because.source
    'contrast'
    >>> plans[0].steps[0].reason
    'without it the decision would still be unfavourable'
    """

    source: Literal["rule", "card", "points", "contrast"]
    rule: str = ""
    conditions: tuple[dict[str, Any], ...] = ()
    points: int | None = None
    needed: int | None = None


_OF_PERSON = ("person", "start", "target", "constraints")
"""Fields of plans that related plans have in common."""
RelatedKind = Literal["front", "alternatives"]
"""How other plans for the same person are related to a plan."""
StepReason = tuple[str | None, Reason | None]
"""Reason for a step as a sentence and as data."""


@dataclass(frozen=True, repr=False)
class Step:
    """One action of a plan.

    Parameters
    ----------
    function : str
        Name of the function.
    argument : bool, int, float or str
        Its argument, as tables of people write it.
    cost : float
        Cost of the action in the state `before`, including `weight`.
    text : str
        The action in words.
    before, after : dict
        States before and after the action, by feature name; None is a missing value.
    reason : str, optional
        Reason for the step as a sentence.
    because : Reason, optional
        The same reason as data.
    weight : float, default=1.0
        Factor by which this person's cost weights multiply the cost that the problem defines.
    start, duration : float, optional
        When the step can start at the earliest, counted from the start of the plan, and how long it takes, in the
        unit of the plan; None if the problem has no durations.

    Examples
    --------
    >>> from counterplan import ExactPlanner, benchmarks
    >>> german = benchmarks.load("german")
    >>> planner = ExactPlanner(german.problem, german.model)
    >>> plan = planner.plan(german.refused_test.head(1))[0]
    >>> plan.steps
    (Step('CHANGE_PURPOSE=vacation/others', cost=10),)
    >>> plan.steps[0].before["purpose"], plan.steps[0].after["purpose"], plan.steps[0].cost
    ('education', 'vacation/others', 10.0)
    """

    function: str
    argument: Native
    cost: float
    text: str
    before: dict[str, Native | None]
    after: dict[str, Native | None]
    reason: str | None = None
    because: Reason | None = None
    weight: float = 1.0
    start: float | None = None
    duration: float | None = None

    def __post_init__(self) -> None:
        if not 0 < self.weight < math.inf:
            raise PlanError(f"the weight of step {self.action} should be positive and finite, not {self.weight!r}")
        if (self.start is None) != (self.duration is None):
            raise PlanError(f"step {self.action} should have both a start and a duration, or neither")
        for name in ("start", "duration"):
            number = getattr(self, name)
            if number is not None and not 0 <= number < math.inf:
                raise PlanError(f"the {name} of step {self.action} should be zero or more and finite, not {number!r}")

    @property
    def action(self) -> str:
        """The action as `FUNCTION=argument`."""
        return f"{self.function}={text_of(self.argument)}"

    def __repr__(self) -> str:
        return f"Step({self.action!r}, cost={self.cost:g})"


@dataclass(frozen=True)
class PlanOption:
    """Something else that would do: other actions than those of the plan, for the same person.

    Parameters
    ----------
    actions : tuple of str
        The actions in order, as `FUNCTION=argument`.
    text : str
        The same in words.
    cost : float
        Their total cost, with the person's cost weights.
    points : int
        Their points; see `Reason.points`.
    checked : bool
        True if the model was queried about the final state and found it favourable. False if it was not queried, and
        a favourable decision is likely: at least 125 points, and a predicted chance of 95 % or more.
    """

    actions: tuple[str, ...]
    text: str
    cost: float
    points: int
    checked: bool


@dataclass(frozen=True, repr=False)
class Plan:
    """Actions, in order, that turn an unfavourable decision into a favourable one for one person.

    `print(plan)` shows the plan in plain words; a notebook shows it as a timeline.

    Parameters
    ----------
    person : int or str
        Index label of the person in the table.
    status : Status
        Outcome of the search.
    start : dict
        Initial state, by feature name.
    steps : tuple of Step
        The actions, without the final STOP. Not empty if and only if `status` is `Status.FOUND`.
    verified : bool
        Whether the black box was queried about the final state and found it favourable.
    optimal : bool
        Whether it is proved that no legal plan costs less.
    lower_bound : float, optional
        Proved lower bound on the cost of any plan; None if it is proved that no plan exists.
    queries : int
        States of this person that the black box was queried about, including answers from its cache.
    row : tuple of (column, value) pairs
        The person as in the table, with columns that are not features: models may need them.
    caution : str
        Sentence about the limits of a plan, such as that it ignores cost weights; empty if there is none.
    dtypes : tuple of (column, dtype) pairs
        The dtypes of the columns in `row` as plain data, with the categories of categorical ones, so that `replay`
        queries the model with the types that it expects. Empty if they are not known, as in files before version 0.3.
    target : tuple of str
        The outcomes any of which the plan is to reach; empty for the favourable ones of the problem. The status
        "already favourable" and everything else refers to these outcomes.
    robustness : Robustness, optional
        The chance that the plan holds when the model is trained again; None if nothing is known about it.
    check : Check, optional
        The model that a verified plan was checked with, and when; None in files before version 0.3.
    options : tuple of PlanOption
        Up to three cheaper or different changes that would do, too; empty unless the plan was explained by points.
    time_unit : str
        The unit of durations, in the plural; empty if the problem has none.
    deadline : float, optional
        Longest duration that was searched for; None for any. What is said to be optimal or infeasible refers to plans
        within it.
    constraints : Constraints, optional
        What was ruled out for the person, and the person's weights; None if there is nothing of either. What is said to
        be optimal or infeasible refers to plans within them.
    related : dict of str to tuple of Plan
        Other plans for the same person, by how they are related to this one. A key without plans means that they were
        searched for and that there are none. Related plans have no related plans themselves.

    Raises
    ------
    PlanError
        If `status` and `steps` contradict each other, or a related plan is not one of the same person.

    Examples
    --------
    >>> from counterplan import ExactPlanner, benchmarks
    >>> german = benchmarks.load("german")
    >>> planner = ExactPlanner(german.problem, german.model)
    >>> plan = planner.plan(german.refused_test.head(1))[0]
    >>> plan
    Plan(person=0, status='found', actions=['CHANGE_PURPOSE=vacation/others'], cost=10, duration=1, verified, optimal)
    >>> plan.cost, plan.duration, plan.time_unit
    (10.0, 1.0, 'months')
    """

    person: int | str
    status: Status
    start: dict[str, Native | None]
    steps: tuple[Step, ...] = ()
    verified: bool = False
    optimal: bool = False
    lower_bound: float | None = None
    queries: int = 0
    row: tuple[tuple[int | str, Any], ...] = ()
    caution: str = ""
    dtypes: Schema = ()
    target: tuple[str, ...] = ()
    robustness: Robustness | None = None
    check: Check | None = None
    options: tuple[PlanOption, ...] = ()
    time_unit: str = ""
    deadline: float | None = None
    constraints: Constraints | None = None
    related: dict[RelatedKind, tuple[Plan, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if (self.status is Status.FOUND) != bool(self.steps):
            raise PlanError(f"a plan with status {self.status} and {len(self.steps)} steps contradicts itself")
        for kind, plans in self.related.items():
            same = all(getattr(plan, name) == getattr(self, name) for plan in plans for name in _OF_PERSON)
            if not same or any(plan.related for plan in plans):
                raise PlanError(
                    f"related.{kind}: plans related to one of person {self.person!r} should start where it does, be "
                    "for the same target and with the same constraints, and have no related plans themselves"
                )

    @property
    def cost(self) -> float:
        """Total cost of the steps: 0 if the decision is already favourable, NaN if there is no plan."""
        if self.status in (Status.INFEASIBLE, Status.NOT_FOUND):
            return math.nan
        return total_cost([step.cost for step in self.steps])

    @property
    def unweighted_cost(self) -> float:
        """Total cost of the steps without the person's weights; NaN if there is no plan."""
        if self.status in (Status.INFEASIBLE, Status.NOT_FOUND):
            return math.nan
        return total_cost([unweighted(step.cost, step.weight) for step in self.steps])

    @property
    def alternatives(self) -> tuple[Plan, ...]:
        """Other plans for the same person, which use other functions; empty if there are none."""
        return self.related.get("alternatives", ())

    @property
    def duration(self) -> float | None:
        """How long the plan takes in `time_unit`, with steps side by side, and in the fastest order, where they can be.

        0 if the decision is already favourable, NaN if there is no plan, None if the problem has no durations.
        """
        if not self.time_unit:
            return None
        if self.status in (Status.INFEASIBLE, Status.NOT_FOUND):
            return math.nan
        ends = [round((step.start or 0.0) + (step.duration or 0.0), 6) for step in self.steps]
        return max(ends, default=0.0)

    @property
    def front(self) -> tuple[Plan, ...]:
        """All plans on the front of cost and duration, this one first: each costs more and is faster than the last.

        Empty unless it was searched for, with `pareto=True`, and a plan was found.
        """
        return (self, *self.related["front"]) if self.steps and "front" in self.related else ()

    @property
    def survival(self) -> float | None:
        """Stated chance that a retrained model finds the final state favourable; None if no chance is stated."""
        return None if self.robustness is None else self.robustness.survival

    @property
    def actions(self) -> list[str]:
        """The steps as `FUNCTION=argument`."""
        return [step.action for step in self.steps]

    def __str__(self) -> str:
        return plan_text(self)

    def __repr__(self) -> str:
        parts = [f"person={self.person!r}", f"status={self.status.value!r}"]
        parts += [f"target={describe_target(self.target)!r}"] if self.target else []
        if self.steps:
            parts += [f"actions={self.actions}", f"cost={self.cost:g}"]
            parts += [f"duration={self.duration:g}"] if self.time_unit else []
            parts += [name for name in ("verified", "optimal") if getattr(self, name)]
        return f"Plan({', '.join(parts)})"

    def _repr_html_(self) -> str:
        return plan_html(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the steps in plain words, in order, as bars.

        If the plan takes time, the bars show when each step starts and ends. Otherwise they show the cost of each
        step, and each bar starts where the previous one ends. If there are no steps, the axes show the sentence that
        `print(plan)` prints.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on. By default, a new figure is created.

        Returns
        -------
        matplotlib.axes.Axes
            The axes that were drawn on.

        Raises
        ------
        SettingError
            If matplotlib is not installed, or `ax` is not an Axes.

        See Also
        --------
        Plans.plot : Costs of the plans of many people, or shares by status.

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from counterplan import ExactPlanner, benchmarks
        >>> german = benchmarks.load("german")
        >>> planner = ExactPlanner(german.problem, german.model)
        >>> plans = planner.plan(german.refused_test.head(1))
        >>> ax = plans[0].plot(ax=Figure().subplots())
        >>> ax.get_xlabel()
        'months from now'
        """
        return draw_plan(self, ax)

    def replay(self, problem: Problem, box: BlackBox) -> Replay:
        """Check the plan again, step by step, and so the related plans: alternatives, and those on the front.

        Parameters
        ----------
        problem : Problem
            The problem that the plan was made for.
        box : BlackBox
            The model. One query about the final state of the plan and of each related plan, unless its cache holds
            the answer.

        Returns
        -------
        Replay
            The faults: illegal steps, wrong costs, times or states, a final state with another decision than claimed.
            Those of related plans begin with the place of the plan, such as `alternatives[0]`. A plan that could not
            be checked, for instance because the model failed, is neither right nor wrong: `checked` is False, and
            `outcome` is "could not be checked".

        Examples
        --------
        >>> from counterplan import BlackBox, ExactPlanner, benchmarks
        >>> german = benchmarks.load("german")
        >>> box = BlackBox(german.model)
        >>> plan = ExactPlanner(german.problem, box).plan(german.refused_test.head(1))[0]
        >>> plan.replay(german.problem, box).ok
        True
        >>> plan.replay(german.problem, BlackBox(german.model, threshold=0.9)).faults
        ('the black box does not find the final state favourable',)
        """
        return replay(self, problem, box)


def unweighted(cost: float, weight: float) -> float:
    """The cost of a step without its weight: the shortest decimal number that, weighted and rounded, is `cost`.

    Weighted costs are rounded to 9 decimals, so that `cost / weight` is not exact.
    """
    for decimals in range(9):
        candidate = round(cost / weight, decimals)
        if round(candidate * weight, 9) == cost:
            return candidate
    return round(cost / weight, 9)


def total_cost(costs: list[float]) -> float:
    """Sum of step costs, rounded so that the order of the steps does not matter."""
    return round(math.fsum(costs), 9)
