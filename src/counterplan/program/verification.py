"""Verification of a program: query a model once about the final state of every plan.

This is the only module of `program` that uses the black box, and it imports it on use: programs run without models.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from counterplan.plans import Forbid, allowed_actions, label_of
from counterplan.problem import People, PeopleTable, Problem
from counterplan.problem.values import listed
from counterplan.program.model_card import ModelCard
from counterplan.program.protocol import ProgramLike
from counterplan.search.orders import NO_ACTION

if TYPE_CHECKING:
    from counterplan.blackbox import BlackBox


@dataclass(frozen=True)
class Verification:
    """Decisions of a model about the plans of a program.

    Parameters
    ----------
    people : int
        Number of people.
    plans : int
        Number of people with a plan from the program.
    failing : tuple of int or str
        Index labels of those whose plan does not lead to a favourable decision.
    same_model : bool
        Whether this is the model that the program was made for, according to its card.
    difference : str
        How the threshold or the favourable outcomes differ from those that the program was made for; empty if they are
        the same, or the card does not have them.
    """

    people: int
    plans: int
    failing: tuple[int | str, ...]
    same_model: bool = True
    difference: str = ""

    @property
    def hold(self) -> int:
        """Number of plans that lead to a favourable decision."""
        return self.plans - len(self.failing)

    @property
    def share(self) -> float:
        """Share of all people whose plan leads to a favourable decision; NaN if there are no people."""
        return self.hold / self.people if self.people else float("nan")

    def __str__(self) -> str:
        if not self.people:
            return "There is nobody to plan for."
        people = "1 person" if self.people == 1 else f"{self.people:,} people"
        failing = len(self.failing)
        hold = f"{self.hold:,} {'holds' if self.hold == 1 else 'hold'}"
        fail = f"{failing:,} {'does' if failing == 1 else 'do'} not"
        other = "" if self.same_model else " The program was made for another model, or for an earlier state of it."
        other = f" {self.difference}" if self.difference else other
        return f"{self.plans:,} of {people} got a plan; {hold}, {fail} ({self.share:.1%} of all).{other}"


def verify(program: ProgramLike, people: PeopleTable | People, model: object, forbid: Forbid) -> Verification:
    """Query `model`, a BlackBox or anything that it wraps, about the program's plans; see `Program.verify`."""
    from counterplan.blackbox import BlackBox

    card, problem = program.model_card, program.problem
    read = problem.read(people)
    run = program.run(read.states, allowed_actions(problem, read, forbid))
    rows = np.flatnonzero((run.actions[:, 0] != NO_ACTION) & run.stopped)
    box = model if isinstance(model, BlackBox) else BlackBox(model, card.favourable, threshold=card.threshold)
    same = card.model is None or card.model == box.fingerprint(problem)
    holds = box.session(problem, read)(run.states[rows], rows) if len(rows) else np.zeros(0, bool)
    failing = tuple(label_of(read.table.index[row]) for row in rows[~holds].tolist())
    return Verification(len(read), len(rows), failing, same, _difference(card, box, problem))


def _difference(card: ModelCard, box: BlackBox, problem: Problem) -> str:
    """How the decisions of `box` are made differently from those that a program was made for, as a sentence."""
    if card.favourable is None:  # cards before version 0.3
        return ""
    if card.threshold != box.threshold:
        made_for, this = _decided_by(card.threshold), _decided_by(box.threshold)
        return f"The program was made for {made_for}, but this black box has {this}."
    favourable = sorted(box.favourable_outcomes(problem))
    if [*card.favourable] != favourable:
        made_for, this = listed(card.favourable), listed(favourable)
        return f"The program was made for the favourable outcomes {made_for}, but this black box has {this}."
    return ""


def _decided_by(threshold: float | None) -> str:
    return "labels without a threshold" if threshold is None else f"a threshold of {threshold:g}"
