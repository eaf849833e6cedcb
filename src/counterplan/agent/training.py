"""Train an agent on its own searches: search for plans, archive the cheapest, update the network on them, repeat.

A checkpoint holds everything that determines what comes next, so an interrupted run resumes to the same weights.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from counterplan.agent.agent import Agent
from counterplan.agent.forest import Forest, ForestSettings
from counterplan.agent.learner import Learner
from counterplan.agent.network import NetworkConfig
from counterplan.agent.rollout import Choose, greedy, policy_plans, sampling
from counterplan.agent.search import SearchSettings, TreeSearch, search
from counterplan.agent.trace_archive import TraceArchive
from counterplan.blackbox import BlackBox, MeteredOracle, join_keys, split_keys
from counterplan.errors import PeopleError, SettingError
from counterplan.problem import People, Problem
from counterplan.problem.transitions import Floats, Ints
from counterplan.search.orders import NO_ACTION, rollout
from counterplan.search.outcome import SearchOutcome
from counterplan.search.synthetic import crossover
from counterplan.storage.arrays import ArraySpec, require_integer, require_number, validate_arrays
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
EXPLORE = ("tree", "policy")
_ARCHIVE_KEYS = {
    "cost": "archive.cost",
    "plans": "archive.plans",
    "refused_people": "archive.refused_people",
    "refused_plans": "archive.refused_trails",
}
"""Attributes of its archive."""


@dataclass(frozen=True)
class TrainingSettings:
    """Settings of `AgentTrainer`; the defaults serve every benchmark.

    Parameters
    ----------
    people : int, default=6_000
        Maximum number of people to train on.
    min_people : int, default=1_500
        If there are fewer people, synthetic ones are added by crossover. Training starts with this many people, unless
        `first_people` is set.
    validation : int, default=64
        People held out to select the best agent.
    passes : int, default=10
        Maximum number of passes over the people.
    group_size : int, default=128
        People searched for between two rounds of gradient steps.
    simulations : int, default=90
        Simulations in each training search.
    queries_per_search : int, default=4
        Maximum number of queries about one person in one training search.
    gradient_steps : int, default=16
        Gradient steps after each group.
    batch_size : int, default=128
        Plans in a minibatch.
    learning_rate, weight_decay : float
        Of AdamW.
    max_refusals : int, default=8_192
        Refused plans kept as negative examples for STOP.
    refusal_weight : float, default=1.0
        Weight of the loss on refused plans.
    budget : int, default=50_000
        Maximum number of queries in all.
    join_threshold : float, default=0.2
        The number of people in training doubles when fewer than this share of them improved in a pass.
    search_patience : int, default=5
        Stop searching for a person after this many searches without improvement; three times as many for people
        without a plan.
    tolerance : float, default=0.01
        Training ends when fewer than this share of the people improved in a pass.
    patience : int, default=8
        Training ends after this many validations without improvement.
    validate_every : int, default=12
        Groups between two validations.
    tree : ForestSettings
        Tree search in training.
    search : SearchSettings
        Search for validation people; if it is stepwise, so are the training searches.
    network : NetworkConfig
        Layer sizes.
    checkpoint_seconds : float, default=5.0
        Minimum time between two checkpoints.
    first_people : int, optional
        Training starts with this many people; `min_people` if None.
    select_by_success : bool, default=False
        Select the agent with the highest success rate on validation people, the newest of equal ones, as in the
        paper. By default the one with the least mean cost ratio is selected, where a failure counts 2.
    explore : {"tree", "policy"}, default="tree"
        How plans are found in training: by tree search, or by sampling `simulations` traces of each person from the
        agent's own policy, to measure what the search contributes. The cheapest successful trace is archived, and
        validation people get the plan of the policy alone.

    Examples
    --------
    >>> from counterplan import TrainingSettings
    >>> TrainingSettings(budget=10_000).passes
    10
    >>> TrainingSettings.preset("paper").search.stepwise
    True
    """

    people: int = 6_000
    min_people: int = field(default=1_500, metadata={"key": "enough_people"})
    validation: int = 64
    passes: int = 10
    group_size: int = field(default=128, metadata={"key": "group"})
    simulations: int = 90
    queries_per_search: int = field(default=4, metadata={"key": "questions"})
    gradient_steps: int = field(default=16, metadata={"key": "steps"})
    batch_size: int = field(default=128, metadata={"key": "batch"})
    learning_rate: float = 2e-3
    weight_decay: float = 0.1
    max_refusals: int = field(default=8_192, metadata={"key": "refusals"})
    refusal_weight: float = 1.0
    budget: int = 50_000
    join_threshold: float = field(default=0.2, metadata={"key": "join"})
    search_patience: int = field(default=5, metadata={"key": "tries"})
    tolerance: float = field(default=0.01, metadata={"key": "settled"})
    patience: int = 8
    validate_every: int = 12
    tree: ForestSettings = field(default_factory=lambda: ForestSettings(exploration=2.0, stop_floor=0.001, noise=0.25))
    search: SearchSettings = field(default_factory=SearchSettings)
    network: NetworkConfig = field(default_factory=NetworkConfig)
    checkpoint_seconds: float = 5.0
    first_people: int | None = field(default=None, metadata={"added": True})
    select_by_success: bool = field(default=False, metadata={"added": True})
    explore: str = field(default="tree", metadata={"added": True})

    def __post_init__(self) -> None:
        if self.explore not in EXPLORE:
            raise SettingError(f"explore={self.explore!r}: there are {' and '.join(EXPLORE)}")

    @classmethod
    def preset(cls, name: str) -> TrainingSettings:
        """Named settings.

        Parameters
        ----------
        name : {"default", "paper"}
            "paper" searches step by step, imitates visit counts, rewards λ^T, ignores refusals, shows the agent binary
            states only, and selects it by success.

        Returns
        -------
        TrainingSettings
            The settings.

        Raises
        ------
        SettingError
            If there is no such preset.
        """
        if name == "default":
            return cls()
        if name == "paper":
            search = SearchSettings.preset("paper")
            return cls(
                people=2_000,
                first_people=600,
                passes=10,
                group_size=32,
                queries_per_search=1_000,
                gradient_steps=16,
                batch_size=64,
                learning_rate=1e-3,
                weight_decay=0.0,
                refusal_weight=0.0,
                budget=96_000,
                tolerance=0.0,
                patience=10,
                validate_every=32,
                select_by_success=True,
                search=search,
                tree=replace(search.tree, noise=0.25),
                network=NetworkConfig(numbers=False),
            )
        raise SettingError(f"there is no preset '{name}': there are default and paper")


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
    ) -> None:
        if not len(people):
            raise PeopleError("there is nobody to learn from: pass people who were refused")
        self.problem = problem
        self.box = box
        self.settings = settings
        self.seed = seed
        self.folder = folder
        self.random = np.random.default_rng(seed)
        self.answered = {} if answered is None else answered
        self.out_of_budget = False
        self.augmentation_truncated = False
        """Whether the budget did not suffice to label synthetic people."""
        order = self.random.permutation(len(people))
        held = min(settings.validation, len(people) // 5)
        self.validation = people.take(order[:held])
        chosen = people.take(order[held : held + settings.people])
        agent = Agent.new(problem, people, settings.network, self.random)
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
        while not self.finished:
            report = self.advance()
            progress(report)
            due = time.monotonic() - last > self.settings.checkpoint_seconds or self.finished
            if self.folder is not None and due:
                self.save()
                last = time.monotonic()
        return self.best_agent

    def advance(self) -> TrainingProgress:
        """Search for the next group of people, update the network, and validate if it is time to."""
        settings = self.settings
        if not len(self.queue):
            self.queue, self.n_improved = self.random.permutation(self._candidates()), 0
        group, self.queue = self.queue[: settings.group_size], self.queue[settings.group_size :]
        self._search(group)
        if len(self.archive.solved) > 1:
            for _ in range(settings.gradient_steps):
                self.learner.update(self.archive, settings.batch_size, self.random, settings.tree.discount)
            self.agent = self.agent.with_params(self.learner.params, self.archive.cost_scale)
            if not np.isfinite(self.best_costs).any():  # no validation has selected an agent yet
                self.best_agent = self.agent
        self.groups += 1
        converged = not len(self.queue) and self._end_of_pass()
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

    def _search(self, group: Ints) -> None:
        if self.settings.explore == "policy":
            self._sample(group)
        elif self.settings.search.stepwise:
            self._search_stepwise(group)
        else:
            self._search_once(group)

    def _search_stepwise(self, group: Ints) -> None:
        """The paper's training: one episode for each person; successful ones are archived as they are."""
        archive, settings, people = self.archive, self.settings, len(group)
        actions = len(self.problem.transitions)
        found = SearchOutcome.empty(people, self.problem.max_actions)
        found.visits = np.zeros((people, self.problem.max_actions + 1, actions), np.float32)
        oracle = self._oracle(self.people.take(group))
        allowed, chosen = np.ones((people, actions), bool), replace(settings.search, tree=settings.tree)
        max_queries = settings.queries_per_search
        trees = TreeSearch(self.agent, archive.starts[group], allowed, oracle, chosen, max_queries, found)
        trees.stepwise(np.arange(people), self.random)
        self.out_of_budget |= oracle.exhausted
        self._archive(group, found)

    def _sample(self, group: Ints) -> None:
        """Training without search: traces sampled from the policy."""
        starts, oracle = self.archive.starts[group], self._oracle(self.people.take(group))
        found = SearchOutcome.empty(len(group), self.problem.max_actions)
        for _ in range(self.settings.simulations):
            self._follow(sampling(self.random), starts, oracle, found)
            if oracle.exhausted:
                self.out_of_budget = True
                break
        self._archive(group, found)

    def _follow(self, choose: Choose, starts: Floats, oracle: MeteredOracle, found: SearchOutcome) -> None:
        """Query the plans of the policy for people at `starts` [B, F]; cheaper successes replace those in `found`."""
        everything = np.ones(len(self.problem.transitions), bool)
        actions = policy_plans(self.agent, starts, everything, choose, self.settings.tree, act_first=True)
        planned = np.flatnonzero((actions != NO_ACTION).any(axis=1))
        ends, cost, _ = rollout(self.problem.transitions, starts[planned], actions[planned])
        better = oracle(ends, planned) & (cost < found.cost[planned] - 1e-6)
        found.actions[planned[better]] = actions[planned[better]]
        found.cost[planned[better]] = cost[better]

    def _archive(self, group: Ints, found: SearchOutcome) -> None:
        """Archive the successful plans of a group, which replace earlier ones."""
        solved = np.flatnonzero(np.isfinite(found.cost))
        self.n_improved += int((found.cost < self.archive.cost[group] - 1e-6).sum())
        visits = None if found.visits is None else found.visits[solved]
        self.archive.add(group[solved], found.actions[solved], visits)

    def _search_once(self, group: Ints) -> None:
        """One tree for each person; plans cheaper than the archived ones replace them."""
        archive, settings = self.archive, self.settings
        allowed = np.ones((len(group), len(self.problem.transitions)), bool)
        size, best = settings.simulations + 1, archive.cost[group]
        forest = Forest(self.agent, archive.starts[group], allowed, size, settings.tree, best=best, random=self.random)
        oracle = self._oracle(self.people.take(group))
        for _ in range(settings.simulations):
            forest.simulate(np.flatnonzero(oracle.count < settings.queries_per_search), oracle)
            if oracle.exhausted:
                break
        self.out_of_budget |= oracle.exhausted
        better = np.flatnonzero(forest.best_node >= 0)
        self.stale_searches[group] += 1
        self.stale_searches[group[better]] = 0
        archive.add(group[better], forest.paths(better, forest.best_node[better]))
        self.n_improved += len(better)
        if forest.refusals and not self.out_of_budget:
            people = np.concatenate([person for person, _ in forest.refusals])
            nodes = np.concatenate([node for _, node in forest.refusals])
            archive.add_refusals(group[people], forest.paths(people, nodes))

    def _oracle(self, people: People, limit: int | None = None) -> MeteredOracle:
        """An oracle for `people`, limited to `limit` queries and to the rest of the budget."""
        left = self.settings.budget - self.queries
        limit = left if limit is None else min(limit, left)
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
            self._follow(greedy(self.agent), states, oracle, found)
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
        facts = {
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
        _FORMAT.write(self, arrays, facts)

    @classmethod
    def resumed(
        cls, problem: Problem, people: People, box: BlackBox, settings: TrainingSettings, seed: int, folder: Path
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
            run = cls(problem, people, box, settings, seed, folder, synthetic=synthetic, answered=answered)
            stored.require_people(run.people_hash)
            run._require_valid(stored)
            box.add_to_cache(problem, answered)
            stored.restore(run)
            if run.augmentation_truncated and stored.budget < settings.budget:
                return cls(problem, people, box, settings, seed, folder, answered=answered)
            run._restore_archive(arrays, require_integer(facts, "written"))
            scale, best_scale = (require_number(facts, name, positive=True) for name in ("effort", "best_effort"))
            run.agent = run.agent.with_params(stored.with_prefix("params."), scale)
            run.best_agent = run.agent.with_params(stored.with_prefix("best."), best_scale)
            leaves = stored.with_prefix("optimizer.")
            run.learner.restore(run.agent.params, [leaves[str(i)] for i in range(len(leaves))])
            if stored.budget != settings.budget:
                run._change_budget(settings.budget)
        return run

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
        nothing_left = self.groups >= self.total or not len(self._candidates())
        self.finished = self.out_of_budget or nothing_left or (self.finished and not before)
