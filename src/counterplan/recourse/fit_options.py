"""Validated parameters of `Recourse.fit`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from counterplan.errors import SettingError
from counterplan.planners.base import is_whole
from counterplan.problem.values import did_you_mean
from counterplan.recourse.quality import QualitySettings
from counterplan.storage.answer_cache import LabelledStates
from counterplan.storage.workspace import METHODS

if TYPE_CHECKING:
    from counterplan.agent.training import TrainingProgress
    from counterplan.agent.training_settings import TrainingSettings
    from counterplan.surrogate.active_learning import LearningProgress, LearningSettings

    Settings = TrainingSettings | LearningSettings | str
    FitProgress = Callable[[TrainingProgress | LearningProgress], None]


@dataclass(frozen=True)
class FitRun:
    """How a fit is run: seed, folder of checkpoints, whether to resume, known answers, progress callback, processes."""

    seed: int
    folder: Path | None
    resume: bool
    answers: LabelledStates | None
    progress: FitProgress
    jobs: int = 1

    def resumes(self, checkpoint: str) -> bool:
        """Whether to continue from the file `checkpoint`."""
        return self.resume and self.folder is not None and (self.folder / checkpoint).exists()


@dataclass(frozen=True)
class FitOptions:
    """Validated parameters of `fit`."""

    method: str
    surrogate: LearningSettings
    agent: TrainingSettings
    budget: int | None
    """For both methods together; the budget of a single method is also in its settings."""
    seed: int
    quality: QualitySettings | None
    """How to assess the surrogate; None if it is not assessed."""

    def with_budget(self, budget: int) -> FitOptions:
        """The same options with another budget."""
        surrogate, agent = replace(self.surrogate, budget=budget), replace(self.agent, budget=budget)
        return replace(self, budget=budget, surrogate=surrogate, agent=agent)

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods, one after the other."""
        return ("guided", "search") if self.method == "both" else (self.method,)

    def left(self, queries: int) -> int | None:
        """What the budget leaves after `queries`; None if the user has set none."""
        from counterplan.surrogate.active_learning import LearningSettings

        if self.budget is not None:
            return max(0, self.budget - queries)
        return None if self.surrogate.budget == LearningSettings().budget else max(0, self.surrogate.budget - queries)

    @classmethod
    def validated(
        cls,
        method: str | None,
        settings: Settings | tuple[Settings, ...],
        budget: int | None,
        seed: int,
        quality: bool | QualitySettings = True,
    ) -> FitOptions:
        """Validate parameters of `fit`; without a method, the settings determine it."""
        from counterplan.agent.training_settings import TrainingSettings
        from counterplan.surrogate.active_learning import LearningSettings

        surrogate, agent = _split_settings(settings)
        chosen = method or ("both" if agent and surrogate else "search" if agent else "guided")
        if chosen not in METHODS:
            hint = did_you_mean(str(chosen), METHODS)
            raise SettingError(f"there is no method '{chosen}'{hint}; there are {', '.join(METHODS)}")
        if chosen == "guided" and agent:
            raise SettingError(
                "method='guided' expects LearningSettings, got TrainingSettings or the preset 'paper' of them; "
                "pass method='search' (--method search) or LearningSettings"
            )
        if chosen == "search" and surrogate:
            raise SettingError(
                "method='search' expects TrainingSettings, got LearningSettings; "
                "pass method='guided' or TrainingSettings"
            )
        if budget is not None and not is_whole(budget, 1):
            raise SettingError(f"the query budget is a whole number, one or more, not {budget!r}")
        if not is_whole(seed):
            raise SettingError(f"the seed is a whole number, zero or more, not {seed!r}")
        surrogate, agent = surrogate or LearningSettings(), agent or TrainingSettings()
        if budget is not None:
            budget = int(budget)
            surrogate, agent = replace(surrogate, budget=budget), replace(agent, budget=budget)
        if not isinstance(quality, (bool, QualitySettings)):
            raise SettingError(f"'quality' must be True, False or QualitySettings, not {quality!r}")
        assessed = quality if isinstance(quality, QualitySettings) else QualitySettings() if quality else None
        return cls(chosen, surrogate, agent, budget, int(seed), assessed)


def _split_settings(
    settings: Settings | tuple[Settings, ...],
) -> tuple[LearningSettings | None, TrainingSettings | None]:
    """Settings for a surrogate and for an agent; None for those that are not given or the default preset."""
    from counterplan.agent.training_settings import TrainingSettings
    from counterplan.surrogate.active_learning import LearningSettings

    surrogate, agent = None, None
    for one in settings if isinstance(settings, tuple) else (settings,):
        if isinstance(one, LearningSettings):
            surrogate = one
        elif isinstance(one, TrainingSettings):
            agent = one
        elif not isinstance(one, str):
            raise SettingError(f"settings are LearningSettings, TrainingSettings or the name of a preset, not {one!r}")
        elif (preset := TrainingSettings.preset(one)) != TrainingSettings():
            agent = preset
    return surrogate, agent
