"""Training an agent by its own searches: search for some people, keep their cheapest plans, learn from them, repeat.

Everything that decides what comes next is in a checkpoint: a run that was stopped goes on to the same weights.
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
from counterplan.agent.search import SearchSettings, TreeSearch, search
from counterplan.agent.traces import Archive
from counterplan.blackbox import BlackBox, MeteredOracle, join_keys, split_keys
from counterplan.errors import PlanError
from counterplan.problem import People, Problem
from counterplan.problem.transitions import Floats, Ints
from counterplan.search.outcome import SearchOutcome
from counterplan.search.synthetic import crossover
from counterplan.storage.arrays import ArraySpec, require_integer, require_number, validate_arrays
from counterplan.storage.checkpoints import TRAINING, Checkpoint, CheckpointFormat

CHECKPOINT, METRICS = TRAINING
_KEPT = CheckpointFormat(
    CHECKPOINT, METRICS, plain=("groups", "in_play", "improved", "worse", "finished", "spent", "cut"),
    arrays=("order", "idle", "least", "best_costs"),
)  # fmt: skip
_ARCHIVED = ("cost", "plans", "refused_people", "refused_trails")
"""What a checkpoint holds of a run, and of its archive, besides weights and answers."""


@dataclass(frozen=True)
class TrainingSettings:
    """How an agent is trained; one setting for every problem."""

    people: int = 6_000
    """Most people to learn from."""
    enough_people: int = 1_500
    """Fewer than this are filled up with invented ones, crossed from the others."""
    validation: int = 64
    """People held out, on whom the best agent is chosen."""
    passes: int = 10
    group: int = 128
    """People searched for between two rounds of learning."""
    simulations: int = 90
    questions: int = 4
    """Most questions about one person in one search."""
    steps: int = 16
    """Gradient steps after each group."""
    batch: int = 128
    learning_rate: float = 2e-3
    weight_decay: float = 0.1
    refusals: int = 8_192
    """Refused trails that are remembered, to learn where not to stop."""
    refusal_weight: float = 1.0
    budget: int = 50_000
    """Most questions to the black box in all."""
    join: float = 0.2
    """Training starts with `enough_people`; when fewer than this share found a cheaper plan in a pass, others join."""
    tries: int = 5
    """Whoever found nothing cheaper in so many searches is left in peace; without a plan, in three times as many."""
    settled: float = 0.01
    """Training ends when fewer people than this share found a cheaper plan in a whole pass."""
    patience: int = 8
    """... or when so many validations in a row were no better than the best."""
    validate_every: int = 12
    """Groups between two validations."""
    tree: ForestSettings = field(default_factory=lambda: ForestSettings(exploration=2.0, stop_floor=0.001, noise=0.25))
    search: SearchSettings = field(default_factory=SearchSettings)
    """How validation people are planned for; if it is stepwise, so are the training searches, as in the paper."""
    network: NetworkConfig = field(default_factory=NetworkConfig)
    checkpoint_seconds: float = 5.0

    @classmethod
    def preset(cls, name: str) -> TrainingSettings:
        """The settings called "default", or "paper": stepwise, visit counts to imitate, reward λ^T, no refusals, and
        all passes to the end."""
        if name == "default":
            return cls()
        if name == "paper":
            search = SearchSettings.preset("paper")
            tree = replace(search.tree, noise=0.25)
            return cls(
                passes=15, patience=1_000_000, settled=0.0, refusal_weight=0.0, weight_decay=0.0, questions=1_000,
                search=search, tree=tree,
            )  # fmt: skip
        raise PlanError(f"there is no preset '{name}': there are default and paper")


@dataclass(frozen=True)
class Report:
    """How training stands: also one line of the metrics file."""

    done: int
    """Groups searched for."""
    total: int
    """Groups there will be at most."""
    solved: float
    """Share of training people with a plan."""
    cost: float
    """Mean cost of these plans."""
    queries: int
    validation_success: float | None = None
    validation_cost: float | None = None


class Training:
    """One training run. `run` works until it is done; interrupted, it leaves the best agent so far."""

    def __init__(
        self, problem: Problem, people: People, box: BlackBox, settings: TrainingSettings, seed: int,
        folder: Path | None = None, invented: tuple[Floats, Ints] | None = None, paid: dict[bytes, bool] | None = None,
    ) -> None:  # fmt: skip
        if not len(people):
            raise PlanError("there is nobody to learn from: hand in people who were refused")
        self.problem = problem
        self.box = box
        self.settings = settings
        self.seed = seed
        self.folder = folder
        self.random = np.random.default_rng(seed)
        self.paid = {} if paid is None else paid
        self.spent = self.cut = False
        """Whether the budget is spent, and whether it did not suffice to invent people."""
        order = self.random.permutation(len(people))
        held = min(settings.validation, len(people) // 5)
        self.validation = people.take(order[:held])
        chosen = people.take(order[held : held + settings.people])
        agent = Agent.new(problem, people, settings.network, self.random)
        self.people_hash = hashlib.sha256(chosen.states.tobytes()).hexdigest()
        self.invented = self._invent(chosen) if invented is None else invented
        """States [n, F] of people who do not exist, and the rows [n] of those they were made from."""
        self.people = chosen.take(np.concatenate([np.arange(len(chosen)), self.invented[1]]))
        starts = np.concatenate([chosen.states, self.invented[0]])
        self.agent = self.best_agent = agent
        self.least = np.full(held, np.inf)
        self.best_costs = np.full(held, np.inf)
        self.archive = Archive.empty(agent, starts, settings.refusals, settings.tree.bounded)
        self.learner = Learner(agent, settings.learning_rate, settings.weight_decay, settings.refusal_weight)
        self.order = np.empty(0, np.intp)
        self.in_play = min(settings.enough_people, len(starts))
        self.idle = np.zeros(len(starts), np.intp)
        """[P] searches since each person's plan last became cheaper."""
        self.groups = 0
        self.improved = 0
        self.worse = 0
        self.finished = False
        self.metrics: list[dict[str, Any]] = []

    @property
    def queries(self) -> int:
        """Different questions asked by this run; what the box remembers from before costs nothing, but counts."""
        return len(self.paid)

    @property
    def limited(self) -> bool:
        """Whether training ended for want of questions: with a larger budget it can go on."""
        return self.finished and self.spent

    def run(self, progress: Callable[[Report], None] = lambda report: None) -> Agent:
        """Train until nothing is gained any more, and give the agent that was best on validation people."""
        last = -math.inf
        while not self.finished:
            report = self.advance()
            progress(report)
            if self.folder is not None and (
                time.monotonic() - last > self.settings.checkpoint_seconds or self.finished
            ):
                self.save()
                last = time.monotonic()
        return self.best_agent

    def advance(self) -> Report:
        """Search for the next group of people, learn from what is known, and sometimes validate."""
        settings = self.settings
        if not len(self.order):
            self.order, self.improved = self.random.permutation(self._waiting()), 0
        group, self.order = self.order[: settings.group], self.order[settings.group :]
        self._search(group)
        if len(self.archive.solved) > 1:
            for _ in range(settings.steps):
                self.learner.learn(self.archive, settings.batch, self.random, settings.tree.discount)
            self.agent = self.agent.with_params(self.learner.params, self.archive.effort)
            if not np.isfinite(self.best_costs).any():  # nothing to choose by yet
                self.best_agent = self.agent
        self.groups += 1
        settled = not len(self.order) and self._settled()
        last = settled or self.spent or self.groups >= self.total
        success = cost = None
        if last or self.groups % settings.validate_every == 0:
            success, cost = self._validate()
        self.finished = last or self.worse >= settings.patience
        solved = self.archive.solved
        report = Report(
            self.groups, self.total, len(solved) / self.in_play,
            float(self.archive.cost[solved].mean()) if len(solved) else 0.0, self.queries, success, cost,
        )  # fmt: skip
        self.metrics.append(asdict(report))
        return report

    @property
    def total(self) -> int:
        """The most groups that will be searched for."""
        return self.settings.passes * -(-len(self.archive.starts) // self.settings.group)

    def _settled(self) -> bool:
        """At the end of a pass: whether all is done. If the people in play found little more, others join them."""
        everybody = len(self.archive.starts)
        waiting = self._waiting()
        share = self.improved / self.in_play if len(waiting) else 0.0
        hopeful = bool(np.isinf(self.archive.cost[waiting]).any())  # somebody without a plan has tries left
        if self.in_play < everybody and share < self.settings.join:
            self.in_play = min(2 * self.in_play, everybody)
            return False
        return self.in_play == everybody and share < self.settings.settled and not hopeful

    def _waiting(self) -> Ints:
        """The people in play for whom another search may still pay."""
        tries = np.where(np.isfinite(self.archive.cost), 1, 3) * self.settings.tries
        return np.flatnonzero((self.idle < tries)[: self.in_play])

    def _search(self, group: Ints) -> None:
        if self.settings.search.stepwise:
            self._search_stepwise(group)
        else:
            self._search_once(group)

    def _search_stepwise(self, group: Ints) -> None:
        """The paper's way: an episode for each person, of which successful ones go into the replay as they are."""
        archive, settings, people = self.archive, self.settings, len(group)
        actions = len(self.problem.transitions)
        found = SearchOutcome.empty(people, self.problem.max_actions)
        found.visits = np.zeros((people, self.problem.max_actions + 1, actions), np.float32)
        ask = self._inquiry(self.people.take(group))
        allowed, chosen = np.ones((people, actions), bool), replace(settings.search, tree=settings.tree)
        trees = TreeSearch(self.agent, archive.starts[group], allowed, ask, chosen, settings.questions, found)
        trees.stepwise(np.arange(people), self.random)
        self.spent |= ask.exhausted
        solved = np.flatnonzero(np.isfinite(found.cost))
        self.improved += int((found.cost < archive.cost[group] - 1e-6).sum())
        archive.add(group[solved], found.actions[solved], found.visits[solved])

    def _search_once(self, group: Ints) -> None:
        archive, settings = self.archive, self.settings
        allowed = np.ones((len(group), len(self.problem.transitions)), bool)
        forest = Forest(
            self.agent, archive.starts[group], allowed, settings.simulations + 1, settings.tree,
            best=archive.cost[group], random=self.random,
        )  # fmt: skip
        ask = self._inquiry(self.people.take(group))
        for _ in range(settings.simulations):
            forest.simulate(np.flatnonzero(ask.count < settings.questions), ask)
            if ask.exhausted:
                break
        self.spent |= ask.exhausted
        better = np.flatnonzero(forest.best_node >= 0)
        self.idle[group] += 1
        self.idle[group[better]] = 0
        archive.add(group[better], forest.paths(better, forest.best_node[better]))
        self.improved += len(better)
        if forest.refusals and not self.spent:
            people = np.concatenate([who for who, _ in forest.refusals])
            nodes = np.concatenate([node for _, node in forest.refusals])
            archive.add_refusals(group[people], forest.paths(people, nodes))

    def _inquiry(self, people: People, room: int | None = None) -> MeteredOracle:
        """A way to ask about `people`, at most `room` questions, and never more than the budget."""
        left = self.settings.budget - self.queries
        return MeteredOracle(
            self.box.session(self.problem, people), len(people), left if room is None else min(room, left), self.paid
        )

    def _validate(self) -> tuple[float | None, float | None]:
        """Success and mean cost on validation people; the agent is kept if it is the best so far."""
        if not len(self.validation) or self.spent:
            if not np.isfinite(self.best_costs).any():
                self.best_agent = self.agent
            return None, None
        allowed = np.ones((len(self.validation), len(self.problem.transitions)), bool)
        ask = self._inquiry(self.validation)
        found = search(self.agent, self.validation.states, allowed, ask, self.settings.search, None)
        if ask.exhausted:  # half a validation tells nothing
            self.spent = True
            return None, None
        solved = np.isfinite(found.cost)
        self.least = np.minimum(self.least, found.cost)
        if self._excess(found.cost) < self._excess(self.best_costs) - 1e-6:
            self.best_costs, self.best_agent, self.worse = found.cost, self.agent, 0
        else:
            self.worse += 1
        return float(solved.mean()), float(found.cost[solved].mean()) if solved.any() else 0.0

    def _excess(self, cost: Floats) -> float:
        """Mean ratio of `cost` [V] to the least cost ever found for each validation person; a failure counts 2."""
        known = np.isfinite(self.least)
        return float(np.minimum(cost[known] / np.maximum(self.least[known], 1e-9), 2.0).mean()) if known.any() else 2.0

    def _invent(self, people: People) -> tuple[Floats, Ints]:
        """If people are few: crossed ones whom the black box refuses, for a tenth of the budget at most."""
        wanted = max(self.settings.enough_people - len(people), 0) if len(people) > 1 else 0
        states, rows = crossover(self.problem, people, 2 * wanted, self.random)
        favourable, known = self._inquiry(people, self.settings.budget // 10).query(states, rows)
        self.cut = not known.all()
        keep = np.flatnonzero(known & ~favourable)[:wanted]
        return states[keep], rows[keep]

    def save(self) -> None:
        """Write a checkpoint and the metrics, whole or not at all."""
        facts = {"written": self.archive.written, "effort": self.agent.effort, "best_effort": self.best_agent.effort}
        arrays: dict[str, Any] = {"invented.states": self.invented[0], "invented.rows": self.invented[1]}
        arrays |= {f"archive.{name}": getattr(self.archive, name) for name in _ARCHIVED}
        if not self.archive.ordered:
            arrays["visits"] = self.archive.book.policy
        arrays |= {f"params.{name}": value for name, value in self.agent.params.items()}
        arrays |= {f"best.{name}": value for name, value in self.best_agent.params.items()}
        arrays |= {f"optimizer.{i}": leaf for i, leaf in enumerate(self.learner.state_leaves())}
        arrays["answers.lengths"], arrays["answers.keys"] = join_keys(self.paid)
        arrays["answers"] = np.array(list(self.paid.values()), bool)
        _KEPT.write(self, arrays, facts)

    @classmethod
    def resumed(
        cls, problem: Problem, people: People, box: BlackBox, settings: TrainingSettings, seed: int, folder: Path
    ) -> Training:
        """The run whose checkpoint is in `folder`, as it was then; a PlanError says so if it is of another run.

        One that had spent its budget goes on if it may ask more now; one that had too little to invent people begins
        again with the answers that it got, which count.
        """
        kept = _KEPT.read(folder)
        arrays, facts = kept.arrays, kept.facts
        with kept.reporting_damage():
            kept.require(problem, box, settings, seed)
            invented = arrays["invented.states"], arrays["invented.rows"]
            keys = split_keys(arrays["answers.lengths"], arrays["answers.keys"])
            paid = dict(zip(keys, arrays["answers"].tolist(), strict=True))
            run = cls(problem, people, box, settings, seed, folder, invented, paid)
            kept.require_people(run.people_hash)
            run._require_valid(kept)
            box.add_to_cache(problem, paid)
            kept.restore(run)
            if run.cut and kept.budget < settings.budget:
                return cls(problem, people, box, settings, seed, folder, paid=paid)
            run._restore_archive(arrays, require_integer(facts, "written"))
            effort, best_effort = (require_number(facts, name, positive=True) for name in ("effort", "best_effort"))
            run.agent = run.agent.with_params(kept.with_prefix("params."), effort)
            run.best_agent = run.agent.with_params(kept.with_prefix("best."), best_effort)
            leaves = kept.with_prefix("optimizer.")
            run.learner.restore(run.agent.params, [leaves[str(i)] for i in range(len(leaves))])
            if kept.budget != settings.budget:
                run._allow(settings.budget)
        return run

    def _require_valid(self, checkpoint: Checkpoint) -> None:
        """Raise ValueError unless the arrays of `checkpoint` have the shapes, dtypes and values of this run's."""
        people, actions = len(self.idle), len(self.problem.transitions)
        width, longest = len(self.problem.features), self.problem.max_actions
        spec = {
            "order": ArraySpec(np.intp, ("*",), low=0, high=people - 1),
            "idle": ArraySpec(np.intp, (people,), low=0),
            "least": ArraySpec(float, self.least.shape),
            "best_costs": ArraySpec(float, self.best_costs.shape),
            "invented.states": ArraySpec(float, (len(self.invented[1]), width), nan=True),
            "invented.rows": ArraySpec(np.intp, ("*",), low=0),
            "answers": ArraySpec(bool, ("answers",)),
            "answers.lengths": ArraySpec(np.intp, ("answers",), low=8 * width),
            "answers.keys": ArraySpec(np.uint8, (int(checkpoint.arrays["answers.lengths"].sum()),)),
            "archive.cost": ArraySpec(float, (people,)),
            "archive.plans": ArraySpec(np.intp, (people, longest), low=-1, high=actions - 1),
            "archive.refused_people": ArraySpec(np.intp, self.archive.refused_people.shape, low=0, high=people - 1),
            "archive.refused_trails": ArraySpec(np.intp, self.archive.refused_trails.shape, low=-1, high=actions - 1),
        }
        if not self.archive.ordered:
            spec["visits"] = ArraySpec.like(self.archive.book.policy)
        for prefix in ("params", "best"):
            spec |= {f"{prefix}.{name}": ArraySpec.like(array) for name, array in self.agent.params.items()}
        spec |= {f"optimizer.{i}": ArraySpec.like(leaf) for i, leaf in enumerate(self.learner.state_leaves())}
        validate_arrays(checkpoint.arrays, spec)

    def _restore_archive(self, arrays: dict[str, Any], written: int) -> None:
        for name in _ARCHIVED:
            setattr(self.archive, name, arrays[f"archive.{name}"])
        self.archive.written = written
        if "visits" in arrays:
            self.archive.book.policy[:] = arrays["visits"]
        self.archive.rebuild()

    def _allow(self, budget: int) -> None:
        """Go on, or stop, with another budget than before."""
        ended, self.spent = self.spent, self.queries >= budget
        nothing_to_do = self.groups >= self.total or not len(self._waiting())
        self.finished = self.spent or nothing_to_do or (self.finished and not ended)
