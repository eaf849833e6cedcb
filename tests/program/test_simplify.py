"""A tidied program does the same for everybody, in fewer words."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import worlds
from counterplan.problem import Problem
from counterplan.program import INTERVENE, Choice, Leaf, Program, Split, Test, leaves
from program.random_programs import random_program


def same(program: Program, seed: int, people: int) -> int:
    """Whether a program and its tidied form agree, with and without wishes; gives the number of leaves saved."""
    problem, tidy = program.problem, program.simplified()
    states = problem.read(worlds.random_people(problem, seed, people)).states
    rng = np.random.default_rng(seed)
    for allowed in (None, rng.random((people, len(problem.transitions))) < 0.7):
        one, two = program.run(states, allowed), tidy.run(states, allowed)
        assert np.array_equal(one.actions, two.actions)
        assert np.array_equal(one.stopped, two.stopped)
        assert np.array_equal(one.states, two.states, equal_nan=True)
    return count(program) - count(tidy)


def count(program: Program) -> int:
    return sum(1 for tree in program.trees.values() for _ in leaves(tree))


@settings(max_examples=25)
@given(worlds.problems(), st.integers(0, 10**6))
def test_does_the_same_in_random_worlds(problem: Problem, seed: int) -> None:
    assert same(random_program(problem, seed), seed, 40) >= 0


def test_does_the_same_on_benchmarks(benchmark_problem: Problem) -> None:
    assert same(random_program(benchmark_problem, 5, depth=5), 1, 500) > 5


def test_what_never_happens_is_gone() -> None:
    problem = worlds.benchmark("german")
    numbers = {str(action): action.index for action in problem.transitions.actions}
    stop, skilled = Choice(problem.transitions.stop), Choice(numbers["CHANGE_JOB=skilled"])
    job = next(feature for feature in problem.features if feature.name == "job")
    towards = Choice(numbers["CHANGE_CREDIT=-5000"], reach=1000.0)
    begin = Leaf((stop, skilled, skilled, towards, Choice(numbers["CHANGE_CREDIT=-100"]), stop))
    place = int(problem.state(dict.fromkeys([f.name for f in problem.features]) | _somebody(problem))[job.index])
    after = Split(Test(job.index, among=(place,)), Leaf((skilled, stop, towards)), Leaf((towards, stop)))
    program = Program(problem, {INTERVENE: begin, "CHANGE_JOB": after}).simplified()
    assert program.trees[INTERVENE] == Leaf((skilled, towards))
    assert program.trees["CHANGE_JOB"] == Leaf((stop,))


def _somebody(problem: Problem) -> dict[str, object]:
    """A skilled person."""
    row = worlds.random_people(problem, 0, 1).iloc[0].to_dict()
    return {**row, "job": "skilled"}
