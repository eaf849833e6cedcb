"""Display of the reports of a fit on a progress bar."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterplan.plans.progress import ProgressBar

if TYPE_CHECKING:
    from counterplan.agent.training import TrainingProgress
    from counterplan.surrogate.active_learning import LearningProgress


class FitDisplay:
    """Displays the reports of a fit.

    Parameters
    ----------
    bar : ProgressBar

    Attributes
    ----------
    reported : bool
        Whether there was a report, which means that something was learned.
    """

    def __init__(self, bar: ProgressBar) -> None:
        self.bar = bar
        self.reported = False

    def __call__(self, report: TrainingProgress | LearningProgress) -> None:
        """Display a report."""
        from counterplan.surrogate.active_learning import LearningProgress

        self.reported = True
        if isinstance(report, LearningProgress):
            self.bar.update(report.round + 1, detail=f"round {report.round + 1}: {report}")
        else:
            detail = f"{report.solved:.0%} with a plan, mean cost {report.cost:.1f}; {report.queries:,} queries"
            self.bar.update(report.done, report.total, detail=detail)
