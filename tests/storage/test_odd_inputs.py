"""Input that used to hang, to leave a traceback or to lose something."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from counterplan import BlackBox, ExactPlanner, Problem, Recourse, SettingError, StorageError, benchmarks
from counterplan.benchmarks.suite import MAX_SEED
from loans import LOAN, MANY


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_is_refused_as_a_problem_and_as_people(run, folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    for words in (("check", "pipe"), ("recommend", "loan.yaml", "--people", "pipe", "--model", "bank:decide")):
        ran = run(*words)
        assert ran.code != 0
        assert "not a regular file" in ran.out + ran.err


def test_seeds_that_no_network_can_be_trained_with(run, folder: Path) -> None:
    for seed in (MAX_SEED + 1, 10**20):
        ran = run("recommend", "german", "--seed", seed, "--limit", 1)
        assert ran.code == 2
        assert "the seed of a benchmark is a whole number from 0 to" in ran.err


def test_weights_that_are_no_plain_numbers() -> None:
    syn = benchmarks.load("syn")
    people, width = syn.refused_test.head(2), len(syn.problem.transitions)
    planner = ExactPlanner(syn.problem, BlackBox(syn.model))
    for wrong in ([[10**400] * width] * 2, np.ma.masked_array(np.ones((2, width)), mask=True)):
        with pytest.raises(SettingError, match="'weights' must be a mapping"):
            planner.plan(people, weights=wrong)  # type: ignore[arg-type]


def test_a_surrogate_for_other_costs_is_not_saved_over_its_folder(folder: Path) -> None:
    problem = Problem.load("loan.yaml")

    def decide(people):
        return ["yes" if income >= 1500 else "no" for income in people["income"]]

    Recourse(problem, decide).fit(MANY, budget=60).save("learned")
    (folder / "other.yaml").write_text(LOAN.replace("cost: 2", "cost: 3"))
    changed = Recourse.load("learned", decide, problem=Problem.load("other.yaml"))
    with pytest.raises(StorageError, match="in another folder"):
        changed.save("learned")
    changed.save("elsewhere")
    assert Recourse.load("elsewhere", decide).problem.fingerprint == Problem.load("other.yaml").fingerprint
