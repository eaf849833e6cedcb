"""Training: it learns, the same way each time, also when it is killed in the middle; and it obeys its budget."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from counterplan import (
    BlackBox,
    CounterplanError,
    ModelError,
    NotFittedError,
    PeopleError,
    Problem,
    Recourse,
    SettingError,
    StorageError,
    benchmarks,
)
from counterplan.agent import NetworkConfig, SearchSettings
from counterplan.agent.agent import FACTS, WEIGHTS, load_agent, save_agent
from counterplan.agent.training import CHECKPOINT, METRICS, AgentTrainer
from counterplan.agent.training_settings import TrainingSettings
from counterplan.benchmarks import Benchmark
from counterplan.figures.agent import draw_curve
from counterplan.models import FunctionModel
from counterplan.planners import PolicyPlanner, SearchPlanner
from counterplan.problem import People
from counterplan.search.orders import rollout
from counterplan.search.synthetic import crossover
from counterplan.storage.arrays import read_arrays, write_arrays
from quick import TRAINING


@cache
def syn() -> Benchmark:
    return benchmarks.load("syn")


@cache
def refused(count: int = 250) -> pd.DataFrame:
    return syn().refused_train.head(count)


def quick(folder: Path | None = None, seed: int = 1, **changes: object) -> AgentTrainer:
    people = syn().problem.read(refused())
    return AgentTrainer(syn().problem, people, BlackBox(syn().model), replace(TRAINING, **changes), seed, folder)


def resumed(folder: Path, people: pd.DataFrame | None = None, seed: int = 1, **changes: object) -> AgentTrainer:
    read = syn().problem.read(refused() if people is None else people)
    return AgentTrainer.resumed(syn().problem, read, BlackBox(syn().model), replace(TRAINING, **changes), seed, folder)


def weights(training: AgentTrainer) -> dict[str, np.ndarray]:
    return training.best_agent.params


def assert_same(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> None:
    assert a.keys() == b.keys()
    for name in a:
        np.testing.assert_array_equal(a[name], b[name])


@pytest.fixture(scope="module")
def whole() -> AgentTrainer:
    training = quick()
    training.run()
    return training


def test_learns_from_its_own_searches(whole: AgentTrainer) -> None:
    first, last = whole.metrics[0], whole.metrics[-1]
    assert last["solved"] > max(0.4, first["solved"])
    assert last["queries"] == whole.queries == whole.box.queries
    assert any(line["validation_success"] is not None for line in whole.metrics)
    transitions, archive = syn().problem.transitions, whole.archive
    for person in archive.solved[:50]:
        state, cost = archive.starts[[person]], 0.0
        for action in archive.plans[person][archive.plans[person] >= 0]:
            assert transitions.legal(state)[0, action]
            cost += transitions.cost(state)[0, action]
            state = transitions.apply(state, np.array([action]))
        assert cost == pytest.approx(archive.cost[person], abs=1e-3)
        assert syn().model.favourable(state)[0]


def test_the_same_seed_gives_the_same_weights(whole: AgentTrainer) -> None:
    again = quick()
    again.run()
    assert_same(weights(again), weights(whole))
    other = quick(seed=2, passes=1)
    other.run()
    assert any((weights(other)[name] != weights(whole)[name]).any() for name in weights(whole))


def test_a_stopped_run_goes_on_to_the_same_weights(whole: AgentTrainer, tmp_path: Path) -> None:
    begun = quick(tmp_path)
    for _ in range(3):
        begun.advance()
    begun.save()
    later = resumed(tmp_path)
    later.run()
    assert_same(weights(later), weights(whole))
    assert later.queries == whole.queries
    assert later.box.queries == whole.queries - begun.queries, "nothing is asked twice"
    assert later.metrics == whole.metrics
    lines = (tmp_path / METRICS).read_text().splitlines()
    assert [json.loads(line) for line in lines] == whole.metrics


KILLED = """
import sys
import time
sys.path.insert(0, {tests!r})
from pathlib import Path
from agent.test_training import quick
training = quick(Path(sys.argv[1]))
def slow(report):
    print(report.done, flush=True)
    time.sleep(0.3)
training.run(slow)
"""


def test_kill_9_in_the_middle_and_resume(whole: AgentTrainer, tmp_path: Path) -> None:
    script = KILLED.format(tests=str(Path(__file__).parents[1]))
    process = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for _ in range(5):
        process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert process.returncode == -signal.SIGKILL
    later = resumed(tmp_path)
    assert 3 <= later.groups < whole.groups
    later.run()
    assert_same(weights(later), weights(whole))


@pytest.mark.parametrize("stop", [KeyboardInterrupt, RuntimeError])
def test_a_run_that_breaks_off_within_a_group_goes_on_to_the_same_weights(
    whole: AgentTrainer, tmp_path: Path, stop: type[BaseException]
) -> None:
    calls = 0

    def fragile(frame: pd.DataFrame) -> np.ndarray:
        nonlocal calls
        calls += 1
        if calls == 60:
            raise stop
        return syn().model.labels(frame)

    fragile.identity = syn().model.identity
    recourse = Recourse(syn().problem, BlackBox(FunctionModel(fragile, name=syn().model.name)))
    with pytest.raises((KeyboardInterrupt, ModelError)):
        recourse.fit(refused(), seed=1, settings=TRAINING, folder=tmp_path)
    recourse.fit(refused(), seed=1, settings=TRAINING, folder=tmp_path, resume=True)
    assert_same(recourse.agent_.params, weights(whole))


def test_checkpoints_are_stored_by_the_keys_of_earlier_versions(tmp_path: Path) -> None:
    run = quick(tmp_path)
    run.save()
    arrays, facts = read_arrays(tmp_path / CHECKPOINT)
    assert {"groups", "in_play", "improved", "worse", "finished", "spent", "cut", "written", "effort"} <= facts.keys()
    assert {"order", "idle", "least", "best_costs", "invented.states", "invented.rows"} <= arrays.keys()
    assert {f"archive.{name}" for name in ("cost", "plans", "refused_people", "refused_trails")} <= arrays.keys()
    settings = """people enough_people validation passes group simulations questions steps batch learning_rate
    weight_decay refusals refusal_weight budget join tries settled patience validate_every tree search network"""
    assert list(facts["settings"]) == [*settings.split(), "checkpoint_seconds", "lag"]
    trees = """exploration temperature thrift stop_cost discount bounded defer stop_floor noise noise_shape"""
    assert list(facts["settings"]["tree"]) == trees.split()
    assert list(facts["settings"]["network"]) == ["encoder", "controller"]


def test_a_checkpoint_of_another_run_is_refused(tmp_path: Path) -> None:
    begun = quick(tmp_path)
    begun.advance()
    begun.save()
    with pytest.raises(StorageError, match="a different seed"):
        resumed(tmp_path, seed=2)
    with pytest.raises(StorageError, match="different settings"):
        resumed(tmp_path, gradient_steps=7)
    with pytest.raises(StorageError, match="different people"):
        resumed(tmp_path, syn().refused_train.iloc[300:550])
    other = BlackBox(lambda frame: syn().model.labels(frame))
    with pytest.raises(StorageError, match="a different model"):
        AgentTrainer.resumed(syn().problem, syn().problem.read(refused()), other, TRAINING, 1, tmp_path)
    arrays, facts = read_arrays(tmp_path / CHECKPOINT)
    del arrays["idle"]
    write_arrays(tmp_path / CHECKPOINT, arrays, facts)
    with pytest.raises(StorageError, match="damaged"):
        resumed(tmp_path)
    (tmp_path / CHECKPOINT).write_bytes((tmp_path / CHECKPOINT).read_bytes()[:500])
    with pytest.raises(CounterplanError, match="the file is damaged"):
        resumed(tmp_path)


def test_resuming_does_not_invent_people_at_extra_cost(tmp_path: Path) -> None:
    few = refused(40)
    begun = AgentTrainer(syn().problem, syn().problem.read(few), BlackBox(syn().model), TRAINING, 1, tmp_path)
    begun.advance()
    begun.save()
    later = resumed(tmp_path, few)
    assert later.box.queries == 0
    assert later.queries == begun.queries


@pytest.mark.parametrize("budget", [1, 57, 300])
def test_the_budget_is_kept(budget: int) -> None:
    training = quick(budget=budget)
    training.run()
    assert training.queries <= budget
    limited = BlackBox(syn().model, budget=budget)
    other = AgentTrainer(syn().problem, syn().problem.read(refused()), limited, TRAINING, 1)
    other.run()
    assert limited.queries == budget


def test_a_run_that_spent_its_budget_goes_on_with_a_larger_one(tmp_path: Path) -> None:
    first = quick(tmp_path, budget=300)
    first.run()
    first.save()
    assert first.stopped_by_budget
    assert not first.augmentation_truncated
    run = resumed(tmp_path, budget=900)
    assert not run.finished
    assert run.groups == first.groups
    run.run()
    assert run.groups > first.groups
    assert first.queries + run.box.queries == run.queries <= 900
    less = resumed(tmp_path, budget=10)
    less.run()
    assert less.box.queries == 0


def test_more_people_are_invented_with_a_larger_budget(tmp_path: Path) -> None:
    few = syn().problem.read(refused(40))
    first = AgentTrainer(syn().problem, few, BlackBox(syn().model), replace(TRAINING, budget=100), 1, tmp_path)
    first.run()
    first.save()
    assert first.augmentation_truncated
    run = resumed(tmp_path, refused(40), budget=2_000)
    assert len(run.archive.starts) > 2 * len(first.archive.starts)
    run.run()
    assert first.queries + run.box.queries == run.queries <= 2_000


def test_the_papers_way_learns_from_visit_counts_and_resumes(tmp_path: Path) -> None:
    paper = replace(
        TrainingSettings.preset("paper"),
        people=120,
        min_people=60,
        validation=10,
        passes=2,
        group_size=40,
        gradient_steps=6,
        batch_size=32,
        network=NetworkConfig(16, 16),
    )
    people = syn().problem.read(refused())
    whole = AgentTrainer(syn().problem, people, BlackBox(syn().model), paper, 0)
    whole.run()
    archive = whole.archive
    assert len(archive.solved) > 10
    shares = archive.traces.policy[archive.solved]
    real = archive.traces.mask[archive.solved] > 0
    assert (shares[real].max(axis=1) < 1).any(), "not only the action taken"
    assert (shares[real][archive.traces.legal[archive.solved][real] == 0] == 0).all()
    assert archive.refusals_written == 0
    save_agent(whole.best_agent, tmp_path)
    loaded = load_agent(tmp_path, syn().problem)
    for planner in (SearchPlanner, PolicyPlanner):
        assert planner(syn().problem, syn().model, loaded).settings == SearchSettings.preset("paper")
        assert planner(syn().problem, syn().model, loaded, settings="default").settings == SearchSettings()
    begun = AgentTrainer(syn().problem, people, BlackBox(syn().model), paper, 0, tmp_path)
    begun.advance()
    begun.save()
    later = AgentTrainer.resumed(syn().problem, people, BlackBox(syn().model), paper, 0, tmp_path)
    later.run()
    assert_same(weights(later), weights(whole))
    with pytest.raises(SettingError, match="no preset"):
        TrainingSettings.preset("papr")


def test_an_agent_can_be_trained_without_search(tmp_path: Path) -> None:
    """Traces are sampled from the policy, one query for each that stops in time, and validation needs no search."""
    alone = {"explore": "policy", "simulations": 4, "tree": SearchSettings.preset("paper").tree}
    whole = quick(**alone)
    whole.run()
    archive, transitions = whole.archive, syn().problem.transitions
    assert len(archive.solved) > 10
    policy = archive.traces.policy[archive.solved][archive.traces.mask[archive.solved] > 0]
    assert set(np.unique(policy)) == {0.0, 1.0}, "the actions themselves, not visit counts"
    ends, cost, legal = rollout(transitions, archive.starts[archive.solved], archive.plans[archive.solved])
    assert legal.all()
    np.testing.assert_allclose(cost, archive.cost[archive.solved])
    assert syn().model.favourable(ends).all()
    validated = sum(report["validation_success"] is not None for report in whole.metrics)
    episodes = whole.groups * TRAINING.group_size * 4
    assert 0 < whole.queries <= episodes + validated * TRAINING.validation + 2 * TRAINING.min_people
    begun = quick(tmp_path, **alone)
    begun.advance()
    begun.save()
    later = resumed(tmp_path, **alone)
    later.run()
    assert_same(weights(later), weights(whole))
    spent = quick(budget=60, **alone)
    spent.run()
    assert spent.stopped_by_budget
    assert spent.queries <= 60
    with pytest.raises(SettingError, match="explore='trees': there are tree and policy"):
        TrainingSettings(explore="trees")


def test_few_people_are_filled_up_with_invented_ones() -> None:
    people = syn().problem.read(refused(30))
    box = BlackBox(syn().model)
    training = AgentTrainer(syn().problem, people, box, replace(TRAINING, min_people=80), 1)
    assert len(training.archive.starts) > 60
    assert 0 < box.queries <= TRAINING.budget // 10
    poor = AgentTrainer(syn().problem, people, BlackBox(syn().model), replace(TRAINING, min_people=80, budget=50), 1)
    assert poor.queries <= 5
    assert (syn().model.score(poor.archive.starts) < 0.5).all(), "only people who are known to be refused"
    assert (syn().model.score(training.archive.starts) < 0.5).all()
    adult = benchmarks.load("adult")
    some = adult.problem.read(adult.refused_train.head(50))
    states, rows = crossover(adult.problem, some, 300, np.random.default_rng(0))
    names = [feature.name for feature in adult.problem.features]
    rank, number = names.index("education"), names.index("education_num")
    assert (states[:, rank] + 1 == states[:, number]).all(), "what follows from a feature comes along with it"
    assert (states != some.states[rows]).any()


def four_switches(costs: tuple[float, ...], needed: str, people: int) -> tuple[Problem, People, BlackBox]:
    """A problem in which people have to switch on all of the features `needed`."""
    problem = Problem.from_dict(
        {
            "counterplan": 1,
            "name": "switches",
            "outcome": {"column": "y", "values": [0, 1], "favourable": 1},
            "max_actions": 3,
            "features": {name: {"kind": "category", "values": [0, 1]} for name in "abcd"}
            | {"noise": {"kind": "number", "bins": []}},
            "functions": {
                name.upper(): {"set": name, "arguments": [1], "cost": cost}
                for name, cost in zip("abcd", costs, strict=True)
            },
        }
    )
    table = pd.DataFrame(dict.fromkeys("abcd", 0), index=range(people)).assign(noise=np.arange(people) / people)
    return problem, problem.read(table), BlackBox(lambda frame: frame[list(needed)].all(axis=1).astype(int))


def test_training_continues_for_people_without_a_plan_within_their_patience() -> None:
    problem, people, box = four_switches((1, 2, 3, 5), "abc", 200)
    training = AgentTrainer(problem, people, box, replace(TRAINING, passes=20, patience=100, simulations=60), 0)
    training.run()
    assert len(training.archive.solved) == len(training.archive.starts)
    np.testing.assert_allclose(training.archive.cost, 6)


def test_fractional_costs_do_not_look_like_improvements() -> None:
    problem, people, box = four_switches((0.1, 0.7, 5, 5), "ab", 150)
    training = AgentTrainer(problem, people, box, replace(TRAINING, passes=30, patience=100), 0)
    training.run()
    np.testing.assert_allclose(training.archive.cost, 0.8)
    assert training.groups < training.total / 2


def test_agents_can_be_selected_by_success_the_newest_of_equals() -> None:
    problem, people, box = four_switches((1, 2, 3, 5), "a", 150)
    paper = replace(TRAINING, select_by_success=True, first_people=40, patience=3, passes=20)
    training = AgentTrainer(problem, people, box, paper, 0)
    assert training.n_active == 40
    training.run()
    assert training.n_active > 40, "others join"
    rates = [line["validation_success"] for line in training.metrics if line["validation_success"] is not None]
    assert rates[-4:] == [1.0] * 4, "training ends after three validations without a higher rate"
    assert training.groups < training.total
    assert training.best_agent is training.agent


def test_without_anything_to_choose_by_the_newest_agent_is_kept() -> None:
    training = quick()
    first = dict(training.agent.params)
    training.advance()
    training.advance()
    assert not np.isfinite(training.best_costs).any()
    assert training.best_agent is training.agent
    assert any((training.best_agent.params[name] != first[name]).any() for name in first)


def test_hard_cases() -> None:
    with pytest.raises(PeopleError, match="nobody to learn from"):
        AgentTrainer(syn().problem, syn().problem.read(refused(0)), BlackBox(syn().model), TRAINING, 0)
    one = AgentTrainer(syn().problem, syn().problem.read(refused(1)), BlackBox(syn().model), TRAINING, 0)
    one.run()
    hopeless = AgentTrainer(
        syn().problem, syn().problem.read(refused(60)), BlackBox(lambda f: ["refused"] * len(f)), TRAINING, 0
    )
    agent = hopeless.run()
    assert not len(hopeless.archive.solved)
    planner = Recourse(syn().problem, lambda f: ["refused"] * len(f), agent=agent)
    assert planner.recommend(refused(3), "cascade").counts["not_found"] == 3
    assert planner.recommend(refused(1)).counts["infeasible"] == 1


def test_agents_are_kept_and_damage_is_told(whole: AgentTrainer, tmp_path: Path) -> None:
    agent = whole.best_agent
    save_agent(agent, tmp_path)
    back = load_agent(tmp_path, syn().problem)
    assert_same(back.params, agent.params)
    states = syn().problem.read(refused()).states
    np.testing.assert_array_equal(back.inputs(states), agent.inputs(states))
    assert (back.cost_scale, back.config) == (agent.cost_scale, agent.config)
    with pytest.raises(StorageError, match="another problem"):
        load_agent(tmp_path, benchmarks.load("german").problem)
    content, facts = (tmp_path / WEIGHTS).read_bytes(), (tmp_path / FACTS).read_text()
    for damage in (content[:-1], content[:-1] + b"\1", b""):
        (tmp_path / WEIGHTS).write_bytes(damage)
        with pytest.raises(StorageError, match="damaged or changed"):
            load_agent(tmp_path, syn().problem)
    (tmp_path / WEIGHTS).write_bytes(content)
    (tmp_path / FACTS).write_text(facts.replace('"effort": ', '"effort": 1'))
    with pytest.raises(StorageError, match="damaged or changed"):
        load_agent(tmp_path, syn().problem)
    for broken, message in (
        (facts[:40], "cannot be read"),
        ("[]", "not an agent"),
        (facts.replace('"counterplan_agent": 1', '"counterplan_agent": 9'), "newer counterplan"),
        (facts.replace('"mean"', '"men"'), "damaged"),
    ):
        (tmp_path / FACTS).write_text(broken)
        with pytest.raises(StorageError, match=message):
            load_agent(tmp_path, syn().problem)
    (tmp_path / FACTS).unlink()
    with pytest.raises(StorageError, match="no such file"):
        load_agent(tmp_path, syn().problem)


def test_the_front_door(tmp_path: Path) -> None:
    recourse = Recourse(syn().problem, syn().model)
    with pytest.raises(NotFittedError, match="requires an agent"):
        recourse.recommend(refused(), "cascade")
    with pytest.raises(NotFittedError, match="nothing to save"):
        recourse.save(tmp_path)
    with pytest.raises(SettingError, match="did you mean 'search'"):
        recourse.planner("serch")
    recourse.fit(refused(), seed=1, settings=TRAINING).save(tmp_path)
    loaded = Recourse.load(tmp_path, syn().model)
    people = syn().refused_test.head(20)
    for planner in ("search", "cascade", "policy"):
        mine, theirs = recourse.recommend(people, planner), loaded.recommend(people, planner)
        assert [plan.actions for plan in mine] == [plan.actions for plan in theirs]
    last = loaded.recommend(people, "cascade+exact")
    assert last.counts["found"] == 20
    assert all(plan.verified for plan in last)
    with pytest.raises(StorageError, match=r"is .* what 'counterplan fit' wrote"):
        Recourse.load(tmp_path / "nowhere", syn().model)


def test_interrupting_leaves_a_usable_agent() -> None:
    recourse = Recourse(syn().problem, syn().model)

    def impatient(report) -> None:
        if report.done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        recourse.fit(refused(), seed=1, settings=TRAINING, progress=impatient)
    assert recourse.recommend(syn().refused_test.head(3), "search").queries > 0


def test_a_slow_black_box_is_asked_in_batches() -> None:
    calls = []

    def slow(frame: pd.DataFrame) -> np.ndarray:
        calls.append(len(frame))
        return syn().model.labels(frame)

    box = BlackBox(slow)
    training = AgentTrainer(syn().problem, syn().problem.read(refused()), box, replace(TRAINING, passes=1), 1)
    training.run()
    assert sum(calls) == box.queries
    assert len(calls) < box.queries / 3


def test_the_learning_curve_is_drawn(whole: AgentTrainer, tmp_path: Path) -> None:
    draw_curve(whole.metrics, tmp_path / "curve.png", "syn")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_planning_needs_no_jax(whole: AgentTrainer, tmp_path: Path) -> None:
    recourse = Recourse(syn().problem, syn().model, agent=whole.best_agent)
    recourse.save(tmp_path)
    script = (
        "import sys; from counterplan import Recourse, benchmarks\n"
        f"b = benchmarks.load('syn'); r = Recourse.load({str(tmp_path)!r}, b.model)\n"
        "assert len(r.recommend(b.refused_test.head(2))) == 2\n"
        "assert not [name for name in sys.modules if name.startswith(('jax', 'optax', 'sklearn'))]\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
