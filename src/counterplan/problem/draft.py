"""Draft a problem file from a table: features and outcome with remarks, functions as examples or as guesses."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from counterplan.errors import PeopleError
from counterplan.problem import limits
from counterplan.problem.column_words import NEGATIVE, NO, NOT, POSITIVE, mentions
from counterplan.problem.draft_features import MOST_VALUES, SCALARS, FeatureDraft, infer_feature, is_number
from counterplan.problem.draft_text import (
    commented,
    constant_case,
    is_writable,
    name_in_condition,
    number_text,
    plain_words,
    shortened,
    sorted_values,
    values_lines,
    yaml_quoted,
    yaml_scalar,
)
from counterplan.problem.frames import MAX_EXACT_INTEGER, read_people
from counterplan.problem.histories import LearnedCosts, learn_costs, read_histories, remarks
from counterplan.problem.parts import Feature
from counterplan.problem.problem import Problem
from counterplan.problem.proposal import Proposal, number_of_values, numbers_by_count, propose
from counterplan.problem.tables import read_table
from counterplan.problem.transitions import Floats
from counterplan.problem.value_order import guess_order
from counterplan.problem.values import did_you_mean, listed, text_of

MOST_OUTCOMES = 20
LARGEST_WHOLE = 1e15
"""Longer whole numbers are texts in YAML."""
LARGEST_DRAFT = 500_000
"""Bytes of all features; a draft must be short enough for review."""

_NUMBER = re.compile(r" *[-+]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)? *")
_READS_BACK = re.compile(r" *[-+]?((0|[1-9][0-9]*)(\.[0-9]*)?([eE][-+]?[0-9]{1,3})?|\.[0-9]+[eE][-+]?[0-9]{1,3}) *")
"""Numbers that are read as such from a CSV, also in a category."""
_TRUTHS = {word: word[0] in "tT" for word in ("true", "True", "TRUE", "false", "False", "FALSE")}
_HEADER = """\
# A first draft, guessed from a table of {rows:,} people. What to do next:
#   1. Read it through: the outcome, what kind each feature is, its values (sorted), what is protected.
#   2. Choose the functions: what people can do, when, and with how much effort. There are examples at the end.
#   3. Run `counterplan check` on this file until it is content; then plan with `counterplan recommend`.
counterplan: 1
name: {name}
max_actions: 4  # the longest plan
"""
_PROPOSAL_HEADER = """\
# A proposal, guessed from a table of {rows:,} people. Plans can be made with it as it is; every guess is marked.
#   1. Read it through: the outcome, what kind each feature is, its values, what is protected.
#   2. Delete functions for what people cannot or should not do; correct arguments, conditions and costs. {costs}
#   3. Run `counterplan check` on this file; then plan with `counterplan recommend`.
counterplan: 1
name: {name}
max_actions: {steps}  # guess: the longest plan
"""
_SHARES = "Costs\n#      are the share of people that one passes, in %."
_LEARNED = "Costs\n#      are learned from histories where a remark says so: the rarer a change is made, the higher."


def draft_from(path: str | Path, outcome: str, *, propose: bool = False, histories: str | Path | None = None) -> str:
    """Draft a problem file from a table file.

    Parameters
    ----------
    path : str or Path
        A CSV (also compressed) or Parquet file.
    outcome : str
        The column with the decision.
    propose : bool, default=False
        Whether to propose functions with arguments and costs; by default, there are commented examples only.
    histories : str or Path, optional
        A table file with values of the same people before and after, from which costs are learned; see
        `counterplan.problem.histories.learn_costs`. Implies `propose`.

    Returns
    -------
    str
        The text of the problem file.

    Raises
    ------
    PeopleError
        If a table cannot be read, `outcome` is no column of it or not a decision, or there is nothing to propose.

    Examples
    --------
    >>> from counterplan import Problem, benchmarks
    >>> from counterplan.problem.draft import draft_from
    >>> benchmarks.load("german").train.to_csv("credit.csv", index=False)
    >>> text = draft_from("credit.csv", "risk", propose=True)
    >>> Problem.from_yaml(text)
    Problem('credit': 9 features, 12 functions, 47 actions)
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pd.errors.DtypeWarning)
        table = read_table(path)
    try:
        if not str(path).endswith((".parquet", ".pq")):
            table = _as_read_later(path, table, outcome)
        drafted = _Drafted.of(table, outcome, Path(path).name.split(".")[0] or "problem")
        drafted.propose(propose or histories is not None)
    except PeopleError as error:
        raise PeopleError(f"{path}: {error}") from None
    if histories is not None:
        read = read_histories(histories, drafted.problem())
        try:
            drafted.learn(read)
        except PeopleError as error:
            raise PeopleError(f"{histories}: {error}") from None
    return drafted.text()


def _as_read_later(path: str | Path, guessed: pd.DataFrame, outcome: str) -> pd.DataFrame:
    """The table as texts, except for columns of booleans and of numbers that pandas read losslessly."""
    names = list(guessed.columns)
    table = read_table(path, [Feature(name, i, "category", name) for i, name in enumerate(names)])
    for name in names:
        texts, column = table[name].dropna().unique(), guessed[name]
        if len(texts) and {*texts} <= {*_TRUTHS}:
            table[name] = table[name].map(_TRUTHS).astype(object)
            continue
        numeric = pd.api.types.is_numeric_dtype(column.dtype)
        if numeric and name != outcome and np.isinf(column.astype(float)).any():
            table[name] = column  # the reason to leave it out
            continue
        right = numeric and all(map(_NUMBER.fullmatch, texts))
        if right and name != outcome:
            right = bool(column.astype(float).abs().max() <= MAX_EXACT_INTEGER)
            if column.nunique() <= 2:  # a category if whole, whose values are read as they are written
                right = right and column.nunique() == len(texts) and all(map(_READS_BACK.fullmatch, texts))
                right = right and bool(column.astype(float).abs().max() < LARGEST_WHOLE)
        if right:
            table[name] = column
    return table


def draft(
    table: pd.DataFrame, outcome: str, name: str, *, propose: bool = False, histories: pd.DataFrame | None = None
) -> str:
    """Draft a problem file.

    Parameters
    ----------
    table : pandas.DataFrame
        One row per person.
    outcome : str
        The column with the decision.
    name : str
        The name of the problem.
    propose : bool, default=False
        Whether to propose functions with arguments and costs; by default, there are commented examples only.
    histories : pandas.DataFrame, optional
        Values of the same people before and after, from which costs are learned; see
        `counterplan.problem.histories.learn_costs`. Implies `propose`.

    Returns
    -------
    str
        The text of the problem file.

    Raises
    ------
    PeopleError
        If `outcome` is no column of the table or not a decision, no column can be a feature, there is nothing to
        propose, or the histories do not match the proposal.

    Examples
    --------
    >>> import pandas as pd
    >>> from counterplan import Problem
    >>> from counterplan.problem.draft import draft
    >>> people = pd.DataFrame({
    ...     "savings": ["low", "high", "high"] * 20,
    ...     "loan": ["refused", "granted", "refused"] * 20,
    ... })
    >>> problem = Problem.from_yaml(draft(people, "loan", "loans", propose=True))
    >>> [str(action) for action in problem.transitions.actions]
    ['RAISE_SAVINGS=low', 'RAISE_SAVINGS=high', 'STOP']
    """
    drafted = _Drafted.of(table, outcome, name)
    drafted.propose(propose or histories is not None)
    if histories is not None:
        drafted.learn(histories)
    return drafted.text()


class _Drafted:
    """The parts of a drafted problem file."""

    def __init__(self, name: str, outcome: list[str], table: pd.DataFrame, decisions: pd.Series[Any]) -> None:
        self.name = name
        self.outcome = outcome
        self.table = table
        self.decisions = decisions
        self.features: list[FeatureDraft] = []
        self.left_out: list[str] = []
        self.proposal: Proposal | None = None
        self.costs: LearnedCosts | None = None

    @classmethod
    def of(cls, table: pd.DataFrame, outcome: str, name: str) -> _Drafted:
        """Infer outcome and features from a table."""
        columns = {str(column): table.iloc[:, i] for i, column in enumerate(table.columns)}
        if len(columns) < len(table.columns):
            twice = [column for column, count in Counter(map(str, table.columns)).items() if count > 1]
            raise PeopleError(f"the table has more than one column called {listed(map(repr, twice))}")
        if outcome not in columns:
            hint = did_you_mean(outcome, columns) or f"; there are {listed(columns)}"
            raise PeopleError(f"there is no column '{outcome}' for the outcome{hint}")
        decisions = columns.pop(outcome)
        name = yaml_scalar(name.encode(errors="replace").decode())
        drafted = cls(name, _outcome_lines(outcome, decisions), pd.DataFrame(columns), decisions)
        room = LARGEST_DRAFT
        for feature, column in columns.items():
            draft = infer_feature(feature, column)
            if isinstance(draft, FeatureDraft):
                room -= len("\n".join(draft.lines()).encode())
                if room > 0 and len(drafted.features) < limits.MAX_FEATURES:
                    drafted.features.append(draft)
                    continue
                full = f"a problem has at most {limits.MAX_FEATURES:,} features"
                draft = "the file would become too long" if room <= 0 else full
            drafted.left_out.append(f"{shortened(feature)}: {draft}")
        if not drafted.features:
            reasons = listed(drafted.left_out) or "there is none but the outcome"
            raise PeopleError(f"no column can be a feature ({reasons})")
        return drafted

    def propose(self, wanted: bool) -> None:
        """Guess the order of categories and propose functions, if they are `wanted`."""
        if not wanted:
            return
        problem = self.problem()
        columns = [feature.name for feature in problem.features]
        states = read_people(problem.features, self.table[columns]).states
        for index, draft in enumerate(self.features):
            states[np.isin(states[:, index], draft.absent_states), index] = np.nan
        by_count = numbers_by_count(self.features)
        for index, draft in enumerate(self.features):
            same = [(self.features[other].name, states[:, other]) for other in by_count.get(len(draft.values), ())]
            self.features[index] = _guessed(draft, states[:, index], same)
            new = [self.features[index].values.index(value) for value in draft.values]
            known = ~np.isnan(states[:, index])
            if new:
                states[known, index] = np.array(new, float)[states[known, index].astype(np.intp)]
        self.proposal = propose(self.features, states, _favourable_decisions(problem, self.decisions))

    def problem(self) -> Problem:
        """The problem that the draft defines so far."""
        return Problem.from_yaml(self.text(), "draft")

    def learn(self, histories: pd.DataFrame) -> None:
        """Replace the costs of the proposal by those learned from `histories`."""
        absent = {draft.name: draft.codes_of_missing for draft in self.features if draft.absent}
        self.costs = learn_costs(self.problem(), histories, absent)

    def text(self) -> str:
        """The text of the file."""
        header, more = _HEADER, {}
        if self.proposal is not None:
            header = _PROPOSAL_HEADER
            more = {"steps": self.proposal.max_actions, "costs": _SHARES if self.costs is None else _LEARNED}
        lines = header.format(rows=len(self.table), name=self.name, **more).splitlines()
        lines += ["", "outcome:", *self.outcome, "", "features:"]
        lines += [line for feature in self.features for line in feature.lines()]
        if self.left_out:
            shown = self.left_out[:MOST_VALUES]
            if len(shown) < len(self.left_out):
                shown.append(f"… and {len(self.left_out) - len(shown):,} more")
            lines += ["", "# Columns left out:", *(f"#   {line}" for line in shown)]
        if self.proposal is None:
            return "\n".join([*lines, "", *_examples(self.features), ""])
        notes = []
        if self.costs is not None:
            notes = [f"Costs are learned from the histories of {self.costs.people:,} people, with intervals."]
            if self.costs.unmatched:
                notes.append(f"Changes that no action explains, which were left out: {self.costs.unmatched:,}.")
        return "\n".join([*lines, "", *self.proposal.lines(self._learned(self.proposal), notes), ""])

    def _learned(self, proposal: Proposal) -> list[list[tuple[float, str]] | None] | None:
        """The learned costs of each function with remarks, one for each argument; None where nothing was learned."""
        if self.costs is None:
            return None
        result: list[list[tuple[float, str]] | None] = []
        first = 0
        for function in proposal.functions:
            actions = slice(first, first := first + len(function.arguments))
            learned = self.costs.learned[actions]
            pairs = zip(remarks(self.costs, actions), function.costs, learned, strict=True)
            guessed = "guess: nobody in the histories could"
            result.append(
                [pair if known else (cost, guessed) for pair, cost, known in pairs] if learned.any() else None
            )
        return result


def _guessed(draft: FeatureDraft, column: Floats, numbers: Sequence[tuple[str, Floats]]) -> FeatureDraft:
    """`draft` with the least value of counts, or its values in the likely order.

    Values are ordered by their words, or by one of `numbers` that belongs to each. `column` [B] has the indices of the
    values, and `numbers` are names and columns [B].
    """
    if draft.numbers is not None:
        return replace(draft, not_negative=draft.counts and bool((draft.numbers >= 0).all()))
    if len(draft.values) < 2 or draft.codes:
        return draft
    order = guess_order(draft.values)
    if order is not None:
        return replace(draft, values=order.values, order=order.reason)
    for name, other in numbers:
        table = number_of_values(len(draft.values), column, other)
        if table is not None:
            values = [draft.values[value] for value in np.argsort(table)]
            reason = f"the order of {shortened(name)}, which is the same for all people with a value"
            return replace(draft, values=values, order=reason)
    return draft


def _favourable_decisions(problem: Problem, decisions: pd.Series[Any]) -> Floats:
    """Whether each decision is favourable [B]: 1 or 0, NaN if it is missing."""
    score = problem.outcome.score
    known = decisions.notna().to_numpy()
    result = np.full(len(decisions), np.nan)
    if score is not None:
        numbers = decisions[known].astype(float).to_numpy()
        result[known] = numbers <= score.limit if score.at_most else numbers >= score.limit
    else:
        result[known] = [text_of(value) in problem.outcome.favourable for value in decisions[known]]
    return result


def _outcome_lines(name: str, column: pd.Series[Any]) -> list[str]:
    known = column.dropna()
    counts = Counter(map(text_of, known))
    if len(counts) > MOST_OUTCOMES and all(map(is_number, known)) and is_writable(name):
        middle = number_text(float(known.astype(float).median()))
        check = "# check: the scores that people hope for; or at_most. This is the median"
        return [f"  column: {yaml_scalar(name)}", f"  favourable: {{at_least: {middle}}}  {check}"]
    if not 2 <= len(counts) <= MOST_OUTCOMES:
        content = f"{len(counts):,} different values, and a decision has at most {MOST_OUTCOMES}"
        content = content if len(counts) > 1 else f"only {shortened(*counts)}" if counts else "nothing"
        raise PeopleError(f"column '{name}' cannot be the outcome: it holds {content}")
    if not all(isinstance(value, SCALARS) for value in known) or not all(map(is_writable, [name, *counts])):
        raise PeopleError(
            f"column {shortened(name)} cannot be the outcome: a text is too long, or it is no text at all"
        )
    values = sorted_values(counts)
    favourable = [yaml_scalar(value) for value in _favourable(name, values) or [min(values, key=counts.__getitem__)]]
    written = favourable[0] if len(favourable) == 1 else f"[{', '.join(favourable)}]"
    check = "# check: is this the outcome that people hope for?"
    return [f"  column: {yaml_scalar(name)}", *values_lines(values, "  "), f"  favourable: {written}  {check}"]


def _favourable(name: str, values: Sequence[str]) -> list[str]:
    """The favourable outcomes, inferred from words: positive ones, the negation of a negative `name`, or the other one
    of two if one is negative; empty if the words are not conclusive."""
    chosen = [value for value in values if NO.fullmatch(value)] if mentions(NEGATIVE, name) else []
    for value in values if not chosen else ():
        positive = mentions(POSITIVE, value) and not mentions(NOT, value)
        if positive or value.lstrip().startswith(">") or (value == "1" and len(values) == 2):
            chosen.append(value)
    negative = [value for value in values if mentions(NEGATIVE, value) and not mentions(NOT, value)]
    if not chosen and len(values) == 2 and len(negative) == 1:
        chosen = [value for value in values if value not in negative]
    return chosen if len(chosen) < len(values) else []


def _examples(drafts: Sequence[FeatureDraft]) -> list[str]:
    """Examples of functions and a cause, commented out, that are valid for this table."""
    free = [draft for draft in drafts if not draft.protected]
    category = next((draft for draft in free if len(draft.values) > 1), None)
    number = next((draft for draft in free if draft.numbers is not None), None)
    lines = ["# What people can do. Take away the # before an example and change it, or write your own.", "functions:"]
    if category is not None:
        lines += commented(
            f"CHANGE_{constant_case(category.name)}:",
            f"set: {yaml_scalar(category.name)}",
            "arguments: all",
            f"when: {yaml_scalar(f'argument != {name_in_condition(category.name)}')}",
            "cost: 10",
            f"phrase: {yaml_quoted(f'Change {plain_words(category.name)} from {{before}} to {{argument}}')}",
        )
    if number is not None and number.numbers is not None:
        low, high = float(number.numbers.min()), float(number.numbers.max())
        step = float(f"{(high - low) / 10:.0e}") or high - low
        step = max(step, 1.0) if number.integer else step
        lines += commented(
            f"RAISE_{constant_case(number.name)}:",
            f"add: {yaml_scalar(number.name)}",
            f"arguments: [{', '.join(number_text(float(f'{times * step:.2g}')) for times in (1, 2, 5))}]",
            f"when: {yaml_scalar(f'{name_in_condition(number.name)} + argument <= {number_text(high)}')}",
            "cost: {base: 10, surcharge: [0, 1, 2]}",
            f"phrase: {yaml_quoted(f'Raise {plain_words(number.name)} by {{amount}}')}",
        )
    target = category or number or next(iter(free), None)
    source = next((draft for draft in [number, *drafts] if draft is not None and draft is not target), None)
    if source is not None and target is not None:
        if source.numbers is None:
            scale = f"{{{yaml_scalar(source.values[0])}: 0.5}}"
        else:
            scale = f"[{{below: {number_text(float(np.median(source.numbers)))}, scale: 0.5}}, {{scale: 1}}]"
        lines += ["", "# What makes a change easier (below 1) or harder, by the values of another feature.", "causes:"]
        lines += commented(f"- from: {yaml_scalar(source.name)}", f"to: {yaml_scalar(target.name)}", f"scale: {scale}")
    return lines
