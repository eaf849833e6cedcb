"""The trial of a program or scorecard on people held out, and the model card that follows from it.

Nothing on a card depends on the day or the machine: the same seed makes the same card.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from counterplan.problem import Encoding, Problem
from counterplan.problem.encoding import quantile_cuts
from counterplan.problem.parts import STOP, Feature
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.program import Program, ProgramRun, leaves
from counterplan.program.model_card import GivenUp, GroupOutcome, ModelCard, SourcePeople, TrialPeople, WithoutFunction
from counterplan.program.rule_lengths import longest_rule, mean_rule_length
from counterplan.search.orders import NO_ACTION, rollout

EXAMPLES = 5
MIN_GROUP = 20
"""Fewest people in a group that is compared with others."""
MIN_DIFFERENCE = 0.1
"""Smallest difference between the success of two groups that is stated in words."""

Groups = dict[str, dict[str, GroupOutcome]]


class PlansOfTrial(Protocol):
    """Plans for B people, such as a `ProgramRun`."""

    @property
    def actions(self) -> Ints:
        """[B, T] padded with NO_ACTION."""

    @property
    def stopped(self) -> Bools:
        """[B] whether there is a plan."""


@dataclass(frozen=True)
class Trial:
    """Results of a program or scorecard for B refused people who were held out.

    Parameters
    ----------
    states : array of shape [B, F]
        Initial states.
    run : ProgramRun, or other plans
    holds : bool array of shape [B]
        Whether the black box accepts the final state.
    least_cost : array of shape [B]
        Least known cost; infinite if no plan is known, NaN if the budget did not suffice to search for one.
    encoding : Encoding
        Intervals of numbers, which define groups.
    unanswered : int, default=0
        People left out because the query budget was spent.
    without : mapping of str to WithoutFunction
        By function that some plan uses: the results without it.
    """

    states: Floats
    run: PlansOfTrial
    holds: Bools
    least_cost: Floats
    encoding: Encoding
    unanswered: int = 0
    without: Mapping[str, WithoutFunction] = field(default_factory=dict)

    @property
    def hopeful(self) -> Bools:
        """[B] whether some plan is known, or may exist."""
        return ~np.isinf(self.least_cost) | self.holds


@dataclass(frozen=True)
class Origin:
    """How a program or scorecard was made.

    Parameters
    ----------
    starts : array of shape [B, F]
        Initial states of the people that it was distilled from, real ones first.
    real : int
        Number of real people.
    made_with : mapping
        Method and settings, as plain data.
    seed : int
    queries : mapping of str to int
        Queries by purpose.
    avoided : sequence of str
        Protected features that trees were not allowed to test.
    examples : sequence of arrays of shape [F]
        Synthetic people with a plan.
    ranges : mapping of str to (float, float)
        The range of each number in the people.
    derived : tuple of str, optional
        Features that follow from others.
    model : str
        Fingerprint of the model.
    favourable : tuple of str, optional
        The outcomes that count as favourable.
    threshold : float, optional
        The least favourable score; None if the label of the model decides.
    """

    starts: Floats
    real: int
    made_with: Mapping[str, Any]
    seed: int
    queries: Mapping[str, int]
    avoided: Sequence[str] = ()
    examples: Sequence[Floats] = ()
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    derived: tuple[str, ...] | None = None
    model: str = ""
    favourable: tuple[str, ...] | None = None
    threshold: float | None = None


def card_of(program: Program, trial: Trial, origin: Origin) -> ModelCard:
    """The model card of a program."""
    run = program.run(trial.states)
    return replace(
        trial_card(program.problem, trial, origin),
        rule_length_mean=round(mean_rule_length(program, run), 6),
        rule_length_longest=longest_rule(program, run),
        leaves=sum(1 for tree in program.trees.values() for _ in leaves(tree)),
        protected_tested=program.tests_protected(),
        transitions=transition_counts(program, program.run(origin.starts)),
    )


def trial_card(problem: Problem, trial: Trial, origin: Origin) -> ModelCard:
    """The model card as far as it does not depend on what made the plans."""
    hopeful = trial.hopeful
    _, cost, _ = rollout(problem.transitions, trial.states, trial.run.actions)
    both = trial.holds & np.isfinite(trial.least_cost) & (trial.least_cost > 0)
    figures = {
        "success": rounded_mean(trial.holds[hopeful]),
        "cost_ratio": rounded_mean(cost[both] / np.minimum(trial.least_cost, cost)[both]),
    }
    groups = group_outcomes(problem, trial, cost)
    return ModelCard(
        made_with=_without_none(origin.made_with),
        model=origin.model or None,
        favourable=origin.favourable,
        threshold=origin.threshold,
        seed=origin.seed,
        people=SourcePeople(origin.real, len(origin.starts) - origin.real),
        tried_on=TrialPeople(int(hopeful.sum()), int((~hopeful).sum())),
        given_up=given_up(trial),
        success=figures["success"],
        cost_ratio=figures["cost_ratio"],
        queries=dict(origin.queries),
        groups=groups,
        without=dict(trial.without),
        protected_avoided=tuple(origin.avoided),
        limitations=(*limitations(problem, trial), *unequal_groups(problem, groups)),
        examples=tuple(problem.describe(state) for state in origin.examples),
        ranges=dict(origin.ranges),
        derived=origin.derived,
        extra={key: None for key, value in figures.items() if value is None},
    )


def given_up(trial: Trial) -> GivenUp:
    """The people without a plan from the program, and those of them with a known plan."""
    without = ~trial.run.stopped
    return GivenUp(int(without.sum()), int((without & trial.hopeful).sum()))


def group_outcomes(problem: Problem, trial: Trial, cost: Floats) -> Groups:
    """The success and the mean cost of plans that hold, by the values of each protected feature."""
    groups: Groups = {}
    for feature in problem.features:
        if not feature.protected:
            continue
        encoding = Encoding((feature,), (_group_cuts(feature, trial),))
        groups[feature.name] = {}
        for name, member in zip(encoding.names, encoding(trial.states).T, strict=True):
            rows = member & trial.hopeful
            if rows.any():
                success, mean_cost = rounded_mean(trial.holds[rows]), rounded_mean(cost[rows & trial.holds])
                group = name.removeprefix(f"{feature.name} = ")
                groups[feature.name][group] = GroupOutcome(int(rows.sum()), success, mean_cost)
    return groups


def _group_cuts(feature: Feature, trial: Trial) -> tuple[float, ...]:
    """The lower ends of the groups of a number, which cover all values; none for a category."""
    if not feature.is_number:
        return ()
    cuts = trial.encoding.cuts[trial.encoding.features.index(feature)]
    cuts = cuts or quantile_cuts(trial.states[:, feature.index], feature.integer)
    return cuts if cuts[0] == -math.inf else (-math.inf, *cuts)


def limitations(problem: Problem, trial: Trial) -> list[str]:
    """What a program or scorecard cannot do, in sentences for its readers."""
    most, hopeful = problem.max_actions, trial.hopeful
    sentences = [
        f"It gives no plan of more than {most} step{'' if most == 1 else 's'}.",
        "It was made for people like those it was made from; for others, its plans may be wrong.",
    ]
    forbidden = "Where something cannot be changed, it may have no plan, or one that does not work"
    if trial.without:
        people, plans, hold = map(sum, zip(*trial.without.values(), strict=True))
        forbidden += (
            f": without each function in turn, {plans:,} of {people:,} people got another plan, and {hold:,} worked"
        )
    sentences.append(f"{forbidden}.")
    failing = int((hopeful & ~trial.holds).sum())
    if failing:
        sentences.append(f"For {failing} of {int(hopeful.sum())} people it was tried on, it had no plan that worked.")
    hopeless = int((~hopeful).sum())
    if hopeless:
        more = "1 more person" if hopeless == 1 else f"{hopeless} more people"
        vain = int((trial.run.stopped & ~hopeful).sum())
        given = f"; it gave {vain:,} of them one, which failed" if vain else ""
        sentences.append(f"For {more} it was tried on, no plan is known at all{given}.")
    if without := given_up(trial).people:
        missed = given_up(trial).with_plan
        known = f"; {missed:,} of them {'has' if missed == 1 else 'have'} one" if missed else ""
        sentences.append(f"It gave no plan to {without:,} of {len(hopeful):,} people{known}.")
    if trial.unanswered:
        count = "1 person" if trial.unanswered == 1 else f"{trial.unanswered} people"
        sentences.append(f"It was to be tried on {count} more, but no more queries to the model were allowed.")
    return sentences


def unequal_groups(problem: Problem, groups: Mapping[str, Mapping[str, GroupOutcome]]) -> list[str]:
    """For each protected feature with clearly unequal success, a sentence on the best and the worst group."""
    sentences = []
    for feature in problem.features:
        success = {
            name: group.success
            for name, group in groups.get(feature.name, {}).items()
            if group.people >= MIN_GROUP and group.success is not None
        }
        order = sorted(success, key=lambda name: success[name])
        if order and round(success[order[-1]] - success[order[0]], 6) >= MIN_DIFFERENCE:
            (best, high), (worst, low) = ((_whose(feature, g), success[g]) for g in (order[-1], order[0]))
            sentences.append(
                f"Its plans work for {100 * high:.0f} % of people {best}, but for {100 * low:.0f} % {worst}."
            )
    return sentences


def _whose(feature: Feature, group: str) -> str:
    """A group of a card in words: `whose sex is "female"`, `with age < 25`."""
    name = feature.name.replace("_", " ")
    if group == f"{feature.name} is missing":
        return f"whose {name} is unknown"
    if feature.is_number and feature.name in group:
        return f"whose {name} is known" if group.endswith("is known") else f"with {group}"
    return f"whose {name} is {group}" if feature.is_number else f'whose {name} is "{group}"'


def transition_counts(program: Program, run: ProgramRun) -> dict[str, int]:
    """How often a run goes from node to node: `{"INTERVENE>CHANGE_JOB": 12}`."""
    names = [*program.nodes, STOP]
    functions = program.problem.transitions.function_of
    taken = np.concatenate([run.actions, np.full((len(run.actions), 1), NO_ACTION)], axis=1)
    decided = (run.nodes >= 0) & run.stopped[:, None]
    after = np.where(taken == NO_ACTION, len(program.nodes), functions[taken] + 1)
    edges, counts = np.unique(np.stack([run.nodes[decided], after[decided]], axis=1), axis=0, return_counts=True)
    pairs = zip(edges.tolist(), counts.tolist(), strict=True)
    return {f"{names[source]}>{names[target]}": int(count) for (source, target), count in pairs}


def _without_none(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings without those that are None or empty."""
    plain = {key: _without_none(value) if isinstance(value, Mapping) else value for key, value in settings.items()}
    return {key: value for key, value in plain.items() if value is not None and value != {}}


def rounded_mean(values: Bools | Floats) -> float | None:
    """The mean, rounded to be the same on every machine; None of nobody."""
    return round(float(np.mean(values)), 6) if len(values) else None
