"""A trained agent: input features, network weights and serialization."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from counterplan.agent.network import (
    Memory,
    NetworkConfig,
    Params,
    check_params,
    forward,
    initial_memory,
    initial_params,
    layer_shapes,
    log_policies,
)
from counterplan.agent.validation import read_config, read_encoding, read_scales, validate_params
from counterplan.errors import SettingError
from counterplan.problem import Encoding, People, Problem
from counterplan.problem.encoding import check_cuts
from counterplan.problem.transitions import Bools, Floats
from counterplan.storage.arrays import require_number
from counterplan.storage.serialization import artifact_files, load_artifact, save_artifact
from counterplan.storage.settings import settings_to_dict

Single = npt.NDArray[np.float32]
_CLIP = 5.0
PRESETS = ("default", "paper")
"""Standardized numbers are clipped to ± this."""


@dataclass(frozen=True)
class Agent:
    """A policy and a value for every state of one problem.

    Parameters
    ----------
    problem : Problem
        The problem it was trained for.
    encoding : Encoding
        Binary features of states.
    mean, scale : ndarray of shape (N,)
        Mean and standard deviation of the N numeric features, used to standardize them.
    cost_scale : float
        Values are exp(−cost to go / `cost_scale`).
    params : dict of str to ndarray
        Network weights, float32.
    config : NetworkConfig
        Inputs and layer sizes.
    preset : {"default", "paper"}, default="default"
        Preset of the search that the agent was trained with, with which planners use it unless they get other settings.

    Raises
    ------
    SettingError
        If shapes, sizes or cut points do not belong together.

    See Also
    --------
    Agent.new : an untrained agent.
    counterplan.agent.rollout.rollout : follow the policy.
    """

    problem: Problem
    encoding: Encoding
    mean: Floats
    scale: Floats
    cost_scale: float
    params: Params = field(repr=False)
    config: NetworkConfig
    preset: str = "default"

    def __post_init__(self) -> None:
        check_cuts(self.problem.features, self.encoding.cuts)
        numbers = len(_number_columns(self.problem))
        for name, column in (("mean", self.mean), ("scale", self.scale)):
            if column.shape != (numbers,) or column.dtype != float or np.isnan(column).any():
                raise SettingError(f"'{name}' is an array of {numbers} numbers, one for each numeric feature")
        if not (self.scale > 0).all() or not self.cost_scale > 0:
            raise SettingError("'scale' and 'cost_scale' are positive")
        if self.preset not in PRESETS:
            raise SettingError(f"unknown preset {self.preset!r}: there are {' and '.join(PRESETS)}")
        check_params(self.params, layer_shapes(*_sizes(self.problem, self.encoding, self.config), self.config))

    @classmethod
    def new(cls, problem: Problem, people: People, config: NetworkConfig, random: np.random.Generator) -> Agent:
        """An untrained agent.

        Parameters
        ----------
        problem : Problem
            The problem.
        people : People
            A sample, from which cut points, means and scales are estimated.
        config : NetworkConfig
            Layer sizes.
        random : numpy.random.Generator
            Source of the initial weights.

        Returns
        -------
        Agent
            An agent with random weights.
        """
        encoding = problem.encoding(people)
        numbers = people.states[:, _number_columns(problem)]
        known = np.where(np.isnan(numbers), 0.0, 1.0)
        count = np.maximum(known.sum(axis=0), 1)
        mean = np.nan_to_num(numbers).sum(axis=0) / count
        scale = np.sqrt((np.nan_to_num(numbers - mean) ** 2).sum(axis=0) / count)
        scale[scale == 0] = 1.0
        params = initial_params(*_sizes(problem, encoding, config), config, random)
        cost_scale = float(np.mean(problem.transitions.least_costs[:-1])) if problem.transitions.functions else 1.0
        return cls(problem, encoding, mean, scale, max(cost_scale, 1e-9), params, config)

    def with_params(self, params: Params, cost_scale: float | None = None) -> Agent:
        """The same agent with other weights and, if given, another `cost_scale`."""
        arrays = {name: np.asarray(value, np.float32) for name, value in params.items()}
        return replace(self, params=arrays, cost_scale=self.cost_scale if cost_scale is None else cost_scale)

    @cached_property
    def membership(self) -> Single:
        """[A, G] which action belongs to which function."""
        functions = self.problem.transitions.function_of
        result: Single = (functions[:, None] == np.arange(functions.max() + 1)).astype(np.float32)
        return result

    def inputs(self, states: Floats) -> Single:
        """Network inputs [B, D] of `states` [B, F]: the binary encoding and, by default, the standardized numbers."""
        if not self.config.numbers:
            return self.encoding(states).astype(np.float32)
        numbers = (states[:, self._numbers] - self.mean) / self.scale
        numbers = np.clip(np.nan_to_num(numbers), -_CLIP, _CLIP)
        return np.concatenate([self.encoding(states), numbers], axis=1, dtype=np.float32)

    @property
    def input_size(self) -> int:
        """D, the number of network inputs."""
        return _sizes(self.problem, self.encoding, self.config)[0]

    @cached_property
    def _numbers(self) -> list[int]:
        return _number_columns(self.problem)

    def start(self, people: int) -> Memory:
        """The memory before the first step."""
        return initial_memory(np, self.params, people)

    def __call__(self, states: Floats, memory: Memory, legal: Bools) -> tuple[Single, Single, Memory]:
        """Evaluate policy and value.

        Parameters
        ----------
        states : ndarray of shape (B, F)
            Current states.
        memory : Memory
            LSTM state after the previous step, or `start(B)`.
        legal : ndarray of shape (B, A)
            Mask of the legal actions.

        Returns
        -------
        log_policy : ndarray of shape (B, A)
            Log probability of each action.
        value : ndarray of shape (B,)
            Predicted value.
        memory : Memory
            LSTM state after this step.
        """
        heads, memory = forward(np, self.params, self.inputs(states), memory)
        functions, arguments = log_policies(np, heads, legal.astype(np.float32), self.membership)
        return functions[:, self.problem.transitions.function_of] + arguments, heads.value, memory


def _number_columns(problem: Problem) -> list[int]:
    return [feature.index for feature in problem.features if feature.is_number]


def _sizes(problem: Problem, encoding: Encoding, config: NetworkConfig) -> tuple[int, int, int]:
    """Inputs D of the network, functions G (STOP included) and actions A."""
    inputs = len(encoding) + (len(_number_columns(problem)) if config.numbers else 0)
    return inputs, len(problem.transitions.functions) + 1, len(problem.transitions)


WHAT = "agent"
WEIGHTS, FACTS = artifact_files(WHAT)
VERSION = 1


def to_arrays(agent: Agent) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arrays and plain facts that `from_arrays` reads back."""
    facts = {
        "effort": agent.cost_scale,
        "network": settings_to_dict(agent.config),
        "cuts": [[repr(cut) for cut in cuts] for cuts in agent.encoding.cuts],
        "mean": agent.mean.tolist(),
        "spread": agent.scale.tolist(),
    }
    return agent.params, facts | ({} if agent.preset == PRESETS[0] else {"preset": agent.preset})


def from_arrays(problem: Problem, arrays: dict[str, Any], facts: dict[str, Any]) -> Agent:
    """The inverse of `to_arrays`."""
    encoding, config = read_encoding(problem, facts["cuts"]), read_config(facts["network"])
    mean, scale = read_scales(problem, facts["mean"], facts["spread"])
    validate_params(arrays, layer_shapes(*_sizes(problem, encoding, config), config))
    cost_scale, preset = require_number(facts, "effort", positive=True), facts.get("preset", PRESETS[0])
    return Agent(problem, encoding, mean, scale, cost_scale, arrays, config, preset)


def save_agent(agent: Agent, folder: Path) -> None:
    """Save an agent to `folder`, as ``agent.safetensors`` and ``agent.json``.

    Parameters
    ----------
    agent : Agent
        The agent.
    folder : Path
        An existing folder.
    """
    save_artifact(folder, WHAT, VERSION, agent.problem, *to_arrays(agent))


def load_agent(folder: Path, problem: Problem) -> Agent:
    """Load an agent that `save_agent` wrote.

    Parameters
    ----------
    folder : Path
        The folder.
    problem : Problem
        The problem that the agent was trained for.

    Returns
    -------
    Agent
        The agent; its arrays are known to fit together.

    Raises
    ------
    StorageError
        If the files are missing, damaged, inconsistent, or of an agent for another problem.
    """
    return load_artifact(folder, WHAT, VERSION, problem, partial(from_arrays, problem))
