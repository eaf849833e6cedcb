"""An experiment in pieces: each cell is one thing learned or run on one benchmark and seed, done once and kept.

A finished cell is one JSON file, whole or not there. It says with which settings and versions it was made, so that one
that would come out differently now is not believed.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import platform
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import counterplan
from counterplan.agent.search import SearchSettings
from counterplan.agent.training import TrainingSettings
from counterplan.benchmarks import NAMES
from counterplan.benchmarks.summary import describe
from counterplan.distillation.demonstrations import DemonstrationSettings
from counterplan.distillation.policy_search import PolicySearchSettings
from counterplan.errors import CounterplanError, PlanError
from counterplan.experiments.brought import as_file_name, source_of
from counterplan.experiments.context import CellRecord, Context
from counterplan.experiments.methods import AGENT, IMITATION, METHODS, PAPER_AGENT, PROGRAM, SURROGATE
from counterplan.experiments.settings import Options, Settings, digest
from counterplan.planners import ExactPlanner, GuidedPlanner
from counterplan.planners.evolution import EvolutionSettings
from counterplan.plans.plan import Status
from counterplan.problem import Encoding
from counterplan.program import Program, leaves
from counterplan.storage.files import write_or_say
from counterplan.surrogate.acquisition import GuideSettings

VERSION = 1
CELLS = "cells"
PLAN = "plan-"
"""How kinds of cells that plan begin; what follows is the method."""
PACKAGES = ("numpy", "pandas", "scikit-learn", "jax", "jaxlib", "optax", "pymoo", "safetensors")
PEOPLE = "people"
POOL = 5_000
"""Most people whose traces are sampled to imitate."""


@dataclass(frozen=True)
class Cell:
    """One thing to do."""

    benchmark: str
    seed: int
    kind: str

    def __str__(self) -> str:
        return f"{self.benchmark}-{self.seed}-{self.kind}"

    @property
    def file(self) -> str:
        """Where it is kept, within the folder of the experiment."""
        return f"{CELLS}/{as_file_name(str(self))}.json"

    @property
    def planner(self) -> str | None:
        """The planner that is run, if it is not one of counterplan's own."""
        return None if self.kind in _KINDS else self.kind.removeprefix(PLAN)


def needed_by(kind: str) -> tuple[str, ...]:
    """The kinds of cells that have to be done first."""
    return _kind(kind).needs


def cells_of(options: Options) -> list[Cell]:
    """Everything an experiment consists of, in an order in which it can be done."""
    kinds = [kind for kind, known in _KINDS.items() if options.paper_training or not known.optional]
    kinds += [f"{PLAN}{planner}" for planner in options.planners]
    return [Cell(name, seed, kind) for name in options.benchmarks for seed in options.seeds for kind in kinds]


def estimate(cell: Cell) -> float:
    """About how many seconds a cell takes; only shares matter, as the pace is learned while running."""
    seconds = _kind(cell.kind).seconds
    return seconds[NAMES.index(cell.benchmark)] if cell.benchmark in NAMES else sum(seconds) / len(seconds)


@cache
def versions() -> dict[str, str]:
    """What an outcome may depend on: the versions of counterplan, Python and what it stands on."""
    found = {"counterplan": counterplan.__version__, "python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "none"
    return found


def machine() -> dict[str, Any]:
    """What kind of machine this is, and nothing that would name it."""
    return {"system": platform.system(), "processor": platform.machine(), "cores": os.cpu_count()}


def fingerprint(cell: Cell, settings: Settings) -> str:
    """What a kept cell has to agree with: settings, also those that are not chosen here, versions, and the code of
    what others bring."""
    usual = (PolicySearchSettings(), DemonstrationSettings(), GuideSettings(), SearchSettings(), EvolutionSettings())
    brought = [] if cell.benchmark in NAMES else [source_of(cell.benchmark)]
    brought += [] if cell.planner is None else [source_of(cell.planner, planner=True)]
    return digest([asdict(cell), asdict(settings), [asdict(one) for one in usual], versions(), VERSION, *brought])


@cache
def source() -> str:
    """A hash of the code as it is now, which versions alone do not tell apart while it is worked on."""
    root = Path(counterplan.__file__).parent
    told = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        told.update(str(path.relative_to(root)).encode() + path.read_bytes())
    return told.hexdigest()[:16]


def do(cell: Cell, settings: Settings, folder: Path, command: str) -> float:
    """Do what a cell asks for and keep it; gives how many seconds that took."""
    begun = time.perf_counter()
    sheet = CellRecord()
    try:
        _kind(cell.kind).do(Context(cell.benchmark, cell.seed, settings, folder), sheet)
    except Exception as error:
        theirs = cell.planner or (cell.benchmark if cell.benchmark not in NAMES else None)
        if theirs is None or isinstance(error, CounterplanError):
            raise
        raise PlanError(f"{theirs} does not work out: {type(error).__name__}: {error}") from error
    seconds = time.perf_counter() - begun
    made_with = {"versions": versions(), "source": source(), "machine": machine(), "command": command}
    made_with["settings"] = asdict(settings)
    told = {
        "counterplan_cell": VERSION,
        **asdict(cell),
        "fingerprint": fingerprint(cell, settings),
        "made_with": made_with,
        "seconds": seconds,
        "sheet": asdict(sheet),
    }
    text = json.dumps(told | {"check": digest(told["sheet"])}, indent=1, ensure_ascii=False)
    write_or_say(folder / cell.file, text)
    return seconds


def kept(cell: Cell, settings: Settings, folder: Path) -> dict[str, Any] | str | None:
    """A cell that was done; None if it was not, and words if what is there cannot be used."""
    path = folder / cell.file
    try:
        told = json.loads(path.read_text())
        if told["check"] != digest(told["sheet"]):
            return "damaged"
        if told["fingerprint"] != fingerprint(cell, settings):
            return "made with other versions or settings"
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError):
        return "damaged"
    learned = Context(cell.benchmark, cell.seed, settings, folder).learned(cell.kind)
    missing = [name for name in _kind(cell.kind).keeps if not (learned / name).exists()]
    return f"without {missing[0]}, which it made" if missing else dict(told)


# What cells do


def _people(desk: Context, sheet: CellRecord) -> None:
    """The table of the benchmark, the least effort of everybody, and who belongs to which group."""
    benchmark, problem = desk.benchmark, desk.benchmark.problem
    plans = desk.plan(sheet, "exact")
    desk.one_by_one(sheet, "exact")
    found = [plan for plan in plans if plan.status is Status.FOUND]
    told = describe(benchmark, 1)
    lengths = [len(plan.steps) for plan in found]
    told |= {"refused": len(plans), "reachable": len(found) / len(plans)}
    told |= {"unreachable": sum(plan.status is Status.INFEASIBLE for plan in plans)}
    told |= {
        "optimal_cost": sum(plan.cost for plan in found) / len(found) if found else None,
        "optimal_length": sum(lengths) / len(found) if found else None,
        "shortest": min(lengths, default=None),
        "longest": max(lengths, default=None),
    }
    sheet.datasets.append({key: value for key, value in told.items() if key != "name"} | desk.head)
    encoding = problem.encoding(problem.read(benchmark.train))
    for feature, cuts in zip(encoding.features, encoding.cuts, strict=True):
        if feature.protected:
            view = Encoding((feature,), (cuts,))
            names = [name.removeprefix(f"{feature.name} = ") for name in view.names]
            bits = view(desk.people.states)
            for plan, bit in zip(plans, bits, strict=True):
                group = names[int(bit.argmax())] if bit.any() else "others"
                sheet.people.append(desk.head | {"person": plan.person, "feature": feature.name, "group": group})


def _train(what: str, settings: Callable[[Settings], TrainingSettings]) -> Callable[[Context, CellRecord], None]:
    def do(desk: Context, sheet: CellRecord) -> None:
        recourse = desk.fresh()
        with desk.timed(sheet, what, "training"):
            recourse.fit(
                desk.benchmark.refused_train, settings=settings(desk.settings), method="search", seed=desk.seed
            )
        desk.keep(recourse, what)
        desk.asked(sheet, what, "training", recourse.n_queries_["search"])

    return do


def _surrogate(desk: Context, sheet: CellRecord) -> None:
    recourse = desk.fresh()
    with desk.timed(sheet, SURROGATE, "training"):
        recourse.fit(desk.benchmark.train, settings=desk.settings.learning, seed=desk.seed)
    desk.keep(recourse, SURROGATE)
    desk.asked(sheet, SURROGATE, "training", recourse.n_queries_["guided"])


def _program(desk: Context, sheet: CellRecord) -> None:
    recourse, settings = desk.load(SURROGATE), desk.settings
    with desk.timed(sheet, PROGRAM, "distillation"):
        program = recourse.distil(
            desk.benchmark.train, traces=settings.program_people, rounds=settings.program_rounds, seed=desk.seed
        )
    desk.keep(recourse, PROGRAM)
    _distilled(desk, sheet, PROGRAM, program)
    sheet.programs.append(_size(desk, program, "program", None))


def _imitation(desk: Context, sheet: CellRecord) -> None:
    """Programs made the paper's way from the agent's traces: the usual number, and others for the curve."""
    settings, agent = desk.settings, desk.load(AGENT).agent_
    people = desk.benchmark.problem.read(desk.benchmark.refused_train.head(POOL))
    for traces in (settings.imitated, *settings.traces):
        recourse = desk.fresh(agent=agent)
        usual = traces == settings.imitated and not sheet.programs
        with desk.timed(sheet if usual else CellRecord(), IMITATION, "distillation"):
            program = recourse.distil(people, traces=traces, preset="paper", seed=desk.seed)
        if usual:
            recourse.agent_ = None
            desk.keep(recourse, IMITATION)
            _distilled(desk, sheet, IMITATION, program)
        else:
            plans = desk.fresh(program=program).recommend(desk.people, "program", refused=True)
            point = {"knob": "traces", "value": traces}
            sheet.curves += [row | point for row in desk.rows("paper_program", plans)]
            _distilled(desk, sheet, IMITATION, program, **point)
        sheet.programs.append(_size(desk, program, "paper_program", None if usual else traces))


def _distilled(desk: Context, sheet: CellRecord, what: str, program: Program, **point: Any) -> None:
    """Write down what a program was asked for, as its card counts it.

    That the people it is made for are refused is known, so that question does not count.
    """
    asked = program.card.queries or {}
    desk.asked(sheet, what, "distillation", asked.get("traces", 0), **point)
    trial = sum(asked.get(purpose, 0) for purpose in ("its_plans", "least_effort", "its_plans_without_something"))
    desk.asked(sheet, what, "trial", trial, **point)


def _size(desk: Context, program: Program, method: str, traces: int | None) -> dict[str, Any]:
    """How large a program is."""
    count = sum(1 for tree in program.trees.values() for _ in leaves(tree))
    made = (program.card.made_with or {}).get("traces")
    return desk.head | {"method": method, "traces": traces, "got": made, "leaves": count}


def _plans(method: str) -> Callable[[Context, CellRecord], None]:
    def do(desk: Context, sheet: CellRecord) -> None:
        desk.plan(sheet, method)
        desk.one_by_one(sheet, method)

    return do


def _search_budgets(desk: Context, sheet: CellRecord) -> None:
    points = [(budget, desk.planner("search")) for budget in desk.settings.search_budgets]
    desk.at_budgets(sheet, "search", points)


def _guided_budgets(desk: Context, sheet: CellRecord) -> None:
    problem, surrogate = desk.benchmark.problem, desk.load(SURROGATE).surrogate_
    assert surrogate is not None
    desk.at_budgets(
        sheet, "guided",
        [
            (budget, GuidedPlanner(problem, desk.fresh().box, surrogate, settings=GuideSettings(share=share)))
            for budget, share in desk.settings.guided_budgets
        ],
    )  # fmt: skip


def _exact_budgets(desk: Context, sheet: CellRecord) -> None:
    problem = desk.benchmark.problem
    points = [(budget, ExactPlanner(problem, desk.fresh().box)) for budget in desk.settings.exact_budgets]
    desk.at_budgets(sheet, "exact", points)


@dataclass(frozen=True)
class _Kind:
    """A kind of cell: what it does, after which others, about how long (german, adult, syn, syn_long), and what it
    leaves in its folder."""

    do: Callable[[Context, CellRecord], None]
    needs: tuple[str, ...]
    seconds: tuple[float, float, float, float]
    keeps: tuple[str, ...] = ()
    optional: bool = False


_AGENT_FILES = ("agent.safetensors", "agent.json")
_KINDS: dict[str, _Kind] = {
    PEOPLE: _Kind(_people, (), (1, 5, 1, 14)),
    SURROGATE: _Kind(_surrogate, (PEOPLE,), (4, 42, 5, 49), ("surrogate.safetensors", "surrogate.json")),
    AGENT: _Kind(_train(AGENT, lambda settings: settings.training), (PEOPLE,), (24, 73, 44, 104), _AGENT_FILES),
    PROGRAM: _Kind(_program, (SURROGATE,), (40, 243, 31, 277), ("program.json", "surrogate.json")),
    IMITATION: _Kind(_imitation, (AGENT,), (5, 16, 7, 16), ("program.json",)),
    PAPER_AGENT: _Kind(
        _train(PAPER_AGENT, lambda settings: settings.paper), (PEOPLE,), (27, 115, 94, 130),
        _AGENT_FILES, optional=True,
    ),
    **{
        f"{PLAN}{method.name}": _Kind(
            _plans(method.name), method.needs or (PEOPLE,), (1, 2, 1, 4), optional=method.optional
        )
        for method in METHODS
        if method.name not in ("exact", "evolution", "evolution_small")
    },
    "plan-evolution": _Kind(_plans("evolution"), (PEOPLE,), (4, 6, 5, 9)),
    "plan-evolution_small": _Kind(_plans("evolution_small"), (PEOPLE,), (2, 2, 2, 3)),
    "search-budgets": _Kind(_search_budgets, (AGENT,), (2, 5, 2, 5)),
    "guided-budgets": _Kind(_guided_budgets, (SURROGATE,), (2, 8, 2, 20)),
    "exact-budgets": _Kind(_exact_budgets, (PEOPLE,), (1, 4, 2, 8)),
}  # fmt: skip
"""Every kind of cell, in an order in which they can be done."""


def _kind(kind: str) -> _Kind:
    """One of these, or planning by what somebody else has brought."""
    return _KINDS[kind] if kind in _KINDS else _Kind(_plans(kind.removeprefix(PLAN)), (PEOPLE,), (1, 2, 1, 4))
