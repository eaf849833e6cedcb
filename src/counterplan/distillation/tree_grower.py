"""Growing decision trees that minimize expected loss plus a penalty on their length.

Each row is a person in a state, with the loss of every choice there. A split gains the decrease of the summed loss of
the best choices, less the penalty of a feature that the rule did not test before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from counterplan.distillation.candidate_tests import candidate_tests, digits_in, digits_of, roundest
from counterplan.distillation.leaf_choices import LeafChoices, Losses
from counterplan.problem import Feature
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.program.parts import Choice, Leaf, Split, Test, Tree

Single = npt.NDArray[np.float32]

_MAX_DIGITS = 4
"""A threshold is not moved for the penalty of more digits than these."""


@dataclass(frozen=True)
class TreeSettings:
    """Settings of the trees of a program.

    Penalties are shares of the loss of the program (see `PolicySearchSettings.min_loss_scale`): where little is lost,
    fewer words are worth it.

    Parameters
    ----------
    feature_penalty : float, default=0.02
        Penalty of a feature that a rule tests, per person covered by the rule.
    leaf_penalty : float, default=0.0005
        Penalty of a leaf.
    digit_penalty : float, default=0.0005
        Penalty of a digit of a threshold: "below 400" reads better than "below 406".
    max_conditions : int, optional
        Most features that a rule tests.
    min_rows : int, default=8
        Fewest rows on either side of a split.
    max_depth : int, default=14
        Most tests on the path to a leaf.
    max_thresholds : int, default=24
        Most thresholds tried for a number; a chosen one is then moved to the best place between its neighbours.
    variance_weight : float, default=0.1
        Weight of the explained variance of losses in the gain of a split. The same choice is often best on both sides
        of a split that the next split needs.
    variance_choices : int, default=8
        Number of choices, the best ones, whose variance is considered.
    lookahead_features : int, default=3
        Number of features whose best test is tried with a small tree on either side.
    lookahead_depth : int, default=5
        Depth of these small trees.
    lookahead_share : float, default=0.06
        Branches with at least this share of all rows look ahead.
    refinement_passes : int, default=3
        How often every split and leaf is chosen again, given the rest of the tree.
    """

    feature_penalty: float = field(default=0.02, metadata={"key": "feature_price"})
    leaf_penalty: float = field(default=0.0005, metadata={"key": "leaf_price"})
    digit_penalty: float = field(default=0.0005, metadata={"key": "digit_price"})
    max_conditions: int | None = None
    min_rows: int = 8
    max_depth: int = field(default=14, metadata={"key": "deepest"})
    max_thresholds: int = field(default=24, metadata={"key": "thresholds"})
    variance_weight: float = field(default=0.1, metadata={"key": "foresight"})
    variance_choices: int = field(default=8, metadata={"key": "contenders"})
    lookahead_features: int = field(default=3, metadata={"key": "ahead"})
    lookahead_depth: int = field(default=5, metadata={"key": "ahead_levels"})
    lookahead_share: float = field(default=0.06, metadata={"key": "ahead_share"})
    refinement_passes: int = field(default=3, metadata={"key": "passes"})


def _explained(right: Losses, total: Losses, count: Ints, rows: int) -> Losses:
    """[Q] variance of losses between rows that each split explains, summed over choices [Q, C]."""
    inside = right**2 / np.maximum(count, 1)[:, None]
    outside = (total - right) ** 2 / np.maximum(rows - count, 1)[:, None]
    explained: Losses = (inside + outside - total**2 / rows).sum(axis=1)
    return explained


@dataclass(frozen=True)
class TreeData:
    """The rows from which one tree is grown.

    Parameters
    ----------
    features : sequence of Feature
        Features that may be tested.
    states : array of shape [n, F]
    losses : array of shape [n, C]
        Loss of each choice; NaN where it is not legal.
    people : int
        Number of people that the rows stand for; penalties per program are multiplied by it.
    """

    features: Sequence[Feature]
    states: Floats
    losses: Floats
    people: int


@dataclass
class Branch:
    """A tree while it grows: its rows, and either a choice or a test with two branches."""

    rows: Ints
    path: frozenset[int]
    """Features tested above."""
    key: int = -1
    """Number of the tests above and their outcomes, which determine the rows; -1 once they are chosen again."""
    choice: int = 0
    test: Test | None = None
    passed: Bools = field(default_factory=lambda: np.empty(0, bool))
    yes: Branch | None = None
    no: Branch | None = None


class TreeGrower:
    """Grows and refines the tree of one node; `loss_scale` is the loss of which the penalties are shares."""

    def __init__(
        self, data: TreeData, leaf_choices: LeafChoices, settings: TreeSettings, loss_scale: float = 1.0
    ) -> None:
        self.states, self.settings, self.leaf_choices = data.states, settings, leaf_choices
        self.features = {feature.index: feature for feature in data.features}
        self.feature_penalty = loss_scale * settings.feature_penalty
        self.leaf_penalty = loss_scale * settings.leaf_penalty * data.people
        self.digit_penalty = loss_scale * settings.digit_penalty * data.people
        self.losses: Single = leaf_choices.fill(data.losses).astype(np.float32)
        self.least = self.losses.min(axis=1)
        self.legal = ~np.isnan(data.losses)
        self.tests = candidate_tests(data.features, data.states, settings.max_thresholds)
        self.outcomes = np.empty((len(data.states), len(self.tests)), np.float32)
        """[n, Q] 1 where a row passes a candidate test: numbers, as sums over rows are products of matrices."""
        for number, test in enumerate(self.tests):
            self.outcomes[:, number] = test(data.states)
        self.tested = np.array([test.feature for test in self.tests], np.intp)
        self.digits = np.array([digits_in(test, self.features[test.feature]) for test in self.tests], np.intp)
        self._keys: dict[tuple[int, Test, bool], int] = {}
        self._totals: dict[int, Floats] = {}
        self._untested: dict[frozenset[int], Bools] = {}
        self._splits: dict[int, tuple[int, list[tuple[Test, Bools]]]] = {}

    def grow(self, lookahead: bool = True) -> Branch:
        """Grow a tree; better, but slower, with `lookahead`."""
        return self._settle(self._grow(self._root(), self.settings.max_depth, lookahead))

    def refine(self, tree: Tree) -> Branch:
        """Refine an existing tree for these losses: its leaves grow, then every split and leaf is chosen again."""
        return self._settle(self._grow_from(tree, self._root(), self.settings.max_depth))

    def _root(self) -> Branch:
        return Branch(np.arange(len(self.states)), frozenset(), 0)

    def _side(self, branch: Branch, test: Test, passed: Bools, side: bool) -> Branch:
        """The branch of the rows that pass a test, or fail it."""
        key = self._keys.setdefault((branch.key, test, side), len(self._keys) + 1)
        return Branch(branch.rows[passed if side else ~passed], branch.path | {test.feature}, key)

    def _total(self, branch: Branch) -> Floats:
        """[C] the summed losses of a branch."""
        if branch.key < 0:
            return self._sum(branch.rows)
        if branch.key not in self._totals:
            self._totals[branch.key] = self._sum(branch.rows)
        return self._totals[branch.key]

    def _sum(self, rows: Ints) -> Floats:
        total: Floats = self.losses.take(rows, axis=0).sum(axis=0, dtype=float)
        return total

    def _grow_from(self, tree: Tree, branch: Branch, depth: int) -> Branch:
        """`branch` with the tests of `tree`, and trees grown at its leaves, of `depth` levels in all."""
        if isinstance(tree, Leaf) or not len(branch.rows):
            return self._grow(branch, max(depth, 0), lookahead=False)
        passed = tree.test.passes(self.states[branch.rows, tree.test.feature])
        if passed.all() or not passed.any():  # the test does not separate these rows
            return self._grow_from(tree.yes if passed.all() else tree.no, branch, depth)
        branch.test, branch.passed = tree.test, passed
        branch.yes = self._grow_from(tree.yes, self._side(branch, tree.test, passed, True), depth - 1)
        branch.no = self._grow_from(tree.no, self._side(branch, tree.test, passed, False), depth - 1)
        return branch

    def _settle(self, root: Branch) -> Branch:
        """Prune a tree, then choose its splits and leaves again."""
        self._prune(root)
        for _ in range(self.settings.refinement_passes):
            self._choose_again(root)
            self._prune(root)
        return root

    def _grow(self, branch: Branch, depth: int, lookahead: bool) -> Branch:
        """`branch` grown by at most `depth` levels.

        With `lookahead`, the best tests of several features are tried, each with a small tree on either side.
        """
        branch.choice = int(self._total(branch).argmin())
        lookahead = lookahead and len(branch.rows) >= self.settings.lookahead_share * len(self.states)
        splits = self._best_splits(branch, self.settings.lookahead_features if lookahead else 1) if depth else []
        if not splits:
            return branch
        if len(splits) == 1:
            return self._split(branch, *splits[0], depth, lookahead)
        small = min(depth, self.settings.lookahead_depth)
        best = min((self._split(branch, *split, small, False) for split in splits), key=self._prune)
        return best if best.test is None else self._split(branch, best.test, best.passed, depth, True)

    def _split(self, branch: Branch, test: Test, passed: Bools, depth: int, lookahead: bool) -> Branch:
        """A branch like `branch` with a test, which rows passed [n], and trees grown on both sides."""
        sides = (self._side(branch, test, passed, side) for side in (True, False))
        yes, no = (self._grow(side, depth - 1, lookahead) for side in sides)
        return Branch(branch.rows, branch.path, branch.key, branch.choice, test, passed, yes, no)

    def _best_splits(self, branch: Branch, most: int) -> list[tuple[Test, Bools]]:
        """The best tests of a branch, of `most` features at most, and which rows pass each [n]; none for a leaf."""
        searched, found = self._splits.get(branch.key, (0, []))
        if searched < most:
            found = self._find_splits(branch, most)
            self._splits[branch.key] = most, found
        return found[:most]

    def _find_splits(self, branch: Branch, most: int) -> list[tuple[Test, Bools]]:
        rows, settings = branch.rows, self.settings
        if len(rows) < 2 * settings.min_rows or not self.tests:
            return []
        total = self._total(branch)
        if total.min() - self.least.take(rows).sum(dtype=float) <= self.leaf_penalty:
            return []
        losses, passed = self.losses.take(rows, axis=0), self.outcomes.take(rows, axis=0)
        right = passed.T @ losses
        count = (np.ones(len(rows), np.float32) @ passed).astype(np.intp)
        drop = total.min() - right.min(axis=1) - (total[None] - right).min(axis=1)
        new = self._new(branch)
        usable = (count >= settings.min_rows) & (len(rows) - count >= settings.min_rows)
        if settings.max_conditions is not None and len(branch.path) >= settings.max_conditions:
            usable &= ~new
        top = total.argsort()[: settings.variance_choices]
        explained = _explained(right[:, top], total[top], count, len(rows))
        gain = drop + settings.variance_weight * explained - new * self.feature_penalty * len(rows)
        left = np.where(usable, gain, -np.inf)
        found: list[tuple[Test, Bools]] = []
        while len(found) < most and np.isfinite(left.max()):
            best = int(left.argmax())
            test, outcome = self._widen(branch, self.tests[best], losses, float(gain[best]))
            found.append((test, passed[:, best] > 0 if outcome is None else outcome))
            left[self.tested == test.feature] = -np.inf
        return found

    def _new(self, branch: Branch) -> Bools:
        """[Q] whether a candidate test is of a feature that the rule does not test yet."""
        if branch.path not in self._untested:
            tested = np.zeros(self.states.shape[1], bool)
            tested[list(branch.path)] = True
            self._untested[branch.path] = ~tested[self.tested]
        return self._untested[branch.path]

    def _widen(self, branch: Branch, test: Test, losses: Single, gain: float) -> tuple[Test, Bools | None]:
        """If `test` is for one value of a category: the set of values with the largest gain, and who passes [n]."""
        if test.among is None:
            return test, None
        column = self.states[branch.rows, test.feature]
        values = np.unique(column[~np.isnan(column)])
        if len(values) < 3:
            return test, None
        among = column == test.among[0]
        inside, outside = (
            int(losses.take(np.flatnonzero(side), axis=0).sum(axis=0).argmin()) for side in (among, ~among)
        )
        difference = losses[:, inside] - losses[:, outside]
        where = [np.flatnonzero(column == value) for value in values]
        order = np.argsort(np.array([float(difference.take(rows).mean()) for rows in where]))
        values, where = values[order], [where[place] for place in order]
        counts = np.cumsum([len(rows) for rows in where])
        rights = np.cumsum([losses.take(rows, axis=0).sum(axis=0, dtype=float) for rows in where], axis=0)
        total = self._total(branch)
        penalty = 0.0 if test.feature in branch.path else self.feature_penalty * len(branch.rows)
        best, size = gain, 0
        for place in range(len(values) - 1):
            if min(counts[place], len(column) - counts[place]) < self.settings.min_rows:
                continue
            value = float(total.min() - rights[place].min() - (total - rights[place]).min() - penalty)
            if value > best + 1e-9:
                best, size = value, place + 1
        if not size:
            return test, None
        chosen = Test(test.feature, among=tuple(sorted(int(value) for value in values[:size])))
        return chosen, chosen.passes(column)

    def _prune(self, branch: Branch) -> float:
        """Remove splits that are not worth their penalty; returns the loss of the branch, penalties included."""
        if branch.test is None or branch.yes is None or branch.no is None:
            return float(self.losses[branch.rows, branch.choice].sum(dtype=float)) + self.leaf_penalty
        total = self._total(branch)
        alone = float(total.min()) + self.leaf_penalty
        whole = self._prune(branch.yes) + self._prune(branch.no) + self._test_penalty(branch, branch.test)
        if alone <= whole:
            branch.test = branch.yes = branch.no = None
            branch.choice = int(total.argmin())
            return alone
        return whole

    def _test_penalty(self, branch: Branch, test: Test) -> float:
        digits = self.digit_penalty * digits_in(test, self.features[test.feature])
        return digits + (0.0 if test.feature in branch.path else self.feature_penalty * len(branch.rows))

    def _choose_again(self, branch: Branch) -> None:
        """Choose each split again, given the trees below it, and each leaf, from the top down."""
        rows = branch.rows
        if branch.test is None or branch.yes is None or branch.no is None:
            if len(rows):
                branch.choice = int(self._total(branch).argmin())
            return
        if_yes = self.losses[rows, self._choices(branch.yes, rows)]
        if_no = self.losses[rows, self._choices(branch.no, rows)]
        total = self.outcomes.take(rows, axis=0).T @ (if_yes - if_no) + if_no.sum(dtype=float)
        new = self._new(branch)
        total = total + new * self.feature_penalty * len(rows) + self.digit_penalty * self.digits
        if self.settings.max_conditions is not None:
            total = np.where(new & (self.tested != branch.test.feature), np.inf, total)
        now = float(np.where(branch.passed, if_yes, if_no).sum(dtype=float)) + self._test_penalty(branch, branch.test)
        best = int(total.argmin())
        if total[best] < now - 1e-6:
            branch.test, branch.passed = self.tests[best], self.outcomes[rows, best] > 0
        self._move(branch, if_yes, if_no)
        below = branch.path | {branch.test.feature}
        for side, inside in ((branch.yes, rows[branch.passed]), (branch.no, rows[~branch.passed])):
            side.path = below
            if side.key >= 0 and not np.array_equal(inside, side.rows):
                side.key = -1
            side.rows = inside
            if side.test is not None:
                side.passed = side.test.passes(self.states[inside, side.test.feature])
            self._choose_again(side)

    def _move(self, branch: Branch, if_yes: Single, if_no: Single) -> None:
        """Move the threshold of a number, between the neighbouring candidates, to where the loss is least.

        Digits are penalized, so that round limits, which people set, are found.
        """
        test = branch.test
        if test is None or test.at_least is None or not self.features[test.feature].is_number:
            return
        column, whole = self.states[branch.rows, test.feature], self.features[test.feature].integer
        cuts = [other.at_least for other in self.tests if other.feature == test.feature and other.at_least is not None]
        low = max((cut for cut in cuts if cut < test.at_least), default=-np.inf)
        high = min((cut for cut in cuts if cut > test.at_least), default=np.inf)
        inside = np.flatnonzero((column >= low) & (column < high))
        inside = inside[np.argsort(column[inside], kind="stable")]
        ends = np.concatenate([[low], column[inside], [high]])
        below = np.concatenate([[0.0], np.cumsum((if_no - if_yes)[inside], dtype=float)])  # loss by rows that fail
        possible = np.flatnonzero((ends[1:] > ends[:-1]) & np.isfinite(ends[1:]) & np.isfinite(ends[:-1]))
        if not len(possible):
            return
        penalty = self.digit_penalty
        near = possible[below[possible] <= below[possible].min() + _MAX_DIGITS * penalty + 1e-6]
        found = [(roundest(float(ends[i]), float(ends[i + 1]), whole), float(below[i])) for i in near]
        cut, _ = min(found, key=lambda one: (one[1] + penalty * digits_of(one[0]), digits_of(one[0])))
        branch.test = Test(test.feature, at_least=cut)
        branch.passed = branch.test.passes(column)

    def _choices(self, branch: Branch, rows: Ints) -> Ints:
        """The choice [n] of a branch in `rows` [n]."""
        if branch.test is None or branch.yes is None or branch.no is None:
            return np.full(len(rows), branch.choice, np.intp)
        result = np.empty(len(rows), np.intp)
        passed = branch.test.passes(self.states[rows, branch.test.feature])
        result[passed] = self._choices(branch.yes, rows[passed])
        result[~passed] = self._choices(branch.no, rows[~passed])
        return result

    def finish(self, branch: Branch, choices: Sequence[Choice | None]) -> Tree:
        """The tree as part of a program, with the fallbacks of its leaves; None is no plan."""
        if branch.test is None or branch.yes is None or branch.no is None:
            rows = branch.rows
            order = self.leaf_choices.order(
                branch.choice, self.losses.take(rows, axis=0), self.legal.take(rows, axis=0)
            )
            found = [choices[number] for number in order]
            return Leaf(tuple(choice for choice in found if choice is not None) if found[0] is not None else ())
        if branch.passed.all() or not branch.passed.any():  # the test does not separate the rows
            return self.finish(branch.yes if branch.passed.all() else branch.no, choices)
        yes, no = self.finish(branch.yes, choices), self.finish(branch.no, choices)
        return yes if yes == no else Split(branch.test, yes, no)
