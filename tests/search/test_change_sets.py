"""Sets of changes: always legal, whatever the world; good, where the best is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import worlds
from counterplan.benchmarks.family import family
from counterplan.problem import Problem
from counterplan.search.change_sets import ChangeSets, ChangeSetSettings, best_states, propose
from counterplan.search.changes import Changes, follow
from counterplan.search.costs import ActionCosts
from counterplan.search.orders import NO_ACTION, rollout


def check(problem: Problem, starts: np.ndarray, allowed: np.ndarray, found: ChangeSets) -> None:
    states, cost, legal = rollout(problem.transitions, starts[found.person], found.actions)
    assert legal.all()
    assert cost == pytest.approx(found.cost)
    np.testing.assert_array_equal(states, found.states)
    assert found.actions.shape == (len(found.person), problem.max_actions)
    taken = found.actions != NO_ACTION
    assert taken.any(axis=1).all()
    assert allowed[found.person[:, None], found.actions][taken].all()
    assert (found.actions != problem.transitions.stop).all()
    assert (np.diff(taken.astype(int), axis=1) <= 0).all(), "gaps"
    pairs = zip(found.person.tolist(), found.states + 0.0, strict=True)
    assert len({(person, tuple(map(repr, state))) for person, state in pairs}) == len(found.person), "a state twice"
    assert (np.bincount(found.person, minlength=1) <= ChangeSetSettings().max_plans).all()


@pytest.mark.parametrize("seed", range(50))
def test_proposals_are_legal_in_any_world(seed: int) -> None:
    problem = Problem.from_dict(worlds.random_problem(seed))
    random = np.random.default_rng(seed)
    starts = problem.read(worlds.random_people(problem, seed, 5)).states
    anchors = problem.read(worlds.random_people(problem, seed + 1, 3)).states if seed % 3 else None
    allowed = random.random((5, len(problem.transitions))) < 0.9
    weights = random.normal(size=starts.shape[1])

    def logit(states: np.ndarray) -> np.ndarray:
        return np.clip(np.nan_to_num(states) @ weights - 1, -500, 500)

    found = propose(problem, starts, allowed, logit, anchors=anchors)
    check(problem, starts, allowed, found)
    assert found.logit == pytest.approx(logit(found.states))
    possible = (problem.transitions.legal(starts) & allowed)[:, :-1].any(axis=1)
    assert set(found.person) == set(np.flatnonzero(possible))
    again = propose(problem, starts, allowed, logit, anchors=anchors)
    assert all(np.array_equal(one, other, equal_nan=True) for one, other in zip(found, again, strict=True))


@pytest.mark.parametrize("seed", range(30))
def test_what_is_not_legal_is_left_out_and_the_rest_is_walked(seed: int) -> None:
    problem = Problem.from_dict(worlds.random_problem(seed))
    random = np.random.default_rng(seed)
    starts = problem.read(worlds.random_people(problem, seed, 8)).states
    actions = random.integers(NO_ACTION, problem.transitions.stop, (8, 6))
    made = follow(ActionCosts(problem.transitions), starts, np.arange(8), actions)
    states, cost, legal = rollout(problem.transitions, starts, made.actions)
    assert legal.all()
    assert cost == pytest.approx(made.costs.sum(axis=1))
    np.testing.assert_array_equal(states, made.states)
    for row, start in enumerate(starts):  # one by one
        kept, state = [], start[None]
        for action in actions[row][actions[row] != NO_ACTION]:
            if problem.transitions.legal(state)[0, action]:
                kept.append(action)
                state = problem.transitions.apply(state, np.array([action]))
        assert made.actions[row][made.actions[row] != NO_ACTION].tolist() == kept


@pytest.mark.parametrize("seed", range(30))
def test_chains_end_with_their_action_and_are_legal(seed: int) -> None:
    problem = Problem.from_dict(worlds.random_problem(seed))
    starts = problem.read(worlds.random_people(problem, seed, 4)).states
    changes = Changes(problem, starts, np.ones((4, len(problem.transitions)), bool))
    person, action = np.nonzero(changes.reachable)
    chains = changes.chains[person, action]
    assert rollout(problem.transitions, starts[person], chains)[2].all()
    last = (chains != NO_ACTION).sum(axis=1) - 1
    assert (chains[np.arange(len(chains)), last] == action).all()
    assert changes.reachable[:, :-1][problem.transitions.legal(starts)[:, :-1]].all()


def ladder() -> dict[str, Any]:
    """A house needs a job, a job needs a school, a school comes grade by grade; nothing but the house counts."""
    levels = {"kind": "ordered", "values": ["none", "some", "all"]}
    return {
        "counterplan": 1,
        "name": "ladder",
        "outcome": {"column": "y", "values": ["no", "yes"], "favourable": "yes"},
        "max_actions": 4,
        "features": {"house": levels, "job": levels, "school": levels, "hobby": levels},
        "functions": {
            "BUILD": {"set": "house", "arguments": ["all"], "when": "job == 'all'", "cost": 5},
            "WORK": {"set": "job", "arguments": ["some", "all"], "when": "school == 'all'", "cost": 3},
            "LEARN": {"set": "school", "arguments": "all", "when": "rank(argument) == rank(school) + 1", "cost": 2},
            "PLAY": {"set": "hobby", "arguments": "all", "cost": 1},
        },
    }


def test_a_change_brings_along_what_it_requires() -> None:
    problem = Problem.from_dict(ladder())
    starts = np.zeros((1, 4))
    allowed = np.ones((1, len(problem.transitions)), bool)
    found = propose(problem, starts, allowed, lambda states: 6 * (states[:, 0] == 2) - 3.0)
    best = np.flatnonzero(found.logit > 0)[found.cost[found.logit > 0].argmin()]
    assert found.cost[best] == 12
    said = [str(problem.transitions.actions[action]) for action in found.actions[best]]
    assert said == ["LEARN=some", "LEARN=all", "WORK=all", "BUILD=all"]


def test_a_change_that_is_dropped_takes_along_what_depends_on_it() -> None:
    problem = Problem.from_dict(ladder())
    changes = Changes(problem, np.zeros((1, 4)), np.ones((1, len(problem.transitions)), bool))
    (build,) = (action.index for action in problem.transitions.actions if str(action) == "BUILD=all")
    person = np.zeros(1, np.intp)
    whole = changes.change(person, np.full((1, 1), NO_ACTION), np.array([-1]), np.array([build]))
    assert (whole.actions != NO_ACTION).sum() == 4
    less = changes.change(person, whole.actions, np.array([2]), np.array([NO_ACTION]))
    assert [str(problem.transitions.actions[action]) for action in less.actions[0]] == ["LEARN=some", "LEARN=all"]


def test_an_action_that_adds_may_be_taken_again() -> None:
    problem = Problem.from_dict(
        ladder() | {
            "features": {"savings": {"kind": "number", "minimum": 0, "maximum": 30}},
            "functions": {"SAVE": {"add": "savings", "arguments": [1, 10], "cost": {"base": [1, 4]}}},
        }
    )  # fmt: skip
    allowed = np.ones((1, 3), bool)
    found = propose(problem, np.zeros((1, 1)), allowed, lambda states: states[:, 0] - 20.5)
    good = found.logit > 0
    assert found.cost[good].min() == 9  # 10 + 10 + 1
    check(problem, np.zeros((1, 1)), allowed, found)


@pytest.mark.parametrize("box", ["network", "boosted"])
def test_with_a_perfect_surrogate_everybody_is_helped(box: str) -> None:
    member = family(40, box, 4, 8)
    problem, starts = member.problem, member.problem.read(member.refused_test).states[:20]
    allowed = np.ones((20, len(problem.transitions)), bool)

    def logit(states: np.ndarray) -> np.ndarray:
        chance = np.clip(member.model.score(states), 1e-9, 1 - 1e-9)
        return np.log(chance / (1 - chance))

    found = propose(problem, starts, allowed, logit)
    check(problem, starts, allowed, found)
    assert set(found.person[found.logit >= 0]) == set(range(20))
    best = best_states(problem, starts, allowed, logit)
    assert (logit(best) > 0).all()


def test_nobody_and_nothing_possible() -> None:
    problem = Problem.from_dict(ladder())
    width = len(problem.transitions)
    assert not len(propose(problem, np.zeros((0, 4)), np.ones((0, width), bool), lambda states: states[:, 0]).person)
    nothing = propose(problem, np.zeros((2, 4)), np.zeros((2, width), bool), lambda states: states[:, 0])
    assert nothing.actions.shape == (0, 4)
