"""The interpreter of programs: one step for many people at once, and whole runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from counterplan.problem import Problem
from counterplan.problem.transitions import Bools, Floats, Ints, Transitions
from counterplan.program.parts import Leaf, Tree, partition
from counterplan.search.orders import NO_ACTION


class Decisions(NamedTuple):
    """One step of a program for n people."""

    leaves: Ints
    """[n] index of the leaf reached; -1 where the node has no tree."""
    ranks: Ints
    """[n] position of the choice taken; -1 if none is legal."""
    actions: Ints
    """[n] action taken; NO_ACTION if none is legal."""


class ProgramRun(NamedTuple):
    """A run of a program for B people.

    Attributes
    ----------
    actions : int array of shape [B, T]
        Padded with NO_ACTION.
    stopped : bool array of shape [B]
        Whether the run ended with STOP after at least one action; otherwise there is no plan.
    nodes, leaves, ranks : int arrays of shape [B, T + 1]
        The node that decided each step (STOP included), the leaf of its tree and the position of the choice taken; -1
        where there was no step.
    states : array of shape [B, F]
        Final states.
    """

    actions: Ints
    stopped: Bools
    nodes: Ints
    leaves: Ints
    ranks: Ints
    states: Floats


def decide_actions(
    transitions: Transitions,
    trees: Mapping[int, Tree],
    nodes: Ints,
    states: Floats,
    can_stop: Bools,
    legal: Callable[[Ints], Bools],
) -> Decisions:
    """One step in `states` [n, F] at `nodes` [n], by number, where STOP is possible for `can_stop` [n].

    `legal` gives the legal actions [k, A] of some rows [k]. It is called with the rows whose leaf does not begin with a
    STOP that is possible, at most `transitions.rows_at_once` of them at a time.
    """
    leaf, rank = np.full(len(nodes), -1, np.intp), np.full(len(nodes), -1, np.intp)
    action = np.full(len(nodes), NO_ACTION, np.intp)
    pending: list[tuple[Leaf, Ints]] = []
    for node in np.unique(nodes).tolist():
        tree = trees.get(node)
        if tree is None:
            continue
        for index, (end, rows) in enumerate(partition(tree, states, np.flatnonzero(nodes == node))):
            if not len(rows):
                continue
            leaf[rows] = index
            if end.choices and end.choices[0].action == transitions.stop:
                stops = can_stop[rows]
                action[rows[stops]], rank[rows[stops]] = transitions.stop, 0
                rows = rows[~stops]
            if len(rows):
                pending.append((end, rows))
    for part in _in_parts(pending, transitions.rows_at_once):
        waiting = np.concatenate([rows for _, rows in part])
        mask, current, first = legal(waiting), states.take(waiting, axis=0), 0
        for end, rows in part:
            places = np.arange(first, first + len(rows))
            first += len(rows)
            for number, choice in enumerate(end.choices):
                if not len(places):
                    break
                picked = choice.pick(transitions, current, mask, places)
                done = picked != NO_ACTION
                taken = waiting[places[done]]
                action[taken], rank[taken] = picked[done], number
                places = places[~done]
    return Decisions(leaf, rank, action)


def _in_parts(pending: Sequence[tuple[Leaf, Ints]], most: int) -> Iterator[list[tuple[Leaf, Ints]]]:
    """Leaves with their rows, in the same order, in parts of at most `most` rows."""
    part: list[tuple[Leaf, Ints]] = []
    free = most
    for leaf, rows in pending:
        while len(rows):
            part.append((leaf, rows[:free]))
            rows, free = rows[free:], free - len(part[-1][1])
            if not free:
                yield part
                part, free = [], most
    if part:
        yield part


def run_program(
    problem: Problem, trees: Mapping[int, Tree], states: Floats, allowed: Bools | None = None
) -> ProgramRun:
    """Run the `trees`, by node number, for people in `states` [B, F] who may take the actions `allowed` [B, A]."""
    transitions, longest, count = problem.transitions, problem.max_actions, len(states)
    nodes, ends, ranks = (np.full((count, longest + 1), -1, np.intp) for _ in range(3))
    actions = np.full((count, longest), NO_ACTION, np.intp)
    run = ProgramRun(actions, np.zeros(count, bool), nodes, ends, ranks, states.copy())
    running, node = np.arange(count), np.zeros(count, np.intp)
    for t in range(longest + 1):
        if not len(running):
            break
        current = run.states[running]
        usable = None if allowed is None else allowed[running]

        def legal(rows: Ints, t: int = t, current: Floats = current, usable: Bools | None = usable) -> Bools:
            mask = transitions.legal(current.take(rows, axis=0))
            if usable is not None:
                mask &= usable[rows]
            mask[:, transitions.stop] = t > 0
            mask[:, :-1] &= t < longest
            return mask

        step = decide_actions(transitions, trees, node, current, np.full(len(running), t > 0), legal)
        run.nodes[running, t], run.leaves[running, t], run.ranks[running, t] = node, step.leaves, step.ranks
        run.stopped[running[step.actions == transitions.stop]] = True
        going = (step.actions != NO_ACTION) & (step.actions != transitions.stop)
        running, action = running[going], step.actions[going]
        if t < longest:
            run.actions[running, t] = action
            run.states[running] = transitions.apply(current[going], action)
        node = transitions.function_of[action] + 1
    run.actions[~run.stopped] = NO_ACTION
    return run
