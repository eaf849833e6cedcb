"""Plans from a program, with reasons; and, if one cares to ask, whether they hold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from counterplan.plans.columns import Forbid, PlanColumns, StepReason, allowed_actions, label_of, plans_from
from counterplan.plans.plan import Plans, Status
from counterplan.problem import People
from counterplan.problem.transitions import Bools
from counterplan.program.cautions import cautioned
from counterplan.program.protocol import ProgramLike
from counterplan.search.orders import NO_ACTION


def recommend(program: ProgramLike, people: pd.DataFrame | People, forbid: Forbid, allowed: Bools | None) -> Plans:
    """The work of `Program.recommend`."""
    problem = program.problem
    read = problem.read(people)
    result = found(program, read, allowed_actions(problem, read, forbid, allowed))
    return Plans(plans_from(problem, read, result), f"{problem.name} {problem.fingerprint}")


def found(program: ProgramLike, people: People, allowed: Bools) -> PlanColumns:
    """What a program does for `people`, who may take the actions `allowed` [B, A], with the rule behind every step."""
    run = program.run(people.states, allowed)
    result = PlanColumns.empty(len(people), program.problem.max_actions)
    result.actions = run.actions
    result.status = [Status.FOUND if stopped else Status.NOT_FOUND for stopped in run.stopped.tolist()]
    if not allowed.all():
        result.cautions = cautioned(program, run.actions, program.run(people.states).actions, allowed)
    names, lengths = program.nodes, (run.actions != NO_ACTION).sum(axis=1)
    for row in np.flatnonzero(lengths).tolist():
        result.reasons[row] = tuple(
            _reason(program, names[run.nodes[row, t]], int(run.leaves[row, t]), int(run.ranks[row, t]))
            for t in range(lengths[row])
        )
    return result


def _reason(program: ProgramLike, node: str, leaf: int, rank: int) -> StepReason:
    rule = program.rule(node, leaf, rank)
    return rule.text, rule.because


@dataclass(frozen=True)
class Verification:
    """What a model says of a program's plans."""

    people: int
    plans: int
    """People who got a plan."""
    failing: tuple[int | str, ...]
    """Those of them whose plan does not lead to a favourable decision, as the table calls them."""
    same_model: bool = True
    """Whether this is the model that the program was made for, as far as its card tells."""

    @property
    def hold(self) -> int:
        """How many plans lead to a favourable decision."""
        return self.plans - len(self.failing)

    @property
    def share(self) -> float:
        """The share of all people who get a plan that holds; NaN if there is nobody."""
        return self.hold / self.people if self.people else float("nan")

    def __str__(self) -> str:
        if not self.people:
            return "There is nobody to plan for."
        people = "1 person" if self.people == 1 else f"{self.people:,} people"
        failing = len(self.failing)
        told = (
            f"{self.hold:,} {'holds' if self.hold == 1 else 'hold'}, {failing:,} {'does' if failing == 1 else 'do'} not"
        )
        other = "" if self.same_model else " The program was made for another model, or for an earlier state of it."
        return f"{self.plans:,} of {people} got a plan; {told} ({self.share:.1%} of all).{other}"


def verify(program: ProgramLike, people: pd.DataFrame | People, model: object, forbid: Forbid) -> Verification:
    """The work of `Program.verify`."""
    from counterplan.blackbox import BlackBox

    problem = program.problem
    read = problem.read(people)
    run = program.run(read.states, allowed_actions(problem, read, forbid, None))
    rows = np.flatnonzero((run.actions[:, 0] != NO_ACTION) & run.stopped)
    box = model if isinstance(model, BlackBox) else BlackBox(model)
    same = program.card.model is None or program.card.model == box.fingerprint(problem)
    holds = box.about(problem, read)(run.states[rows], rows) if len(rows) else np.zeros(0, bool)
    failing = tuple(label_of(read.table.index[row]) for row in rows[~holds].tolist())
    return Verification(len(read), len(rows), failing, same)
