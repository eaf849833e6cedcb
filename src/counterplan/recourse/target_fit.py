"""A fit for several targets: how budget and answers are shared, and what becomes of the surrogates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from counterplan.blackbox import BlackBox
from counterplan.problem import Problem
from counterplan.problem.targets import Target
from counterplan.recourse.fit_options import FitOptions, FitRun
from counterplan.storage.answer_cache import LabelledStates
from counterplan.storage.workspace import Workspace

if TYPE_CHECKING:
    from counterplan.surrogate import Surrogate
    from counterplan.surrogate.active_learning import ActiveLearner


class TargetFit:
    """Fits for one target after another: `begin`, the fit itself, `end`; then `surrogate`.

    Surrogates are fitted to labels, because scores are in favour of one target.

    Parameters
    ----------
    problem : Problem
        The problem.
    box : BlackBox
        The model.
    targets : sequence of frozenset of str
        The targets, in order.
    options : FitOptions
        Options of the whole fit.
    run : FitRun
        How the whole fit is run; its answers are about `problem`.

    Attributes
    ----------
    n_queries : Counter
        Number of queries of all targets together, by method.
    budget_spent : bool
        Whether a fit ended because its share of the budget was exhausted.
    """

    def __init__(
        self, problem: Problem, box: BlackBox, targets: Sequence[Target], options: FitOptions, run: FitRun
    ) -> None:
        self.problem, self.box, self.run = problem, box, run
        self.options = replace(options, surrogate=replace(options.surrogate, scores=False))
        self.n_queries: Counter[str] = Counter()
        self.budget_spent = False
        self._left = len(targets)
        self._known = run.answers
        """All states labelled so far, as answers about `problem`."""
        self._learned: dict[Target, Surrogate] = {}

    def begin(self, goal: Problem) -> tuple[FitOptions, FitRun]:
        """Options and run of the fit for `goal`, the problem with the next target.

        It has an equal share of the remaining budget, the answers of the targets before, and a folder of its own.
        """
        options = self.options
        if options.budget is not None:
            options = options.with_budget(max(1, (options.budget - self.n_queries.total()) // self._left))
        self._left -= 1
        answers = None if self._known is None else self._known.for_target(self.problem, goal)
        run = replace(self.run, answers=answers)
        if run.folder is not None and goal is not self.problem:
            run = replace(run, folder=Workspace(run.folder).create_for_target(goal.outcome.favourable).folder)
        return options, run

    def end(
        self,
        goal: Problem,
        surrogate: Surrogate | None,
        n_queries: Mapping[str, int],
        learner: ActiveLearner | None,
    ) -> None:
        """Record the result of the fit for `goal`: its new surrogate, if any, its queries, and the run if it ended."""
        self.n_queries.update({name: n_queries.get(name, 0) for name in (*self.options.methods, "quality")})
        if self.options.method != "search" and surrogate is not None:
            self._learned[goal.outcome.favourable] = surrogate
        if learner is not None:
            cached = self.box.cached_answers(goal)
            answers = {key: cached[key] for key in learner.labelled_set.keys if key in cached}
            labelled = LabelledStates.from_keys(goal, answers, self.box.model_id)
            self._known = labelled.for_target(goal, self.problem)

    def surrogate(self) -> Surrogate | None:
        """One surrogate of all outcomes, from those that were learned; None if there are none."""
        if not self._learned:
            return None
        from counterplan.surrogate.target_heads import with_all_outcomes

        known = self._known
        if known is None or not len(known):  # the first fit was interrupted
            known = LabelledStates.from_cache(self.box, self.problem)
        if not len(known):
            return None
        return with_all_outcomes(self.problem, self._learned, known, self.options.surrogate, self.options.seed)
