"""The surrogate: it learns rules from answers, says how sure it is, and comes back from disk as it was."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import worlds
from altered import ALLOWED, altered
from counterplan import Problem, SettingError, StorageError
from counterplan.figures.surrogate import assess
from counterplan.search.change_sets import Hints, propose
from counterplan.surrogate import StateFeatures, Surrogate, load_surrogate, reliability, save_surrogate
from counterplan.surrogate.networks import forward, initial_params
from counterplan.surrogate.surrogate import BATCH_SIZE, FACTS, WEIGHTS, from_arrays, to_arrays

jnp = pytest.importorskip("jax.numpy")
from counterplan.surrogate.fitting import FitSettings, fit  # noqa: E402

QUICK = FitSettings(members=3, hidden=(16, 16), steps=200, refit_steps=100, trees=12)
SYN = worlds.benchmark("syn")
NAMES = [feature.name for feature in SYN.features]


def some_states(problem: Problem, seed: int, count: int) -> np.ndarray:
    return problem.read(worlds.random_people(problem, seed, count)).states


def column(states: np.ndarray, name: str) -> np.ndarray:
    return states[:, NAMES.index(name)]


def threshold_rule(states: np.ndarray) -> np.ndarray:
    return (column(states, "income") > 80_000) & (column(states, "credit") < 30_000)


def category_rule(states: np.ndarray) -> np.ndarray:
    return (column(states, "relationship") == 1) | (column(states, "job") >= 4)


@pytest.fixture(scope="module")
def learned() -> Surrogate:
    states = some_states(SYN, 1, 1500)
    return fit(SYN, states, threshold_rule(states), QUICK, seed=1)


@pytest.mark.parametrize("seed", range(3))
def test_numpy_and_jax_agree(seed: int) -> None:
    random = np.random.default_rng(seed)
    params = initial_params(17, 4, (12, 8), random)
    params = {name: value + random.normal(size=value.shape).astype(np.float32) / 4 for name, value in params.items()}
    x = random.normal(size=(50, 17)).astype(np.float32)
    ours = forward(np, params, x)
    assert ours.shape == (4, 50)
    assert np.abs(ours).max() > 0.1
    np.testing.assert_allclose(ours, np.asarray(forward(jnp, params, x)), atol=1e-4)
    for member in range(4):
        alone = {name: value[:, [member]] if name == "0.weight" else value[[member]] for name, value in params.items()}
        np.testing.assert_allclose(forward(np, alone, x)[0], ours[member], atol=1e-5)


@pytest.mark.parametrize("rule", [threshold_rule, category_rule])
def test_learns_a_rule(rule) -> None:  # type: ignore[no-untyped-def]
    states, others = some_states(SYN, 2, 1500), some_states(SYN, 3, 1500)
    surrogate = fit(SYN, states, rule(states), QUICK)
    for parts, wanted in (("networks", 0.95), ("trees", 0.98), ("both", 0.98)):
        chance = surrogate.with_parts(parts)(others)
        assert ((chance > 0.5) == rule(others)).mean() > wanted, parts


def test_a_refit_starts_from_what_was_known(learned: Surrogate) -> None:
    states, others = some_states(SYN, 4, 3000), some_states(SYN, 5, 1500)
    again = fit(SYN, states, threshold_rule(states), replace(QUICK, refit_steps=50), warm_start=learned)
    assert again.state_features is learned.state_features
    networks = again.with_parts("networks")
    assert ((networks(others) > 0.5) == threshold_rule(others)).mean() > 0.97


def test_the_same_seed_gives_the_same_surrogate(learned: Surrogate) -> None:
    states = some_states(SYN, 1, 1500)
    others = some_states(SYN, 6, 200)
    again = fit(SYN, states, threshold_rule(states), QUICK, seed=1)
    np.testing.assert_array_equal(again.logit(others), learned.logit(others))
    other = fit(SYN, states, threshold_rule(states), QUICK, seed=2)
    assert (other.logit(others) != learned.logit(others)).any()


@pytest.mark.parametrize("answer", [True, False])
@pytest.mark.parametrize("count", [1, 5, 200])
def test_one_answer_only(learned: Surrogate, answer: bool, count: int) -> None:
    states = some_states(SYN, 7, count)
    for start in (None, learned):
        surrogate = fit(SYN, states, np.full(count, answer), QUICK, warm_start=start)
        for parts in ("networks", "trees", "both"):
            logits = surrogate.with_parts(parts).logit(some_states(SYN, 8, 50))
            assert ((logits > 0) == answer).all()
            assert np.ptp(logits) < 1e-6
    both = some_states(SYN, 9, 500)
    after = fit(SYN, both, category_rule(both), QUICK, warm_start=surrogate)
    assert ((after.with_parts("networks")(both) > 0.5) == category_rule(both)).mean() > 0.85


@pytest.mark.parametrize("count", [2, 5])
def test_few_answers(count: int) -> None:
    states = some_states(SYN, 10, count)
    surrogate = fit(SYN, states, np.arange(count) % 2 == 0, QUICK)
    assert np.isfinite(surrogate.logit(some_states(SYN, 11, 50))).all()


def test_a_rare_outcome_is_found_and_not_overrated() -> None:
    states, others = some_states(SYN, 12, 3000), some_states(SYN, 13, 3000)

    def rule(rows: np.ndarray) -> np.ndarray:
        return threshold_rule(rows) & (column(rows, "job") == 5)

    assert 0.01 < rule(states).mean() < 0.1
    chance = fit(SYN, states, rule(states), QUICK)(others)
    assert (chance[rule(others)] > 0.5).mean() > 0.8
    assert chance.mean() == pytest.approx(rule(others).mean(), abs=0.02)


def test_chances_are_calibrated_where_answers_are_noisy() -> None:
    random = np.random.default_rng(0)
    states, others = some_states(SYN, 14, 3000), some_states(SYN, 15, 3000)

    def answer(rows: np.ndarray) -> np.ndarray:
        return random.random(len(rows)) < np.where(threshold_rule(rows) | category_rule(rows), 0.8, 0.3)

    surrogate = fit(SYN, states, answer(states), QUICK)
    said = answer(others)
    for parts in ("networks", "trees", "both"):
        rows = reliability(surrogate.with_parts(parts), others, said, bins=5)
        assert sum(count for *_, count in rows) == 3000
        gap = sum(abs(chance - share) * count for chance, share, count in rows) / 3000
        assert gap < 0.08, parts


def test_a_part_that_did_not_learn_from_an_answer_judges_it() -> None:
    states = np.unique(some_states(SYN, 19, 900), axis=0)
    coins = np.random.default_rng(1).random(len(states)) < 0.5
    surrogate = fit(SYN, states, coins, QUICK)
    assert ((surrogate(states) > 0.5) == coins).mean() > 0.65, "learned by heart"
    for parts in ("networks", "trees", "both"):
        rows, logits = surrogate.with_parts(parts).held_out(states)
        assert 0.5 * len(states) < len(rows) < 0.7 * len(states), "three networks and forests, five folds"
        assert ((logits > 0) == coins[rows]).mean() == pytest.approx(0.5, abs=0.08), parts
        few, some = surrogate.with_parts(parts).held_out(states[rows[:20]])
        assert few.tolist() == list(range(20))
        np.testing.assert_allclose(some, logits[:20], atol=1e-4)
    judged = assess(surrogate, states, coins, holdout=False)
    assert judged is not None
    assert judged.error < 0.1
    assert str(judged) == f"{len(judged.answers):,} answers, by cross-validation"
    assert assess(surrogate, states[:20], coins[:20], holdout=True) is None
    apart = surrogate.trees.per_forest(states, QUICK.forests)
    np.testing.assert_allclose(apart.mean(axis=0), surrogate.trees(states), atol=1e-4)


def test_nothing_honest_is_said_where_nothing_was_left_out() -> None:
    states = some_states(SYN, 20, 200)
    for answers in (np.ones(200, bool), np.arange(200) == 7):
        surrogate = fit(SYN, states, answers, QUICK)
        rows, logits = surrogate.held_out(states)
        assert len(rows) == len(logits)
        if not surrogate.folds:
            assert not len(rows)
    assert not fit(SYN, states, np.ones(200, bool), QUICK).folds


def test_any_number_of_states(learned: Surrogate) -> None:
    states = some_states(SYN, 16, 2 * BATCH_SIZE + 5)
    logits = learned.logit(states)
    assert logits.dtype == np.float64
    np.testing.assert_allclose(learned.logit(states[-7:]), logits[-7:], atol=1e-4)
    assert learned.logit(states[:0]).shape == learned(states[:0]).shape == (0,)
    np.testing.assert_allclose(learned(states), 1 / (1 + np.exp(-logits)))
    assert reliability(learned, states[:0], np.zeros(0, bool)) == []


def test_far_from_the_boundary_logits_still_differ(learned: Surrogate) -> None:
    states = np.repeat(some_states(SYN, 17, 1), 50, axis=0)
    states[:, NAMES.index("income")] = np.linspace(0, 2_000_000, 50)
    assert len(np.unique(learned.with_parts("networks").logit(states))) == 50


def test_parts_have_names(learned: Surrogate) -> None:
    states = some_states(SYN, 18, 20)
    networks, trees, both = (learned.with_parts(parts) for parts in ("networks", "trees", "both"))
    assert learned.parts == "both"
    assert len({part.logit(states).tobytes() for part in (networks, trees, both)}) == 3
    np.testing.assert_array_equal(networks.with_parts("both").logit(states), learned.logit(states))
    with pytest.raises(SettingError, match="there is no 'forest'"):
        learned.with_parts("forest")


def test_answers_and_states_go_together() -> None:
    states = some_states(SYN, 19, 4)
    for rows, answers in ((states, np.ones(3, bool)), (states[:0], np.ones(0, bool))):
        with pytest.raises(SettingError, match="one answer for each state"):
            fit(SYN, rows, answers, QUICK)


def test_a_surrogate_of_another_problem_is_no_start(learned: Surrogate) -> None:
    german = worlds.benchmark("german")
    with pytest.raises(SettingError, match="another problem"):
        fit(german, some_states(german, 1, 10), np.arange(10) > 4, QUICK, warm_start=learned)


def changed(**parts: object) -> Problem:
    return Problem.from_dict(SYN.to_dict() | parts)


def test_a_surrogate_serves_other_costs_actions_and_limits(learned: Surrogate, tmp_path: Path) -> None:
    states = some_states(SYN, 21, 100)
    longest = SYN.max_actions
    plans = np.array([[0, 1, 2] + [-1] * (longest - 3), [2] + [-1] * (longest - 1)])
    known = replace(learned, hints=Hints(states[:5], plans))
    functions = SYN.to_dict()["functions"]
    first, *others = functions
    dearer = changed(functions={**functions, first: {**functions[first], "cost": {"base": 1234}}})
    shorter, longer = changed(max_actions=2), changed(max_actions=longest + 1)
    fewer = changed(functions={name: functions[name] for name in others})
    for problem, kept in (
        (dearer, plans),
        (fewer, np.empty((0, longest))),
        (shorter, plans[1:, :2]),
        (longer, np.pad(plans, ((0, 0), (0, 1)), constant_values=-1)),
    ):
        rebound = known.with_problem(problem)
        assert rebound.problem is problem
        assert rebound.query_fingerprint == known.query_fingerprint == problem.query_fingerprint
        np.testing.assert_array_equal(rebound.logit(states), learned.logit(states))
        assert rebound.hints is not None
        np.testing.assert_array_equal(rebound.hints.anchors, states[:5])
        np.testing.assert_array_equal(rebound.hints.examples, kept)
        save_surrogate(rebound, tmp_path)
        np.testing.assert_array_equal(load_surrogate(tmp_path, problem).logit(states), learned.logit(states))
        assert rebound.with_problem(SYN).problem is SYN
    assert known.with_problem(SYN) is known
    more = some_states(SYN, 22, 300)
    refitted = fit(fewer, more, threshold_rule(more), QUICK, warm_start=known)
    assert refitted.problem is fewer
    np.testing.assert_array_equal(
        refitted.logit(states), fit(SYN, more, threshold_rule(more), QUICK, warm_start=known).logit(states)
    )


def test_a_surrogate_serves_no_other_features_or_outcome(learned: Surrogate) -> None:
    data = SYN.to_dict()
    features, outcome = data["features"], data["outcome"]
    income = features["income"] | {"missing": True}
    for problem, difference in (
        (worlds.benchmark("german"), "names or the order"),
        (changed(features={**features, "income": income}), "feature 'income'"),
        (changed(outcome=outcome | {"favourable": "refused"}), "outcome"),
    ):
        with pytest.raises(SettingError, match=rf"another problem .*{difference}"):
            learned.with_problem(problem)


@pytest.mark.parametrize("seed", [3, 4, 10])
def test_random_worlds(seed: int, tmp_path: Path) -> None:
    problem = Problem.from_dict(worlds.random_problem(seed))
    people = worlds.random_people(problem, seed, 400)
    answers = worlds.random_black_box(problem, seed).favourable(people)
    states = problem.read(people).states
    surrogate = fit(problem, states, answers, replace(QUICK, steps=50, trees=8))
    chance = surrogate(states)
    assert np.isfinite(surrogate.logit(states)).all()
    assert ((chance > 0.5) == answers).mean() >= max(answers.mean(), 1 - answers.mean()) - 0.02
    save_surrogate(surrogate, tmp_path)
    np.testing.assert_array_equal(load_surrogate(tmp_path, problem)(states), chance)


def test_comes_back_from_disk(learned: Surrogate, tmp_path: Path) -> None:
    states = some_states(SYN, 20, 300)
    for parts in ("networks", "trees", "both"):
        save_surrogate(learned.with_parts(parts), tmp_path)
        kept = load_surrogate(tmp_path, SYN)
        assert kept.parts == parts
        assert isinstance(kept.state_features, StateFeatures)
        np.testing.assert_array_equal(kept.logit(states), learned.with_parts(parts).logit(states))
        np.testing.assert_array_equal(kept.held_out(states)[1], learned.with_parts(parts).held_out(states)[1])


def test_what_is_not_whole_or_not_ours_is_refused(learned: Surrogate, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="no such file"):
        load_surrogate(tmp_path, SYN)
    save_surrogate(learned, tmp_path)
    with pytest.raises(StorageError, match=rf"{FACTS}: .*another problem"):
        load_surrogate(tmp_path, worlds.benchmark("german"))
    content, facts = (tmp_path / WEIGHTS).read_bytes(), (tmp_path / FACTS).read_text()
    for damage in (content[:-1], content[:-1] + b"\1", b""):
        (tmp_path / WEIGHTS).write_bytes(damage)
        with pytest.raises(StorageError, match=rf"{WEIGHTS}: damaged or changed"):
            load_surrogate(tmp_path, SYN)
    (tmp_path / WEIGHTS).write_bytes(content)
    changed = json.loads(facts)
    changed["calibrations"]["trees"]["shift"] += 1
    for broken, message in (
        (facts[:40], "cannot be read"),
        ("[]", "not a surrogate"),
        ("{}", "not a surrogate"),
        (facts.replace('"counterplan_surrogate": 1', '"counterplan_surrogate": 9'), "newer counterplan"),
        (facts.replace('"mean"', '"men"'), "damaged"),
        (json.dumps(changed), "damaged or changed"),
    ):
        (tmp_path / FACTS).write_text(broken)
        with pytest.raises(StorageError, match=message) as caught:
            load_surrogate(tmp_path, SYN)
        assert FACTS in str(caught.value)
    (tmp_path / FACTS).write_text(facts)
    (tmp_path / WEIGHTS).unlink()
    with pytest.raises(StorageError, match=rf"{WEIGHTS}: there is no such file"):
        load_surrogate(tmp_path, SYN)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_can_be_constructed_can_predict(learned: Surrogate) -> None:
    states = some_states(SYN, 23, 12)
    examples = np.full((2, SYN.max_actions), -1)
    examples[:, :2] = [[0, 1], [2, -1]]
    known = replace(learned, hints=Hints(states[:3], examples))
    arrays, facts = to_arrays(known)
    refused = accepted = 0
    for changed in altered(arrays, facts):
        try:
            built = from_arrays(SYN, *changed)
        except ALLOWED:
            refused += 1
        else:
            for parts in ("networks", "trees", "both"):
                assert built.with_parts(parts).logit(states).shape == (12,)
                assert built.with_parts(parts).held_out(states)[0].ndim == 1
            stored = arrays["hints.anchors"], arrays["hints.examples"]
            if built.hints is not None and any(hint is not own for hint, own in zip(built.hints, stored, strict=True)):
                allowed = np.ones((2, len(SYN.transitions)), bool)
                propose(SYN, states[:2], allowed, learned.logit, anchors=built.hints[0], examples=built.hints[1])
            accepted += 1
    assert refused > 8 * len(arrays)
    assert accepted


def test_parts_that_do_not_belong_together_are_refused(learned: Surrogate) -> None:
    features, trees, networks = learned.state_features, learned.trees, learned.networks
    fewer = StateFeatures.from_states(SYN, some_states(SYN, 24, 10), cuts=2)
    beyond = replace(trees, features=(*trees.features[:-1], len(SYN.features)))
    wrong_plans = Hints(some_states(SYN, 25, 2), np.array([[len(SYN.transitions)]]))
    for changes, message in (
        ({"state_features": fewer}, "0.weight"),
        ({"networks": networks | {"1.bias": networks["1.bias"][:-1]}}, "1.bias"),
        ({"networks": {name: value for name, value in networks.items() if name != "2.bias"}}, "weights and biases"),
        ({"trees": beyond}, "other features"),
        ({"forests": 7}, "not 7 forests"),
        ({"folds": -1}, "'folds' is a whole number"),
        ({"calibrations": {"both": learned.calibrations["both"]}}, "calibrations for"),
        ({"hints": wrong_plans}, "other actions"),
        ({"hints": Hints(np.zeros((1, 2)), wrong_plans.examples - 1)}, "other features"),
    ):
        with pytest.raises(SettingError, match=message):
            replace(learned, **changes)
    for changes, message in (
        ({"values": trees.values[:-1]}, "do not match"),
        ({"values": trees.values[:, :-1]}, "leaves are"),
        ({"cuts": (trees.cuts[0][::-1], *trees.cuts[1:])}, "do not increase"),
        ({"remaining": trees.remaining[:-1]}, "every feature"),
    ):
        with pytest.raises(SettingError, match=message):
            replace(trees, **changes)
    for changes, message in (({"scale": (0.0,) * len(SYN.features)}, "positive"), ({"mean": ()}, "number of features")):
        with pytest.raises(SettingError, match=message):
            replace(features, **changes)


def test_without_jax_a_surrogate_runs_and_learning_says_what_is_missing() -> None:
    code = (
        "import sys; sys.modules['jax'] = None\n"
        "import counterplan.surrogate\n"
        "from counterplan import SettingError\n"
        "try:\n    import counterplan.surrogate.fitting\n"
        "except SettingError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "counterplan[train]" in done.stdout
