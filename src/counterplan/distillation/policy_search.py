"""Distilling a program: policy search over trees, judged by a surrogate that answers for free.

One order of functions, causal parents first; a node leads to later functions, to itself if it adds, or to STOP. Trees
first imitate plans that a teacher found; then, node by node from the last to the first, every row's every action is
tried out with the rest of the program as it stands, and the tree is mended, or grown anew, by what that loses. In the
end, leaves get what they fall back on for people who cannot use a function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from counterplan.distillation.fallbacks import add_fallbacks
from counterplan.distillation.trees import Fallbacks, Grower, TreeSettings, digits_in, roundest
from counterplan.problem import Problem
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.program.automaton import Choice, Leaf, Program, Split, Tree, decide, leaves
from counterplan.search.orders import NO_ACTION, rollout

_STOPS = 33
"""Values tried between where a person is and where a plan leads."""
_SAMPLED = 1_000
"""Plans looked at for them."""
_NEAR = 0.03
"""How far a round number may be from such a value, in standard deviations."""
WORST = 5.0
"""What a plan loses at most for its cost: six times the least is as bad as it gets."""


@dataclass(frozen=True)
class PolicySearchSettings:
    """How a program is distilled; one setting for every problem."""

    rounds: int = 4
    careful: int = 2
    """The last rounds, in which trees look ahead."""
    penalty: float = 7.0
    """What a plan that fails loses, in units of the least effort."""
    rows: int = 16_000
    """Most rows from which a tree is grown."""
    teacher: float = 0.1
    """The share of them that the teacher came by, rather than the program."""
    reaches: int = 8
    """Values that an adding function may aim at: where answers turn, other things being equal."""
    most_lost: float = 0.4
    """A program that loses more is priced as if it lost so much: it wants more words, not fewer."""
    least_lost: float = 0.12
    """A program that loses less is priced as if it lost so much: little is left to gain by many words."""
    barred_weight: float = 0.3
    """What somebody counts who cannot use some function, where leaves get what they fall back on; others count 1."""
    least_hope: float = 0.5
    """Nothing is fallen back on for whoever cannot use some function, if fewer of them than this share would get a plan
    that holds."""
    tree: TreeSettings = field(default_factory=TreeSettings)


class Rows(NamedTuple):
    """People on their way: at which node, in which state, after how many steps and what effort, who they are, and which
    functions they cannot use (by the number of a set of them; 0 is none)."""

    node: Ints
    states: Floats
    steps: Ints
    cost: Floats
    person: Ints
    barred: Ints

    def take(self, which: Ints | Bools) -> Rows:
        """Some of them."""
        node, states, steps, cost, person, barred = self
        return Rows(node[which], states[which], steps[which], cost[which], person[which], barred[which])

    @staticmethod
    def join(parts: Sequence[Rows]) -> Rows:
        """All of them."""
        return Rows(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


class Judge(NamedTuple):
    """How bad it is where plans end."""

    of: Callable[[Rows], Floats]
    """[n] for rows that stop."""
    worst: float
    """For whoever is left without a plan."""


class PolicySearch:
    """One distillation for people in `starts` [B, F], whose cheapest likely plans cost `least` [B].

    `plans` [P, B, T] are what teachers would do (filled up with NO_ACTION; empty: no plan), the safest last. `logit`
    says how likely states are favourable.
    """

    def __init__(
        self, problem: Problem, starts: Floats, least: Floats, plans: Ints, logit: Callable[[Floats], Floats],
        settings: PolicySearchSettings, random: np.random.Generator, avoid: Sequence[int] = (),
    ) -> None:  # fmt: skip
        self.problem, self.transitions, self.settings = problem, problem.transitions, settings
        self.starts, self.least, self.logit, self.random = starts, np.maximum(least, 1e-9), logit, random
        self.barred_sets = np.zeros((1, len(self.transitions.functions)), bool)
        """[M, functions] sets of functions that some people cannot use: the first has none."""
        self.features = [feature for feature in problem.features if feature.index not in avoid]
        self.names = Program(problem, {}).nodes
        self.place = np.empty(len(self.transitions.functions) + 1, np.intp)
        self.place[self.transitions.parents_first] = np.arange(len(self.transitions.functions))
        self.place[-1] = len(self.transitions.functions)
        self.choices = self._choices(plans)
        self.taught = self._taught(plans)
        self.trees: dict[int, Tree] = {}
        self.worst = WORST + settings.penalty
        """What whoever is left without a plan loses: nothing is worse."""
        self.losing, self.failing = Judge(self.loss, self.worst), Judge(lambda ends: 1 - self.chance(ends), 1.0)
        self.lost = settings.most_lost
        """What the program loses on average, within limits: the price of words is a share of it."""

    def _choices(self, plans: Ints) -> list[Choice]:
        """Every action, and what functions that only raise, or only lower, may aim at: the values at which teachers'
        plans begin to hold."""
        choices = [Choice(action) for action in range(len(self.transitions))]
        for index, function in enumerate(self.transitions.functions):
            both_ways = (function.arguments > 0).any() and (function.arguments < 0).any()
            if not function.adds or both_ways or len(function.natives) < 2:
                continue
            turns = np.concatenate([self._turns(index, some) for some in plans])
            if len(turns):
                whole = self.problem.features[function.target].integer
                wide = max(_NEAR * float(np.std(turns)), 0.5 * whole)
                sought = np.quantile(turns, np.linspace(0, 1, self.settings.reaches))
                aims = {roundest(turn - wide, turn + wide, whole) for turn in sought.tolist()}
                choices += [Choice(self.transitions.spans[index].start, aim) for aim in sorted(aims)]
        return choices

    def _turns(self, index: int, plans: Ints) -> Floats:
        """The values of a function's feature at which plans [B, T] that use it begin to hold half as surely as at their
        ends, all else being as there."""
        states, touched = self.starts, np.zeros(len(plans), bool)
        for t in range(plans.shape[1]):
            action = np.where(plans[:, t] == NO_ACTION, self.transitions.stop, plans[:, t])
            states = self.transitions.apply(states, action)
            touched |= self.transitions.function_of[action] == index
        some = self.sample(np.flatnonzero(touched), _SAMPLED)
        target = self.transitions.functions[index].target
        before, after = self.starts[some, target], states[some, target]
        way = np.linspace(1, 0, _STOPS)  # back from the end
        tried = np.repeat(states[some, None], _STOPS, axis=1)
        tried[:, :, target] = before[:, None] + way * (after - before)[:, None]
        sure = self.logit(tried.reshape(-1, states.shape[1])).reshape(len(some), _STOPS)
        holds = sure > np.maximum(sure[:, :1], 0) / 2
        held = np.logical_and.accumulate(holds, axis=1).sum(axis=1)  # so many stops on the way back
        found = (held > 0) & (held < _STOPS)
        return np.asarray(tried[np.flatnonzero(found), held[found] - 1, target])

    def open(self, node: int) -> Bools:
        """[C] the choices that a node may have."""
        function = np.array([self.transitions.function_of[choice.action] for choice in self.choices])
        if node == 0:
            return np.asarray(function < len(self.transitions.functions))
        mine = node - 1
        later = self.place[function] > self.place[mine]
        if self.transitions.functions[mine].adds:
            later |= function == mine
        return np.asarray(later)

    def _taught(self, plans: Ints) -> list[tuple[Rows, Ints]]:
        """What each teacher did: the rows it came by, and the action taken at each."""
        result = []
        for some in plans:
            some = self._sorted(some)
            has = np.flatnonzero((some != NO_ACTION).any(axis=1))
            rows, taken = [], []
            now = self.begin().take(has)
            for t in range(some.shape[1] + 1):
                action = np.full(len(now.person), self.transitions.stop)
                if t < some.shape[1]:
                    given = some[now.person, t]
                    action = np.where(given == NO_ACTION, self.transitions.stop, given)
                rows.append(now)
                taken.append(action)
                on = action != self.transitions.stop
                now = self._step(now.take(on), action[on])
            result.append((Rows.join(rows), np.concatenate(taken)))
        return result

    def _sorted(self, plans: Ints) -> Ints:
        """Plans [B, T] in the order of functions; those that would not be legal so are left out."""
        place = np.where(plans == NO_ACTION, len(self.place), self.place[self.transitions.function_of[plans]])
        order = np.argsort(place, axis=1, kind="stable")
        tidy = plans[np.arange(len(plans))[:, None], order]
        _, _, legal = rollout(self.transitions, self.starts, tidy)
        return np.where(legal[:, None], tidy, NO_ACTION)

    def _step(self, rows: Rows, action: Ints) -> Rows:
        """`rows` after an action each [n]."""
        after, price, _ = self.transitions.step(rows.states, action)
        node = self.transitions.function_of[action] + 1
        return Rows(node, after, rows.steps + 1, rows.cost + price, rows.person, rows.barred)

    def legal(self, rows: Rows) -> Bools:
        """[n, A] what may be done; STOP not at the very beginning, and nothing else at the very end."""
        legal = self.transitions.legal(rows.states)
        legal[:, :-1] &= ~self.barred_sets[rows.barred][:, self.transitions.function_of[:-1]]
        legal[:, self.transitions.stop] = rows.steps > 0
        legal[rows.steps >= self.problem.max_actions, :-1] = False
        return legal

    def finish(
        self, rows: Rows, trees: Mapping[int, Tree], seen: list[Rows] | None = None, judge: Judge | None = None
    ) -> Floats:
        """What `rows` lose [n] if the program takes over, or what else a `judge` says; `seen` collects where they come
        by."""
        judge = judge or self.losing
        loss = np.full(len(rows.person), judge.worst)
        going = np.arange(len(rows.person))
        ends: list[tuple[Ints, Rows]] = []
        while len(going):
            if seen is not None:
                seen.append(rows)
            action = self.decide(rows, trees, self.legal(rows))
            stop = action == self.transitions.stop
            ends.append((going[stop], rows.take(stop)))
            on = ~stop & (action != NO_ACTION)
            going, rows = going[on], self._step(rows.take(on), action[on])
        if ends:
            loss[np.concatenate([which for which, _ in ends])] = judge.of(Rows.join([end for _, end in ends]))
        return loss

    def loss(self, ends: Rows) -> Floats:
        """What plans that stop at `ends` lose [n]: effort beyond the least if they hold, else the penalty.

        So a plan that fails gains nothing by being cheap.
        """
        dear = np.clip(ends.cost / self.least[ends.person] - 1, 0, WORST)
        chance = self.chance(ends)
        return chance * dear + (1 - chance) * self.settings.penalty

    def chance(self, ends: Rows) -> Floats:
        """How likely it is [n] that plans hold which stop at `ends`."""
        return np.asarray(1 / (1 + np.exp(-np.clip(self.logit(ends.states), -50, 50))))

    def decide(self, rows: Rows, trees: Mapping[int, Tree], legal: Bools) -> Ints:
        """The action [n] that the program takes; NO_ACTION if it knows none."""
        action = np.full(len(rows.person), NO_ACTION, np.intp)
        for node in np.unique(rows.node).tolist():
            tree = trees.get(node)
            if tree is None:
                continue
            here = np.flatnonzero(rows.node == node)
            number = decide(tree, rows.states[here])
            for index, (_, leaf) in enumerate(leaves(tree)):
                some = here[number == index]
                for choice in leaf.choices:
                    some = some[action[some] == NO_ACTION]
                    if not len(some):
                        break
                    action[some] = choice.pick(self.transitions, rows.states[some], legal[some])
        return action

    def picks(self, rows: Rows, legal: Bools) -> Ints:
        """[n, C] the action that each choice means; NO_ACTION where it cannot be done."""
        return np.stack([choice.pick(self.transitions, rows.states, legal) for choice in self.choices], axis=1)

    def imitate(self) -> None:
        """The first trees: do as the safest teacher does."""
        self.trees = {}
        rows, taken = self.taught[-1]
        for node in range(len(self.names)):
            here = np.flatnonzero(rows.node == node)
            if not len(here):
                self.trees[node] = Leaf((Choice(self.transitions.stop),))
                continue
            here = self.sample(here, self.settings.rows)
            some = rows.take(here)
            picks = self.picks(some, self.legal(some))
            losses = (picks != taken[here][:, None]).astype(float)
            (self.trees[node],) = self.grown(node, some, losses, int((rows.node == node).sum()), ahead=False)

    def grown(self, node: int, rows: Rows, losses: Floats, visits: int, ahead: bool) -> Iterator[Tree]:
        """Trees for a node from what each choice loses [n, C], NaN where it cannot be done (an imitation does not say):
        the one that stands, if there is one, mended; and one grown anew. `visits` is how many rows these stand for;
        `ahead` is whether the new one looks ahead as it grows.

        For want of anything else that can be done they say STOP only where that loses less than half of what a failure
        does (as far as the losses of an imitation tell).
        """
        open_ = np.flatnonzero(self.open(node))
        losses, choices = losses[:, open_], [self.choices[i] for i in open_]
        people = max(1, round(len(self.starts) * len(rows.person) / max(visits, 1)))
        fall_backs = self._fall_backs(node, choices, losses)
        grower = Grower(self.features, rows.states, losses, fall_backs, people, self.settings.tree, self.lost)
        stands = self.trees.get(node)
        if isinstance(stands, Split) or (stands is not None and ahead):  # a leaf mended is a tree grown anew
            yield grower.finish(grower.mend(stands), choices)
        yield grower.finish(grower.grow(ahead), choices)

    def _fall_backs(self, node: int, choices: Sequence[Choice], losses: Floats) -> Fallbacks:
        """What a node's leaves fall back on."""
        stops = np.array([choice.action == self.transitions.stop for choice in choices])
        at_most = np.where(stops, self.settings.penalty / 2, np.inf)
        again = np.array([self.transitions.function_of[choice.action] == node - 1 for choice in choices])
        mean = np.where(np.isnan(losses), self.worst, losses).mean(axis=0)
        return Fallbacks(self._spare(choices, mean, at_most), at_most, again, self.worst)

    def _spare(self, choices: Sequence[Choice], mean: Floats, at_most: Floats) -> list[int]:
        """What all leaves of a node fall back on in the end, by number: of each function the choice that loses least on
        average, STOP last; none that loses more than `at_most` [C]."""
        best: dict[int, int] = {}
        for number in mean.argsort(kind="stable").tolist():
            if mean[number] <= at_most[number]:
                best.setdefault(int(self.transitions.function_of[choices[number].action]), number)
        return sorted(best.values(), key=lambda number: choices[number].action == self.transitions.stop)

    def improve(self, ahead: bool) -> bool:
        """One round over all nodes, last to first, with trees that look `ahead` or not; whether anything got better."""
        better = False
        seen: list[Rows] = []
        lost = self.finish(self.begin(), self.trees, seen)
        self.lost = min(max(float(lost.mean()), self.settings.least_lost), self.settings.most_lost)
        now = self.price(self.trees, lost, seen)
        for node in self.backwards():
            came = Rows.join(seen)
            here = np.flatnonzero(came.node == node)
            taught = np.flatnonzero(self.taught[0][0].node == node)
            if not len(here) and not len(taught):
                continue
            share = self.settings.teacher if len(here) else 1.0
            mine = self.sample(here, round((1 - share) * self.settings.rows))
            theirs = self.sample(taught, min(round(share * self.settings.rows), max(len(mine), 50)))
            rows = Rows.join([came.take(mine), self.taught[0][0].take(theirs)])
            visits = max(len(here), len(rows.person))
            for tree in self.grown(node, rows, self.losses(node, rows), visits, ahead):
                if tree == self.trees.get(node):
                    continue
                trial, passed = {**self.trees, node: tree}, list[Rows]()
                then = self.price(trial, self.finish(self.begin(), trial, passed), passed)
                if then < now - 1e-6:
                    self.trees, now, seen, better = trial, then, passed, True
        return better

    def losses(self, node: int, rows: Rows, judge: Judge | None = None) -> Floats:
        """[n, C] what each choice loses at `node`, or what else a `judge` says, if the program as it stands then goes
        on; NaN where it cannot be done."""
        legal = self.legal(rows)
        picks = self.picks(rows, legal)
        picks[:, ~self.open(node)] = NO_ACTION
        by_action = np.full((len(rows.person), len(self.transitions) + 1), np.nan)
        wanted = np.zeros(by_action.shape, bool)
        np.put_along_axis(wanted, picks, True, axis=1)
        wanted[:, NO_ACTION] = False
        row, action = np.nonzero(wanted)
        stop = action == self.transitions.stop
        if stop.any():
            by_action[row[stop], action[stop]] = (judge or self.losing).of(rows.take(row[stop]))
        on = np.flatnonzero(~stop)
        after = self._step(rows.take(row[on]), action[on])
        by_action[row[on], action[on]] = self.finish(after, self.trees, judge=judge)
        return np.take_along_axis(by_action, picks, axis=1)

    def price(self, trees: Mapping[int, Tree], loss: Floats, seen: list[Rows]) -> float:
        """The mean loss of everybody, and the price of the program's words."""
        words, count, digits, settings = 0.0, 0, 0, self.settings.tree
        came = Rows.join(seen)
        for node, tree in trees.items():
            here = came.states[came.node == node]
            lengths = np.array([len({test.feature for test, _ in path}) for path, _ in leaves(tree)])
            count += len(lengths)
            digits += self._digits(tree)
            words += float(lengths[decide(tree, here)].sum())
        told = settings.feature_price * words / len(self.starts)
        told += settings.leaf_price * count + settings.digit_price * digits
        return float(loss.mean()) + self.lost * told

    def _digits(self, tree: Tree) -> int:
        """How many digits it takes to write the cut points of a tree."""
        if isinstance(tree, Leaf):
            return 0
        here = digits_in(tree.test, self.problem.features[tree.test.feature])
        return here + self._digits(tree.yes) + self._digits(tree.no)

    def begin(self) -> Rows:
        """Everybody as they are."""
        count = len(self.starts)
        zeros = np.zeros(count, np.intp)
        return Rows(zeros, self.starts, zeros.copy(), np.zeros(count), np.arange(count), zeros.copy())

    def backwards(self) -> list[int]:
        """All nodes, the last first."""
        return [int(function) + 1 for function in self.transitions.parents_first[::-1]] + [0]

    def sample(self, rows: Ints, most: int) -> Ints:
        """At most so many of them."""
        return rows if len(rows) <= most else np.sort(self.random.choice(rows, most, replace=False))

    def run(self, progress: Callable[[int], None] = lambda round: None) -> dict[str, Tree]:
        """The trees of all nodes that people come to."""
        self.imitate()
        better = True
        for number in range(self.settings.rounds):
            progress(number)
            ahead = number >= self.settings.rounds - self.settings.careful
            if better or ahead:
                better = self.improve(ahead)
        add_fallbacks(self)
        return {self.names[node]: tree for node, tree in sorted(self.trees.items())}
