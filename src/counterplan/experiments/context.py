"""The context of a cell: one benchmark and seed, its people, learned objects and planners."""

from __future__ import annotations

import importlib.util
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from counterplan.agent import Agent
from counterplan.benchmarks import Benchmark
from counterplan.benchmarks.registry import load_benchmark
from counterplan.blackbox import BlackBox
from counterplan.errors import CounterplanError, SettingError
from counterplan.experiments.evaluation import evaluate
from counterplan.experiments.methods import AGENT, IMITATION, PAPER_AGENT, PROGRAM, SURROGATE, UNSEARCHED
from counterplan.experiments.rows import FIELDS
from counterplan.experiments.settings import ExperimentSettings, planner_class
from counterplan.planners import EvolutionPlanner, EvolutionSettings, ExactPlanner, Planner, PolicyPlanner
from counterplan.planners.registry import create_planner
from counterplan.plans import Plan, Plans
from counterplan.plugins import as_file_name
from counterplan.problem import People
from counterplan.recourse import Recourse
from counterplan.storage.files import write_whole

PEOPLE = 100
"""Default number of refused test people for each benchmark and seed; of german, all are used."""
LEARNED = "learned"


def learned_folder(folder: Path, name: str, seed: int, kind: str) -> Path:
    """The folder of a learned object in the folder of an experiment."""
    return folder / LEARNED / as_file_name(f"{name}-{seed}") / kind


def trace_file(folder: Path, name: str, seed: int) -> Path:
    """The drawing of one person's trace through the program of a benchmark and seed that imitates the paper's agent."""
    return learned_folder(folder, name, seed, IMITATION) / "trace.svg"


@lru_cache(maxsize=2)
def _benchmark(name: str, seed: int) -> Benchmark:
    return load_benchmark(name, seed)


@dataclass
class CellRecord:
    """The rows that a cell contributes to each table."""

    results: list[dict[str, Any]] = field(default_factory=list)
    curves: list[dict[str, Any]] = field(default_factory=list)
    queries: list[dict[str, Any]] = field(default_factory=list)
    timing: list[dict[str, Any]] = field(default_factory=list)
    datasets: list[dict[str, Any]] = field(default_factory=list)
    people: list[dict[str, Any]] = field(default_factory=list)
    programs: list[dict[str, Any]] = field(default_factory=list)
    survival: list[dict[str, Any]] = field(default_factory=list)

    def to_dict(self) -> dict[str, list[dict[str, Any]]]:
        """The rows by the names of the files that they are written to."""
        return {name: getattr(self, attribute) for name, attribute in FIELDS.items()}


@dataclass(frozen=True)
class Context:
    """One benchmark and seed, the settings, and the folder of the experiment."""

    name: str
    seed: int
    settings: ExperimentSettings
    folder: Path

    @property
    def benchmark(self) -> Benchmark:
        """The benchmark; the most recent ones are cached, as consecutive cells share them."""
        return _benchmark(self.name, self.seed)

    @cached_property
    def people(self) -> People:
        """The people to plan for: the first refused test people; of german, all."""
        limit = self.settings.people
        if limit is None and self.name != "german":
            limit = PEOPLE
        refused = self.benchmark.refused_test
        if refused.empty:
            raise SettingError(
                f"{self.name}, seed {self.seed}: the model refuses none of the test people; use other seeds"
            )
        return self.benchmark.problem.read(refused if limit is None else refused.head(limit))

    def learned(self, kind: str) -> Path:
        """The folder of a learned object."""
        return learned_folder(self.folder, self.name, self.seed, kind)

    def fresh(self, **learned: Any) -> Recourse:
        """A `Recourse` with a query count of zero."""
        return Recourse(self.benchmark.problem, BlackBox(self.benchmark.model), **learned)

    def load(self, kind: str) -> Recourse:
        """Load a learned object, with a query count of zero and an empty cache."""
        return Recourse.load(self.learned(kind), BlackBox(self.benchmark.model), answers=False)

    def save(self, recourse: Recourse, kind: str) -> None:
        """Save a learned object, as a folder that `counterplan recommend` accepts too."""
        recourse.save(self.learned(kind))
        write_whole(self.learned(kind) / "origin.json", json.dumps({"benchmark": self.name, "seed": self.seed}))

    @contextmanager
    def timed(self, record: CellRecord, method: str, phase: str, people: int | None = None) -> Iterator[None]:
        """Record CPU and wall time of the block."""
        cpu, wall = time.process_time(), time.perf_counter()
        yield
        record.timing.append(
            self.head
            | {"method": method, "phase": phase, "people": people}
            | {"cpu_seconds": time.process_time() - cpu, "wall_seconds": time.perf_counter() - wall}
        )

    def count_queries(self, record: CellRecord, method: str, phase: str, queries: int, **more: Any) -> None:
        """Record the number of queries sent to the model."""
        record.queries.append(self.head | {"method": method, "phase": phase, "rows": queries} | more)

    @property
    def head(self) -> dict[str, Any]:
        """The columns that every row has."""
        return {"benchmark": self.name, "seed": self.seed}

    def planner(self, method: str) -> Planner:
        """The planner of a method, with a query count of zero."""
        if method in _MAKERS:
            return _MAKERS[method](self)
        learned = {
            SURROGATE: lambda: self.load(SURROGATE).surrogate_,
            AGENT: lambda: self.load(AGENT).agent_,
            PROGRAM: lambda: self.load(PROGRAM).program_,
        }
        return create_planner(planner_class(method), self.benchmark.problem, BlackBox(self.benchmark.model), learned)

    def untrained(self) -> Agent:
        """An agent with random weights."""
        people = self.benchmark.problem.read(self.benchmark.refused_train)
        network = self.settings.training.network
        return Agent.new(self.benchmark.problem, people, network, np.random.default_rng(self.seed))

    def plan(self, record: CellRecord, method: str) -> Plans:
        """Plan by a method, and record the evaluation of the plans, queries and time.

        One person is planned for first, so that one-time costs of the process are not timed.
        """
        self.planner(method).plan(self.people.take(np.array([0])), refused=True)
        planner = self.planner(method)
        with self.timed(record, method, "prediction", len(self.people)):
            plans = planner.plan(self.people, refused=True)
        record.results += self.rows(method, plans)
        cached = plans.cached + planner.repeated_queries
        self.count_queries(record, method, "prediction", plans.queries, people=len(plans), remembered=cached)
        return plans

    def one_by_one(self, record: CellRecord, method: str) -> None:
        """Record the time of planning for single people."""
        planner = self.planner(method)
        for row in range(min(self.settings.alone, len(self.people))):
            with self.timed(record, method, "one person", 1):
                planner.plan(self.people.take(np.array([row])), refused=True)

    def at_budgets(self, record: CellRecord, method: str, points: Sequence[tuple[int, Planner]]) -> None:
        """Plan with several query budgets per person, each planner with a query count of zero."""
        for budget, planner in points:
            plans = planner.plan(self.people, refused=True, budget=budget)
            point = {"knob": "budget", "value": budget}
            record.curves += [row | point for row in self.rows(method, plans)]
            counts = {"people": len(plans), "remembered": plans.cached}
            self.count_queries(record, method, "prediction", plans.queries, **counts, **point)

    def rows(self, method: str, plans: Plans) -> list[dict[str, Any]]:
        """One row for each person, with the evaluation of their plan."""
        evaluations = evaluate(self.benchmark.problem, self.benchmark.model, self.people, plans)
        return [
            self.head
            | {"person": plan.person, "method": method, "success": evaluation.success, "outcome": evaluation.outcome}
            | {"cost": evaluation.cost, "length": evaluation.length, "questions": plan.queries}
            | {"rule_length": _rule_length(plan), "actions": "; ".join(plan.actions)}
            for plan, evaluation in zip(plans, evaluations, strict=True)
        ]


def _rule_length(plan: Plan) -> float | None:
    """Mean number of features in the rules of a plan's steps; None if they have no rules."""
    rules = [len(step.because.conditions) for step in plan.steps if step.because and step.because.source == "rule"]
    return round(sum(rules) / len(rules), 9) if rules else None


def _evolution(size: str) -> Callable[[Context], Planner]:
    def make(context: Context) -> Planner:
        generations, population = getattr(context.settings, size)
        settings = EvolutionSettings(generations=generations, population=population)
        box = BlackBox(context.benchmark.model)
        return EvolutionPlanner(context.benchmark.problem, box, settings=settings, seed=context.seed)

    return make


def _paper_policy(kind: str) -> Callable[[Context], Planner]:
    def make(context: Context) -> Planner:
        agent = context.load(kind).agent_
        assert agent is not None
        box = BlackBox(context.benchmark.model)
        return PolicyPlanner(context.benchmark.problem, box, agent, settings=context.settings.paper.search)

    return make


_MAKERS: dict[str, Callable[[Context], Planner]] = {
    "search": lambda context: context.load(AGENT).planner("search"),
    "policy": lambda context: context.load(AGENT).planner("policy"),
    "untrained": lambda context: context.fresh(agent=context.untrained()).planner("search"),
    "guided": lambda context: context.load(SURROGATE).planner("guided"),
    "program": lambda context: context.load(PROGRAM).planner("program"),
    "cascade": lambda context: context.load(PROGRAM).planner("cascade"),
    "paper_program": lambda context: context.load(IMITATION).planner("program"),
    "evolution": _evolution("large"),
    "evolution_small": _evolution("small"),
    "exact": lambda context: ExactPlanner(context.benchmark.problem, BlackBox(context.benchmark.model)),
    "paper_search": lambda context: context.load(PAPER_AGENT).planner("paper"),
    "paper_policy": _paper_policy(PAPER_AGENT),
    "unsearched": _paper_policy(UNSEARCHED),
}
"""The constructor of each method's planner."""


def require_extras() -> None:
    """Raise if an optional dependency of a later cell is not installed."""
    missing = [name for name in ("jax", "optax", "matplotlib", "pymoo") if importlib.util.find_spec(name) is None]
    if missing:
        raise CounterplanError(
            f"an experiment needs {', '.join(missing)}; pip install 'counterplan[train,experiments]'"
        )
