"""Units of work of an experiment: a cell learns or runs one thing on one benchmark and seed.

A finished cell is one JSON file, written atomically. It records settings and versions, so that a cell made with others
is not reused.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import counterplan
from counterplan.agent.search import SearchSettings
from counterplan.agent.training_settings import TrainingSettings
from counterplan.batch.versions import versions as versions_of
from counterplan.benchmarks import NAMES, PAPER_NAMES
from counterplan.benchmarks.registry import benchmark_function
from counterplan.benchmarks.suite import TRAINING_RECIPES
from counterplan.benchmarks.summary import describe
from counterplan.distillation.demonstrations import DemonstrationSettings
from counterplan.distillation.policy_search import PolicySearchSettings
from counterplan.errors import CounterplanError
from counterplan.experiments.context import CellRecord, Context, trace_file
from counterplan.experiments.judges import judge_plans
from counterplan.experiments.methods import AGENT, IMITATION, METHODS, PAPER_AGENT, PROGRAM, SURROGATE, UNSEARCHED
from counterplan.experiments.settings import ExperimentOptions, ExperimentSettings, digest, learned_for, planner_class
from counterplan.planners import ExactPlanner, GuidedPlanner
from counterplan.planners.evolution import EvolutionSettings
from counterplan.plans import Status
from counterplan.plugins import as_file_name, source_of
from counterplan.problem import Encoding
from counterplan.program import Program, leaves
from counterplan.program.export import trace_svg
from counterplan.storage.files import MissingFileError, write_whole
from counterplan.storage.json_files import read_json
from counterplan.storage.settings import settings_to_dict
from counterplan.surrogate.acquisition import GuideSettings

VERSION = 3
CELLS = "cells"
PLAN = "plan-"
"""Prefix of the kinds of cells that plan; the method follows."""
PACKAGES = ("numpy", "pandas", "scikit-learn", "jax", "jaxlib", "optax", "pymoo", "safetensors")
PEOPLE, SURVIVAL = "people", "survival"
POOL = 5_000
"""Maximal number of people whose traces are sampled for imitation."""


@dataclass(frozen=True)
class Cell:
    """A unit of work."""

    benchmark: str
    seed: int
    kind: str

    def __str__(self) -> str:
        return f"{self.benchmark}-{self.seed}-{self.kind}"

    @property
    def file(self) -> str:
        """Its path within the folder of the experiment."""
        return f"{CELLS}/{as_file_name(str(self))}.json"

    @property
    def planner(self) -> str | None:
        """The external planner that it runs, or None."""
        return None if self.kind in _KINDS else self.kind.removeprefix(PLAN)


def needed_by(kind: str) -> tuple[str, ...]:
    """The kinds of cells that have to run first."""
    return _kind(kind).needs


def cells_of(options: ExperimentOptions) -> list[Cell]:
    """All cells of an experiment, in an order in which they can run."""
    kinds = [*_KINDS, *(f"{PLAN}{planner}" for planner in options.planners)]
    return [
        Cell(name, seed, kind)
        for name in options.benchmarks
        for seed in options.seeds
        for kind in kinds
        if kind != SURVIVAL or name in TRAINING_RECIPES
    ]


def estimate(cell: Cell) -> float:
    """Prior estimate of the seconds of a cell; only proportions matter, as the pace is measured while running."""
    seconds = _kind(cell.kind).seconds
    if cell.benchmark in PAPER_NAMES:
        return seconds[PAPER_NAMES.index(cell.benchmark)]
    return sum(seconds) / len(seconds)


@cache
def versions() -> dict[str, str]:
    """Versions that results may depend on: counterplan, Python and dependencies."""
    return versions_of(PACKAGES)


def machine() -> dict[str, Any]:
    """The kind of machine, without anything that identifies it."""
    return {"system": platform.system(), "processor": platform.machine(), "cores": os.cpu_count()}


def fingerprint(cell: Cell, settings: ExperimentSettings) -> str:
    """Hash of everything that a reused cell must agree with: settings, defaults, versions, and external code."""
    defaults = (PolicySearchSettings(), DemonstrationSettings(), GuideSettings(), SearchSettings(), EvolutionSettings())
    external = [] if cell.benchmark in NAMES else [source_of(benchmark_function(cell.benchmark))]
    external += [] if cell.planner is None else [source_of(planner_class(cell.planner))]
    return digest(
        [
            asdict(cell),
            settings_to_dict(settings),
            [settings_to_dict(one) for one in defaults],
            versions(),
            VERSION,
            *external,
        ]
    )


@cache
def source() -> str:
    """A hash of the source code, which versions alone do not identify during development."""
    root = Path(counterplan.__file__).parent
    code = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        code.update(str(path.relative_to(root)).encode() + path.read_bytes())
    return code.hexdigest()[:16]


def run_cell(cell: Cell, settings: ExperimentSettings, folder: Path, command: str) -> float:
    """Run a cell and write its file; returns the seconds that it took."""
    start = time.perf_counter()
    record = CellRecord()
    try:
        _kind(cell.kind).run(Context(cell.benchmark, cell.seed, settings, folder), record)
    except Exception as error:
        external = cell.planner or (cell.benchmark if cell.benchmark not in NAMES else None)
        if external is None or isinstance(error, CounterplanError):
            raise
        raise CounterplanError(f"{external} fails: {type(error).__name__}: {error}") from error
    seconds = time.perf_counter() - start
    made_with = {"versions": versions(), "source": source(), "machine": machine(), "command": command}
    made_with["settings"] = settings_to_dict(settings)
    content = {
        "counterplan_cell": VERSION,
        **asdict(cell),
        "fingerprint": fingerprint(cell, settings),
        "made_with": made_with,
        "seconds": seconds,
        "sheet": record.to_dict(),
    }
    text = json.dumps(content | {"check": digest(content["sheet"])}, indent=1, ensure_ascii=False)
    write_whole(folder / cell.file, text)
    return seconds


def load_cell(cell: Cell, settings: ExperimentSettings, folder: Path) -> dict[str, Any] | str | None:
    """The content of a finished cell; None if there is none, and the reason as text if it cannot be reused."""
    path = folder / cell.file
    try:
        content = read_json(path, infinite=True, nan=True)
        if content["check"] != digest(content["sheet"]):
            return "damaged"
        if content["fingerprint"] != fingerprint(cell, settings):
            return "made with other versions or settings"
    except MissingFileError:
        return None
    except (OSError, ValueError, KeyError, TypeError):
        return "damaged"
    learned = Context(cell.benchmark, cell.seed, settings, folder).learned(cell.kind)
    missing = [name for name in _kind(cell.kind).files if not (learned / name).exists()]
    return f"without {missing[0]}, which it made" if missing else dict(content)


def _people(context: Context, record: CellRecord) -> None:
    """The statistics of the benchmark, optimal costs, and the protected groups of people."""
    benchmark, problem = context.benchmark, context.benchmark.problem
    plans = context.plan(record, "exact")
    context.one_by_one(record, "exact")
    found = [plan for plan in plans if plan.status is Status.FOUND]
    facts = describe(benchmark, 1)
    lengths = [len(plan.steps) for plan in found]
    facts |= {"refused": len(plans), "reachable": len(found) / len(plans)}
    facts |= {"unreachable": sum(plan.status is Status.INFEASIBLE for plan in plans)}
    facts |= {
        "optimal_cost": sum(plan.cost for plan in found) / len(found) if found else None,
        "optimal_length": sum(lengths) / len(found) if found else None,
        "shortest": min(lengths, default=None),
        "longest": max(lengths, default=None),
    }
    record.datasets.append({key: value for key, value in facts.items() if key != "name"} | context.head)
    encoding = problem.encoding(problem.read(benchmark.train))
    for feature, cuts in zip(encoding.features, encoding.cuts, strict=True):
        if feature.protected:
            encoder = Encoding((feature,), (cuts,))
            names = [name.removeprefix(f"{feature.name} = ") for name in encoder.names]
            bits = encoder(context.people.states)
            for plan, bit in zip(plans, bits, strict=True):
                group = names[int(bit.argmax())] if bit.any() else "others"
                record.people.append(context.head | {"person": plan.person, "feature": feature.name, "group": group})


def _train(
    kind: str, settings: Callable[[ExperimentSettings], TrainingSettings]
) -> Callable[[Context, CellRecord], None]:
    def run(context: Context, record: CellRecord) -> None:
        recourse = context.fresh()
        with context.timed(record, kind, "training"):
            recourse.fit(
                context.benchmark.refused_train, settings=settings(context.settings), method="search", seed=context.seed
            )
        context.save(recourse, kind)
        context.count_queries(record, kind, "training", recourse.n_queries_["search"])

    return run


def _surrogate(context: Context, record: CellRecord) -> None:
    recourse = context.fresh()
    with context.timed(record, SURROGATE, "training"):
        recourse.fit(context.benchmark.train, settings=context.settings.learning, seed=context.seed, quality=False)
    context.save(recourse, SURROGATE)
    context.count_queries(record, SURROGATE, "training", recourse.n_queries_["guided"])


def _program(context: Context, record: CellRecord) -> None:
    recourse, settings = context.load(SURROGATE), context.settings
    with context.timed(record, PROGRAM, "distillation"):
        program = recourse.distil(
            context.benchmark.train,
            traces=settings.program_people,
            rounds=settings.program_rounds,
            prefer="balanced",
            seed=context.seed,
        )
    context.save(recourse, PROGRAM)
    _distilled(context, record, PROGRAM, program)
    record.programs.append(_size(context, program, "program", None))


def _imitation(context: Context, record: CellRecord) -> None:
    """Programs by the paper's construction, from traces of its agent: the default number, and the curve."""
    settings, agent = context.settings, context.load(PAPER_AGENT).agent_
    people = context.benchmark.problem.read(context.benchmark.refused_train.head(POOL))
    for traces in (settings.imitated, *settings.traces):
        recourse = context.fresh(agent=agent)
        default = traces == settings.imitated and not record.programs
        with context.timed(record if default else CellRecord(), IMITATION, "distillation"):
            program = recourse.distil(people, traces=traces, preset="paper", seed=context.seed)
        if default:
            recourse.agent_ = None
            context.save(recourse, IMITATION)
            _draw_trace(context, program)
            _distilled(context, record, IMITATION, program)
        else:
            plans = context.fresh(program=program).recommend(context.people, "program", refused=True)
            point = {"knob": "traces", "value": traces}
            record.curves += [row | point for row in context.rows("paper_program", plans)]
            _distilled(context, record, IMITATION, program, **point)
        record.programs.append(_size(context, program, "paper_program", None if default else traces))


def _draw_trace(context: Context, program: Program) -> None:
    """Draw the trace of the first person with a plan from the program, for the report."""
    planned = np.flatnonzero(program.run(context.people.states).stopped)
    if len(planned):
        svg = trace_svg(program, context.people.take(planned[:1]))
        write_whole(trace_file(context.folder, context.name, context.seed), svg)


def _distilled(context: Context, record: CellRecord, kind: str, program: Program, **point: Any) -> None:
    """Record the queries of a distillation from the program's card.

    People are known to be refused, so that the query about their own state does not count.
    """
    queries = program.model_card.queries or {}
    context.count_queries(record, kind, "distillation", queries.get("traces", 0), **point)
    trial = sum(queries.get(purpose, 0) for purpose in ("its_plans", "least_effort", "its_plans_without_something"))
    context.count_queries(record, kind, "trial", trial, **point)


def _size(context: Context, program: Program, method: str, traces: int | None) -> dict[str, Any]:
    """The row of a program's size."""
    count = sum(1 for tree in program.trees.values() for _ in leaves(tree))
    traces_used = (program.model_card.made_with or {}).get("traces")
    return context.head | {"method": method, "traces": traces, "got": traces_used, "leaves": count}


def _plans(method: str) -> Callable[[Context, CellRecord], None]:
    def run(context: Context, record: CellRecord) -> None:
        context.plan(record, method)
        context.one_by_one(record, method)

    return run


def _search_budgets(context: Context, record: CellRecord) -> None:
    points = [(budget, context.planner("search")) for budget in context.settings.search_budgets]
    context.at_budgets(record, "search", points)


def _guided_budgets(context: Context, record: CellRecord) -> None:
    problem, surrogate = context.benchmark.problem, context.load(SURROGATE).surrogate_
    assert surrogate is not None
    points = [
        (budget, GuidedPlanner(problem, context.fresh().box, surrogate, settings=GuideSettings(min_relative_gain=gain)))
        for budget, gain in context.settings.guided_budgets
    ]
    context.at_budgets(record, "guided", points)


def _exact_budgets(context: Context, record: CellRecord) -> None:
    problem = context.benchmark.problem
    points = [(budget, ExactPlanner(problem, context.fresh().box)) for budget in context.settings.exact_budgets]
    context.at_budgets(record, "exact", points)


@dataclass(frozen=True)
class _Kind:
    """A kind of cell: its function, the kinds it needs, prior seconds (by `PAPER_NAMES`), and the files
    that it leaves in the folder of its learned object."""

    run: Callable[[Context, CellRecord], None]
    needs: tuple[str, ...]
    seconds: tuple[float, float, float, float]
    files: tuple[str, ...] = ()


_AGENT_FILES = ("agent.safetensors", "agent.json")
_KINDS: dict[str, _Kind] = {
    PEOPLE: _Kind(_people, (), (1, 5, 1, 14)),
    SURROGATE: _Kind(_surrogate, (PEOPLE,), (4, 42, 5, 49), ("surrogate.safetensors", "surrogate.json")),
    AGENT: _Kind(_train(AGENT, lambda settings: settings.training), (PEOPLE,), (24, 73, 44, 104), _AGENT_FILES),
    PROGRAM: _Kind(_program, (SURROGATE,), (40, 243, 31, 277), ("program.json", "surrogate.json")),
    PAPER_AGENT: _Kind(
        _train(PAPER_AGENT, lambda settings: settings.paper), (PEOPLE,), (36, 50, 42, 156), _AGENT_FILES
    ),
    UNSEARCHED: _Kind(
        _train(UNSEARCHED, lambda settings: settings.unsearched), (PEOPLE,), (30, 73, 55, 134), _AGENT_FILES
    ),
    IMITATION: _Kind(_imitation, (PAPER_AGENT,), (20, 35, 30, 60), ("program.json",)),
    **{
        f"{PLAN}{method.name}": _Kind(_plans(method.name), method.needs or (PEOPLE,), (1, 2, 1, 4))
        for method in METHODS
        if method.name not in ("exact", "evolution", "evolution_small")
    },
    "plan-evolution": _Kind(_plans("evolution"), (PEOPLE,), (4, 6, 5, 9)),
    "plan-evolution_small": _Kind(_plans("evolution_small"), (PEOPLE,), (2, 2, 2, 3)),
    "search-budgets": _Kind(_search_budgets, (AGENT,), (2, 5, 2, 5)),
    "guided-budgets": _Kind(_guided_budgets, (SURROGATE,), (2, 8, 2, 20)),
    "exact-budgets": _Kind(_exact_budgets, (PEOPLE,), (1, 4, 2, 8)),
    SURVIVAL: _Kind(judge_plans, (SURROGATE,), (15, 30, 1, 1)),
}
"""Every kind of cell, in an order in which they can run. That of survival is for models that can be retrained."""


def _kind(kind: str) -> _Kind:
    """A kind by name; an unknown one plans with an external planner."""
    if kind in _KINDS:
        return _KINDS[kind]
    name = kind.removeprefix(PLAN)
    return _Kind(_plans(name), learned_for(name) or (PEOPLE,), (1, 2, 1, 4))
