"""A learning run: it gets better, keeps its budget, comes back from a checkpoint, and copes with odd people."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import worlds
from counterplan import (
    BlackBox,
    CounterplanError,
    LabelledStates,
    PeopleError,
    Problem,
    SettingError,
    StorageError,
    benchmarks,
)
from counterplan.models import FunctionModel
from counterplan.storage.arrays import read_arrays, write_arrays

pytest.importorskip("jax")
from counterplan.benchmarks import Benchmark
from counterplan.benchmarks.family import family
from counterplan.surrogate.active_learning import CHECKPOINT, METRICS, ActiveLearner, LearningSettings
from quick import FIT

QUICK = LearningSettings(people=50, plans=50, rounds=3, patience=9, validation=6, fit=FIT)


@cache
def syn() -> Benchmark:
    return benchmarks.load("syn")


@cache
def people_of_syn(count: int = 400) -> pd.DataFrame:
    return syn().train.head(count)


def quick(
    folder: Path | None = None,
    people: pd.DataFrame | None = None,
    model: object = None,
    answers: LabelledStates | None = None,
    seed: int = 1,
    problem: Problem | None = None,
    **changes: object,
) -> ActiveLearner:
    problem = problem or syn().problem
    people = people_of_syn() if people is None else people
    box = model if isinstance(model, BlackBox) else BlackBox(model or syn().model)
    return ActiveLearner(problem, problem.read(people), box, replace(QUICK, **changes), seed, folder, answers=answers)  # type: ignore[arg-type]


def resumed(folder: Path, people: pd.DataFrame | None = None, seed: int = 1, **changes: object) -> ActiveLearner:
    settings = replace(QUICK, **changes)  # type: ignore[arg-type]
    read = syn().problem.read(people_of_syn() if people is None else people)
    return ActiveLearner.resumed(syn().problem, read, BlackBox(syn().model), settings, seed, folder)


def logits(run: ActiveLearner, problem: Problem | None = None) -> np.ndarray:
    assert run.best is not None
    problem = problem or syn().problem
    return run.best.logit(problem.read(worlds.random_people(problem, 7, 200)).states)


def assert_same(a: ActiveLearner, b: ActiveLearner) -> None:
    np.testing.assert_array_equal(logits(a), logits(b))
    assert a.metrics == b.metrics
    assert a.queries == b.queries


@pytest.fixture(scope="module")
def whole() -> ActiveLearner:
    run = quick()
    run.run()
    return run


def test_learns_within_the_first_rounds(whole: ActiveLearner) -> None:
    assert whole.finished
    assert len(whole.metrics) == QUICK.rounds
    assert whole.metrics[-1]["success"] > 0.9
    assert whole.metrics[-1]["questions"] < 4
    assert whole.queries <= whole.box.queries


def test_the_same_seed_gives_the_same_surrogate(whole: ActiveLearner) -> None:
    again = quick()
    again.run()
    assert_same(again, whole)
    other = quick(seed=2, rounds=1)
    other.run()
    assert (logits(other) != logits(whole)).any()


@pytest.mark.parametrize("rounds", [1, 2])
def test_a_run_that_was_dropped_goes_on_to_the_same_surrogate(
    whole: ActiveLearner, tmp_path: Path, rounds: int
) -> None:
    first = quick(tmp_path)
    for _ in range(rounds):
        first.advance()
        first.save()
    del first
    run = resumed(tmp_path)
    assert run.round == rounds
    run.run()
    assert_same(run, whole)
    assert run.box.queries < whole.box.queries
    assert len((tmp_path / METRICS).read_text().splitlines()) == QUICK.rounds
    done = resumed(tmp_path)
    done.run()
    assert_same(done, whole)
    assert done.box.queries == 0


def test_a_round_that_broke_off_is_done_again(whole: ActiveLearner, tmp_path: Path) -> None:
    rows = 0

    def fragile(frame: pd.DataFrame) -> np.ndarray:
        nonlocal rows
        rows += len(frame)
        if rows > whole.metrics[0]["queries"] + 10:
            raise KeyboardInterrupt
        return syn().model.labels(frame)

    fragile.identity = syn().model.identity  # type: ignore[attr-defined]
    with pytest.raises(KeyboardInterrupt):
        quick(tmp_path, model=FunctionModel(fragile, name=syn().model.name)).run()
    run = resumed(tmp_path)
    run.run()
    assert_same(run, whole)


def test_a_run_that_spent_its_budget_goes_on_with_a_larger_one(tmp_path: Path) -> None:
    first = quick(tmp_path, budget=200)
    first.run()
    assert first.stopped_by_budget
    run = resumed(tmp_path, budget=600)
    assert not run.finished
    assert run.round == first.round
    run.run()
    assert not run.stopped_by_budget
    assert 200 < run.queries <= 600
    assert run.queries == first.queries + run.box.queries, "nothing is paid for twice"
    assert len(run.labelled_set) == run.queries, "and all of it is learned from"
    again = resumed(tmp_path, budget=600)
    again.run()
    assert again.box.queries == 0
    assert_same(again, run)
    less = resumed(tmp_path, budget=10)
    less.run()
    assert less.box.queries == 0
    np.testing.assert_array_equal(logits(less), logits(run))


def test_a_smaller_budget_keeps_what_was_learned(tmp_path: Path) -> None:
    first = quick(tmp_path, budget=30)
    first.run()
    assert first.initialization_truncated
    less = resumed(tmp_path, budget=10)
    less.run()
    assert less.stopped_by_budget
    assert less.box.queries == 0
    assert_same(less, first)


def test_a_run_that_could_not_even_begin_begins_again(whole: ActiveLearner, tmp_path: Path) -> None:
    first = quick(tmp_path, budget=30)
    first.run()
    assert first.initialization_truncated
    run = resumed(tmp_path)
    run.run()
    assert_same(run, whole)
    assert run.box.queries == whole.box.queries - first.queries


def test_answers_that_are_handed_in_later_are_learned_from(whole: ActiveLearner, tmp_path: Path) -> None:
    first = quick(tmp_path, rounds=1)
    first.run()
    answers = LabelledStates.from_cache(whole.box, syn().problem)
    settings = replace(QUICK, rounds=1)
    read = syn().problem.read(people_of_syn())
    run = ActiveLearner.resumed(syn().problem, read, BlackBox(syn().model), settings, 1, tmp_path, answers=answers)
    assert not run.finished
    run.run()
    assert run.finished
    assert run.metrics[-1]["known"] >= len(answers) > first.metrics[-1]["known"]
    same = ActiveLearner.resumed(syn().problem, read, BlackBox(syn().model), settings, 1, tmp_path, answers=answers)
    assert same.finished, "there is nothing new in them"


def test_where_nothing_favourable_is_known_it_looks_far_beyond_any_plan() -> None:
    far = family(functions=40, box="needle", needed=4, max_actions=8, seed=1)
    refused = far.train[~BlackBox(far.model).favourable(far.problem, far.train)]
    read = far.problem.read(refused.head(60))

    def initialized(model: object, probe_above: int) -> ActiveLearner:
        settings = replace(QUICK, people=60, plans=60, validation=12, probe_above=probe_above)
        learner = ActiveLearner(far.problem, read, BlackBox(model), settings, 1)
        learner._initialize()
        return learner

    run, plain = initialized(far.model, 10), initialized(far.model, 10_000)
    assert not plain.labelled_set.answers.any()
    assert run.labelled_set.answers.any()
    assert len(run.labelled_set) > len(plain.labelled_set) + run.settings.probes, "the boundary is located from there"
    hopeless = initialized(lambda frame: [far.problem.outcome.natives[0]] * len(frame), 10)
    assert not hopeless.labelled_set.answers.any()


def test_checkpoints_are_stored_by_the_keys_of_earlier_versions(tmp_path: Path) -> None:
    run = quick(tmp_path)
    run.advance()
    run.save()
    arrays, facts = read_arrays(tmp_path / CHECKPOINT)
    assert {"round", "worse", "next_person", "learned", "finished", "cut", "spent", "worked"} <= facts.keys()
    kept = {"validation", "pupils", "least", "best_cost", "best_questions"}
    assert (
        kept | {f"ledger.{name}" for name in ["states", "answers", "lengths", "keys", "paid", "given"]} <= arrays.keys()
    )
    first = "budget people plans probes many validation growth scores score_growth score_tolerance score_precision"
    rest = "most anchors examples rounds patience better price"
    assert list(facts["settings"]) == [*first.split(), *rest.split(), "guide", "teach", "fit", "score_fit"]
    fit = "members hidden steps refit_steps batch learning_rate weight_decay cuts forests trees shrinkage rows_share"
    assert list(facts["settings"]["fit"]) == [*fit.split(), "columns_share", "rare", "folds"]


@pytest.mark.parametrize("wrong", [{"queries": None}, {"queries": "x"}, {"success": "x"}, {"other": 1}])
def test_damaged_metrics_in_a_checkpoint_are_refused(tmp_path: Path, wrong: dict[str, object]) -> None:
    run = quick(tmp_path)
    run.advance()
    run.save()
    arrays, facts = read_arrays(tmp_path / CHECKPOINT)
    facts["metrics"][-1] |= wrong
    write_arrays(tmp_path / CHECKPOINT, arrays, facts)
    with pytest.raises(StorageError, match=r"learning\.npz: damaged"):
        resumed(tmp_path)


def test_a_checkpoint_of_another_run_is_refused(tmp_path: Path) -> None:
    run = quick(tmp_path)
    run.advance()
    run.save()
    with pytest.raises(StorageError, match="a different seed"):
        resumed(tmp_path, seed=2)
    with pytest.raises(StorageError, match="different settings"):
        resumed(tmp_path, rounds=7)
    with pytest.raises(StorageError, match="different people"):
        resumed(tmp_path, people=people_of_syn(300))
    (tmp_path / CHECKPOINT).write_bytes((tmp_path / CHECKPOINT).read_bytes()[:-100])
    with pytest.raises(CounterplanError, match=r"learning\.npz: the file is damaged"):
        resumed(tmp_path)
    with pytest.raises(CounterplanError, match="no such file"):
        resumed(tmp_path / "nowhere")


@pytest.mark.parametrize("budget", [1, 5, 50, 300])
def test_the_budget_is_kept(budget: int) -> None:
    run = quick(budget=budget)
    run.run()
    assert run.queries <= budget
    assert run.box.queries <= budget
    assert run.finished
    assert np.isfinite(logits(run)).all()


def test_without_a_budget_there_is_a_message() -> None:
    with pytest.raises(SettingError, match="raise the budget"):
        quick(model=BlackBox(syn().model, budget=0)).run()


def test_a_budget_of_the_box_ends_the_run() -> None:
    run = quick(model=BlackBox(syn().model, budget=130))
    run.run()
    assert run.box.queries == 130
    assert run.best is not None


def test_answers_that_were_handed_in_are_learned_from_and_not_asked_again(whole: ActiveLearner) -> None:
    answers = LabelledStates.from_cache(whole.box, syn().problem)
    run = quick(answers=answers, rounds=1)
    run.run()
    assert run.metrics[0]["known"] >= len(answers)
    assert run.box.queries < whole.metrics[0]["queries"] / 2
    before = set(answers.keys)
    new = [key for key in LabelledStates.from_cache(run.box, syn().problem).keys if key not in before]
    assert len(new) == run.box.queries
    fewer = quick(answers=replace(answers, states=answers.states[:0], favourable=answers.favourable[:0], extras=()))
    assert len(fewer.labelled_set) == 0


def test_people_who_are_all_alike_to_the_model(tmp_path: Path) -> None:
    run = quick(model=lambda frame: ["refused"] * len(frame), people=people_of_syn(40), rounds=2)
    run.run()
    assert (logits(run) < 0).all()
    assert run.metrics[-1]["success"] == 0.0
    lenient = quick(tmp_path, model=lambda frame: ["granted"] * len(frame), people=people_of_syn(80))
    with pytest.raises(PeopleError, match=r"nobody among .* was refused"):
        lenient.run()
    assert not list(tmp_path.iterdir()), "nothing is kept of a run that learned nothing"


@pytest.mark.parametrize("count", [1, 2, 5])
def test_very_few_people(count: int) -> None:
    run = quick(people=syn().refused_train.head(count), rounds=2)
    run.run()
    assert np.isfinite(logits(run)).all()
    with pytest.raises(PeopleError, match="nobody to learn from"):
        quick(people=people_of_syn(0))


def test_refused_people_alone_are_enough() -> None:
    run = quick(people=syn().refused_train.head(150), rounds=2)
    run.run()
    assert run.metrics[-1]["success"] > 0.9


@pytest.mark.parametrize("seed", [3, 4, 10])
def test_random_worlds(seed: int, tmp_path: Path) -> None:
    problem = Problem.from_dict(worlds.random_problem(seed))
    people = worlds.random_people(problem, seed, 60)
    model = worlds.random_black_box(problem, seed)
    run = quick(tmp_path, people, model, problem=problem, budget=400, rounds=2)
    run.run()
    settings = replace(QUICK, budget=400, rounds=2)
    again = ActiveLearner.resumed(problem, problem.read(people), BlackBox(model), settings, 1, tmp_path)
    np.testing.assert_array_equal(logits(again, problem), logits(run, problem))
