"""Decision trees from losses: which choice is best where, in as few words as it is worth.

Each row (somebody in some state) comes with what every choice would lose there. A split is worth the drop in the sum of
the best choice's losses, less the price of a feature that the rule did not mention before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from counterplan.problem import Feature
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.program.automaton import Choice, Leaf, Split, Test, Tree

Single = npt.NDArray[np.float32]
Losses = npt.NDArray[np.floating]

_DIGITS = 4
"""A cut point is not moved for the price of more digits than these."""
_VAIN = 0.2
"""What it loses to name a choice that cannot be done, rather than the one that is made instead: else rules would let
people be told apart by what is possible for them, and not say so."""


@dataclass(frozen=True)
class TreeSettings:
    """What words cost, as shares of what a program loses: where little is lost, little is worth more words.

    (Within limits, which are in `DistilSettings`.)
    """

    feature_price: float = 0.02
    """For a feature that a rule tests, per person whom the rule is about."""
    leaf_price: float = 0.0005
    digit_price: float = 0.0005
    """For a digit of a cut point: "below 400" says about as much as "below 406", and reads better."""
    max_conditions: int | None = None
    """Most features that a rule tests."""
    min_rows: int = 8
    deepest: int = 14
    thresholds: int = 24
    """Most cut points tried for a number at first; those that are chosen are then moved to better ones between them."""
    foresight: float = 0.1
    """What a split counts for telling rows apart, beyond what it gains at once: the same choice is often best on both
    sides of a split that the next one needs."""
    contenders: int = 8
    """Choices that are looked at for that: the best ones."""
    ahead: int = 3
    """Features of which the best tests are tried out by a tree that looks ahead."""
    ahead_levels: int = 5
    """How deep the trees are that they are tried with."""
    ahead_share: float = 0.06
    """It looks ahead where it is about as large a share of all rows."""
    passes: int = 3
    """Times that every split and leaf is chosen again, given the rest of the tree."""


def candidate_tests(features: Sequence[Feature], states: Floats, most: int) -> list[Test]:
    """The tests worth trying on `states` [n, F]: thresholds that tell numbers or ranks apart, values, missing."""
    tests: list[Test] = []
    for feature in features:
        column = states[:, feature.index]
        known = np.unique(column[~np.isnan(column)])
        if feature.is_number:
            tests += [Test(feature.index, at_least=cut) for cut in cut_points(known, column, feature.integer, most)]
        else:
            if feature.kind == "ordered":
                tests += [Test(feature.index, at_least=float(rank)) for rank in known[1:]]
            if len(known) > 1:
                tests += [Test(feature.index, among=(int(value),)) for value in known]
        if len(known) and np.isnan(column).any():
            tests.append(Test(feature.index))
    return tests


def cut_points(known: Floats, column: Floats, integer: bool, most: int) -> list[float]:
    """Round numbers between the distinct values `known`; if these are many, between quantiles of `column` [n]."""
    if len(known) < 2:
        return []
    ends = known
    if len(known) - 1 > most:
        ends = np.unique(np.quantile(column[~np.isnan(column)], np.linspace(0, 1, most + 1)))
    cuts = [roundest(float(low), float(high), integer) for low, high in pairwise(ends)]
    return sorted({cut for cut in cuts if known[0] < cut <= known[-1]})


def roundest(low: float, high: float, integer: bool) -> float:
    """The number with the fewest digits in (low, high], the nearest to the middle among those."""
    middle = (low + high) / 2
    for digits in range(-12, 13):
        scale = 10.0**digits
        for rounding in (np.round, np.ceil, np.floor):
            cut = rounding(middle * scale) / scale
            if low < cut <= high and (not integer or float(cut).is_integer()):
                return float(cut)
    return high


def digits_of(number: float) -> int:
    """How many digits it takes to write a number, zeros at its end not counted."""
    return len(f"{abs(number):.12g}".replace(".", "").strip("0"))


def digits_in(test: Test, feature: Feature) -> int:
    """How many digits it takes to write a test of a feature; a rank has a name."""
    return digits_of(test.at_least) if feature.is_number and test.at_least is not None else 0


def _told_apart(right: Losses, total: Losses, count: Ints, rows: int) -> Losses:
    """[Q] how much of the spread of losses between rows each split explains, summed over choices [Q, C]."""
    inside = right**2 / np.maximum(count, 1)[:, None]
    outside = (total - right) ** 2 / np.maximum(rows - count, 1)[:, None]
    explained: Losses = (inside + outside - total**2 / rows).sum(axis=1)
    return explained


@dataclass(frozen=True)
class Fallbacks:
    """What is done where a leaf's choice cannot be done: what is best for those who cannot (the next best there, if
    that is nobody), then the first of `spare` that can be, which all leaves share; none that loses more than `at_most`
    [C] there on average.

    Choices that lead back to the same node, `again` [C], come last after another choice: for whoever cannot do that
    one, they would lead round in circles. Who is left with nothing loses `worst`.
    """

    spare: Sequence[int]
    at_most: Floats
    again: Bools
    worst: float

    def fill(self, losses: Floats) -> Floats:
        """What choices lose [n, C], where those that cannot be done (NaN) lose a little more than what is made instead,
        as far as all leaves share it."""
        others = sorted(self.spare, key=lambda number: bool(self.again[number]))
        instead = np.where(self.again, *(self._first(losses, spare)[:, None] for spare in (self.spare, others)))
        return np.where(np.isnan(losses), np.minimum(instead + _VAIN, self.worst), losses)

    def _first(self, losses: Floats, spare: Sequence[int]) -> Floats:
        """What the first of `spare` that can be done loses [n]; none that loses more than `at_most` by itself, as it is
        not known yet what it loses on average in a leaf."""
        lost = np.full(len(losses), np.nan)
        for number in spare:
            here = np.where(losses[:, number] <= self.at_most[number], losses[:, number], np.nan)
            lost = np.where(np.isnan(lost), here, lost)
        return np.where(np.isnan(lost), self.worst, lost)

    def order(self, first: int, losses: Losses, can: Bools) -> list[int]:
        """A leaf's choices, its `first` one and those that it falls back on, from what its rows lose by each [n, C] and
        what can be done there [n, C]."""
        if not len(losses):
            order = [first, *self.spare]
        else:
            fine = losses.mean(axis=0, dtype=float) <= self.at_most
            stuck = ~can[:, first]
            here = losses[stuck] if stuck.any() else np.where(can, losses, self.worst)  # not what `first` does instead
            mean = here.mean(axis=0, dtype=float)
            next_best = [number for number in mean.argsort(kind="stable").tolist() if number != first and fine[number]]
            second = [number for number in next_best if self.again[number] <= self.again[first]][:1]
            order = [first, *second, *(number for number in self.spare if fine[number])]
        if not self.again[first]:
            order.sort(key=lambda number: bool(self.again[number]))
        return list(dict.fromkeys(order))


@dataclass
class _Branch:
    """A tree while it grows: the rows it is about, and either a choice or a test."""

    rows: Ints
    path: frozenset[int]
    """The features that the rule mentions above."""
    choice: int = 0
    test: Test | None = None
    passed: Bools = field(default_factory=lambda: np.empty(0, bool))
    yes: _Branch | None = None
    no: _Branch | None = None


class Grower:
    """Grows one tree over rows in `states` [n, F] with `losses` [n, C], of which the mean over `people` counts.

    Losses are NaN where a choice cannot be done, so that the tree falls back on another.

    `lost` is what the program loses in all, of which prices are shares.
    """

    def __init__(
        self, features: Sequence[Feature], states: Floats, losses: Floats, fall_backs: Fallbacks, people: int,
        settings: TreeSettings, lost: float = 1.0,
    ) -> None:  # fmt: skip
        self.states, self.settings, self.fall_backs = states, settings, fall_backs
        self.features = {feature.index: feature for feature in features}
        self.feature_price, self.leaf_price = lost * settings.feature_price, lost * settings.leaf_price
        self.digit_price = lost * settings.digit_price
        self.losses, self.can = fall_backs.fill(losses).astype(np.float32), ~np.isnan(losses)
        self.people = people
        self.tests = candidate_tests(features, states, settings.thresholds)
        self.outcomes = np.stack([np.empty(len(states), bool), *(test(states) for test in self.tests)], axis=1)[:, 1:]
        self.tested = np.array([test.feature for test in self.tests], np.intp)
        self.digits = np.array([digits_in(test, self.features[test.feature]) for test in self.tests], np.intp)

    def grow(self, ahead: bool = True) -> _Branch:
        """The tree that loses least, words counted; better, but slower, if it looks ahead."""
        return self._settle(self._grow(np.arange(len(self.states)), frozenset(), self.settings.deepest, ahead))

    def mend(self, tree: Tree) -> _Branch:
        """A tree that stands, as these losses would have it: its leaves grow on, then all is chosen again."""
        return self._settle(self._grow_on(tree, np.arange(len(self.states)), frozenset(), self.settings.deepest))

    def _grow_on(self, tree: Tree, rows: Ints, path: frozenset[int], levels: int) -> _Branch:
        """The branch that a tree is for `rows`, with others at its leaves, of so many levels in all."""
        if isinstance(tree, Leaf) or not len(rows):
            return self._grow(rows, path, max(levels, 0), ahead=False)
        passed, below = tree.test(self.states[rows]), path | {tree.test.feature}
        if passed.all() or not passed.any():  # nothing to tell apart any more
            return self._grow_on(tree.yes if passed.all() else tree.no, rows, path, levels)
        yes = self._grow_on(tree.yes, rows[passed], below, levels - 1)
        no = self._grow_on(tree.no, rows[~passed], below, levels - 1)
        return _Branch(rows, path, test=tree.test, passed=passed, yes=yes, no=no)

    def _settle(self, root: _Branch) -> _Branch:
        """A tree without what is not worth its words, every split and leaf chosen again."""
        self._prune(root)
        for _ in range(self.settings.passes):
            self._choose_again(root)
            self._prune(root)
        return root

    def _grow(self, rows: Ints, path: frozenset[int], levels: int, ahead: bool) -> _Branch:
        """A branch about `rows` with at most so many levels of tests. If it looks `ahead`, the best tests of several
        features are tried, each with a small tree on either side, and the one that loses least is kept."""
        branch = _Branch(rows, path, int(self.losses[rows].sum(axis=0, dtype=float).argmin()))
        ahead = ahead and len(rows) >= self.settings.ahead_share * len(self.states)
        tests = self._tests(branch, self.settings.ahead if ahead else 1) if levels else []
        if not tests:
            return branch
        if len(tests) == 1:
            return self._split(branch, *tests[0], levels, ahead)
        few = min(levels, self.settings.ahead_levels)
        best = min((self._split(branch, *test, few, False) for test in tests), key=self._prune)
        return best if best.test is None else self._split(branch, best.test, best.passed, levels, True)

    def _split(self, branch: _Branch, test: Test, passed: Bools, levels: int, ahead: bool) -> _Branch:
        """A branch with a test, of which rows passed [n], and what grows on both sides."""
        below = branch.path | {test.feature}
        yes, no = (self._grow(branch.rows[side], below, levels - 1, ahead) for side in (passed, ~passed))
        return _Branch(branch.rows, branch.path, branch.choice, test, passed, yes, no)

    def _tests(self, branch: _Branch, most: int) -> list[tuple[Test, Bools]]:
        """The best tests for a branch, of `most` features at most, and which rows pass each [n]; none if it is to be a
        leaf."""
        rows, settings = branch.rows, self.settings
        if len(rows) < 2 * settings.min_rows or not self.tests:
            return []
        losses = self.losses[rows]
        total = losses.sum(axis=0, dtype=float)
        if total.min() - losses.min(axis=1).sum(dtype=float) <= self.leaf_price * self.people:
            return []
        passed = self.outcomes[rows]
        right = passed.T.astype(np.float32) @ losses
        count = passed.sum(axis=0)
        drop = total.min() - right.min(axis=1) - (total[None] - right).min(axis=1)
        new = np.array([feature not in branch.path for feature in self.tested])
        usable = (count >= settings.min_rows) & (len(rows) - count >= settings.min_rows)
        if settings.max_conditions is not None and len(branch.path) >= settings.max_conditions:
            usable &= ~new
        top = total.argsort()[: settings.contenders]
        told = _told_apart(right[:, top], total[top], count, len(rows))
        gain = drop + settings.foresight * told - new * self.feature_price * len(rows)
        left = np.where(usable, gain, -np.inf)
        found: list[tuple[Test, Bools]] = []
        while len(found) < most and np.isfinite(left.max()):
            best = int(left.argmax())
            test, result = self._among(self.tests[best], rows, losses, total, float(gain[best]), branch.path)
            found.append((test, passed[:, best] if result is None else result))
            left[self.tested == test.feature] = -np.inf
        return found

    def _among(
        self, test: Test, rows: Ints, losses: Single, total: Floats, gain: float, path: frozenset[int]
    ) -> tuple[Test, Bools | None]:
        """If a test for one value of a category is best: the set of values that does better still, if there is one."""
        if test.among is None:
            return test, None
        column = self.states[rows, test.feature]
        values = np.unique(column[~np.isnan(column)])
        if len(values) < 3:
            return test, None
        mine = column == test.among[0]
        inside, outside = int(losses[mine].sum(axis=0).argmin()), int(losses[~mine].sum(axis=0).argmin())
        lean = np.array([float((losses[column == v, inside] - losses[column == v, outside]).mean()) for v in values])
        values = values[np.argsort(lean)]
        price = 0.0 if test.feature in path else self.feature_price * len(rows)
        best, chosen, outcome = gain, test, None
        for size in range(1, len(values)):
            result = np.isin(column, values[:size])
            if min(int(result.sum()), int((~result).sum())) < self.settings.min_rows:
                continue
            right = losses[result].sum(axis=0, dtype=float)
            value = float(total.min() - right.min() - (total - right).min() - price)
            if value > best + 1e-9:
                some = tuple(sorted(int(v) for v in values[:size]))
                best, chosen, outcome = value, Test(test.feature, among=some), result
        return chosen, outcome

    def _prune(self, branch: _Branch) -> float:
        """Cut what is not worth its words; gives what the branch costs, words included."""
        leaf = float(self.losses[branch.rows, branch.choice].sum(dtype=float)) + self.leaf_price * self.people
        if branch.test is None or branch.yes is None or branch.no is None:
            return leaf
        words = self._words(branch, branch.test)
        total = self.losses[branch.rows].sum(axis=0, dtype=float)
        alone = float(total.min()) + self.leaf_price * self.people
        whole = self._prune(branch.yes) + self._prune(branch.no) + words
        if alone <= whole:
            branch.test = branch.yes = branch.no = None
            branch.choice = int(total.argmin())
            return alone
        return whole

    def _words(self, branch: _Branch, test: Test) -> float:
        """What it costs to say a test there."""
        digits = self.digit_price * self.people * digits_in(test, self.features[test.feature])
        return digits + (0.0 if test.feature in branch.path else self.feature_price * len(branch.rows))

    def _choose_again(self, branch: _Branch) -> None:
        """Choose each split again, given the trees below it, and each leaf, from the top down."""
        losses = self.losses[branch.rows]
        if branch.test is None or branch.yes is None or branch.no is None:
            if len(branch.rows):
                branch.choice = int(losses.sum(axis=0, dtype=float).argmin())
            return
        states = self.states[branch.rows]
        each = np.arange(len(branch.rows))
        if_yes = losses[each, _choices(branch.yes, states)]
        if_no = losses[each, _choices(branch.no, states)]
        passed = self.outcomes[branch.rows]
        total = passed.T.astype(np.float32) @ (if_yes - if_no) + if_no.sum(dtype=float)
        new = np.array([feature not in branch.path for feature in self.tested])
        total = total + new * self.feature_price * len(branch.rows) + self.digit_price * self.people * self.digits
        if self.settings.max_conditions is not None:
            total = np.where(new & (self.tested != branch.test.feature), np.inf, total)
        now = float(np.where(branch.passed, if_yes, if_no).sum(dtype=float)) + self._words(branch, branch.test)
        best = int(total.argmin())
        if total[best] < now - 1e-6:
            branch.test, branch.passed = self.tests[best], passed[:, best]
        self._move(branch, states, if_yes, if_no)
        below = branch.path | {branch.test.feature}
        for side, rows in ((branch.yes, branch.rows[branch.passed]), (branch.no, branch.rows[~branch.passed])):
            side.rows, side.path = rows, below
            if side.test is not None:
                side.passed = side.test(self.states[rows])
            self._choose_again(side)

    def _move(self, branch: _Branch, states: Floats, if_yes: Single, if_no: Single) -> None:
        """Move the cut point of a number, between the next ones that were tried at first, to where least is lost.

        Digits have their price, so that a limit that people once set is found again.
        """
        test = branch.test
        if test is None or test.at_least is None or not self.features[test.feature].is_number:
            return
        column, whole = states[:, test.feature], self.features[test.feature].integer
        cuts = [other.at_least for other in self.tests if other.feature == test.feature and other.at_least is not None]
        low = max((cut for cut in cuts if cut < test.at_least), default=-np.inf)
        high = min((cut for cut in cuts if cut > test.at_least), default=np.inf)
        inside = np.flatnonzero((column >= low) & (column < high))
        inside = inside[np.argsort(column[inside], kind="stable")]
        ends = np.concatenate([[low], column[inside], [high]])
        below = np.concatenate([[0.0], np.cumsum((if_no - if_yes)[inside], dtype=float)])  # lost by so many more noes
        possible = np.flatnonzero((ends[1:] > ends[:-1]) & np.isfinite(ends[1:]) & np.isfinite(ends[:-1]))
        if not len(possible):
            return
        price = self.digit_price * self.people
        near = possible[below[possible] <= below[possible].min() + _DIGITS * price + 1e-6]
        found = [(roundest(float(ends[i]), float(ends[i + 1]), whole), float(below[i])) for i in near]
        cut, _ = min(found, key=lambda one: (one[1] + price * digits_of(one[0]), digits_of(one[0])))
        branch.test = Test(test.feature, at_least=cut)
        branch.passed = branch.test(states)

    def finish(self, branch: _Branch, choices: Sequence[Choice]) -> Tree:
        """The tree as part of a program."""
        if branch.test is None or branch.yes is None or branch.no is None:
            order = self.fall_backs.order(branch.choice, self.losses[branch.rows], self.can[branch.rows])
            return Leaf(tuple(choices[number] for number in order))
        if branch.passed.all() or not branch.passed.any():  # nobody is told apart
            return self.finish(branch.yes if branch.passed.all() else branch.no, choices)
        yes, no = self.finish(branch.yes, choices), self.finish(branch.no, choices)
        return yes if yes == no else Split(branch.test, yes, no)


def _choices(branch: _Branch, states: Floats) -> Ints:
    """The choice [n] that a branch makes in `states` [n, F]."""
    if branch.test is None or branch.yes is None or branch.no is None:
        return np.full(len(states), branch.choice, np.intp)
    result = np.empty(len(states), np.intp)
    passed = branch.test(states)
    result[passed] = _choices(branch.yes, states[passed])
    result[~passed] = _choices(branch.no, states[~passed])
    return result
