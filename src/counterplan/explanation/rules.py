"""Rules of a program as reasons for the steps of any plan."""

from __future__ import annotations

import numpy as np

from counterplan.explanation.arrays import states_before, unexplained
from counterplan.plans import Coded, Plans, StepReason
from counterplan.program import Program
from counterplan.search.orders import NO_ACTION


def with_rules(plans: Plans, program: Program) -> Plans:
    """Explain steps by the rules of a program.

    A step gets the rule that makes the program take the same action in the same state, if its conditions hold there.
    They may not hold: a rule is shortened to what distinguishes the states that the program itself can reach.

    Parameters
    ----------
    plans : Plans
    program : Program

    Returns
    -------
    Plans
        The same plans. Steps that have a rule already keep it.
    """
    problem = program.problem
    rows, steps = np.nonzero(unexplained(plans))
    if not len(rows):
        return plans
    states = states_before(problem, plans, rows, steps)
    names = plans.action_names
    numbers = {name: number for number, name in enumerate(program.nodes)}
    after = np.array([*(numbers.get(name.partition("=")[0], 0) for name in names), 0], np.intp)
    nodes = np.where(steps == 0, 0, after[plans.actions[rows, steps - 1]])
    legal = problem.transitions.legal(states)
    legal[:, problem.transitions.stop] = nodes > 0
    leaves, ranks, actions = program.decide(nodes, states, legal)
    indices = {str(action): action.index for action in problem.transitions.actions}
    taken = np.array([indices.get(name, NO_ACTION) for name in names], np.intp)[plans.actions[rows, steps]]
    same = np.flatnonzero((actions == taken) & (actions != NO_ACTION))
    reasons: Coded[StepReason] = Coded.empty(rows.shape)
    used, which = np.unique(np.stack([nodes, leaves, ranks])[:, same], axis=1, return_inverse=True)
    for code, (node, leaf, rank) in enumerate(used.T.tolist()):
        rule = program.rule(program.nodes[node], leaf, rank)
        where = same[which.ravel() == code]
        reasons.codes[where[rule(states[where])]] = code
        reasons.values.append((rule.text, rule.because))
    known = np.flatnonzero(reasons.codes >= 0)
    return plans.with_reasons(rows[known], steps[known], reasons.take(known))
