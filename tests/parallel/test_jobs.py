"""Several processes: the same plans, surrogates, agents and programs for any number, and clear errors."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from dataclasses import replace
from functools import cache
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

from counterplan import (
    BlackBox,
    CounterplanError,
    LearningSettings,
    ModelError,
    Planner,
    Recourse,
    SettingError,
    TrainingSettings,
    benchmarks,
)
from counterplan.parallel import pool
from counterplan.planners import CascadePlanner, EvolutionPlanner, ExactPlanner
from counterplan.planners.base import PlanColumns, PlanningTask
from counterplan.program.io import to_json as program_json
from counterplan.storage.answer_cache import LabelledStates
from quick import FIT, SCORE_FIT

pytestmark = pytest.mark.xdist_group("parallel")
LEARNING = LearningSettings(budget=700, rounds=2, validation=16, fit=FIT, score_fit=SCORE_FIT)
TRAINING = TrainingSettings(
    people=96, min_people=96, passes=2, group_size=16, simulations=12, gradient_steps=2, validation=8, budget=4_000
)
PEOPLE = 150


@cache
def syn() -> benchmarks.Benchmark:
    return benchmarks.load("syn", 1)


@cache
def learned() -> Recourse:
    """A surrogate, an agent and a program, from one process."""
    recourse = Recourse(syn().problem, syn().model)
    recourse.fit(syn().train, settings=LEARNING, quality=False)
    recourse.fit(syn().refused_train, method="search", settings=TRAINING)
    recourse.distil(syn().train, traces=200, rounds=1)
    return recourse


def fresh(model: Any = None) -> Recourse:
    """The same, with an empty cache."""
    parts = {"surrogate": learned().surrogate_, "agent": learned().agent_, "program": learned().program_}
    return Recourse(syn().problem, syn().model if model is None else model, **parts)


def small(planner: Planner) -> Planner:
    """The planner with smaller batches, so that there are several chunks."""
    if hasattr(planner, "settings") and hasattr(planner.settings, "batch_size"):
        size = 64 * len(planner.problem.transitions) if planner.name == "guided" else 40
        planner.settings = replace(planner.settings, batch_size=size)
    if isinstance(planner, EvolutionPlanner):
        planner.settings = replace(planner.settings, generations=3, population=10)
    return planner


@pytest.mark.parametrize("name", ["exact", "guided", "search", "paper", "cascade", "auto", "evolution"])
def test_plans_do_not_depend_on_the_number_of_processes(name: str) -> None:
    people, seen = syn().refused_test.head(PEOPLE), []
    for jobs in (1, 2, *([3] if name == "exact" else [])):  # new processes for another number take seconds
        recourse = fresh()
        planner = small(recourse.planner(name))
        for part in planner.planners if isinstance(planner, CascadePlanner) else ():
            small(part)
        done: list[int] = []
        plans = planner.plan(people, jobs=jobs, progress=done.append)
        assert sum(done) == PEOPLE
        seen.append((plans.to_json(), plans.queries, plans.cached, recourse.box.queries, recourse.box.cached))
    assert all(one == seen[0] for one in seen[1:])


def test_constraints_and_weights_reach_every_process() -> None:
    people = syn().refused_test.head(PEOPLE)
    weights = np.random.default_rng(0).uniform(0.5, 2, (PEOPLE, len(syn().problem.transitions)))
    options: dict[str, Any] = {"forbid": "CHANGE_JOB", "weights": weights, "budget": 40, "refused": True}
    one, two = (fresh().recommend(people, "exact", jobs=jobs, **options) for jobs in (1, 2))
    assert one.to_json() == two.to_json()
    assert not any("CHANGE_JOB" in action for plan in two for action in plan.actions)


def test_a_model_is_called_in_this_process_only_and_every_answer_is_recorded(tmp_path: Any) -> None:
    called: set[int] = set()

    def model(table: pd.DataFrame) -> Any:  # a closure, which cannot be sent to another process
        called.add(os.getpid())
        return syn().model.labels(table)

    recourse = fresh(model)
    recourse.save(tmp_path)
    with recourse.recording_answers(tmp_path):
        recourse.recommend(syn().refused_test.head(PEOPLE), "exact", jobs=2)
    assert called == {os.getpid()}
    assert len(LabelledStates.load(tmp_path / "answers.csv.gz", syn().problem)) == recourse.box.queries > PEOPLE


def test_extra_columns_tell_people_apart() -> None:
    people = syn().refused_test.head(PEOPLE).assign(branch=np.where(np.arange(PEOPLE) % 3, "north", "south"))

    def model(table: pd.DataFrame) -> Any:
        return np.where(table["branch"] == "south", "refused", syn().model.labels(table))

    one, two = (Recourse(syn().problem, model).recommend(people, "exact", jobs=jobs) for jobs in (1, 2))
    assert one.to_json() == two.to_json()
    assert {plan.status.value for plan in two[::3]} == {"infeasible"}


@pytest.mark.parametrize("scores", [True, False])
def test_surrogates_do_not_depend_on_the_number_of_processes(scores: bool) -> None:
    seen = []
    for jobs in (1, 2):
        recourse = Recourse(syn().problem, syn().model)
        settings = replace(LEARNING, scores=scores, budget=2_000)
        settings = replace(settings, acquisition=replace(settings.acquisition, batch_size=200))
        recourse.fit(syn().train, settings=settings, quality=False, jobs=jobs)
        assert recourse.surrogate_ is not None
        seen.append(
            (
                recourse.surrogate_.logit(syn().problem.read(syn().test).states).tolist(),
                (recourse.box.queries, recourse.box.cached, recourse.n_queries_),
            )
        )
    assert seen[0] == seen[1]


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_agents_do_not_depend_on_the_number_of_processes(preset: str, tmp_path: Any) -> None:
    seen = []
    settings = (
        TRAINING
        if preset == "default"
        else replace(TrainingSettings.preset(preset), people=64, min_people=64, passes=1)
    )
    for jobs in (1, 2):
        recourse = Recourse(syn().problem, syn().model)
        recourse.fit(syn().refused_train, method="search", settings=settings, jobs=jobs, folder=tmp_path / str(jobs))
        assert recourse.agent_ is not None
        weights = {name: value.tolist() for name, value in recourse.agent_.params.items()}
        seen.append((weights, recourse.box.queries, recourse.box.cached, recourse.n_queries_))
    assert seen[0] == seen[1]


def test_programs_do_not_depend_on_the_number_of_processes() -> None:
    one, two = (fresh().distil(syn().train, traces=700, rounds=2, jobs=jobs) for jobs in (1, 2))
    assert program_json(one) == program_json(two)


@pytest.mark.parametrize("jobs", [0, -2, True, 1.5, "2", None])
def test_a_number_of_processes_is_a_positive_integer_or_minus_one(jobs: Any) -> None:
    with pytest.raises(SettingError, match="'jobs' must be a number of processes, 1 or more, or -1 for one per core"):
        fresh().recommend(syn().refused_test.head(3), "exact", jobs=jobs)


def test_one_process_per_core() -> None:
    assert pool.checked_jobs(-1) == os.cpu_count()


def test_a_box_with_a_budget_is_queried_by_one_process() -> None:
    seen = []
    for jobs in (1, 2):
        box = BlackBox(syn().model, budget=500)
        seen.append(Recourse(syn().problem, box).recommend(syn().refused_test.head(PEOPLE), "exact", jobs=jobs))
        assert box.queries == 500
    assert seen[0].to_json() == seen[1].to_json()


class Failing(Planner):
    """A planner whose search fails."""

    name: ClassVar[str] = "failing"

    def search(self, task: PlanningTask) -> PlanColumns:
        if task.budget == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        if task.budget == 2:
            raise ValueError("nothing can be found here")
        raise SettingError("this planner has no settings")


@pytest.mark.parametrize(
    ("budget", "kind", "message"),
    [
        (1, CounterplanError, "a worker process has ended unexpectedly"),
        (2, CounterplanError, "a worker process failed: ValueError: nothing can be found here"),
        (3, SettingError, "this planner has no settings"),
    ],
)
def test_errors_of_workers_are_reported(budget: int, kind: type[Exception], message: str) -> None:
    people = syn().refused_test.head(PEOPLE)
    with pytest.raises(kind, match=message):
        Failing(syn().problem, syn().model).plan(people, budget=budget, refused=True, jobs=2)
    assert len(fresh().recommend(people, "exact", jobs=2)) == PEOPLE, "the next call has new processes"


def test_what_cannot_be_sent_to_a_process_is_named() -> None:
    planner = ExactPlanner(syn().problem, syn().model)
    planner.note = lambda: None  # type: ignore[attr-defined]
    with pytest.raises(SettingError, match=r"everything but the model is sent to other processes.*lambda"):
        planner.plan(syn().refused_test.head(PEOPLE), jobs=2)


def test_an_error_of_the_model_ends_the_run() -> None:
    calls = 0

    def model(table: pd.DataFrame) -> Any:
        nonlocal calls
        calls += 1
        if calls > 3:
            raise RuntimeError("the service is down")
        return syn().model.labels(table)

    with pytest.raises(ModelError, match="the service is down"):
        fresh(model).recommend(syn().refused_test.head(PEOPLE), "exact", jobs=2)


class Slow(Planner):
    """A planner whose worker is killed while this process answers its query."""

    name: ClassVar[str] = "slow"

    def search(self, task: PlanningTask) -> PlanColumns:
        self.box.session(self.problem, task.people)(task.people.states + 1.0, np.arange(len(task)))
        return PlanColumns.empty(len(task), self.problem.max_actions)


def test_a_worker_that_ends_while_it_waits_for_an_answer_is_noticed() -> None:
    def model(table: pd.DataFrame) -> Any:
        for process in multiprocessing.active_children():
            process.kill()
            process.join()
        return np.full(len(table), "refused")

    with pytest.raises(CounterplanError, match="a worker process has ended unexpectedly"):
        Slow(syn().problem, BlackBox(model, cache_size=0)).plan(syn().refused_test.head(PEOPLE), refused=True, jobs=2)


def _report_and_sleep(seconds: float, chunk: int, link: pool.WorkerLink) -> int:
    link.progress(1)
    time.sleep(seconds)
    return chunk


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="this system cannot signal a thread")
def test_an_interrupt_that_another_thread_receives_ends_the_wait() -> None:
    def interrupt() -> None:
        time.sleep(0.2)  # until this process waits for a worker
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)

    def start(done: int) -> None:
        threading.Thread(target=interrupt).start()

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        list(pool.run_chunks(_report_and_sleep, 60.0, [0], 1, progress=start))
    assert time.monotonic() - began < 60


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")
def test_a_forked_process_leaves_the_workers_alone() -> None:
    fresh().recommend(syn().refused_test.head(PEOPLE), "exact", jobs=2)
    (kept,) = pool._idle
    child = os.fork()
    if not child:
        pool.close_workers()  # as at its exit
        os._exit(len(pool._idle))
    assert os.waitpid(child, 0)[1] == 0
    assert kept.alive
