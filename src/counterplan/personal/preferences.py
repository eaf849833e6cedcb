"""`Preferences`: what choices between plans tell about the weights of functions, as particles of a posterior."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from counterplan.errors import SettingError
from counterplan.problem.transitions import Floats
from counterplan.problem.values import count, cut

INTERVAL = 0.9
"""Probability of the interval of a weight."""
_TINY = 1e-12
_LEAST_UTILITY = -30.0
"""No choice is impossible: one of a plan that costs many times as much as another was a mistake."""


_MOST_WORK = 20_000_000
"""Most likelihoods of answers to evaluate for a sample from the posterior: two seconds."""


@dataclass(frozen=True)
class ChoiceModel:
    """Model of the choices of a person between plans, and prior of the weights that explain them.

    The prior of the logarithms of the weights is normal, and the mean of each weight is 1. A choice has the
    probabilities of a logit model, P(i) ∝ exp(−sharpness · cost of i / least cost of an option), so that the unit of
    costs does not matter. "No difference" counts as an equal share of each choice.

    Parameters
    ----------
    spread : float, default=0.8
        Standard deviation of the logarithm of a weight.
    sharpness : float, default=6.0
        Sensitivity of choices: of two options, one that costs 10 % more is chosen with probability
        1 / (1 + exp(0.1 · sharpness)).
    particles : int, default=600
        Size of the sample from the posterior.
    moves : int, default=8
        Metropolis steps of each particle after a choice.

    Raises
    ------
    SettingError
        If a parameter is out of range.

    Examples
    --------
    >>> from counterplan import ChoiceModel, Elicitation, Recourse, benchmarks
    >>> german = benchmarks.load("german")
    >>> recourse = Recourse(german.problem, german.model)
    >>> person = german.refused_test.iloc[[14]]
    >>> careful = ChoiceModel(sharpness=20.0)
    >>> Elicitation(recourse, person, planner="exact", choice_model=careful).question()
    Question(1, 3 options, gain=0.27)
    """

    spread: float = 0.8
    sharpness: float = 6.0
    particles: int = 600
    moves: int = 8

    def __post_init__(self) -> None:
        for name, most in (("spread", 3.0), ("sharpness", 1000.0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= most:
                raise SettingError(
                    f"'{name}' must be a number above 0 and at most {most:g}, not {cut(repr(value), 40)}"
                )
        for name, least, limit in (("particles", 50, 5_000), ("moves", 1, 50)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= limit:
                raise SettingError(f"'{name}' must be an integer from {least} to {limit}, not {cut(repr(value), 40)}")


def excess_work(model: ChoiceModel, questions: int) -> str:
    """Why so many answered questions would take too long with the settings of `model`; empty if they do not.

    The particles are moved after each answer, and each move evaluates the likelihood of all answers so far.
    """
    moved = model.particles * model.moves
    if moved * questions * (questions + 1) // 2 <= _MOST_WORK:
        return ""
    most = int((math.sqrt(1 + 8 * _MOST_WORK / moved) - 1) / 2)
    return (
        f"{model.particles:,} particles with {count(model.moves, 'move')} are for at most {most} questions, not "
        f"{questions}: choose fewer particles, moves or questions"
    )


class Preferences:
    """Posterior over the weights of G functions, given choices between plans.

    Weights are relative: the product of a person's weights tells nothing about choices, and is fixed. The particles are
    resampled after each choice, and then moved by Metropolis steps whose proposals have their covariance. They are a
    function of the seed and of the choices.

    Parameters
    ----------
    functions : int
        G, the number of functions.
    model : ChoiceModel
    seed : int, default=0

    Attributes
    ----------
    weights : array of shape [S, G]
        The particles.
    """

    def __init__(self, functions: int, model: ChoiceModel, seed: int = 0) -> None:
        self.model, self.seed = model, seed
        self._choices: list[tuple[Floats, int | None]] = []
        self._normals = np.random.default_rng([seed, 0]).standard_normal((model.particles, functions))
        self.weights = self._weights(self._normals)

    @property
    def mean(self) -> Floats:
        """[G] posterior means; 1 before any choice."""
        if not self._choices:
            return np.ones(self.weights.shape[1])
        return np.asarray(self.weights.mean(axis=0))

    def interval(self, probability: float = INTERVAL) -> tuple[Floats, Floats]:
        """The central posterior interval of each weight: [G] lower and upper ends."""
        tail = (1 - probability) / 2
        low, high = np.quantile(self.weights, (tail, 1 - tail), axis=0)
        return low, high

    def costs(self, options: Floats) -> Floats:
        """Cost [S, k] of k plans for each particle, from their costs [k, G] by function under weights of 1."""
        return np.asarray(self.weights @ options.T)

    def observe(self, options: Floats, choice: int | None) -> None:
        """Condition on a choice.

        Parameters
        ----------
        options : array of shape [k, G]
            Costs of the options by function, under weights of 1.
        choice : int or None
            The option that was chosen; None for "no difference".
        """
        self._choices.append((options, choice))
        rng = np.random.default_rng([self.seed, len(self._choices)])
        likelihood = self._log_likelihood(self.weights, options, choice)
        chance = np.exp(likelihood - likelihood.max())
        position = (np.arange(len(chance)) + rng.random()) / len(chance)
        drawn = np.searchsorted(np.cumsum(chance) / chance.sum(), position, side="right")
        self._normals = self._normals[np.minimum(drawn, len(chance) - 1)]
        self._move(rng)
        self.weights = self._weights(self._normals)

    def _move(self, rng: np.random.Generator) -> None:
        """Metropolis steps of all particles."""
        count, functions = self._normals.shape
        density = self._log_posterior(self._normals)
        for _ in range(self.model.moves):
            covariance = np.cov(self._normals, rowvar=False).reshape(functions, functions) + 1e-6 * np.eye(functions)
            step = np.linalg.cholesky(covariance) * (2.38 / np.sqrt(2 * functions))
            proposed = self._normals + rng.standard_normal((count, functions)) @ step.T
            proposed_density = self._log_posterior(proposed)
            accepted = np.log1p(-rng.random(count)) < proposed_density - density
            self._normals = np.where(accepted[:, None], proposed, self._normals)
            density = np.where(accepted, proposed_density, density)

    def _weights(self, normals: Floats) -> Floats:
        """Weights [S, G] from standard normal numbers [S, G]: log-normal, with a fixed product and prior mean 1."""
        functions = normals.shape[1]
        shift = self.model.spread**2 * (1 - 1 / functions) / 2
        return np.asarray(np.exp(self.model.spread * (normals - normals.mean(axis=1, keepdims=True)) - shift))

    def _log_posterior(self, normals: Floats) -> Floats:
        """Log density [S], up to a constant."""
        weights = self._weights(normals)
        result = -0.5 * (normals**2).sum(axis=1)
        for options, choice in self._choices:
            result = result + self._log_likelihood(weights, options, choice)
        return np.asarray(result)

    def _log_likelihood(self, weights: Floats, options: Floats, choice: int | None) -> Floats:
        """Log probability [S] of a choice under `weights` [S, G]."""
        costs = weights @ options.T
        least = costs.min(axis=1, keepdims=True)
        utility = np.maximum(-self.model.sharpness * (costs - least) / np.maximum(least, _TINY), _LEAST_UTILITY)
        chances = utility - np.log(np.exp(utility).sum(axis=1, keepdims=True))
        return np.asarray(chances.mean(axis=1) if choice is None else chances[:, choice])
