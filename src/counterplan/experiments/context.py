"""Where one benchmark and seed is worked on: its people, what was learned about it, and the planners made of that."""

from __future__ import annotations

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
from counterplan.errors import PlanError
from counterplan.experiments.evaluation import judge
from counterplan.experiments.methods import AGENT, IMITATION, PAPER_AGENT, PROGRAM, SURROGATE
from counterplan.experiments.settings import Settings, planner_class
from counterplan.planners import ExactPlanner, Planner
from counterplan.planners.registry import create_planner
from counterplan.plans.plan import Plan, Plans
from counterplan.plugins import as_file_name
from counterplan.problem import People
from counterplan.recourse import Recourse
from counterplan.storage.files import write_or_say

PEOPLE = 100
"""Refused test people of each benchmark and seed; of german, all."""
LEARNED = "learned"


@lru_cache(maxsize=2)
def _benchmark(name: str, seed: int) -> Benchmark:
    return load_benchmark(name, seed)


@dataclass
class CellRecord:
    """What a cell writes down: rows for each of the tables that `rows` collects."""

    results: list[dict[str, Any]] = field(default_factory=list)
    curves: list[dict[str, Any]] = field(default_factory=list)
    questions: list[dict[str, Any]] = field(default_factory=list)
    timing: list[dict[str, Any]] = field(default_factory=list)
    datasets: list[dict[str, Any]] = field(default_factory=list)
    people: list[dict[str, Any]] = field(default_factory=list)
    programs: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Context:
    """One benchmark and seed, and the folder of the experiment."""

    name: str
    seed: int
    settings: Settings
    folder: Path

    @property
    def benchmark(self) -> Benchmark:
        """The benchmark; the last ones are kept in memory, as several cells in a row need the same."""
        return _benchmark(self.name, self.seed)

    @cached_property
    def people(self) -> People:
        """Whom plans are made for: the first refused test people; of german, all."""
        most = self.settings.people
        if most is None and self.name != "german":
            most = PEOPLE
        refused = self.benchmark.refused_test
        if refused.empty:
            raise PlanError(
                f"{self.name}, seed {self.seed}: the model refuses none of the test people, so there is nobody to plan "
                "for; use other seeds"
            )
        return self.benchmark.problem.read(refused if most is None else refused.head(most))

    def learned(self, what: str) -> Path:
        """The folder in which something learned is kept."""
        return self.folder / LEARNED / as_file_name(f"{self.name}-{self.seed}") / what

    def fresh(self, **learned: Any) -> Recourse:
        """A front door with a meter at zero."""
        return Recourse(self.benchmark.problem, BlackBox(self.benchmark.model), **learned)

    def load(self, what: str) -> Recourse:
        """What was learned, with a meter at zero and nothing remembered."""
        return Recourse.load(self.learned(what), BlackBox(self.benchmark.model), answers=False)

    def keep(self, recourse: Recourse, what: str) -> None:
        """Keep what was learned where `counterplan recommend` can use it too."""
        recourse.save(self.learned(what))
        write_or_say(self.learned(what) / "origin.json", json.dumps({"benchmark": self.name, "seed": self.seed}))

    @contextmanager
    def timed(self, sheet: CellRecord, method: str, phase: str, people: int | None = None) -> Iterator[None]:
        """Within this, time is taken: of this process's processor, and by the clock."""
        cpu, clock = time.process_time(), time.perf_counter()
        yield
        sheet.timing.append(
            self.head
            | {"method": method, "phase": phase, "people": people}
            | {"cpu_seconds": time.process_time() - cpu, "wall_seconds": time.perf_counter() - clock}
        )

    def asked(self, sheet: CellRecord, method: str, phase: str, rows: int, **more: Any) -> None:
        """Write down how many rows were sent to the model."""
        sheet.questions.append(self.head | {"method": method, "phase": phase, "rows": rows} | more)

    @property
    def head(self) -> dict[str, Any]:
        """How every row begins."""
        return {"benchmark": self.name, "seed": self.seed}

    def planner(self, method: str) -> Planner:
        """The planner behind a method, with a meter at zero."""
        if method in _MAKERS:
            return _MAKERS[method](self)
        return create_planner(planner_class(method), self.benchmark.problem, BlackBox(self.benchmark.model))

    def untrained(self) -> Agent:
        """An agent that has learned nothing."""
        read = self.benchmark.problem.read(self.benchmark.refused_train)
        return Agent.new(self.benchmark.problem, read, self.settings.training.network, np.random.default_rng(self.seed))

    def plan(self, sheet: CellRecord, method: str) -> Plans:
        """Plan by a method, judge what comes out, and write it down with questions and time.

        Somebody is planned for beforehand, so that what a process does only once is not timed.
        """
        self.planner(method).plan(self.people.take(np.array([0])), refused=True)
        planner = self.planner(method)
        with self.timed(sheet, method, "prediction", len(self.people)):
            plans = planner.plan(self.people, refused=True)
        sheet.results += self.rows(method, plans)
        again = plans.cached + planner.repeated_queries
        self.asked(sheet, method, "prediction", plans.queries, people=len(plans), remembered=again)
        return plans

    def one_by_one(self, sheet: CellRecord, method: str) -> None:
        """Take the time of planning for some people alone."""
        planner = self.planner(method)
        for row in range(min(self.settings.alone, len(self.people))):
            with self.timed(sheet, method, "one person", 1):
                planner.plan(self.people.take(np.array([row])), refused=True)

    def at_budgets(self, sheet: CellRecord, method: str, points: Sequence[tuple[int, Planner]]) -> None:
        """Plan with several limits of questions a person, each planner with a meter at zero."""
        for budget, planner in points:
            plans = planner.plan(self.people, refused=True, budget=budget)
            point = {"knob": "budget", "value": budget}
            sheet.curves += [row | point for row in self.rows(method, plans)]
            self.asked(sheet, method, "prediction", plans.queries, people=len(plans), remembered=plans.cached, **point)

    def rows(self, method: str, plans: Plans) -> list[dict[str, Any]]:
        """A row for each person: what became of their plan."""
        verdicts = judge(self.benchmark.problem, self.benchmark.model, self.people, plans)
        return [
            self.head
            | {"person": plan.person, "method": method, "success": verdict.success, "outcome": verdict.outcome}
            | {"cost": verdict.cost, "length": verdict.length, "questions": plan.questions}
            | {"rule_length": _rule_length(plan), "actions": "; ".join(plan.actions)}
            for plan, verdict in zip(plans, verdicts, strict=True)
        ]


def _rule_length(plan: Plan) -> float | None:
    """The mean number of features in the rules that a plan's steps were taken by; None if they were not."""
    rules = [len(step.because.conditions) for step in plan.steps if step.because and step.because.source == "rule"]
    return round(sum(rules) / len(rules), 9) if rules else None


def _evolution(size: str) -> Callable[[Context], Planner]:
    def make(desk: Context) -> Planner:
        from counterplan.planners.evolution import EvolutionPlanner, EvolutionSettings

        generations, population = getattr(desk.settings, size)
        settings = EvolutionSettings(generations=generations, population=population)
        box = BlackBox(desk.benchmark.model)
        return EvolutionPlanner(desk.benchmark.problem, box, settings=settings, seed=desk.seed)

    return make


_MAKERS: dict[str, Callable[[Context], Planner]] = {
    "search": lambda desk: desk.load(AGENT).planner("search"),
    "policy": lambda desk: desk.load(AGENT).planner("policy"),
    "untrained": lambda desk: desk.fresh(agent=desk.untrained()).planner("search"),
    "guided": lambda desk: desk.load(SURROGATE).planner("guided"),
    "program": lambda desk: desk.load(PROGRAM).planner("program"),
    "cascade": lambda desk: desk.load(PROGRAM).planner("cascade"),
    "paper_program": lambda desk: desk.load(IMITATION).planner("program"),
    "evolution": _evolution("large"),
    "evolution_small": _evolution("small"),
    "exact": lambda desk: ExactPlanner(desk.benchmark.problem, BlackBox(desk.benchmark.model)),
    "paper_search": lambda desk: desk.load(PAPER_AGENT).planner("paper"),
    "paper_policy": lambda desk: desk.load(PAPER_AGENT).planner("policy"),
}
"""How the planner of each method is made."""


def require_extras() -> None:
    """Say so at once if something is not installed that will be needed in an hour."""
    from importlib.util import find_spec

    lacking = [name for name in ("jax", "optax", "matplotlib", "pymoo") if find_spec(name) is None]
    if lacking:
        raise PlanError(f"an experiment needs {', '.join(lacking)}; pip install 'counterplan[train,experiments]'")
