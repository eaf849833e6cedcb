"""Recommendations of a program: a plan for each person, with the rule that chose each step as its reason."""

from __future__ import annotations

import numpy as np
import pandas as pd

from counterplan.plans import Coded, Forbid, PlanColumns, Plans, Status, StepReason, allowed_actions
from counterplan.problem import People, PeopleTable
from counterplan.problem.transitions import Bools
from counterplan.program.cautions import cautions_for, given_up_for
from counterplan.program.interpreter import ProgramRun
from counterplan.program.protocol import ProgramLike
from counterplan.search.orders import NO_ACTION


def recommend(program: ProgramLike, people: PeopleTable | People, forbid: Forbid, allowed: Bools | None) -> Plans:
    """Plans of a program without queries; see `Program.recommend`."""
    read = program.problem.read(people)
    mask = allowed_actions(program.problem, read, forbid, allowed)
    columns, outcome = columns_of(program, read, mask), program.problem.outcome
    if len(outcome.values) > 2:
        goal = tuple(value for value in outcome.values if value in outcome.favourable)
        columns.targets = Coded(np.zeros(len(read), np.intp), [goal])
    return Plans.from_columns(program.problem, read, columns)


def columns_of(program: ProgramLike, people: People, allowed: Bools | None = None) -> PlanColumns:
    """The plans of a program for `people` who may take the actions `allowed` [B, A], with reasons."""
    if allowed is not None and allowed.all():
        allowed = None
    run = program.run(people.states, allowed)
    columns = PlanColumns.empty(len(people), program.problem.max_actions)
    columns.actions = run.actions
    columns.status = [Status.FOUND if stopped else Status.NOT_FOUND for stopped in run.stopped.tolist()]
    columns.reasons = _reasons(program, run)
    if allowed is not None:
        columns.cautions = cautions_for(program, run.actions, program.run(people.states).actions, allowed)
    columns.cautions = given_up_for(program, run, columns.cautions)
    return columns


def _reasons(program: ProgramLike, run: ProgramRun) -> Coded[StepReason]:
    """The rule [B, T] behind each step; each distinct rule is put into words once."""
    reasons: Coded[StepReason] = Coded.empty(run.actions.shape)
    taken = run.actions != NO_ACTION
    places = [part[:, :-1][taken] for part in (run.nodes, run.leaves, run.ranks)]
    sizes = [int(part.max(initial=0)) + 1 for part in places]
    reasons.codes[taken], used = pd.factorize(np.ravel_multi_index(places, sizes), sort=True)
    for node, leaf, rank in zip(*(part.tolist() for part in np.unravel_index(used, sizes)), strict=True):
        rule = program.rule(program.nodes[node], leaf, rank)
        reasons.values.append((rule.text, rule.because))
    return reasons
