"""A program's card: how it was made, how it did on people it had not seen, and what it cannot do. Plain data.

Nothing on it depends on the day or the machine: the same seed makes the same card.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from counterplan.problem import Encoding, Problem
from counterplan.problem.encoding import quantile_cuts
from counterplan.problem.parts import STOP, Feature
from counterplan.problem.transitions import Bools, Floats
from counterplan.program.automaton import Program, Run, leaves
from counterplan.program.rules import longest_rule, mean_rule_length
from counterplan.search.orders import NO_ACTION, rollout

EXAMPLES = 5
FEWEST = 20
"""People in a group, at least, before it is compared with others."""
APART = 0.1
"""Groups whose success differs by so much are told of in words."""


class Without(NamedTuple):
    """How a program did for people who cannot do something that it would have them do."""

    people: int
    plans: int
    """Those of them to whom it gave another plan."""
    hold: int
    """How many of these plans the black box says yes to."""


@dataclass(frozen=True)
class Trial:
    """How a program did for B refused people whom it had not seen."""

    states: Floats
    """[B, F] as they are."""
    run: Run
    holds: Bools
    """[B] whether the black box says yes to where the plan leads."""
    least: Floats
    """[B] the least effort that is known; infinite where no plan is, NaN where no question was left to find one."""
    encoding: Encoding
    """In which groups people are looked at, where these are numbers."""
    unanswered: int = 0
    """People who are left out, because the budget of questions was spent."""
    without: Mapping[str, Without] = field(default_factory=dict)
    """By function that some plan uses: how the program did without it."""


def card_of(
    program: Program, trial: Trial, starts: Floats, *, made_with: Mapping[str, Any], seed: int, real: int,
    questions: Mapping[str, int], examples: Sequence[Floats] = (), avoided: Sequence[str] = (), model: str = "",
) -> dict[str, Any]:  # fmt: skip
    """The card of a program that was made from people in `starts` [B, F], the first of them `real`, and tried.

    `model` tells the model that decides from others.
    """
    problem = program.problem
    hopeful = ~np.isinf(trial.least) | trial.holds
    _, cost, _ = rollout(problem.transitions, trial.states, trial.run.actions)
    both = trial.holds & np.isfinite(trial.least) & (trial.least > 0)
    ratio = cost[both] / np.minimum(trial.least, cost)[both]
    told = groups(problem, trial, cost, hopeful)
    return {
        "made_with": _given(made_with),
        **({"model": model} if model else {}),
        "seed": seed,
        "people": {"real": real, "invented": len(starts) - real},
        "tried_on": {"people": int(hopeful.sum()), "without_any_known_plan": int((~hopeful).sum())},
        "success": _mean(trial.holds[hopeful]),
        "cost_ratio": _mean(ratio),
        "questions": dict(questions),
        "rule_length_mean": round(mean_rule_length(program, trial.run), 6),
        "rule_length_longest": longest_rule(program, trial.run),
        "leaves": sum(1 for tree in program.trees.values() for _ in leaves(tree)),
        "groups": told,
        "without": {name: tried._asdict() for name, tried in trial.without.items()},
        "protected_tested": list(program.tests_protected()),
        "protected_avoided": list(avoided),
        "cannot": [*cannot(program, trial, hopeful), *unequal(problem, told)],
        "transitions": transitions_of(program, program.run(starts)),
        "examples": [problem.describe(state) for state in examples],
    }


def groups(problem: Problem, trial: Trial, cost: Floats, hopeful: Bools) -> dict[str, Any]:
    """Success and mean effort of the plans that hold, by the values of each protected feature."""
    told: dict[str, Any] = {}
    for feature in problem.features:
        if not feature.protected:
            continue
        view = Encoding((feature,), (_everywhere(feature, trial),))
        inside = {}
        for name, bit in zip(view.names, view(trial.states).T, strict=True):
            rows = bit & hopeful
            if rows.any():
                inside[name.removeprefix(f"{feature.name} = ")] = {
                    "people": int(rows.sum()),
                    "success": _mean(trial.holds[rows]),
                    "mean_effort": _mean(cost[rows & trial.holds]),
                }
        told[feature.name] = inside
    return told


def _everywhere(feature: Feature, trial: Trial) -> tuple[float, ...]:
    """Where the groups of a feature begin, so that everybody is in one; none for a category."""
    if not feature.is_number:
        return ()
    cuts = trial.encoding.cuts[trial.encoding.features.index(feature)]
    cuts = cuts or quantile_cuts(trial.states[:, feature.index], feature.integer)
    return cuts if cuts[0] == -math.inf else (-math.inf, *cuts)


def cannot(program: Program, trial: Trial, hopeful: Bools) -> list[str]:
    """What a program cannot do, in sentences."""
    most = program.problem.max_actions
    said = [
        f"It gives no plan of more than {most} step{'' if most == 1 else 's'}.",
        "It was made for people like those it was made from; of others it may know nothing.",
    ]
    other = "Where something is forbidden, it may have no plan, or one that does not hold"
    if trial.without:
        people, plans, hold = map(sum, zip(*trial.without.values(), strict=True))
        other += f": without each function in turn, {plans:,} of {people:,} people got another plan, and {hold:,} held"
    said.append(f"{other}.")
    failing = int((hopeful & ~trial.holds).sum())
    if failing:
        said.append(f"For {failing} of {int(hopeful.sum())} people it was tried on, it had no plan that held.")
    hopeless = int((~hopeful).sum())
    if hopeless:
        more = "1 more person" if hopeless == 1 else f"{hopeless} more people"
        vain = int((trial.run.stopped & ~hopeful).sum())
        given = f"; it gave {vain:,} of them one, which failed" if vain else ""
        said.append(f"For {more} it was tried on, no plan is known at all{given}.")
    if trial.unanswered:
        some = "1 person" if trial.unanswered == 1 else f"{trial.unanswered} people"
        said.append(f"It was to be tried on {some} more, but the model could not be asked any more.")
    return said


def unequal(problem: Problem, told: Mapping[str, Any]) -> list[str]:
    """For which protected groups a program does clearly worse than for others, in a sentence for each feature."""
    said = []
    for feature in problem.features:
        inside = {name: group for name, group in told.get(feature.name, {}).items() if group["people"] >= FEWEST}
        order = sorted(inside, key=lambda name: inside[name]["success"])
        if order and round(inside[order[-1]]["success"] - inside[order[0]]["success"], 6) >= APART:
            (best, high), (worst, low) = ((_whose(feature, g), inside[g]["success"]) for g in (order[-1], order[0]))
            said.append(f"Its plans hold for {100 * high:.0f} % of people {best}, but for {100 * low:.0f} % {worst}.")
    return said


def _whose(feature: Feature, group: str) -> str:
    """A group of people, as it is named on the card, in words: `whose sex is "female"`, `with age < 25`."""
    name = feature.name.replace("_", " ")
    if group == f"{feature.name} is missing":
        return f"whose {name} is unknown"
    if feature.is_number and feature.name in group:
        return f"whose {name} is known" if group.endswith("is known") else f"with {group}"
    return f"whose {name} is {group}" if feature.is_number else f'whose {name} is "{group}"'


def transitions_of(program: Program, run: Run) -> dict[str, int]:
    """How often a run goes from node to node: `{"INTERVENE>CHANGE_JOB": 12}`."""
    names = [*program.nodes, STOP]
    functions = program.problem.transitions.function_of
    taken = np.concatenate([run.actions, np.full((len(run.actions), 1), NO_ACTION)], axis=1)
    decided = (run.nodes >= 0) & run.stopped[:, None]
    after = np.where(taken == NO_ACTION, len(program.nodes), functions[taken] + 1)
    ways, counts = np.unique(np.stack([run.nodes[decided], after[decided]], axis=1), axis=0, return_counts=True)
    return {f"{names[a]}>{names[b]}": int(count) for (a, b), count in zip(ways.tolist(), counts.tolist(), strict=True)}


def _given(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings without those that say nothing."""
    told = {name: _given(value) if isinstance(value, Mapping) else value for name, value in settings.items()}
    return {name: value for name, value in told.items() if value is not None and value != {}}


def _mean(values: Bools | Floats) -> float | None:
    """The mean, if there is anybody; short, so that it is the same everywhere."""
    return round(float(np.mean(values)), 6) if len(values) else None
