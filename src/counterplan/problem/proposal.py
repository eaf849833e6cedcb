"""Propose functions with arguments and costs for the features of a drafted problem, each guess with its reason."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from counterplan.errors import PeopleError
from counterplan.problem import association
from counterplan.problem.association import Association
from counterplan.problem.column_words import CALENDAR, GAINED, IMMUTABLE, LOWERED, UNKNOWN, mentions, words_of
from counterplan.problem.draft_features import FeatureDraft
from counterplan.problem.draft_text import (
    constant_case,
    name_in_condition,
    number_text,
    plain_words,
    shortened,
    yaml_quoted,
    yaml_scalar,
)
from counterplan.problem.encoding import round_cut
from counterplan.problem.transitions import Bools, Floats
from counterplan.problem.values import listed

MOST_ACTIONS = 60
MOST_ARGUMENTS = 8
LONGEST_PLAN = 5
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
FEW_NUMBERS = 8
"""A number with at most this many different values can be set to each of them."""
LEAST_SHARE = 0.02
"""An argument is proposed if at least this share of people could be set to it."""
LEAST_COST = 0.5


@dataclass(frozen=True)
class FunctionDraft:
    """A proposed function, which sets a feature."""

    name: str
    feature: FeatureDraft
    arguments: Sequence[str]
    """As YAML."""
    every: bool
    """Whether the arguments are all values of the feature, in its order."""
    when: str
    costs: Sequence[float]
    cost_reason: str
    phrase: str
    reasons: Sequence[str]

    def lines(self, learned: Sequence[tuple[float, str]] | None = None) -> list[str]:
        """The function as lines of YAML; `learned` are costs with remarks, one for each argument."""
        lines = [f"  # guess: {reason}" for reason in self.reasons]
        lines += [f"  {self.name}:", f"    set: {yaml_scalar(self.feature.name)}"]
        lines.append(f"    arguments: {'all' if self.every else _flow(self.arguments)}")
        lines.append(f"    when: {yaml_scalar(self.when)}")
        if learned is None:
            base = _flow(map(number_text, self.costs)) if len({*self.costs}) > 1 else number_text(self.costs[0])
            lines.append(f"    cost: {{base: {base}}}  # guess: {self.cost_reason}")
        else:
            lines += ["    cost:", "      base:"]
            lines += [f"        - {number_text(cost)}  # {remark}" for cost, remark in learned]
        lines.append(f"    phrase: {yaml_quoted(self.phrase)}")
        return lines


@dataclass(frozen=True)
class Proposal:
    """Functions for the features of a table, and the reasons why others have none."""

    functions: Sequence[FunctionDraft]
    excluded: Sequence[str]
    """Features without a function, each with the reason."""
    consequences: Sequence[tuple[FeatureDraft, FeatureDraft, Mapping[str, float]]] = ()
    """Numbers that follow from a category in every row: the category, the number, and the table."""

    @property
    def max_actions(self) -> int:
        """The length of plans: one step for each feature, up to `LONGEST_PLAN`."""
        return min(LONGEST_PLAN, len({function.feature.name for function in self.functions}))

    def lines(
        self, learned: Sequence[Sequence[tuple[float, str]] | None] | None = None, remarks: Sequence[str] = ()
    ) -> list[str]:
        """The functions and causes as lines of YAML, with learned costs by function and general `remarks`."""
        costs = [None] * len(self.functions) if learned is None else learned
        lines = ["# What people can do, as guessed from the table: functions, arguments, preconditions and costs."]
        lines += [f"# {remark}" for remark in remarks]
        if self.excluded:
            lines += ["# No function is proposed for these features; add one where a person can act:"]
            lines += [f"#   {line}" for line in self.excluded]
        lines.append("functions:")
        for function, own in zip(self.functions, costs, strict=True):
            lines += [*function.lines(own), ""]
        lines += [
            "# What makes a change easier (below 1) or harder, and what follows from it. No scale is guessed: a table",
            "# does not tell causes from correlations. An example, if a high income makes saving easier:",
            "#   - {from: income, to: savings, scale: [{below: 20000, scale: 1}, {scale: 0.5}]}",
            "causes:",
        ]
        for source, target, table in self.consequences:
            lines += [
                f"  # guess: every person with the same {shortened(source.name)} has the same {shortened(target.name)}",
                f"  - from: {yaml_scalar(source.name)}",
                f"    to: {yaml_scalar(target.name)}",
                "    table:",
                *(f"      {yaml_scalar(value)}: {number_text(number)}" for value, number in table.items()),
            ]
        return lines


@dataclass
class _Candidate:
    """A feature that functions may change, with its people."""

    draft: FeatureDraft
    column: Floats
    """[B] numbers, or indices of the values; NaN if missing."""
    link: Association
    functions: list[FunctionDraft] = field(default_factory=list)


def propose(drafts: Sequence[FeatureDraft], states: Floats, favourable: Floats) -> Proposal:
    """Propose functions.

    Parameters
    ----------
    drafts : sequence of FeatureDraft
        The features.
    states : numpy.ndarray of shape (B, F)
        The people of the table: numbers, and indices of the values of categories; NaN is missing.
    favourable : numpy.ndarray of shape (B,)
        Whether each outcome is favourable: 1 or 0, NaN if it is unknown.

    Returns
    -------
    Proposal

    Raises
    ------
    PeopleError
        If there is no feature that a function could change.
    """
    consequences = list(_consequences(drafts, states))
    following = {target.name: source.name for source, target, _ in consequences}
    decided = ~np.isnan(favourable)
    outcomes = favourable[decided] == 1
    candidates: list[_Candidate] = []
    excluded: list[str] = []
    names: set[str] = set()
    for draft, column in zip(drafts, states.T, strict=True):
        by_rank = draft.numbers is not None or bool(draft.order)
        ranks = column[decided]
        if draft.order and UNKNOWN.fullmatch(draft.values[0].strip()):
            ranks = np.where(ranks == 0, np.nan, ranks)
        link = (association.of_ranks if by_rank else association.of_categories)(ranks, outcomes)
        reason = _immutable(draft, link, following)
        if not reason:
            candidate = _Candidate(draft, column, link)
            candidate.functions = list(_functions(candidate, names))
            if candidate.functions:
                candidates.append(candidate)
                continue
            reason = "there is no other value to move to"
        excluded.append(f"{shortened(draft.name)}: {reason}")
    if not candidates:
        raise PeopleError(
            f"there is no feature to propose functions for ({listed(excluded)}); draft the file without "
            "functions, and write them yourself"
        )
    chosen, too_many = _within_limit(candidates)
    excluded += [
        f"{shortened(one.draft.name)}: there are {MOST_ACTIONS} actions for features that tell more about the outcome"
        for one in too_many
    ]
    functions = [function for candidate in chosen for function in candidate.functions]
    changed = {candidate.draft.name for candidate in chosen}
    return Proposal(functions, excluded, [one for one in consequences if one[0].name in changed])


def _immutable(draft: FeatureDraft, link: Association, following: Mapping[str, str]) -> str:
    """Why no function changes a feature; empty if one may."""
    if draft.protected:
        return "protected"
    if draft.name in following:
        return f"it follows from {shortened(following[draft.name])}"
    for reason, words in IMMUTABLE.items():
        if mentions(words, draft.name):
            return reason
    if CALENDAR.fullmatch(" ".join(words_of(draft.name))):
        return "it is part of a date"
    return "it is nearly a copy of the outcome" if link.is_copy else ""


def _within_limit(candidates: Sequence[_Candidate]) -> tuple[list[_Candidate], list[_Candidate]]:
    """The candidates with at most `MOST_ACTIONS` together, those first that tell most about the outcome; the others."""
    ranked = sorted(candidates, key=lambda one: -one.link.strength)
    taken, actions = set(), 0
    for candidate in ranked:
        size = sum(len(function.arguments) for function in candidate.functions)
        if actions + size <= MOST_ACTIONS:
            taken.add(candidate.draft.name)
            actions += size
    chosen = [one for one in candidates if one.draft.name in taken]
    return chosen, [one for one in candidates if one.draft.name not in taken]


def _consequences(
    drafts: Sequence[FeatureDraft], states: Floats
) -> Iterator[tuple[FeatureDraft, FeatureDraft, Mapping[str, float]]]:
    """Numbers that belong one to one to the three or more values of a category, in every row of the table."""
    found: set[int] = set()
    by_count = numbers_by_count(drafts)
    for source, column in zip(drafts, states.T, strict=True):
        if source.numbers is not None or source.protected:
            continue
        for index in by_count.get(len(source.values), ()):
            if index in found or drafts[index].protected:
                continue
            table = number_of_values(len(source.values), column, states[:, index])
            if table is not None:
                found.add(index)
                yield source, drafts[index], dict(zip(source.values, table.tolist(), strict=True))
                break


def numbers_by_count(drafts: Sequence[FeatureDraft]) -> dict[int, list[int]]:
    """The numbers without missing values that have three or more different values, by how many."""
    result: dict[int, list[int]] = {}
    for index, draft in enumerate(drafts):
        if draft.numbers is not None and not draft.empty and not draft.absent:
            result.setdefault(len(np.unique(draft.numbers)), []).append(index)
    return {count: found for count, found in result.items() if count >= 3}


def number_of_values(count: int, column: Floats, numbers: Floats) -> Floats | None:
    """The number [V] that belongs to each of `count` values of a category [B], one to one; None if none does."""
    if len(column) < 10 * count or np.isnan(column).any() or np.isnan(numbers).any():
        return None
    table = np.full(count, math.nan)
    codes = column.astype(np.intp)
    table[codes] = numbers
    one_to_one = bool((table[codes] == numbers).all()) and len(np.unique(table)) == count
    return table if one_to_one and not np.isnan(table).any() else None


def _functions(candidate: _Candidate, names: set[str]) -> Iterator[FunctionDraft]:
    draft, link = candidate.draft, candidate.link
    if draft.numbers is None and not draft.order:
        change = _change(candidate, names)
        if change is not None:
            yield change
        return
    gained, lowered = mentions(GAINED, draft.name), mentions(LOWERED, draft.name)
    directions = (link.raises,) if link.clear else (link.raises, not link.raises)
    if not link.clear and gained != lowered:
        directions = (gained,)
    for raises in directions:
        if link.clear:
            chance = link.area if raises else 1 - link.area
            size = "higher" if raises else "lower"
            reason = f"{size} goes with favourable outcomes, in {_percent(chance)} of pairs of unlike outcomes"
        elif len(directions) == 1:
            reason = (
                f"the name is that of something to have {'more' if raises else 'less'} of; the outcomes do not tell"
            )
        else:
            reason = "the outcomes do not tell which direction helps, so both are proposed"
        if draft.numbers is not None:
            yield from _moves(candidate, raises, reason, names)
        else:
            step = _rank_step(candidate, raises, reason, names)
            if step is not None:
                yield step


def _moves(candidate: _Candidate, raises: bool, reason: str, names: set[str]) -> Iterator[FunctionDraft]:
    """Functions that set a number to quantiles: for people on the near side of the median and on its far side.

    A far target costs much more from the near side; two functions follow the share of people passed more closely.
    """
    draft = candidate.draft
    known = candidate.column[~np.isnan(candidate.column)]
    positions = _Positions(known)
    targets, targets_reason = _targets(known, draft.integer)
    name, verb = name_in_condition(draft.name), "Raise" if raises else "Lower"
    sign = "<" if raises else ">"
    middle = _rounded(float(np.median(known)), known, draft.integer)
    near = known < middle if raises else known > middle
    split = len(np.unique(known)) > FEW_NUMBERS and 0.2 <= near.mean() <= 0.8
    ahead = [target for target in targets if (target > middle if raises else target < middle)]
    halves: list[tuple[str, Bools, Sequence[float], str]] = [("", np.ones(len(known), bool), targets, "")]
    if split and ahead:
        side = "above" if raises else "below"
        halves = [
            ("", near, targets, f"{name} {sign} {number_text(middle)} and "),
            ("_FURTHER", ~near, ahead, f"{name} {'>=' if raises else '<='} {number_text(middle)} and "),
        ]
    for suffix, rows, possible, condition in halves:
        shares = [float(np.mean(rows & _passes(known, target, raises))) for target in possible]
        arguments = [target for target, share in zip(possible, shares, strict=True) if share >= LEAST_SHARE]
        if not arguments:
            continue
        coded = [code for code in draft.codes_of_missing if (code < arguments[-1] if raises else code > arguments[0])]
        coded = [] if suffix == "_FURTHER" else coded  # they are on the other side of the median
        passed = [positions.passed(rows & _passes(known, target, raises), target) for target in arguments]
        reasons = [reason, targets_reason]
        if suffix:
            reasons = [f"as {verb.upper()}_{constant_case(draft.name)}, for people already at the median or {side}"]
        yield FunctionDraft(
            _unique(f"{verb.upper()}_{constant_case(draft.name)}{suffix}", names),
            draft,
            [*map(number_text, arguments)],
            False,
            f"{condition}{name} {sign} argument{_unlike(name, coded)}",
            [_cost(mean) for mean, _, _ in passed],
            _shares_passed(passed),
            f"{verb} {plain_words(draft.name)} from {{before}} to {{argument}}",
            reasons,
        )


def _targets(known: Floats, integer: bool) -> tuple[list[float], str]:
    """Numbers to set a feature to, rising, and the reason for them."""
    distinct = np.unique(known)
    if len(distinct) <= FEW_NUMBERS:
        return distinct.tolist(), "every value in the table is an argument"
    quantiles = _rounded_quantiles(known, known, integer)
    if len(quantiles) >= 3:
        shares = ", ".join(f"{quantile:.0%}".rstrip("%") for quantile in QUANTILES)
        return quantiles, f"the arguments are the numbers below which {shares} % of people are, rounded"
    values, counts = np.unique(known, return_counts=True)
    usual = float(values[counts.argmax()])
    others = _rounded_quantiles(known[known != usual], known, integer)
    return sorted(
        {*quantiles, *others}
    ), f"most people have {number_text(usual)}; the arguments are quantiles of the others"


def _rounded_quantiles(numbers: Floats, known: Floats, integer: bool) -> list[float]:
    return sorted({_rounded(float(number), known, integer) for number in np.quantile(numbers, QUANTILES)})


def _rounded(number: float, known: Floats, integer: bool) -> float:
    """A round number near `number` within the range of `known` [n]."""
    low, high = float(known.min()), float(known.max())
    round_number = round_cut(number, high - low, integer)
    return round_number if low <= round_number <= high else min(max(number, low), high)


def _passes(known: Floats, target: float, raises: bool) -> Bools:
    """The people [n] who are set to `target` by raising, or by lowering."""
    passes: Bools = known < target if raises else known > target
    return passes


class _Positions:
    """The positions of people among each other, from 0 to 1, by the numbers [n] of a feature."""

    def __init__(self, known: Floats) -> None:
        self.ordered = np.sort(known)
        self.own = self.of(known)

    def of(self, numbers: Floats | float) -> Floats:
        """The share of people below each number, half of those with the same number included."""
        below, upto = (np.searchsorted(self.ordered, numbers, side) for side in ("left", "right"))
        positions: Floats = (below + upto) / (2 * len(self.ordered))
        return positions

    def passed(self, rows: Bools, target: float) -> tuple[float, float, float]:
        """The share of people passed on the way to `target` by those in `rows` [n]: mean, smallest, largest."""
        shares = np.abs(self.of(target) - self.own[rows])
        return float(shares.mean()), float(shares.min()), float(shares.max())


def _rank_step(candidate: _Candidate, raises: bool, reason: str, names: set[str]) -> FunctionDraft | None:
    """A function that sets an ordered category to a higher, or to a lower, value."""
    draft = candidate.draft
    known = candidate.column[~np.isnan(candidate.column)]
    ranks = [rank for rank, value in enumerate(draft.values) if not UNKNOWN.fullmatch(value.strip())]
    counts = np.bincount(known.astype(np.intp), minlength=len(draft.values))
    ranks = sorted(sorted(ranks, key=lambda rank: -counts[rank])[:MOST_ARGUMENTS])
    reachable = [rank for rank in ranks if _passes(known, rank, raises).any()]
    if not reachable:
        return None
    every = len(reachable) >= len(draft.values) - 1
    ranks = [*range(len(draft.values))] if every else reachable
    positions = _Positions(known)
    passed = {rank: positions.passed(_passes(known, rank, raises), rank) for rank in reachable}
    costs = {rank: _cost(share) for rank, (share, _, _) in passed.items()}
    name, verb = name_in_condition(draft.name), "Raise" if raises else "Lower"
    reasons = [reason]
    if len(ranks) < len(draft.values) - 1:
        reasons.append(f"{len(ranks)} of {len(draft.values)} values are arguments, the most frequent known ones")
    return FunctionDraft(
        _unique(f"{verb.upper()}_{constant_case(draft.name)}", names),
        draft,
        [yaml_scalar(draft.values[rank]) for rank in ranks],
        every,
        f"argument {'>' if raises else '<'} {name}",
        [costs.get(rank, min(costs.values())) for rank in ranks],
        _shares_passed([*passed.values()]),
        f"{verb} {plain_words(draft.name)} from {{before}} to {{argument}}",
        reasons,
    )


def _change(candidate: _Candidate, names: set[str]) -> FunctionDraft | None:
    """A function that sets a category without a rank to another value."""
    draft = candidate.draft
    known = candidate.column[~np.isnan(candidate.column)].astype(np.intp)
    counts = np.bincount(known, minlength=len(draft.values))
    absent = {int(index) for index in draft.absent_states}
    named = [i for i, value in enumerate(draft.values) if not UNKNOWN.fullmatch(value.strip()) and i not in absent]
    frequent = sorted(sorted(named, key=lambda index: -counts[index])[:MOST_ARGUMENTS])
    if len(draft.values) < 2 or not frequent:
        return None
    reasons = ["a person can take any other value"]
    if len(frequent) < len(draft.values):
        reasons[0] = (
            f"a person can take any of {len(frequent)} of {len(draft.values)} values: the most frequent known ones"
        )
    name = name_in_condition(draft.name)
    known_now = f" and not missing({name})" if draft.empty else ""
    known_now += _unlike(name, draft.codes_of_missing)
    return FunctionDraft(
        _unique(f"CHANGE_{constant_case(draft.name)}", names),
        draft,
        [yaml_scalar(draft.values[index]) for index in frequent],
        len(frequent) == len(draft.values),
        f"argument != {name}{known_now}",
        [_cost((1 - counts[index] / max(1, len(known))) / 2) for index in frequent],
        "half the share of people without the value, in %",
        f"Change {plain_words(draft.name)} from {{before}} to {{argument}}",
        reasons,
    )


def _unlike(name: str, codes: Sequence[float]) -> str:
    """The part of a condition that excludes people whose value is one of `codes`."""
    if len(codes) < 2:
        return "".join(f" and {name} != {number_text(code)}" for code in codes)
    return f" and {name} not in [{', '.join(map(number_text, codes))}]"


def _shares_passed(passed: Sequence[tuple[float, float, float]]) -> str:
    low, high = min(low for _, low, _ in passed), max(high for _, _, high in passed)
    return f"the share of people passed, in %, on average; {100 * low:.0f} to {100 * high:.0f} for one person"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _cost(share: float) -> float:
    return max(LEAST_COST, round(100 * share, 1))


def _unique(name: str, names: set[str]) -> str:
    """`name`, or `name` with a number if it is taken; remembers it."""
    number = 1
    unique = name
    while unique in names:
        number += 1
        unique = f"{name}_{number}"
    names.add(unique)
    return unique


def _flow(items: Iterator[str] | Sequence[str] | map[str]) -> str:
    return f"[{', '.join(items)}]"
