"""How states change: which actions are legal, their costs and effects. No other module implements this.

States are float [B, F]: a category is the index of its value, a missing value is NaN. Actions are numbered in the
order of the file, function by function and argument by argument; the last one is STOP.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from counterplan.problem.parts import STOP, Action, Cause, Feature, Function, Scale, fill_phrase, format_number

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.intp]

MAX_CELLS = 2**24
"""Size of arrays [n, A] that are computed at once."""
_DECIMALS = 9
"""Decimals of sums: the order of additions does not matter."""
TIME_DECIMALS = 6
"""Decimals of durations."""
_COARSE = 2**53 / 10**_DECIMALS
"""Floats from here on have fewer decimals; rounding would lose precision."""


def rounded(numbers: Floats) -> Floats:
    """Round sums, so that the order of additions does not matter."""
    return np.where(np.abs(numbers) < _COARSE, np.round(numbers, _DECIMALS), numbers)


def _differ(one: Floats, other: Floats) -> Bools:
    """Where two arrays differ; missing values are equal."""
    differ: Bools = (one != other) & ~(np.isnan(one) & np.isnan(other))
    return differ


class Transitions:
    """The dynamics of a problem as array operations over many people at once."""

    def __init__(self, features: Sequence[Feature], functions: Sequence[Function], causes: Sequence[Cause]) -> None:
        self.features = tuple(features)
        self.functions = tuple(functions)
        self.causes = tuple(causes)
        pairs = [(function.name, native) for function in functions for native in function.natives]
        self.actions: tuple[Action, ...] = (
            *(Action(index, name, native) for index, (name, native) in enumerate(pairs)),
            Action(len(pairs), STOP),
        )
        self.stop = len(pairs)
        sizes = [len(function.natives) for function in functions]
        starts = np.cumsum([0, *sizes])
        self.spans = tuple(slice(int(starts[i]), int(starts[i + 1])) for i in range(len(sizes)))
        self.function_of: Ints = np.repeat(np.arange(len(sizes) + 1), [*sizes, 1])
        self._target = np.array([function.target for function in functions], np.intp)[self.function_of[:-1]]
        self._adds = np.array([function.adds for function in functions], bool)[self.function_of[:-1]]
        self._argument = np.concatenate([np.empty(0), *(function.arguments for function in functions)])
        self._surcharge = np.concatenate([np.empty(0), *(function.surcharge for function in functions)])
        self._base = np.concatenate([np.empty(0), *(function.base for function in functions)])
        self._duration_base = np.concatenate([np.empty(0), *(function.duration_base for function in functions)])
        self._duration_surcharge = np.concatenate(
            [np.empty(0), *(function.duration_surcharge for function in functions)]
        )
        self._consequences = [cause for cause in self.causes if cause.sets]
        self._triggers: list[Bools] = [
            np.array([*(cause.source in self.changed_by(function) for function in self.functions), False], bool)[
                self.function_of
            ]
            for cause in self._consequences
        ]
        """[A] for each consequence, the actions that may change its source."""
        self._bounded = [
            cause for cause in self._consequences if cause.formula and self.features[cause.target].is_number
        ]
        """Formulas whose results must stay within bounds."""
        self._reaching_bounded = self._ancestors({cause.target for cause in self._bounded})
        self._scales: dict[int, list[Cause]] = {}
        """The causes that scale the costs of changing a feature, by feature."""
        for cause in self.causes:
            if cause.scale is not None:
                self._scales.setdefault(cause.target, []).append(cause)
        self._integers = np.array([feature.integer for feature in self.features])
        self.mutable: Ints = np.array(sorted(self._touched()), np.intp)
        """The features that an action can change; all others are immutable."""
        self.least_costs = self._costs_with(lambda scale: scale.smallest())
        """[A] a lower bound on the cost of each action in any state; STOP costs 0."""
        self.most_costs = self._costs_with(lambda scale: scale.largest())
        """[A] an upper bound."""

    def __len__(self) -> int:
        return len(self.actions)

    @property
    def rows_at_once(self) -> int:
        """Number of rows n for which an array [n, A] has at most `MAX_CELLS` cells; larger tables are split."""
        return max(1, MAX_CELLS // len(self))

    def legal(self, states: Floats) -> Bools:
        """Which actions [B, A] are legal in `states` [B, F]: STOP always, an action without effect never."""
        result = np.empty((len(states), len(self)), bool)
        result[:, self.stop] = True
        for index, span in enumerate(self.spans):
            result[:, span] = self.legal_arguments(states, index)
        return result

    def legal_arguments(self, states: Floats, index: int) -> Bools:
        """Which arguments [B, n] of the function number `index` are legal in `states` [B, F]."""
        function, span = self.functions[index], self.spans[index]
        condition = function.when(states[:, None, :], function.arguments)
        legal = condition & self._possible(function, states[:, function.target, None], function.arguments)
        followers = self.followers_of(function)
        if followers:
            for i in range(len(function.natives)):
                after = self.apply(states, np.full(len(states), span.start + i))
                legal[:, i] &= self._within_bounds(after, followers)
        return legal

    def step(self, states: Floats, actions: npt.NDArray[np.integer]) -> tuple[Floats, Floats, Bools]:
        """One action each [B] in `states` [B, F]: the states after it [B, F], its cost [B], whether it is legal [B].

        The same as `apply`, `cost` and `legal`, evaluated for these actions only.
        """
        after = self.apply(states, actions)
        cost, legal = np.zeros(len(states)), np.ones(len(states), bool)
        functions = self.function_of[actions]
        for index in np.unique(functions[functions < len(self.functions)]).tolist():
            function = self.functions[index]
            rows = np.flatnonzero(functions == index)
            before, which = states[rows], actions[rows] - self.spans[index].start
            arguments = function.arguments[which]
            cost[rows] = function.surcharge[which] + function.base[which] * self._scale(function, before)
            possible = self._possible(function, before[:, function.target], arguments)
            legal[rows] = possible & function.when(before, arguments)
            followers = self.followers_of(function)
            if followers:
                legal[rows] &= self._within_bounds(after[rows], followers)
        return after, cost, legal

    def _possible(self, function: Function, now: Floats, arguments: Floats) -> Bools:
        """Where `arguments` of `function` change its feature's values `now` and keep them within bounds."""
        feature = self.features[function.target]
        if not function.adds:
            changes: Bools = now != arguments
            return changes
        after = rounded(now + arguments)
        within: Bools = (after >= feature.low) & (after <= feature.high) & (after != now)  # false if it is missing now
        return within

    def followers_of(self, function: Function) -> list[Cause]:
        """The formulas whose results may leave their bounds when `function` is applied."""
        return self._bounded if function.target in self._reaching_bounded else []

    def _within_bounds(self, states: Floats, followers: Sequence[Cause]) -> Bools:
        inside = np.ones(len(states), bool)
        for cause in followers:
            feature, column = self.features[cause.target], states[:, cause.target]
            within = np.isfinite(column) & (column >= feature.low) & (column <= feature.high)
            inside &= within | (np.isnan(column) & feature.missing)
        return inside

    def _ancestors(self, targets: set[int]) -> set[int]:
        """The features whose change can reach one of `targets` through consequences, themselves included."""
        ancestors = set(targets)
        for cause in reversed(self._consequences):
            if cause.target in ancestors:
                ancestors.add(cause.source)
        return ancestors

    def cost(self, states: Floats) -> Floats:
        """The cost of each action [B, A] in `states` [B, F], legal or not; STOP costs 0."""
        result = np.zeros((len(states), len(self)))
        for function, span in zip(self.functions, self.spans, strict=True):
            result[:, span] = function.surcharge + function.base * self._scale(function, states)[:, None]
        return result

    def cost_of(self, states: Floats, rows: Ints, actions: Ints) -> Floats:
        """The cost [n] of `actions` [n] in the states at `rows` [n] of `states` [B, F]; the same as `cost`."""
        scales = np.stack([self._scale(function, states) for function in self.functions], axis=1)
        cost: Floats = self._surcharge[actions] + self._base[actions] * scales[rows, self.function_of[actions]]
        return cost

    @cached_property
    def has_durations(self) -> bool:
        """Whether some action takes time."""
        return bool((self._duration_base > 0).any() or (self._duration_surcharge > 0).any())

    def duration_of(self, states: Floats, rows: Ints, actions: npt.NDArray[np.integer]) -> Floats:
        """How long `actions` [n] take in the states at `rows` [n] of `states` [B, F], to `TIME_DECIMALS`; STOP takes 0.

        The unit is that of the problem file.
        """
        result, functions = np.zeros(len(rows)), self.function_of[actions]
        for index in np.unique(functions[functions < len(self.functions)]).tolist():
            at = np.flatnonzero(functions == index)
            scale = self._scale(self.functions[index], states[rows[at]])
            result[at] = self._duration_surcharge[actions[at]] + self._duration_base[actions[at]] * scale
        return np.round(result, TIME_DECIMALS)

    @cached_property
    def conflicts(self) -> Bools:
        """Which pairs of functions [n, n] cannot run at the same time: not `independent`, or one does not overlap."""
        overlaps = np.array([function.overlaps for function in self.functions], bool)
        return np.asarray(~self.independent | ~(overlaps[:, None] & overlaps[None, :]))

    def _scale(self, function: Function, states: Floats) -> Floats:
        """The factor [B] on the base costs of `function`: the product of the scales of its feature's causes."""
        factor = np.ones(len(states))
        for cause in self._scales.get(function.target, ()):
            assert cause.scale is not None
            factor *= cause.scale(states[:, cause.source])
        return factor

    def apply(self, states: Floats, actions: npt.NDArray[np.integer]) -> Floats:
        """The states [B, F] after one action each [B], consequences included. Legality is not checked."""
        after = states.copy()
        rows = np.flatnonzero(actions != self.stop)
        chosen = actions[rows]
        target = self._target[chosen]
        now = states[rows, target]
        value = self._argument[chosen]
        adding = np.flatnonzero(self._adds[chosen])
        value[adding] = rounded(now[adding] + value[adding])
        after[rows, target] = value
        for cause, triggers in zip(self._consequences, self._triggers, strict=True):
            changed = np.flatnonzero(triggers[actions])
            changed = changed[_differ(states[changed, cause.source], after[changed, cause.source])]
            history = (self._argument[actions[changed]], states) if cause.path_dependent else ()
            value = self._consequence(cause, after, changed, *history)
            if cause.table is not None:  # which leaves other values as they are
                changed, value = changed[~np.isnan(value)], value[~np.isnan(value)]
            after[changed, cause.target] = value
        return after

    def revise(self, starts: Floats, states: Floats, revised: Floats) -> Floats:
        """`revised` [B, F], numbers of `states` [B, F] changed at will, with the formulas that follow from them.

        A formula with `argument`, `before(…)` or its own target is not a function of the final state. It moves its
        target by the difference that the revision makes to it, if one action makes the whole change since `starts`
        [B, F]; a target that is revised itself stays as it is. Results that would leave their bounds are moved to the
        bound.
        """
        after = revised.copy()
        for cause in self._consequences:
            if cause.formula is None:
                continue
            target, reads = self.features[cause.target], self.read_in(cause)
            if not cause.path_dependent and cause.target not in reads:
                changed = np.flatnonzero(_differ(states[:, cause.source], after[:, cause.source]))
                value = self._consequence(cause, after, changed)
            else:
                others = sorted((reads | self._added_before(cause)) - {cause.target})
                changed = np.flatnonzero(_differ(states[:, others], after[:, others]).any(axis=1))
                moved = self._at_once(cause, starts[changed], after[changed])
                moved -= self._at_once(cause, starts[changed], states[changed])
                moved[_differ(states[changed, cause.target], revised[changed, cause.target])] = 0.0
                value = rounded(after[changed, cause.target] + np.where(np.isfinite(moved), moved, 0.0))
            after[changed, cause.target] = np.clip(value, target.low, target.high)
        return after

    def _added_before(self, cause: Cause) -> set[int]:
        """The features that functions add to and that a consequence follows from."""
        return {f.target for f in self.functions if f.adds and cause.source in self.changed_by(f)}

    def _at_once(self, cause: Cause, starts: Floats, states: Floats) -> Floats:
        """The value [n] of a formula's target if one action leads from `starts` [n, F] to `states` [n, F].

        Its argument is the change of the features that functions add to and that the formula follows from.
        """
        amount = np.nan_to_num(states - starts)[:, sorted(self._added_before(cause))].sum(axis=1)
        now = states.copy()
        now[:, cause.target] = starts[:, cause.target]
        value = self._consequence(cause, now, slice(None), amount, starts)
        return np.where(_differ(starts[:, cause.source], states[:, cause.source]), value, starts[:, cause.target])

    def _consequence(
        self,
        cause: Cause,
        states: Floats,
        rows: Ints | slice,
        argument: Floats | None = None,
        before: Floats | None = None,
    ) -> Floats:
        """The value [n] that a consequence gives its target in `rows` of `states` [B, F]; NaN if a table has none.

        A path-dependent formula needs the `argument` [n] of the action and the states `before` it [B, F].
        """
        source = states[rows, cause.source]
        if cause.table is not None:
            missing = np.isnan(source)
            return np.where(missing, np.nan, cause.table[np.where(missing, 0, source).astype(np.intp)])
        assert cause.formula is not None
        value = np.broadcast_to(
            cause.formula(states[rows], argument, None if before is None else before[rows]), source.shape
        )
        return np.round(value) if self._integers[cause.target] else rounded(value)

    @cached_property
    def derived(self) -> tuple[Cause, ...]:
        """One consequence for each feature that follows from others in every state, in topological order.

        No function changes such a feature; its consequences are one table of all values, or one formula of other
        features that is evaluated whenever one of them changes, and depends on nothing else.
        """
        changed = {function.target for function in self.functions}
        by_target: dict[int, list[Cause]] = {}
        for cause in self._consequences:
            by_target.setdefault(cause.target, []).append(cause)
        return tuple(
            causes[0] for target, causes in by_target.items() if target not in changed and self._determines(causes)
        )

    def _determines(self, causes: Sequence[Cause]) -> bool:
        """Whether the consequences of one target are a function of other features."""
        first, target = causes[0], self.features[causes[0].target]
        if first.table is not None:
            complete = not np.isnan(first.table).any() and (target.missing or not self.features[first.source].missing)
            return complete and len(causes) == 1
        read = self.read_in(first)
        return (
            not first.path_dependent
            and target.index not in read
            and all(cause.formula == first.formula for cause in causes)
            and read & set(self.mutable.tolist()) <= {cause.source for cause in causes}
        )

    def read_in(self, cause: Cause) -> set[int]:
        """The features that a consequence depends on."""
        names = set() if cause.formula is None else cause.formula.tree.names()
        return {cause.source} | {feature.index for feature in self.features if feature.name in names}

    def derive(self, states: Floats) -> Floats:
        """The states [B, F] with all features that are `derived` computed from the others."""
        result = states.copy()
        for cause in self.derived:
            result[:, cause.target] = self._consequence(cause, result, slice(None))
        return result

    def _touched(self) -> set[int]:
        touched = {function.target for function in self.functions}
        for cause in self._consequences:
            if cause.source in touched:
                touched.add(cause.target)
        return touched

    @cached_property
    def independent(self) -> Bools:
        """Which pairs of functions [n, n] are independent: either order is legal, has the same cost and leads to the
        same state."""
        count = len(self.functions)
        changes = [self.changed_by(function) for function in self.functions]
        reads = [self.read_by(function, changed) for function, changed in zip(self.functions, changes, strict=True)]
        result = np.zeros((count, count), bool)
        for i in range(count):
            for j in range(count):
                result[i, j] = not (changes[i] & (changes[j] | reads[j]) or changes[j] & reads[i])
        return result

    @cached_property
    def parents_first(self) -> Ints:
        """[n] the functions, each after those that change a feature it depends on (as far as cycles permit)."""
        count = len(self.functions)
        changes = [self.changed_by(function) for function in self.functions]
        reads = [self.read_by(function, changed) for function, changed in zip(self.functions, changes, strict=True)]
        needs = np.zeros((count, count), bool)
        """[i, j] whether function i depends on a feature that function j changes."""
        for i in range(count):
            outside = reads[i] - changes[i]
            needs[i] = [j != i and bool(changes[j] & outside) for j in range(count)]
        order = np.empty(count, np.intp)
        waiting = needs.sum(axis=1)
        for i in range(count):
            order[i] = chosen = int(waiting.argmin())
            waiting -= needs[:, chosen]
            waiting[chosen] = count * count  # done
        return order

    @cached_property
    def in_order(self) -> Bools:
        """[n + 1, A] which actions to consider after each function (last row: at the start).

        Of two consecutive independent functions only the order of the file is considered: the other one has the same
        cost and leads to the same state, so an optimal plan always remains.
        """
        return self._file_order(self.independent)

    @cached_property
    def in_time_order(self) -> Bools:
        """As `in_order`, for two consecutive functions that do not conflict: the other order takes as long, too."""
        return self._file_order(~self.conflicts)

    def _file_order(self, exchangeable: Bools) -> Bools:
        """Which actions [n + 1, A] to consider if only one order of `exchangeable` [n, n] functions is."""
        count = len(self.functions)
        earlier = np.tril(np.ones((count, count), bool), -1)
        follows = np.ones((count + 1, count + 1), bool)
        follows[:count, :count] = ~(exchangeable & earlier)
        return follows[:, self.function_of]

    def changed_by(self, function: Function) -> set[int]:
        """The features that `function` changes, consequences included."""
        changed = {function.target}
        for cause in self._consequences:
            if cause.source in changed:
                changed.add(cause.target)
        return changed

    def read_by(self, function: Function, changed: set[int]) -> set[int]:
        """The features that the legality, the cost or the effect of `function` depends on."""
        names = set(function.when.tree.names())
        reads: set[int] = set()
        if function.base.any() or function.duration_base.any():  # what is scaled
            reads = {
                cause.source for cause in self.causes if cause.target == function.target and cause.scale is not None
            }
        for cause in self._consequences:
            if cause.source in changed and cause.formula is not None:
                names |= cause.formula.tree.names()
        return reads | {feature.index for feature in self.features if feature.name in names}

    def _costs_with(self, choose: Callable[[Scale], float]) -> Floats:
        """[A] costs with the factor that `choose` selects from each scale."""
        costs = np.zeros(len(self))
        for function, span in zip(self.functions, self.spans, strict=True):
            factor = 1.0
            for cause in self._scales.get(function.target, ()):
                assert cause.scale is not None
                factor *= choose(cause.scale)
            costs[span] = function.surcharge + function.base * factor
        return costs

    def describe_step(self, action: int, before: Floats, after: Floats) -> str:
        """Describe an action that changes the state `before` [F] to `after` [F] for applicants."""
        if action == self.stop:
            return "Stop"
        function = self.functions[int(self.function_of[action])]
        feature = self.features[function.target]
        number = self._argument[action]
        if feature.is_number:
            unit = f" {feature.unit}" if feature.unit else ""
            argument, amount = format_number(number) + unit, format_number(abs(number)) + unit
        else:
            argument = amount = feature.format_value(number)
        words = {
            "argument": argument,
            "amount": amount,
            "before": feature.format_value(before[function.target]),
            "after": feature.format_value(after[function.target]),
        }
        return fill_phrase(function.phrase, words)
