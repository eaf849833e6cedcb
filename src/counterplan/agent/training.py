"""Train an agent on its own searches: search for plans, archive the cheapest, update the network on them, repeat.

A checkpoint holds everything that determines what comes next, so an interrupted run resumes to the same weights.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from counterplan.agent.agent import Agent
from counterplan.agent.group_search import (
    AnswerLog,
    Exchange,
    GroupResult,
    GroupSearch,
    GroupSettings,
    KnownAnswers,
    answer,
    follow_policy,
    generator_of,
    search_in_worker,
)
from counterplan.agent.learner import Learner
from counterplan.agent.rollout import greedy
from counterplan.agent.search import SearchSettings, search
from counterplan.agent.trace_archive import TraceArchive
from counterplan.agent.training_settings import TrainingSettings
from counterplan.blackbox import BlackBox, MeteredOracle, join_keys, split_keys
from counterplan.errors import PeopleError
from counterplan.parallel import WorkerTeam, worker_team
from counterplan.problem import People, Problem
from counterplan.problem.transitions import Floats, Ints
from counterplan.search.outcome import SearchOutcome
from counterplan.search.synthetic import crossover
from counterplan.storage.arrays import ArraySpec, require_integer, require_number, validate_arrays, with_prefix
from counterplan.storage.checkpoints import TRAINING, Checkpoint, CheckpointFormat

CHECKPOINT, METRICS = TRAINING
_FORMAT = CheckpointFormat(
    CHECKPOINT,
    METRICS,
    plain={
        "groups": "groups",
        "n_active": "in_play",
        "n_improved": "improved",
        "stale_validations": "worse",
        "finished": "finished",
        "out_of_budget": "spent",
        "augmentation_truncated": "cut",
    },
    arrays={"queue": "order", "stale_searches": "idle", "least_costs": "least", "best_costs": "best_costs"},
)
"""Attributes of a trainer in a checkpoint, with the keys they are stored by."""
_ARCHIVE_KEYS = {
    "cost": "archive.cost",
    "plans": "archive.plans",
    "refused_people": "archive.refused_people",
    "refused_plans": "archive.refused_trails",
}
"""Attributes of its archive."""


@dataclass(frozen=True)
class TrainingProgress:
    """Progress after a group of people; also one line of the metrics file, whose keys are these names."""

    done: int
    """Groups searched for."""
    total: int
    """Maximum number of groups."""
    solved: float
    """Share of training people with a plan."""
    cost: float
    """Mean cost of these plans."""
    queries: int
    validation_success: float | None = None
    validation_cost: float | None = None


class _Team(NamedTuple):
    """Processes that search, and a thread for gradient steps."""

    workers: WorkerTeam
    gradients: ThreadPoolExecutor


class AgentTrainer:
    """Trains an agent by expert iteration: tree search finds plans, the network learns to predict them.

    Parameters
    ----------
    problem : Problem
        The problem.
    people : People
        People refused by the black box.
    box : BlackBox
        The model.
    settings : TrainingSettings
        Settings.
    seed : int
        Seed of the random generator.
    folder : Path, optional
        Folder for checkpoints and metrics.
    synthetic : tuple of (states, rows), optional
        Synthetic people of an earlier run: states [n, F] and the rows [n] they were derived from.
    answered : dict of bytes to bool, optional
        Answers of an earlier run, by query key; they count as queries of this one.
    jobs : int, default=1
        Number of processes that search beside the gradient steps of this one; none if `settings.lag` is 0.

    Attributes
    ----------
    best_agent : Agent
        The agent that was best on validation people; usable at any time, also after an interrupt.
    queries : int
        Different queries of this run.

    Raises
    ------
    PeopleError
        If there are no people.
    """

    def __init__(
        self,
        problem: Problem,
        people: People,
        box: BlackBox,
        settings: TrainingSettings,
        seed: int,
        folder: Path | None = None,
        *,
        synthetic: tuple[Floats, Ints] | None = None,
        answered: dict[bytes, bool] | None = None,
        jobs: int = 1,
    ) -> None:
        if not len(people):
            raise PeopleError("there is nobody to learn from: pass people who were refused")
        self.problem = problem
        self.box = box
        self.settings = settings
        self.seed = seed
        self.folder = folder
        self.random = np.random.default_rng(seed)
        self.jobs = jobs
        self.answered = AnswerLog(answered)
        self.pending: deque[GroupSearch] = deque()
        """Searches that were planned with earlier agents, and did not end yet."""
        self.out_of_budget = False
        self.augmentation_truncated = False
        """Whether the budget did not suffice to label synthetic people."""
        order = self.random.permutation(len(people))
        held = min(settings.validation, len(people) // 5)
        self.validation = people.take(order[:held])
        chosen = people.take(order[held : held + settings.people])
        preset = "paper" if settings.search == SearchSettings.preset("paper") else "default"
        agent = replace(Agent.new(problem, people, settings.network, self.random), preset=preset)
        self.people_hash = hashlib.sha256(chosen.states.tobytes()).hexdigest()
        self.synthetic = self._synthesize(chosen) if synthetic is None else synthetic
        """States [n, F] of synthetic people, and the rows [n] they were derived from."""
        self.people = chosen.take(np.concatenate([np.arange(len(chosen)), self.synthetic[1]]))
        starts = np.concatenate([chosen.states, self.synthetic[0]])
        self.agent = self.best_agent = agent
        self.least_costs = np.full(held, np.inf)
        """[V] the least cost found for each validation person by any agent."""
        self.best_costs = np.full(held, np.inf)
        """[V] the cost found by the best agent."""
        self.archive = TraceArchive.empty(
            agent,
            starts,
            settings.max_refusals,
            ordered=settings.tree.bounded,
            forced_stop=settings.tree.forced_stop,
        )
        self.learner = Learner(agent, settings.learning_rate, settings.weight_decay, settings.refusal_weight)
        self.queue = np.empty(0, np.intp)
        """The people that are still to be searched for in this pass."""
        self._oracles: dict[int, tuple[MeteredOracle, KnownAnswers]] = {}
        """Of searches in worker processes, by number."""
        first = settings.min_people if settings.first_people is None else settings.first_people
        self.n_active = min(first, len(starts))
        """Number of people in training, the first ones."""
        self.stale_searches = np.zeros(len(starts), np.intp)
        """[P] searches since each person's plan last became cheaper."""
        self.groups = 0
        self.n_improved = 0
        self.stale_validations = 0
        self.finished = False
        self.metrics: list[dict[str, Any]] = []

    @property
    def queries(self) -> int:
        """Different queries of this run, including those answered from the box's cache."""
        return len(self.answered)

    @property
    def _left(self) -> int:
        """What the budget leaves for searches that are not planned yet, and for validation."""
        return max(0, self.settings.budget - self.queries - sum(search.limit for search in self.pending))

    @property
    def stopped_by_budget(self) -> bool:
        """Whether training ended because the budget was exhausted; with a larger one it can be resumed."""
        return self.finished and self.out_of_budget

    def run(self, progress: Callable[[TrainingProgress], None] = lambda report: None) -> Agent:
        """Train until converged or out of budget.

        Parameters
        ----------
        progress : callable, optional
            Called with a TrainingProgress after each group.

        Returns
        -------
        Agent
            The agent that was best on validation people.
        """
        last = -math.inf
        with self._workers() as team:
            if team is not None:
                for planned in self.pending:
                    team.workers.submit(planned.number, planned)
            while not self.finished:
                report = self.advance(team)
                progress(report)
                due = time.monotonic() - last > self.settings.checkpoint_seconds or self.finished
                if self.folder is not None and due:
                    self.save()
                    last = time.monotonic()
        return self.best_agent

    @contextmanager
    def _workers(self) -> Iterator[_Team | None]:
        """Worker processes, if there is something that they can do."""
        if self.jobs == 1 or not self.settings.lag or self.box.budget is not None:
            yield None
            return
        context = self._group_settings, self.seed

        def serve(exchange: Exchange) -> Any:
            if exchange.number not in self._oracles:
                search = next(search for search in self.pending if search.number == exchange.number)
                self._oracles[exchange.number] = self._group_oracle(search)
            return answer(self._oracles[exchange.number][0], exchange)

        with (
            worker_team(search_in_worker, context, self.jobs, serve=serve) as workers,
            ThreadPoolExecutor(1) as gradients,
        ):
            yield _Team(workers, gradients)

    def advance(self, team: _Team | None = None) -> TrainingProgress:
        """Search for the next group of people, update the network, and validate if it is time to.

        With a `team`, searches run in worker processes, beside the updates.
        """
        settings = self.settings
        if not len(self.queue) and not self.pending:
            self.queue, self.n_improved = self.random.permutation(self._candidates()), 0
        if not self.pending:
            self._plan_search(team)
        self._store(*self._result(team))
        while len(self.queue) and len(self.pending) < settings.lag:
            self._plan_search(team)
        if len(self.archive.solved) > 1:
            if team is None:
                self._update()
            else:
                team.workers.wait(team.gradients.submit(self._update))
            self.agent = self.agent.with_params(self.learner.params, self.archive.cost_scale)
            if not np.isfinite(self.best_costs).any():  # no validation has selected an agent yet
                self.best_agent = self.agent
        self.groups += 1
        converged = not len(self.queue) and not self.pending and self._end_of_pass()
        last = converged or self.out_of_budget or self.groups >= self.total
        success = cost = None
        if last or self.groups % settings.validate_every == 0:
            success, cost = self._validate()
        self.finished = last or self.stale_validations >= settings.patience
        solved = self.archive.solved
        report = TrainingProgress(
            done=self.groups,
            total=self.total,
            solved=len(solved) / self.n_active,
            cost=float(self.archive.cost[solved].mean()) if len(solved) else 0.0,
            queries=self.queries,
            validation_success=success,
            validation_cost=cost,
        )
        self.metrics.append(asdict(report))
        return report

    def _update(self) -> None:
        """The gradient steps after one search."""
        settings = self.settings
        for _ in range(settings.gradient_steps):
            self.learner.update(self.archive, settings.batch_size, self.random, settings.tree.discount)
        for value in self.learner.params.values():
            np.asarray(value)  # wait until they are computed

    @property
    def _group_settings(self) -> GroupSettings:
        settings = self.settings
        limits = settings.simulations, settings.queries_per_search
        return GroupSettings(settings.tree, settings.search, *limits, settings.explore)

    def _plan_search(self, team: _Team | None) -> None:
        """Plan the search for the next group with the present agent, and start it if there is a team."""
        settings = self.settings
        group, self.queue = self.queue[: settings.group_size], self.queue[settings.group_size :]
        starts, best = self.archive.starts[group], self.archive.cost[group]
        limit = self._left // (settings.lag + 1 - len(self.pending))
        if settings.lag:
            limit = min(limit, len(group) * settings.queries_per_search)
        number = self.groups + len(self.pending)
        search = GroupSearch(number, group, starts, best, self.agent, len(self.answered), limit)
        self.pending.append(search)
        if team is not None:
            team.workers.submit(number, search)

    def _group_oracle(self, search: GroupSearch) -> tuple[MeteredOracle, KnownAnswers]:
        """The oracle of a search, and the answers that are known to it."""
        known = KnownAnswers(self.answered, search.known)
        people = self.people.take(search.group)
        session = self.box.session(self.problem, people)
        return MeteredOracle(session, len(people), search.limit, known), known

    def _result(self, team: _Team | None) -> tuple[GroupSearch, GroupResult]:
        """The next planned search and its result; its answers are added to those of the run."""
        search = self.pending[0]
        if team is None:
            random = generator_of(self.seed, search.number) if self.settings.lag else self.random
            self._oracles[search.number] = self._group_oracle(search)
            result = search.run(self._group_settings, self._oracles[search.number][0], random)
        else:
            result = team.workers.result(search.number)
        self.pending.popleft()
        if search.number in self._oracles:
            self.answered.update(self._oracles.pop(search.number)[1].new)
        return search, result

    def _store(self, search: GroupSearch, result: GroupResult) -> None:
        """Archive the plans of a search."""
        group, archive = search.group, self.archive
        spent = not search.limit or self.queries >= self.settings.budget or self.box.remaining_budget == 0
        self.out_of_budget |= result.exhausted and spent
        if not self._group_settings.replaces:
            self.stale_searches[group] += 1
            self.stale_searches[group[result.solved]] = 0
        archive.add(group[result.solved], result.plans, result.visits)
        self.n_improved += result.improved
        if len(result.refused) and not self.out_of_budget:
            archive.add_refusals(group[result.refused], result.refused_plans)

    @property
    def total(self) -> int:
        """Maximum number of groups."""
        return self.settings.passes * -(-len(self.archive.starts) // self.settings.group_size)

    def _end_of_pass(self) -> bool:
        """Whether training has converged. If few people improved and there are more, they join."""
        everybody = len(self.archive.starts)
        candidates = self._candidates()
        share = self.n_improved / self.n_active if len(candidates) else 0.0
        unsolved = bool(np.isinf(self.archive.cost[candidates]).any())
        if self.n_active < everybody and share < self.settings.join_threshold:
            self.n_active = min(2 * self.n_active, everybody)
            return False
        return self.n_active == everybody and share < self.settings.tolerance and not unsolved

    def _candidates(self) -> Ints:
        """The people in training who are within their search patience."""
        patience = np.where(np.isfinite(self.archive.cost), 1, 3) * self.settings.search_patience
        return np.flatnonzero((self.stale_searches < patience)[: self.n_active])

    def _oracle(self, people: People, limit: int | None = None) -> MeteredOracle:
        """An oracle for `people`, limited to `limit` queries and to the rest of the budget."""
        limit = self._left if limit is None else min(limit, self._left)
        return MeteredOracle(self.box.session(self.problem, people), len(people), limit, self.answered)

    def _validate(self) -> tuple[float | None, float | None]:
        """Success rate and mean cost on validation people; the agent becomes the best one if it improves on it."""
        if not len(self.validation) or self.out_of_budget:
            if not np.isfinite(self.best_costs).any():
                self.best_agent = self.agent
            return None, None
        oracle = self._oracle(self.validation)
        found = self._plan(self.validation.states, oracle)
        if oracle.exhausted:  # an incomplete validation is not comparable
            self.out_of_budget = True
            return None, None
        solved = np.isfinite(found.cost)
        self.least_costs = np.minimum(self.least_costs, found.cost)
        gain = self._gain(found.cost)
        if gain > 0 or (gain == 0 and self.settings.select_by_success):
            self.best_costs, self.best_agent = found.cost, self.agent
        self.stale_validations = 0 if gain > 0 else self.stale_validations + 1
        return float(solved.mean()), float(found.cost[solved].mean()) if solved.any() else 0.0

    def _plan(self, states: Floats, oracle: MeteredOracle) -> SearchOutcome:
        """Plans for validation people at `states` [V, F]: those of the search, or of the policy if there is none."""
        if self.settings.explore == "policy":
            found = SearchOutcome.empty(len(states), self.problem.max_actions)
            follow_policy(self.agent, greedy(self.agent), states, oracle, found, self.settings.tree)
            return found
        allowed = np.ones((len(states), len(self.problem.transitions)), bool)
        return search(self.agent, states, allowed, oracle, self.settings.search, None)

    def _gain(self, cost: Floats) -> float:
        """By how much the `cost` [V] of plans for validation people improves on that of the best agent; 0 if equal."""
        if self.settings.select_by_success:
            return float(np.isfinite(cost).mean() - np.isfinite(self.best_costs).mean())
        gain = self._mean_ratio(self.best_costs) - self._mean_ratio(cost)
        return gain if abs(gain) > 1e-6 else 0.0

    def _mean_ratio(self, cost: Floats) -> float:
        """Mean ratio of `cost` [V] to the least cost known for each validation person; a failure counts 2."""
        known = np.isfinite(self.least_costs)
        if not known.any():
            return 2.0
        return float(np.minimum(cost[known] / np.maximum(self.least_costs[known], 1e-9), 2.0).mean())

    def _synthesize(self, people: People) -> tuple[Floats, Ints]:
        """If there are few people: crossovers that the black box refuses, for at most a tenth of the budget."""
        count = max(self.settings.min_people - len(people), 0) if len(people) > 1 else 0
        states, rows = crossover(self.problem, people, 2 * count, self.random)
        favourable, known = self._oracle(people, self.settings.budget // 10).query(states, rows)
        self.augmentation_truncated = not known.all()
        refused = np.flatnonzero(known & ~favourable)[:count]
        return states[refused], rows[refused]

    def save(self) -> None:
        """Write a checkpoint and the metrics, each whole or not at all."""
        facts: dict[str, Any] = {
            "written": self.archive.refusals_written,
            "effort": self.agent.cost_scale,
            "best_effort": self.best_agent.cost_scale,
        }
        arrays: dict[str, Any] = {"invented.states": self.synthetic[0], "invented.rows": self.synthetic[1]}
        arrays |= {key: getattr(self.archive, name) for name, key in _ARCHIVE_KEYS.items()}
        if not self.archive.ordered:
            arrays["visits"] = self.archive.traces.policy
        arrays |= {f"params.{name}": value for name, value in self.agent.params.items()}
        arrays |= {f"best.{name}": value for name, value in self.best_agent.params.items()}
        arrays |= {f"optimizer.{i}": leaf for i, leaf in enumerate(self.learner.state_leaves())}
        arrays["answers.lengths"], arrays["answers.keys"] = join_keys(self.answered)
        arrays["answers"] = np.array(list(self.answered.values()), bool)
        if self.pending:
            facts["pending"] = [
                {
                    "number": search.number,
                    "known": search.known,
                    "limit": search.limit,
                    "effort": search.agent.cost_scale,
                }
                for search in self.pending
            ]
        for i, one in enumerate(self.pending):
            arrays |= {f"pending{i}.group": one.group}
            arrays |= {f"pending{i}.params.{name}": value for name, value in one.agent.params.items()}
        _FORMAT.write(self, arrays, facts)

    @classmethod
    def resumed(
        cls,
        problem: Problem,
        people: People,
        box: BlackBox,
        settings: TrainingSettings,
        seed: int,
        folder: Path,
        *,
        jobs: int = 1,
    ) -> AgentTrainer:
        """Restore a run from its checkpoint.

        A run that had exhausted its budget continues if `settings.budget` is larger now. One whose budget did not
        suffice to label synthetic people starts again, with the answers it has, which count as queries.

        Parameters
        ----------
        problem, people, box, settings, seed, folder
            As they were passed to the run; only the budget may differ.

        Returns
        -------
        AgentTrainer
            The run as it was when the checkpoint was written.

        Raises
        ------
        StorageError
            If the checkpoint is missing, damaged or of another run.
        """
        stored = _FORMAT.read(folder)
        arrays, facts = stored.arrays, stored.facts
        with stored.reporting_damage():
            stored.require(problem, box, settings, seed)
            synthetic = arrays["invented.states"], arrays["invented.rows"]
            keys = split_keys(arrays["answers.lengths"], arrays["answers.keys"])
            answered = dict(zip(keys, arrays["answers"].tolist(), strict=True))
            run = cls(problem, people, box, settings, seed, folder, synthetic=synthetic, answered=answered, jobs=jobs)
            stored.require_people(run.people_hash)
            run._require_valid(stored)
            box.add_to_cache(problem, answered)
            stored.restore(run)
            if run.augmentation_truncated and stored.budget < settings.budget:
                return cls(problem, people, box, settings, seed, folder, answered=answered, jobs=jobs)
            run._restore_archive(arrays, require_integer(facts, "written"))
            scale, best_scale = (require_number(facts, name, positive=True) for name in ("effort", "best_effort"))
            run.agent = run.agent.with_params(stored.with_prefix("params."), scale)
            run.best_agent = run.agent.with_params(stored.with_prefix("best."), best_scale)
            run._restore_pending(stored)
            leaves = stored.with_prefix("optimizer.")
            run.learner.restore(run.agent.params, [leaves[str(i)] for i in range(len(leaves))])
            if stored.budget != settings.budget:
                run._change_budget(settings.budget)
        return run

    def _restore_pending(self, checkpoint: Checkpoint) -> None:
        """Plan the searches again that had not ended; ValueError if they are damaged."""
        for i, facts in enumerate(checkpoint.facts.get("pending", [])):
            arrays = checkpoint.with_prefix(f"pending{i}.")
            group, params = arrays["group"], with_prefix(arrays, "params.")
            agent = self.agent.with_params(params, require_number(facts, "effort", positive=True))
            starts, best = self.archive.starts[group], self.archive.cost[group]
            number, known, limit = (require_integer(facts, name) for name in ("number", "known", "limit"))
            self.pending.append(GroupSearch(number, group, starts, best, agent, known, limit))

    def _require_valid(self, checkpoint: Checkpoint) -> None:
        """Raise ValueError unless the arrays of `checkpoint` have the shapes, dtypes and values of this run's."""
        people, actions = len(self.stale_searches), len(self.problem.transitions)
        width, longest = len(self.problem.features), self.problem.max_actions
        spec = {
            "order": ArraySpec(np.intp, ("*",), low=0, high=people - 1),
            "idle": ArraySpec(np.intp, (people,), low=0),
            "least": ArraySpec(float, self.least_costs.shape),
            "best_costs": ArraySpec(float, self.best_costs.shape),
            "invented.states": ArraySpec(float, (len(self.synthetic[1]), width), nan=True),
            "invented.rows": ArraySpec(np.intp, ("*",), low=0),
            "answers": ArraySpec(bool, ("answers",)),
            "answers.lengths": ArraySpec(np.intp, ("answers",), low=8 * width),
            "answers.keys": ArraySpec(np.uint8, (int(checkpoint.arrays["answers.lengths"].sum()),)),
            "archive.cost": ArraySpec(float, (people,)),
            "archive.plans": ArraySpec(np.intp, (people, longest), low=-1, high=actions - 1),
            "archive.refused_people": ArraySpec(np.intp, self.archive.refused_people.shape, low=0, high=people - 1),
            "archive.refused_trails": ArraySpec(np.intp, self.archive.refused_plans.shape, low=-1, high=actions - 1),
        }
        if not self.archive.ordered:
            spec["visits"] = ArraySpec.like(self.archive.traces.policy)
        for prefix in ("params", "best"):
            spec |= {f"{prefix}.{name}": ArraySpec.like(array) for name, array in self.agent.params.items()}
        for i in range(len(checkpoint.facts.get("pending", []))):
            spec[f"pending{i}.group"] = spec["order"]
            spec |= {f"pending{i}.params.{name}": ArraySpec.like(array) for name, array in self.agent.params.items()}
        spec |= {f"optimizer.{i}": ArraySpec.like(leaf) for i, leaf in enumerate(self.learner.state_leaves())}
        validate_arrays(checkpoint.arrays, spec)

    def _restore_archive(self, arrays: dict[str, Any], refusals_written: int) -> None:
        for name, key in _ARCHIVE_KEYS.items():
            setattr(self.archive, name, arrays[key])
        self.archive.refusals_written = refusals_written
        if "visits" in arrays:
            self.archive.traces.policy[:] = arrays["visits"]
        self.archive.rebuild()

    def _change_budget(self, budget: int) -> None:
        """Decide whether the run is finished under another budget than before."""
        before, self.out_of_budget = self.out_of_budget, self.queries >= budget
        self.queue = np.concatenate([*(search.group for search in self.pending), self.queue])  # limits change too
        self.pending.clear()
        nothing_left = self.groups >= self.total or not len(self._candidates())
        self.finished = self.out_of_budget or nothing_left or (self.finished and not before)
