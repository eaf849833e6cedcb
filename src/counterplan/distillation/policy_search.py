"""Policy search over programs, evaluated on a surrogate.

The first trees imitate demonstrated plans. Then, for each node in reverse topological order, estimate the loss of every
action under the current program, and refine or regrow that node's tree to minimize it. Finally, add fallbacks for
people who cannot use a function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import numpy as np

from counterplan.distillation.candidate_tests import digits_in
from counterplan.distillation.choice_space import NodeOrder, candidate_choices
from counterplan.distillation.demonstrations import Demonstrations
from counterplan.distillation.evaluation import Evaluator
from counterplan.distillation.fallbacks import FallbackSettings, add_fallbacks
from counterplan.distillation.leaf_choices import LeafChoices
from counterplan.distillation.prediction_cache import PredictionCache
from counterplan.distillation.tree_grower import TreeData, TreeGrower, TreeSettings
from counterplan.distillation.visits import Visits, sample_rows
from counterplan.problem import Problem
from counterplan.problem.transitions import Floats, Ints
from counterplan.program.parts import Choice, Leaf, Split, Tree, decide, leaves, node_names
from counterplan.program.text import program_text
from counterplan.search.orders import NO_ACTION, rollout


@dataclass(frozen=True)
class PolicySearchSettings:
    """Settings of the policy search; one default for every problem.

    Parameters
    ----------
    rounds : int, default=4
        Most passes over all nodes.
    lookahead_rounds : int, default=2
        The last rounds, in which trees look ahead while they grow.
    failure_penalty : float, default=7.0
        Loss of a plan that fails, in units of the least cost.
    useless_penalty : float, default=3.0
        Loss of a plan of a person without recourse according to the surrogate; no plan is not a loss then.
    max_rows : int, default=16_000
        Most visits from which a tree is grown.
    demonstration_share : float, default=0.1
        Share of them that come from demonstrations rather than from the program.
    targets : int, default=8
        Most target values of an adding function.
    max_loss_scale, min_loss_scale : float, default=0.4 and 0.12
        Penalties on length are shares of the program's loss, clipped to these limits: a poor program should get more
        rules, and little is left to gain for a good one.
    forbidden_weight : float, default=0.3
        Weight of people who cannot use some function when fallbacks are chosen; everyone else has weight 1.
    min_success : float, default=0.5
        Fallbacks for people who cannot use some function succeed for at least this share of them, or are omitted.
    fallback_leaves : float, default=1
        Penalty of a fallback that a leaf does not share with others, in leaves.
    max_lines : int, optional
        Most lines of the listing. While it is longer, rounds with a higher penalty of leaves follow.
    tree : TreeSettings

    Examples
    --------
    >>> PolicySearchSettings(rounds=2).lookahead_rounds
    2
    """

    rounds: int = 4
    lookahead_rounds: int = field(default=2, metadata={"key": "careful"})
    failure_penalty: float = field(default=7.0, metadata={"key": "penalty"})
    useless_penalty: float = field(default=3.0, metadata={"key": "useless"})
    max_rows: int = field(default=16_000, metadata={"key": "rows"})
    demonstration_share: float = field(default=0.1, metadata={"key": "teacher"})
    targets: int = field(default=8, metadata={"key": "reaches"})
    max_loss_scale: float = field(default=0.4, metadata={"key": "most_lost"})
    min_loss_scale: float = field(default=0.12, metadata={"key": "least_lost"})
    forbidden_weight: float = field(default=0.3, metadata={"key": "barred_weight"})
    min_success: float = field(default=0.5, metadata={"key": "least_hope"})
    fallback_leaves: float = 1.0
    max_lines: int | None = None
    tree: TreeSettings = field(default_factory=TreeSettings)


_SHORTENING_ROUNDS = 8
"""Most rounds in which a listing that is too long is shortened."""
_MIN_SHORTENING = 1.2
"""Least factor on the penalty of leaves in the first of these rounds; it grows from round to round."""


class PolicySearch:
    """Searches a program for the people of `demonstrations`, whose trees do not test the features `avoid`.

    `logit` gives the log odds [n] that states [n, F] are favourable. It runs on `jobs` threads.
    """

    def __init__(
        self,
        problem: Problem,
        demonstrations: Demonstrations,
        logit: Callable[[Floats], Floats],
        settings: PolicySearchSettings,
        random: np.random.Generator,
        avoid: Sequence[int] = (),
        jobs: int = 1,
    ) -> None:
        self.problem, self.transitions, self.settings = problem, problem.transitions, settings
        demonstrations, self.hopeless = _with_hopeless(demonstrations), len(demonstrations.hopeless)
        self.starts, self.random = demonstrations.starts, random
        self.features = [feature for feature in problem.features if feature.index not in avoid]
        self.order = NodeOrder(problem)
        self.names = node_names(problem)
        self.choices = candidate_choices(
            problem, self.starts, demonstrations.plans, logit, settings.targets, self.sample
        )
        self.open = [self.order.open_choices(node, self.choices) for node in range(len(self.names))]
        """By node: the choices [C] that it may have."""
        self.evaluator = Evaluator(
            problem=problem,
            starts=self.starts,
            least_cost=np.maximum(demonstrations.least_cost, 1e-9),
            logit=PredictionCache(problem, self.starts, logit),
            failure_penalty=settings.failure_penalty,
            useless_penalty=settings.useless_penalty,
            choices=self.choices,
            forbidden_sets=np.zeros((1, len(self.transitions.functions)), bool),
            jobs=jobs,
        )
        self.demonstrated = [self._visits(plans) for plans in demonstrations.plans]
        self.trees: dict[int, Tree] = {}
        self.loss_scale = settings.max_loss_scale
        """Mean loss of the program, clipped: penalties on length are shares of it."""

    def run(self, progress: Callable[[int], None] = lambda round: None) -> dict[str, Tree]:
        """The trees of a program by the name of their node; `progress` is called with the number of each round."""
        self.imitate()
        improved = True
        for number in range(self.settings.rounds):
            progress(number)
            lookahead = number >= self.settings.rounds - self.settings.lookahead_rounds
            if improved or lookahead:
                improved = self.improve(lookahead)
        trees = self._named(self.with_fallbacks())
        if self.settings.max_lines is not None:
            trees = self._shortened(trees, self.settings.max_lines)
        return trees

    def _named(self, trees: Mapping[int, Tree]) -> dict[str, Tree]:
        """Trees by the name of their node."""
        return {self.names[node]: tree for node, tree in sorted(trees.items())}

    def _shortened(self, trees: dict[str, Tree], max_lines: int) -> dict[str, Tree]:
        """Trees whose listing has at most `max_lines`, if possible; `trees` are the present ones with fallbacks."""
        for number in range(_SHORTENING_ROUNDS):
            lines = program_text(self.problem, trees).count("\n") + 1
            if lines <= max_lines:
                break
            tree, factor = self.settings.tree, max(_MIN_SHORTENING, (lines / max_lines) ** 2) ** (1 + number / 2)
            self.settings = replace(self.settings, tree=replace(tree, leaf_penalty=factor * tree.leaf_penalty))
            self.improve(lookahead=False)
            trees = self._named(self.with_fallbacks())
        return trees

    def _visits(self, plans: Ints) -> tuple[Visits, Ints]:
        """The visits of demonstrated plans [B, T] in order, and the action taken at each; illegal plans are dropped."""
        plans = self.order.sort(plans)
        _, _, legal = rollout(self.transitions, self.starts, plans)
        plans = np.where(legal[:, None], plans, NO_ACTION)
        parts, taken = [], []
        visits = self.evaluator.begin().take(np.flatnonzero((plans != NO_ACTION).any(axis=1)))
        for t in range(plans.shape[1] + 1):
            action = np.full(len(visits.person), self.transitions.stop)
            if t < plans.shape[1]:
                given = plans[visits.person, t]
                action = np.where(given == NO_ACTION, self.transitions.stop, given)
            parts.append(visits)
            taken.append(action)
            going = action != self.transitions.stop
            visits = self.evaluator.step(visits.take(going), action[going])
        return Visits.join(parts), np.concatenate(taken)

    def imitate(self) -> None:
        """Grow the first trees: imitate the demonstrations of the highest confidence."""
        self.trees = {}
        visits, taken = self.demonstrated[-1]
        for node in range(len(self.names)):
            at_node = np.flatnonzero(visits.node == node)
            if not len(at_node):
                self.trees[node] = Leaf((Choice(self.transitions.stop),))
                continue
            rows = self.sample(at_node, self.settings.max_rows)
            sampled = visits.take(rows)
            losses = (self.evaluator.picks(sampled) != taken[rows][:, None]).astype(float)
            (self.trees[node],) = self.candidate_trees(node, sampled, losses, len(at_node), lookahead=False)

    def candidate_trees(self, node: int, visits: Visits, losses: Floats, count: int, lookahead: bool) -> Iterator[Tree]:
        """Trees for a node from the losses [n, C] of its choices: the current one refined, and a new one.

        Losses are NaN where a choice is not legal (those of an imitation do not tell). `count` is the number of visits
        that the given ones were sampled from.
        """
        open_ = np.flatnonzero(self.open[node])
        losses = losses[:, open_]
        choices: list[Choice | None] = [self.choices[number] for number in open_]
        if node == 0 and self.hopeless:
            losses = np.column_stack([losses, self.evaluator.no_plan_loss[visits.person]])
            choices.append(None)
        people = max(1, round(len(self.starts) * len(visits.person) / max(count, 1)))
        data = TreeData(self.features, visits.states, losses, people)
        leaf_choices = self.leaf_choices(node, choices, losses)
        current = self.trees.get(node)

        # To refine a leaf is to grow a new tree.
        refined = current if isinstance(current, Split) or lookahead else None

        def grower() -> TreeGrower:
            return TreeGrower(data, leaf_choices, self.settings.tree, self.loss_scale)

        def grown(grower: TreeGrower) -> Tree:
            return grower.finish(grower.grow(lookahead), choices)

        first = grower()
        with ThreadPoolExecutor(1) as thread:
            parallel = self.evaluator.jobs > 1 and refined is not None
            new = thread.submit(lambda: grown(grower())) if parallel else None
            if refined is not None:
                yield first.finish(first.refine(refined), choices)
            yield grown(first) if new is None else new.result()

    def leaf_choices(self, node: int, choices: Sequence[Choice | None], losses: Floats) -> LeafChoices:
        """The fallbacks of the leaves of a node: the best choice of each function on average, then STOP.

        STOP is a fallback only where it loses less than half of the penalty of a failure, no plan (None) never.
        """
        actions = [self.transitions.stop if choice is None else choice.action for choice in choices]
        stops = np.array(actions) == self.transitions.stop
        limits = np.where(stops, self.settings.failure_penalty / 2, np.inf)
        limits[[choice is None for choice in choices]] = -np.inf
        functions = self.transitions.function_of[actions]
        max_loss = self.evaluator.max_loss
        mean = np.where(np.isnan(losses), max_loss, losses).mean(axis=0)
        best: dict[int, int] = {}
        for number in mean.argsort(kind="stable").tolist():
            if mean[number] <= limits[number]:
                best.setdefault(int(functions[number]), number)
        defaults = sorted(best.values(), key=lambda number: bool(stops[number]))
        return LeafChoices(defaults, limits, functions == node - 1, max_loss)

    def improve(self, lookahead: bool) -> bool:
        """One pass over all nodes, the last one first; whether the objective decreased."""
        improved = False
        passed: list[Visits] = []
        loss = self.evaluator.rollout(self.trees, self.evaluator.begin(), passed).loss
        self.loss_scale = min(max(float(loss.mean()), self.settings.min_loss_scale), self.settings.max_loss_scale)
        objective = self.objective(self.trees, loss, passed)
        for node in self.order.backwards:
            own = Visits.at_node(passed, node)
            demonstrated = Visits.at_node([self.demonstrated[0][0]], node)
            if not len(own.person) and not len(demonstrated.person):
                continue
            visits = self._training_visits(own, demonstrated)
            losses = self.evaluator.outcomes(self.trees, visits, self.open[node]).loss
            count = max(len(own.person), len(visits.person))
            for tree in self.candidate_trees(node, visits, losses, count, lookahead):
                if tree == self.trees.get(node):
                    continue
                trees, then = {**self.trees, node: tree}, list[Visits]()
                loss = self.evaluator.rollout(trees, self.evaluator.begin(), then).loss
                value = self.objective(trees, loss, then)
                if value < objective - 1e-6:
                    self.trees, objective, passed, improved = trees, value, then, True
        return improved

    def _training_visits(self, own: Visits, demonstrated: Visits) -> Visits:
        """A sample of the visits of the program and of those in demonstrations."""
        share = self.settings.demonstration_share if len(own.person) else 1.0
        rows = self.sample(np.arange(len(own.person)), round((1 - share) * self.settings.max_rows))
        most = min(round(share * self.settings.max_rows), max(len(rows), 50))
        more = self.sample(np.arange(len(demonstrated.person)), most)
        return Visits.join([own.take(rows), demonstrated.take(more)])

    def objective(self, trees: Mapping[int, Tree], loss: Floats, passed: Sequence[Visits]) -> float:
        """The mean of the loss [B] of a program plus the penalties on its length."""
        features, count, digits, settings = 0.0, 0, 0, self.settings.tree
        for node, tree in trees.items():
            states = np.concatenate([visits.states[visits.node == node] for visits in passed])
            lengths = np.array([len({test.feature for test, _ in path}) for path, _ in leaves(tree)])
            count += len(lengths)
            digits += self._digits(tree)
            features += float(lengths[decide(tree, states)].sum())
        penalty = settings.feature_penalty * features / len(self.starts)
        penalty += settings.leaf_penalty * count + settings.digit_penalty * digits
        return float(loss.mean()) + self.loss_scale * penalty

    def _digits(self, tree: Tree) -> int:
        """The number of digits in the thresholds of a tree."""
        if isinstance(tree, Leaf):
            return 0
        digits = digits_in(tree.test, self.problem.features[tree.test.feature])
        return digits + self._digits(tree.yes) + self._digits(tree.no)

    def with_fallbacks(self) -> dict[int, Tree]:
        """The trees with fallbacks for people who cannot use some function."""
        settings = self.settings
        penalty = self.loss_scale * settings.fallback_leaves * settings.tree.leaf_penalty * len(self.starts)
        fallback = FallbackSettings(settings.max_rows, settings.forbidden_weight, settings.min_success, penalty)
        return add_fallbacks(self.evaluator, self.order, self.trees, fallback, self.random)

    def sample(self, rows: Ints, most: int) -> Ints:
        """A sample of at most `most` of `rows` [n], in order."""
        return sample_rows(self.random, rows, most)


def _with_hopeless(demonstrations: Demonstrations) -> Demonstrations:
    """Demonstrations with the people without a plan at the end; their least cost is infinite."""
    starts, least_cost, plans, real, hopeless = demonstrations
    none = np.full((plans.shape[0], len(hopeless), plans.shape[2]), NO_ACTION)
    if not len(hopeless):
        return demonstrations
    return Demonstrations(
        np.concatenate([starts, hopeless]),
        np.concatenate([least_cost, np.full(len(hopeless), np.inf)]),
        np.concatenate([plans, none], axis=1),
        real,
    )
