"""A trained agent: what it sees of a state, its weights, and how it is kept on disk."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from counterplan.agent.network import Memory, NetworkConfig, Params, forward, initial_params, log_policies, no_memory
from counterplan.agent.validation import read_config, read_encoding, read_scales, validate_params
from counterplan.problem import Encoding, People, Problem
from counterplan.problem.transitions import Bools, Floats
from counterplan.storage.arrays import require_number
from counterplan.storage.serialization import artifact_files, load_artifact, save_artifact

Single = npt.NDArray[np.float32]
FARTHEST = 5.0
"""Standardised numbers are cut off here."""


@dataclass(frozen=True)
class Agent:
    """Policies and value for any state of one problem. Values are exp(−cost to go / `effort`)."""

    problem: Problem
    encoding: Encoding
    mean: Floats
    spread: Floats
    """[N] of the numbers among the features, in the people it was made for."""
    effort: float
    params: Params = field(repr=False)
    config: NetworkConfig

    @classmethod
    def new(cls, problem: Problem, people: People, config: NetworkConfig, random: np.random.Generator) -> Agent:
        """An untrained agent for people like these."""
        encoding = problem.encoding(people)
        numbers = people.states[:, _number_columns(problem)]
        known = np.where(np.isnan(numbers), 0.0, 1.0)
        count = np.maximum(known.sum(axis=0), 1)
        mean = np.nan_to_num(numbers).sum(axis=0) / count
        spread = np.sqrt((np.nan_to_num(numbers - mean) ** 2).sum(axis=0) / count)
        spread[spread == 0] = 1.0
        inputs = len(encoding) + len(mean)
        functions = len(problem.transitions.functions) + 1
        params = initial_params(inputs, functions, len(problem.transitions), config, random)
        effort = float(np.mean(problem.transitions.least_costs[:-1])) if functions > 1 else 1.0
        return cls(problem, encoding, mean, spread, max(effort, 1e-9), params, config)

    def with_params(self, params: Params, effort: float | None = None) -> Agent:
        """The same agent with other weights."""
        plain = {name: np.asarray(value, np.float32) for name, value in params.items()}
        return replace(self, params=plain, effort=self.effort if effort is None else effort)

    @cached_property
    def membership(self) -> Single:
        """[A, G] which action belongs to which function."""
        functions = self.problem.transitions.function_of
        result: Single = (functions[:, None] == np.arange(functions.max() + 1)).astype(np.float32)
        return result

    def inputs(self, states: Floats) -> Single:
        """What the network sees [B, D] of `states` [B, F]: the binary view, and the numbers themselves."""
        numbers = (states[:, self._numbers] - self.mean) / self.spread
        numbers = np.clip(np.nan_to_num(numbers), -FARTHEST, FARTHEST)
        return np.concatenate([self.encoding(states), numbers], axis=1, dtype=np.float32)

    @cached_property
    def _numbers(self) -> list[int]:
        return _number_columns(self.problem)

    def start(self, people: int) -> Memory:
        """The memory before the first step."""
        return no_memory(np, self.params, people)

    def __call__(self, states: Floats, memory: Memory, legal: Bools) -> tuple[Single, Single, Memory]:
        """Log probability of each action [B, A], value [B] and new memory, in `states` [B, F] with `legal` [B, A]."""
        heads, memory = forward(np, self.params, self.inputs(states), memory)
        functions, arguments = log_policies(np, heads, legal.astype(np.float32), self.membership)
        return functions[:, self.problem.transitions.function_of] + arguments, heads.value, memory


def _number_columns(problem: Problem) -> list[int]:
    return [feature.index for feature in problem.features if feature.is_number]


WHAT = "agent"
WEIGHTS, FACTS = artifact_files(WHAT)
VERSION = 1


def save_agent(agent: Agent, folder: Path) -> None:
    """Keep an agent in `folder`."""
    facts = {
        "effort": agent.effort,
        "network": asdict(agent.config),
        "cuts": [[repr(cut) for cut in cuts] for cuts in agent.encoding.cuts],
        "mean": agent.mean.tolist(),
        "spread": agent.spread.tolist(),
    }
    save_artifact(folder, WHAT, VERSION, agent.problem, agent.params, facts)


def load_agent(folder: Path, problem: Problem) -> Agent:
    """The agent kept in `folder`; a PlanError says so if it is damaged, or was trained for another problem."""

    def build(params: dict[str, Any], facts: dict[str, Any]) -> Agent:
        encoding, config = read_encoding(problem, facts["cuts"]), read_config(facts["network"])
        mean, spread = read_scales(problem, facts["mean"], facts["spread"])
        validate_params(params, problem, encoding, config)
        return Agent(problem, encoding, mean, spread, require_number(facts, "effort", positive=True), params, config)

    return load_artifact(folder, WHAT, VERSION, problem, build)
