"""Trees as arrays say what scikit-learn's trees say."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier

import worlds
from counterplan import Problem
from counterplan.surrogate import Trees
from counterplan.surrogate.trees import LEAVES, gradient_boosted, tree_inputs


def grown(x: np.ndarray, y: np.ndarray, seed: int = 0) -> GradientBoostingClassifier:
    model = GradientBoostingClassifier(
        init="zero", n_estimators=12, max_depth=None, max_leaf_nodes=LEAVES, subsample=0.7, random_state=seed
    )
    return model.fit(x, y)


@pytest.mark.parametrize("seed", range(25))
def test_random_worlds(seed: int) -> None:
    problem = Problem.from_dict(worlds.random_problem(seed))
    random = np.random.default_rng(seed)
    states = problem.read(worlds.random_people(problem, seed, 300)).states
    x, y = tree_inputs(problem.features, states), random.random(300) < 0.4
    models = [grown(x[:200], y[:200], 1), grown(x[100:], y[100:], 2)]
    trees = Trees.mean_of(problem.features, [gradient_boosted(model) for model in models])
    wanted = np.mean([model.decision_function(x) for model in models], axis=0)
    assert np.ptp(wanted) > 0
    np.testing.assert_allclose(trees(states), wanted, atol=1e-5)
    kept = Trees.from_arrays(trees.to_arrays())
    np.testing.assert_array_equal(kept(states), trees(states))


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e9])
def test_on_and_beside_the_thresholds(scale: float) -> None:
    problem = worlds.benchmark("syn")
    random = np.random.default_rng(3)
    states = problem.read(worlds.random_people(problem, 3, 400)).states
    numbers = [feature.index for feature in problem.features if feature.is_number]
    states[:, numbers] = random.normal(size=(400, len(numbers))) * scale
    x = tree_inputs(problem.features, states)
    model = grown(x, random.random(400) < 0.5)
    trees = Trees.mean_of(problem.features, [gradient_boosted(model)])
    for feature, cuts in zip(trees.features, trees.cuts, strict=True):
        if feature in numbers:
            beside = np.concatenate([cuts, np.nextafter(cuts, np.float32(np.inf)), np.nextafter(cuts, -cuts)])
            tried = states[random.integers(400, size=len(beside))]
            tried[:, feature] = beside
            wanted = model.decision_function(tree_inputs(problem.features, tried))
            np.testing.assert_allclose(trees(tried), wanted, atol=1e-5)


def test_a_constant() -> None:
    trees = Trees.constant(-2.5)
    np.testing.assert_array_equal(trees(np.zeros((3, 4))), [-2.5] * 3)
    np.testing.assert_array_equal(Trees.from_arrays(trees.to_arrays())(np.zeros((0, 4))), [])
