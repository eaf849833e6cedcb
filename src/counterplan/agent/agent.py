"""A trained agent: what it sees of a state, its weights, and how it is kept on disk."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import safetensors.numpy

from counterplan.agent.network import Memory, NetworkConfig, Params, forward, initial_params, log_policies, no_memory
from counterplan.errors import PlanError
from counterplan.files import write_whole
from counterplan.problem import Encoding, People, Problem
from counterplan.problem.transitions import Bools, Floats

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


WEIGHTS = "agent.safetensors"
FACTS = "agent.json"
VERSION = 1


def save_agent(agent: Agent, folder: Path) -> None:
    """Keep an agent in `folder`: weights in safetensors, all else in JSON."""
    weights = safetensors.numpy.save(agent.params)
    facts = {
        "counterplan_agent": VERSION,
        "problem": agent.problem.fingerprint,
        "effort": agent.effort,
        "network": asdict(agent.config),
        "cuts": [[repr(cut) for cut in cuts] for cuts in agent.encoding.cuts],
        "mean": agent.mean.tolist(),
        "spread": agent.spread.tolist(),
    }
    facts["check"] = _check(facts, weights)
    write_whole(folder / WEIGHTS, weights)
    write_whole(folder / FACTS, json.dumps(facts, indent=1))


def _check(facts: dict[str, Any], weights: bytes) -> str:
    """A hash of everything that is kept."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode() + weights).hexdigest()


def load_agent(folder: Path, problem: Problem) -> Agent:
    """The agent kept in `folder`; a PlanError says so if it is damaged, or was trained for another problem."""
    path = folder / FACTS
    try:
        facts = json.loads(path.read_text())
        weights = (folder / WEIGHTS).read_bytes()
    except FileNotFoundError as error:
        raise PlanError(f"{error.filename}: there is no such file; train an agent with 'counterplan fit'") from None
    except (OSError, ValueError) as error:
        raise PlanError(f"{path}: cannot be read ({error}); train the agent again") from None
    version = facts.get("counterplan_agent") if isinstance(facts, dict) else None
    if not isinstance(version, int) or version < 1:
        raise PlanError(f"{path}: this is not an agent of counterplan")
    if version > VERSION:
        raise PlanError(f"{path}: written by a newer counterplan (version {version}; this one reads {VERSION})")
    if facts.get("problem") != problem.fingerprint:
        raise PlanError(f"{path}: the agent was trained for another problem than {problem.name}; train one for it")
    if facts.pop("check", None) != _check(facts, weights):
        raise PlanError(f"{path}, {WEIGHTS}: damaged or changed since they were written; train the agent again")
    try:
        cuts = tuple(tuple(float(cut) for cut in cuts) for cuts in facts["cuts"])
        params = safetensors.numpy.load(weights)
        return Agent(
            problem, Encoding(problem.features, cuts), np.array(facts["mean"]), np.array(facts["spread"]),
            float(facts["effort"]), params, NetworkConfig(**facts["network"]),
        )  # fmt: skip
    except (KeyError, TypeError, ValueError, safetensors.SafetensorError) as error:
        raise PlanError(f"{path}: damaged ({error}); train the agent again") from None
