"""Options and settings of an experiment: benchmarks, seeds, people, and how everything is learned."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from typing import Any

from counterplan.agent.training_settings import TrainingSettings
from counterplan.benchmarks import NAMES, PAPER_NAMES
from counterplan.benchmarks.registry import benchmark_function
from counterplan.errors import SettingError
from counterplan.experiments.methods import AGENT, BY_NAME, PROGRAM, SURROGATE
from counterplan.planners import Planner
from counterplan.planners.registry import RESERVED, foreign_class, foreign_names
from counterplan.problem.values import did_you_mean
from counterplan.surrogate.active_learning import LearningSettings

FIRST_SEED = 60
"""No setting was tuned on this seed or later ones."""
QUICK_SEEDS = 1
SEEDS = 5


def planner_class(word: str) -> type[Planner]:
    """The planner of another package that a word names; built-in planners are compared anyway and are refused."""
    if word in RESERVED or word in BY_NAME:
        raise SettingError(f"the planner '{word}' is counterplan's own; those are compared without being asked for")
    found = foreign_class(word)
    if found is None:
        known = foreign_names()
        offers = f"; installed packages offer {', '.join(known)}" if known else "; no installed package offers any"
        raise SettingError(
            f"there is no planner '{word}'{did_you_mean(word, known)}{offers}, and your own is module:Class"
        )
    return found


def learned_for(method: str) -> tuple[str, ...]:
    """The objects to learn for a method; for a planner of another package, those that it `requires`."""
    if method in BY_NAME:
        return BY_NAME[method].needs
    try:
        required = planner_class(method).requires
    except SettingError:  # the results are reported where it is not installed
        return ()
    made_from = {SURROGATE: (SURROGATE, PROGRAM), AGENT: (AGENT,), PROGRAM: (PROGRAM,)}
    return tuple(part for part, users in made_from.items() if not {*users}.isdisjoint(required))


@dataclass(frozen=True)
class ExperimentOptions:
    """Options chosen by the user; `ExperimentSettings` follow from them."""

    benchmarks: tuple[str, ...] = PAPER_NAMES
    """Built-in benchmarks, those of installed packages, and `module:function`."""
    seeds: tuple[int, ...] = tuple(range(FIRST_SEED, FIRST_SEED + SEEDS))
    people: int | None = None
    """Maximal number of refused test people for each benchmark and seed; None: 100, and all of german."""
    quick: bool = False
    planners: tuple[str, ...] = ()
    """Additional planners to compare: those of installed packages, and `module:Class`."""

    def __post_init__(self) -> None:
        for name in self.benchmarks:
            if name not in NAMES:
                benchmark_function(name)
        for name in self.planners:
            planner_class(name)
        if not self.benchmarks or not self.seeds:
            raise SettingError("an experiment needs at least one benchmark and one seed")
        if any(len(set(values)) < len(values) for values in (self.benchmarks, self.seeds, self.planners)):
            raise SettingError("a benchmark, a seed or a planner is named twice")
        if self.people is not None and self.people < 1:
            raise SettingError(f"the number of people must be at least 1, got {self.people}")

    def to_arguments(self) -> str:
        """The options as command-line arguments, without the folder."""
        first, count = self.seeds[0], len(self.seeds)
        arguments = ["--quick"] if self.quick else []
        arguments += [] if self.benchmarks == PAPER_NAMES else ["--benchmarks", ",".join(self.benchmarks)]
        arguments += [] if count == (QUICK_SEEDS if self.quick else SEEDS) else ["--seeds", str(count)]
        arguments += [] if first == FIRST_SEED else ["--first-seed", str(first)]
        arguments += [] if self.people is None else ["--people", str(self.people)]
        arguments += ["--planners", ",".join(self.planners)] if self.planners else []
        return " ".join(arguments)


@dataclass(frozen=True)
class ExperimentSettings:
    """How everything is learned and run, the same for every benchmark."""

    people: int | None = None
    """Maximal number of people; None: 100, and all of german."""
    training: TrainingSettings = field(default_factory=TrainingSettings)
    paper: TrainingSettings = field(default_factory=lambda: TrainingSettings.preset("paper"))
    learning: LearningSettings = field(default_factory=LearningSettings)
    program_people: int | None = None
    program_rounds: int | None = None
    """People and rounds of distillation; None: the defaults of `Recourse.distil`."""
    imitated: int = 250
    """Traces of the program built by the paper's construction."""
    traces: tuple[int, ...] = (100, 200, 300, 400, 500, 600, 700)
    """Numbers of traces of the curve of that construction."""
    large: tuple[int, int] = (50, 200)
    small: tuple[int, int] = (25, 100)
    """Generations and population of the evolutionary baseline."""
    guided_budgets: tuple[tuple[int, float], ...] = (
        (0, 0.015),
        (1, 0.015),
        (2, 0.015),
        (3, 0.015),
        (5, 0.015),
        (10, 0.005),
        (20, 0.002),
        (50, 0.0),
    )
    """Query budgets for each person, each with the smallest relative gain for which a query is sent."""
    search_budgets: tuple[int, ...] = (1, 2, 3, 5, 10, 20, 50)
    exact_budgets: tuple[int, ...] = (1, 3, 10, 30, 100, 300, 1_000)
    judges: int = 2
    """Retrained models of each variation, by which plans for survival are judged."""
    weights: tuple[int, ...] = (0, 2, 4, 8, 16)
    """Weights of survival, λ."""
    alone: int = 3
    """Number of people planned for one at a time, to measure the latency of a single person."""

    @property
    def unsearched(self) -> TrainingSettings:
        """Training without search: as many sampled traces of a person as the paper's search has simulations a step."""
        return replace(self.paper, explore="policy", simulations=self.paper.search.simulations)

    @classmethod
    def of(cls, options: ExperimentOptions) -> ExperimentSettings:
        """The settings for some options; quick ones train briefly on few people, to exercise every part."""
        if not options.quick:
            return cls(people=options.people)
        brief: dict[str, Any] = {
            "people": 500,
            "min_people": 500,
            "passes": 3,
            "validate_every": 6,
            "budget": 5_000,
        }
        return cls(
            people=options.people or 20,
            training=replace(TrainingSettings(), **brief),
            paper=replace(TrainingSettings.preset("paper"), **brief),
            learning=LearningSettings(rounds=2, validation=24, budget=1_500),
            program_people=250,
            program_rounds=1,
            traces=(100, 700),
            guided_budgets=((0, 0.015), (1, 0.015), (5, 0.015)),
            search_budgets=(1, 5),
            exact_budgets=(1, 10, 100),
            judges=1,
            weights=(0, 4, 8),
            alone=1,
        )


def digest(data: Any) -> str:
    """A short hash of plain data."""
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]
