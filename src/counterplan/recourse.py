"""The front door: `Recourse(problem, model).fit(people).recommend(people)`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from counterplan.agent import Agent, load_agent, save_agent
from counterplan.blackbox import BlackBox
from counterplan.errors import PlanError
from counterplan.files import write_whole
from counterplan.plan import Plans
from counterplan.planners import CascadePlanner, ExactPlanner, Planner, PolicyPlanner, SearchPlanner
from counterplan.problem import People, Problem
from counterplan.problem.values import did_you_mean

if TYPE_CHECKING:
    from counterplan.agent.training import Report, TrainingSettings

PLANNERS = ("cascade", "search", "policy", "exact")
PROBLEM = "problem.json"


class Recourse:
    """A problem, a model, and what was learned about them. `agent_` is there once `fit` or `load` has made it."""

    def __init__(self, problem: Problem, model: BlackBox | object, *, agent: Agent | None = None) -> None:
        self.problem = problem
        self.box = model if isinstance(model, BlackBox) else BlackBox(model)
        self.agent_ = agent

    def fit(
        self,
        people: pd.DataFrame | People,
        *,
        seed: int = 0,
        settings: TrainingSettings | str = "default",
        folder: str | Path | None = None,
        resume: bool = False,
        progress: Callable[[Report], None] | None = None,
    ) -> Recourse:
        """Train an agent on people who were refused (one who was not does no harm); the same seed, the same agent.

        `settings` are TrainingSettings or the name of a preset, "default" or "paper". With a `folder`, checkpoints and
        metrics are kept there, and `resume` goes on from them. Ctrl-C leaves the best agent so far in `agent_`.
        """
        from counterplan.agent.training import CHECKPOINT, Training, TrainingSettings

        read = self.problem.read(people)
        where = None if folder is None else Path(folder)
        chosen = TrainingSettings.preset(settings) if isinstance(settings, str) else settings
        if where is not None:
            try:
                where.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise PlanError(f"{where}: cannot be made a folder: {error.strerror}") from None
        if resume and where is not None and (where / CHECKPOINT).exists():
            training = Training.resumed(self.problem, read, self.box, chosen, seed, where)
        else:
            training = Training(self.problem, read, self.box, chosen, seed, where)
        try:
            training.run(progress or (lambda report: None))
        finally:
            self.agent_ = training.best_agent
        return self

    def recommend(self, people: pd.DataFrame | People, planner: str | Planner = "cascade", **wishes: Any) -> Plans:
        """A plan for each of `people`; `wishes` as for `Planner.plan`: forbid, allowed, budget, refused, progress."""
        chosen = self.planner(planner) if isinstance(planner, str) else planner
        return chosen.plan(people, **wishes)

    def planner(self, name: str) -> Planner:
        """A planner by name: cascade (policy, then search), search, policy, exact; cascade+exact has a last resort."""
        if name == "exact":
            return ExactPlanner(self.problem, self.box)
        if name not in (*PLANNERS, "cascade+exact", "paper"):
            hint = did_you_mean(name, PLANNERS)
            raise PlanError(
                f"there is no planner '{name}'{hint}; there are {', '.join(PLANNERS)}, cascade+exact, paper"
            )
        if self.agent_ is None:
            raise PlanError(f"the planner '{name}' needs an agent: call fit, or 'counterplan fit', first")
        search = SearchPlanner(self.problem, self.box, self.agent_, settings="paper" if name == "paper" else "default")
        policy = PolicyPlanner(self.problem, self.box, self.agent_)
        if name in ("search", "paper", "policy"):
            return policy if name == "policy" else search
        last = [ExactPlanner(self.problem, self.box)] if name == "cascade+exact" else []
        return CascadePlanner(self.problem, self.box, [policy, search, *last])

    def save(self, folder: str | Path) -> None:
        """Keep the problem and the agent in `folder`; the model stays with you."""
        if self.agent_ is None:
            raise PlanError("there is nothing to save yet: call fit first")
        where = Path(folder)
        try:
            where.mkdir(parents=True, exist_ok=True)
            write_whole(where / PROBLEM, json.dumps(self.problem.to_dict(), ensure_ascii=False, indent=1))
            save_agent(self.agent_, where)
        except OSError as error:
            raise PlanError(f"{where}: cannot be written: {error.strerror}") from None

    @classmethod
    def load(cls, folder: str | Path, model: BlackBox | object) -> Recourse:
        """What `save` kept, with the model it is to be used with."""
        problem = load_problem(folder)
        return cls(problem, model, agent=load_agent(Path(folder), problem))


def load_problem(folder: str | Path) -> Problem:
    """The problem that a saved Recourse is about."""
    path = Path(folder) / PROBLEM
    try:
        data = json.loads(path.read_text())
    except FileNotFoundError:
        raise PlanError(f"{path}: there is no such file; is {folder} what 'counterplan fit' wrote?") from None
    except (OSError, ValueError) as error:
        raise PlanError(f"{path}: cannot be read ({error})") from None
    return Problem.from_dict(data, str(path))
