"""What an experiment consists of: which benchmarks, seeds and people, and how much is learned."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from typing import Any

from counterplan.agent.training import TrainingSettings
from counterplan.benchmarks import NAMES
from counterplan.errors import PlanError
from counterplan.experiments.brought import benchmark_maker, planner_class
from counterplan.surrogate.active_learning import LearningSettings

FIRST_SEED = 60
"""No setting was chosen by looking at this seed or those that follow."""
QUICK_SEEDS = 1
SEEDS = 5


@dataclass(frozen=True)
class Options:
    """What a user chooses; everything else follows from it."""

    benchmarks: tuple[str, ...] = NAMES
    """Counterplan's own, those that installed packages offer, and `module:function`."""
    seeds: tuple[int, ...] = tuple(range(FIRST_SEED, FIRST_SEED + SEEDS))
    people: int | None = None
    """Most refused test people of each benchmark and seed; None: 100, and all of german."""
    quick: bool = False
    paper_training: bool = False
    """Whether an agent is trained, and searched with, the paper's way as well: that takes long."""
    planners: tuple[str, ...] = ()
    """Planners to compare besides: those that installed packages offer, and `module:Class`."""

    def __post_init__(self) -> None:
        for name in self.benchmarks:
            if name not in NAMES:
                benchmark_maker(name)
        for name in self.planners:
            planner_class(name)
        if not self.benchmarks or not self.seeds:
            raise PlanError("an experiment needs at least one benchmark and one seed")
        if any(len(set(given)) < len(given) for given in (self.benchmarks, self.seeds, self.planners)):
            raise PlanError("a benchmark, a seed or a planner is named twice")
        if self.people is not None and self.people < 1:
            raise PlanError(f"the number of people is one or more, not {self.people}")

    def words(self) -> str:
        """The options as they are written on the command line, without a folder."""
        first, count = self.seeds[0], len(self.seeds)
        told = ["--quick"] if self.quick else []
        told += [] if self.benchmarks == NAMES else ["--benchmarks", ",".join(self.benchmarks)]
        told += [] if count == (QUICK_SEEDS if self.quick else SEEDS) else ["--seeds", str(count)]
        told += [] if first == FIRST_SEED else ["--first-seed", str(first)]
        told += [] if self.people is None else ["--people", str(self.people)]
        told += ["--paper-training"] if self.paper_training else []
        told += ["--planners", ",".join(self.planners)] if self.planners else []
        return " ".join(told)


@dataclass(frozen=True)
class Settings:
    """How everything is learned and run: one setting for every benchmark."""

    people: int | None = None
    """Most people; None: 100, and all of german."""
    training: TrainingSettings = field(default_factory=TrainingSettings)
    paper: TrainingSettings = field(default_factory=lambda: TrainingSettings.preset("paper"))
    learning: LearningSettings = field(default_factory=LearningSettings)
    program_people: int | None = None
    program_rounds: int | None = None
    """What a program is distilled from, and how often it is improved; None: as `Recourse.distil` does by default."""
    imitated: int = 250
    """Traces of the program that is made as in the paper."""
    traces: tuple[int, ...] = (100, 200, 300, 400, 500, 600, 700, 1_000, 2_000, 4_000)
    """... and of those that show what more traces bring."""
    large: tuple[int, int] = (50, 200)
    small: tuple[int, int] = (25, 100)
    """Generations and population of the evolutionary baseline."""
    guided_budgets: tuple[tuple[int, float], ...] = (
        (0, 0.015), (1, 0.015), (2, 0.015), (3, 0.015), (5, 0.015), (10, 0.005), (20, 0.002), (50, 0.0),
    )  # fmt: skip
    """Most questions a person, and the share of the effort that one has to save."""
    search_budgets: tuple[int, ...] = (1, 2, 3, 5, 10, 20, 50)
    exact_budgets: tuple[int, ...] = (1, 3, 10, 30, 100, 300, 1_000)
    alone: int = 3
    """People planned for one by one, to see how long one person takes."""

    @classmethod
    def of(cls, options: Options) -> Settings:
        """What options stand for; quick ones learn little from few people, so that every part can be seen soon."""
        if not options.quick:
            return cls(people=options.people)
        little: dict[str, Any] = {
            "people": 500,
            "min_people": 500,
            "passes": 3,
            "validate_every": 6,
            "budget": 5_000,
        }
        return cls(
            people=options.people or 20,
            training=replace(TrainingSettings(), **little),
            paper=replace(TrainingSettings.preset("paper"), **little),
            learning=LearningSettings(rounds=2, validation=24, budget=1_500),
            program_people=250,
            program_rounds=1,
            traces=(100, 700),
            guided_budgets=((0, 0.015), (1, 0.015), (5, 0.015)),
            search_budgets=(1, 5),
            exact_budgets=(1, 10, 100),
            alone=1,
        )


def digest(data: Any) -> str:
    """A short hash of plain data."""
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]
