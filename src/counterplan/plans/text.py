"""Plans as text for the people they are made for. This text is plain on purpose: applicants read it."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

import numpy as np

from counterplan.plans.status import Status
from counterplan.plans.step_text import effort_text, is_weighted, step_number, steps_text
from counterplan.plans.survival_text import survival_text
from counterplan.plans.time_text import about_text, duration_text, faster_texts, limit_text, timeline, within_text
from counterplan.problem.values import describe_target, visible

if TYPE_CHECKING:
    from counterplan.plans.plan import Plan, PlanOption
    from counterplan.plans.plans import Plans

_WIDTH = 110
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def plan_text(plan: Plan) -> str:
    """One plan as text."""
    if plan.status is not Status.FOUND:
        return _without_plan(plan)
    width = max(len(step.text) for step in plan.steps) + 4
    facts = [text for text in (points_text(plan), duration_text(plan)) if text]
    lines = [f"{headline(plan)} ({total_effort(plan)}):", *facts, ""]
    for number, step in enumerate(plan.steps, 1):
        lines.append(f"  {step_number(number, plan)} {step.text:<{width}}effort {step.cost:.1f}")
        if step.reason:
            indent = " " * (3 + len(step_number(number, plan)))
            lines += textwrap.wrap(f"because {step.reason}", _WIDTH, initial_indent=indent, subsequent_indent=indent)
    bars = timeline(plan)
    lines += ["", *bars] if bars else []
    faster = [line for text in faster_texts(plan) for line in textwrap.wrap(text, _WIDTH, subsequent_indent="  ")]
    closing = (textwrap.fill(text, _WIDTH) for text in (verification(plan), survival_text(plan)) if text)
    others = [line for _, steps, facts in alternative_texts(plan) for line in _listed(steps, facts)]
    options = [line for option in shown_options(plan) for line in _listed(option.text, option_facts(option))]
    more = [*(["", *faster] if faster else []), *(["", alternatives_title(plan), *others] if others else [])]
    if not others and "alternatives" in plan.related:
        more += ["", alternatives_title(plan)]
    more += ["", options_title(plan), *options] if options else []
    return visible("\n".join([*lines, "", *closing, *more]))


def points_text(plan: Plan) -> str:
    """How the points of the steps add up; empty if other reasons explain them."""
    reasons = [step.because for step in plan.steps]
    gains = [because.points for because in reasons if because is not None and because.points is not None]
    if len(gains) < len(reasons) or reasons[0] is None:
        return ""
    where = " on the card" if reasons[0].source == "card" else " (estimated)"
    if not reasons[0].needed:
        return ""
    short = f"You are {reasons[0].needed} point{'s' * (reasons[0].needed != 1)} short{where}."
    if len(gains) == 1:
        return f"{short} This step brings {gains[0]}."
    signed = "".join(f" {'−' if gain < 0 else '+'} {abs(gain)}" for gain in gains[1:])
    first = f"{'−' if gains[0] < 0 else ''}{abs(gains[0])}"
    return f"{short} The steps bring {first}{signed} = {sum(gains)}."


def options_title(plan: Plan) -> str:
    """The title of the options; nothing is known about how long they last."""
    return "What else would do:" if plan.survival is None else "What else would do with today's model:"


def option_facts(option: PlanOption) -> str:
    """Cost and points of an option, and whether it was checked."""
    checked = "checked with the model" if option.checked else "likely, not checked"
    return f"effort {option.cost:.1f}, {option.points} points; {checked}"


def shown_options(plan: Plan) -> tuple[PlanOption, ...]:
    """What else would do, unless alternatives, which are checked, say so already."""
    return () if plan.alternatives else plan.options


def alternatives_title(plan: Plan) -> str:
    """The title of the alternatives, or the statement that there are none."""
    if plan.alternatives:
        return "Other ways, with other steps:" if len(plan.alternatives) > 1 else "Another way, with other steps:"
    return "No other way, with other steps, was found that would be easier for some people."


def alternative_texts(plan: Plan) -> Iterator[tuple[bool, str, str]]:
    """Whether each alternative was checked, its steps, and its facts."""
    weighted = is_weighted(plan)
    for other in plan.alternatives:
        time = "" if other.duration is None else f", {about_text(other.duration, other.time_unit)}"
        checked = "checked with the model" if other.verified else "not checked with the model"
        yield other.verified, steps_text(other), f"{effort_text(other, weighted)}{time}; {checked}"


def _listed(text: str, facts: str) -> list[str]:
    return textwrap.wrap(f"- {text} ({facts})", _WIDTH, initial_indent="  ", subsequent_indent="    ")


def _without_plan(plan: Plan) -> str:
    """The text for a person without steps."""
    asked = questions(plan.queries)
    if plan.status is Status.ALREADY_FAVOURABLE:
        return visible(f"The decision is already {_goal(plan)}: nothing needs to change.")
    if plan.status is Status.INFEASIBLE:
        most = None if plan.deadline is None else limit_text(plan.deadline, plan.time_unit)
        in_time = "" if most is None else f" that takes at most {most}"
        nothing = f"{_without(plan)}, no plan" if _without(plan) else "no plan"
        claim = f"{nothing[0].upper()}{nothing[1:]} within the rules{in_time} changes that"
        return visible(f"{_now(plan)} {claim} (proved, {asked} asked).")
    if not plan.queries:
        goal = f"to {_goal(plan)} " if plan.target else ""
        text = f"No plan {goal}was found{within_text(plan)}; no question was asked. {plan.caution}"
        return visible(text.rstrip())
    least = (
        f"; any plan{within_text(plan)}{_scope(plan)} takes an effort of {_at_least(plan)} or more"
        if plan.lower_bound
        else ""
    )
    why = f" {plan.caution}" if plan.deadline is not None and plan.caution else ""
    return visible(f"{_now(plan)} No plan was found{within_text(plan)} after {asked}{least}.{why}")


def _goal(plan: Plan) -> str:
    """The outcome that the plan is to reach."""
    return visible(describe_target(plan.target)) if plan.target else "favourable"


def _now(plan: Plan) -> str:
    """The decision before the plan, as a sentence."""
    return f"The decision is not {_goal(plan)} yet." if plan.target else "Refused."


def headline(plan: Plan) -> str:
    """The claim about the steps: a fact if the plan is verified, otherwise an expectation.

    That a person is refused is stated only if it was queried.
    """
    count = "1 step" if len(plan.steps) == 1 else f"{len(plan.steps)} steps"
    verb = "would" if plan.verified else "might" if plan.caution else "should"
    if plan.target:
        return f"{count} {verb} change the decision to {_goal(plan)}"
    return (
        f"Refused. {count} {verb} change that"
        if plan.queries or plan.verified
        else f"{count} {verb} change the decision"
    )


def total_effort(plan: Plan) -> str:
    """The cost of a plan and the proved bound on it; with a person's own weights, also the cost without them."""
    if not is_weighted(plan):
        return _bounded_effort(plan, f"effort {plan.cost:.1f}")
    weighted = _bounded_effort(plan, f"effort {plan.cost:.1f} with your weights")
    them = "weights" if _without(plan) else "them"
    return f"{weighted}; {plan.unweighted_cost:.1f} without {them}"


def _bounded_effort(plan: Plan, effort: str) -> str:
    """The `effort` of a plan in words, followed by the proved bound on it."""
    if plan.optimal:
        return f"{effort}, the least possible{within_text(plan)}{_scope(plan)}"
    if plan.lower_bound:
        cheapest = plan.robustness
        known = (
            cheapest is not None
            and cheapest.cheapest_verified
            and cheapest.cheapest_cost is not None
            and math.isclose(cheapest.cheapest_cost, plan.lower_bound, abs_tol=1e-6)
        )
        least = f"{plan.lower_bound:.1f}" if known else f"at least {_at_least(plan)}"
        return f"{effort}; the least possible{within_text(plan)}{_scope(plan)} is {least}"
    return effort


def _at_least(plan: Plan) -> str:
    """The lower bound of a plan, rounded down."""
    return f"{math.floor(round(10 * (plan.lower_bound or 0.0), 6)) / 10:.1f}"


def _without(plan: Plan) -> str:
    """That steps were ruled out, if they were."""
    return "without the steps that were ruled out" if plan.constraints and plan.constraints.forbidden else ""


def _scope(plan: Plan) -> str:
    """The person's own limits that a claim about all plans refers to, except those that the text has stated before."""
    weighted = plan.constraints is not None and bool(plan.constraints.weights) and not is_weighted(plan)
    parts = ["with your weights" if weighted else "", _without(plan)]
    return "".join(f" {part}" for part in parts if part)


def verification(plan: Plan) -> str:
    """Whether the plan was verified, and its caution."""
    if plan.verified:
        checked = f"Checked with {_model(plan)}: {_goal(plan)}."
        return f"{checked} {questions(plan.queries)} asked. {plan.caution}".rstrip()
    if plan.queries > 1:
        text = f"Not checked with the model, which was asked {questions(plan.queries)} about other states."
    else:
        whether = f"the decision is {_goal(plan)} already" if plan.target else "you are refused"
        asked = f"It was asked only whether {whether}." if plan.queries else "No question was asked."
        text = f"Not checked with the model. {asked}"
    return f"{text} {plan.caution}".rstrip()


def _model(plan: Plan) -> str:
    """The model that a plan was checked with, and when, as far as they are known."""
    if plan.check is None:
        return "the model"
    name = plan.check.model.strip().removeprefix("model ")
    return f"the model {name} on {date_in_words(plan.check.date)}".replace("  ", " ")


def date_in_words(iso: str) -> str:
    """An ISO date as applicants read it: "17 November 2026"."""
    when = date.fromisoformat(iso)
    return f"{when.day} {_MONTHS[when.month - 1]} {when.year}"


@dataclass(frozen=True)
class Summary:
    """Numbers of people, plans and queries, which can be added up over chunks of people."""

    people: int = 0
    by_status: tuple[int, ...] = (0,) * len(Status)
    """In the order of `Status`."""
    unverified: int = 0
    """Plans with steps that the model did not confirm."""
    queries: int = 0
    cached: int = 0

    @classmethod
    def of(cls, plans: Plans) -> Summary:
        """Summarize plans."""
        unverified = int(np.count_nonzero((plans.lengths > 0) & ~plans.verified))
        return cls(len(plans), tuple(plans.counts.values()), unverified, plans.queries, plans.cached)

    def __add__(self, other: Summary) -> Summary:
        return Summary(
            self.people + other.people,
            tuple(mine + theirs for mine, theirs in zip(self.by_status, other.by_status, strict=True)),
            self.unverified + other.unverified,
            self.queries + other.queries,
            self.cached + other.cached,
        )

    @property
    def counts(self) -> str:
        """The number of people and of plans by status: `60 people: 40 found (2 not checked), 20 already favourable`."""
        found = dict(zip(Status, self.by_status, strict=True))
        parts = [f"{count:,} {name.replace('_', ' ')}" for name, count in found.items() if count]
        if self.unverified:
            all_found = self.unverified == found[Status.FOUND]
            parts[0] += " (not checked)" if all_found else f" ({self.unverified:,} not checked)"
        people = "1 person" if self.people == 1 else f"{self.people:,} people"
        return f"{people}: {', '.join(parts) or 'nothing to do'}"

    @property
    def queries_spent(self) -> str:
        """The queries of all plans together: `6 questions asked, 3 more answered from memory`."""
        asked = f"{questions(self.queries)} asked"
        if not self.cached:
            return asked
        return f"{asked}, {self.cached:,} {'more ' if self.queries else ''}answered from memory"


def plans_text(plans: Plans, most: int | None = None, summary: Summary | None = None) -> str:
    """The first `most` plans, each under the person's name, and a closing line with counts.

    With a `summary` of more people, `plans` are the first of them.
    """
    summary = summary or Summary.of(plans)
    shown = plans if most is None else plans[:most]
    blocks = [f"Person {visible(str(plan.person))}\n{plan}" for plan in shown]
    if most is not None and summary.people > most:
        blocks.append(f"… and {summary.people - most:,} more.")
    return "\n\n".join([*blocks, f"{summary.counts}. {summary.queries_spent}."])


def questions(count: int) -> str:
    """A number of queries, as applicants read it."""
    return "1 question" if count == 1 else f"{count:,} questions"
