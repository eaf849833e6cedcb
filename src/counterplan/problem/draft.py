"""Draft a problem file from a table: features and outcome are inferred with comments, functions are examples."""

from __future__ import annotations

import datetime
import json
import re
import unicodedata
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from counterplan.errors import PeopleError
from counterplan.problem import limits
from counterplan.problem.conditions import Node
from counterplan.problem.encoding import quantile_cuts
from counterplan.problem.frames import MAX_EXACT_INTEGER
from counterplan.problem.parts import Feature
from counterplan.problem.scalars import scalar
from counterplan.problem.tables import read_table
from counterplan.problem.transitions import Floats
from counterplan.problem.values import did_you_mean, listed, text_of

MOST_VALUES = 50
MOST_OUTCOMES = 20
ENOUGH_ROWS = 20
"""From this many rows on, a column of distinct values is taken for an identifier."""
MOST_CODES = 15
"""Columns with more whole numbers than this are not taken for codes."""
LONGEST_TEXT = 1_000
"""The limit of YAML keys is slightly above."""
LARGEST_DRAFT = 500_000
"""Bytes of all features; a draft must be short enough for review."""

_SCALARS = (str, bool, np.bool_, int, float, np.integer, np.floating)
_NUMBER = re.compile(r" *[-+]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)? *")
_READS_BACK = re.compile(r" *[-+]?(0|[1-9][0-9]*)(\.[0-9]*)? *")
"""Numbers that are read as such from a CSV, also in a category."""
_TRUTHS = {word: word[0] in "tT" for word in ("true", "True", "TRUE", "false", "False", "FALSE")}
_PLAIN = re.compile(r"[-+.<]?\w([\w .+/<>=%€$()&'!`-]*[\w.+/<>=%€$)'`-])?")
_RANKED = re.compile(
    r"(?!\d+$)[<>≤≥]?=?\s*\d.*|(.*\W)?(low|little|small|few|poor|junior|never|rarely|medium|middle|moderate|average|some"
    r"|sometimes|high|large|big|many|rich|senior|often|always|primary|secondary|bachelors?|masters?|phd)(\W.*)?",
    re.IGNORECASE | re.DOTALL,
)
_PROTECTED = re.compile(
    "sex|gender|race|age|colou?r|skin|dob|orientation|sexuality|caste|married|native|foreign|alter|rasse|herkunft"
    "|konfession|familienstand|sexe|genre|couleur|handicap|enceinte|sexo|genero|edad|raza|sesso|genere|eta|razza|civile?"
    "|(ethni|etni|racial|nationalit|citizen|birth|religi|disab|marital|pregnan|maternity|geschlecht|staatsang|geburt"
    "|behinder|schwanger|naissance|matrimonial|nacionalid|nacimiento|discapac|embaraz|nazionalit|cittadin|nascita).*"
)
_CODED = re.compile(
    "codes?|types?|kind|class|categor.*|group|status|edu|educ(ation)?|school(ing)?|degree|marriage|job|occupation|employment"
    "|employer|industry|sector|housing|house|purpose|property|product|channel|reason|region|state|area|country|branch"
    "|department|district|city|beruf|bildung|wohnen|zweck|branche|land|emploi|logement|educacion|empleo|vivienda"
)
"""Words in the names of columns whose whole numbers are codes; protected ones are, too, unless they are ages."""
_COUNTED = re.compile(
    "ages?|alter|eta|edad|count|number|num|n|nr|no|times|amount|amt|sum|total|years?|months?|weeks?|days?|hours?|since"
    "|duration|age|size|rate|score|points|anzahl|jahre|monate|dob|birth.*|geburt.*"
)
_MISSING_CODES = (-7.0, -8.0, -9.0, -77.0, -88.0, -99.0, -777.0, -888.0, -999.0, -9999.0, 999.0, 9999.0, 99999.0)
_MONTH = "(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_TIME = r"([ T][0-9]{1,2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?( ?(Z|UTC|[-+][0-9]{2}:?[0-9]{2}))?)?"
_DATE = re.compile(
    rf"((19|20)[0-9]{{2}}([-/.])[0-9]{{1,2}}\3[0-9]{{1,2}}|[0-9]{{1,2}}([-/.])[0-9]{{1,2}}\4([0-9]{{2}}|[0-9]{{4}})){_TIME}"
    rf"|(19|20)[0-9]{{2}}-(0[1-9]|1[0-2])|([0-9]{{1,2}}[- ])?{_MONTH},?[- ]([0-9]{{1,2}},? )?([0-9]{{2}}|[0-9]{{4}})",
    re.IGNORECASE,
)
_DATED = re.compile("dates?|datum|fecha|data|day|tag|jour|since|dob|birth.*|geburt.*")
_IDENTIFIER = re.compile("ids?|uuid|guid|key|index|unnamed")
_POSITIVE = re.compile(
    "good|yes|y|true|approv(ed?|al)|grant(ed)?|accept(ed)?|hired?|(re)?paid|favou?rable|positive|pass(ed)?|eligible"
    "|admit(ted)?|success(ful)?|qualified|offer(ed)?|gut|ja|genehmigt|bewilligt|bon|oui|accepte|accorde|bueno|si"
    "|aprobado|concedido|buono|approvato|concesso"
)
_NEGATIVE = re.compile(
    "default(ed)?|bad|refus(ed?|al)?|reject(ed)?|den(y|ied|ial)|declined?|churn(ed)?|fraud|delinquen(t|cy)|arrears"
    "|recid(ivism|ivist)?|dropout|fired|ausfall|abgelehnt|rechazado|rifiutato"
)
_NOT = re.compile("not|no|non|never|nicht|kein|pas")
_NO = re.compile("0|no|n|false|nein|non", re.IGNORECASE)
_HEADER = """\
# A first draft, guessed from a table of {rows:,} people. What to do next:
#   1. Read it through: the outcome, what kind each feature is, its values (sorted), what is protected.
#   2. Choose the functions: what people can do, when, and with how much effort. There are examples at the end.
#   3. Run `counterplan check` on this file until it is content; then plan with `counterplan recommend`.
counterplan: 1
name: {name}
max_actions: 4  # the longest plan
"""


def draft_from(path: str | Path, outcome: str) -> str:
    """Draft a problem file from a table file.

    Parameters
    ----------
    path : str or Path
        A CSV (also compressed) or Parquet file.
    outcome : str
        The column with the decision.

    Returns
    -------
    str
        The text of the problem file.

    Raises
    ------
    PeopleError
        If the table cannot be read, or `outcome` is no column of it or not a decision.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pd.errors.DtypeWarning)
        table = read_table(path)
    try:
        if not str(path).endswith((".parquet", ".pq")):
            if not table.index.equals(pd.RangeIndex(len(table))):  # pandas used the first cells as an index
                raise PeopleError("its rows have more cells than its first line has names")
            table = _as_read_later(path, table, outcome)
        return draft(table, outcome, Path(path).name.split(".")[0] or "problem")
    except PeopleError as error:
        raise PeopleError(f"{path}: {error}") from None


def _as_read_later(path: str | Path, guessed: pd.DataFrame, outcome: str) -> pd.DataFrame:
    """The table as texts, except for columns of booleans and of numbers that pandas read losslessly."""
    names = list(guessed.columns)
    table = read_table(path, [Feature(name, i, "category", name) for i, name in enumerate(names)])
    for name in names:
        texts, column = table[name].dropna().unique(), guessed[name]
        if len(texts) and {*texts} <= {*_TRUTHS}:
            table[name] = table[name].map(_TRUTHS).astype(object)
            continue
        right = pd.api.types.is_numeric_dtype(column.dtype) and all(map(_NUMBER.fullmatch, texts))
        if right and name != outcome:
            right = bool(column.astype(float).abs().max() <= MAX_EXACT_INTEGER)
            if column.nunique() <= 2:  # a category if whole, whose values are read as they are written
                right = right and column.nunique() == len(texts) and all(map(_READS_BACK.fullmatch, texts))
        if right:
            table[name] = column
    return table


def draft(table: pd.DataFrame, outcome: str, name: str) -> str:
    """Draft a problem file.

    Parameters
    ----------
    table : pandas.DataFrame
        One row per person.
    outcome : str
        The column with the decision.
    name : str
        The name of the problem.

    Returns
    -------
    str
        The text of the problem file.

    Raises
    ------
    PeopleError
        If `outcome` is no column of the table or not a decision, or no column can be a feature.
    """
    columns = {str(column): table.iloc[:, i] for i, column in enumerate(table.columns)}
    if len(columns) < len(table.columns):
        twice = [column for column, count in Counter(map(str, table.columns)).items() if count > 1]
        raise PeopleError(f"the table has more than one column called {listed(map(repr, twice))}")
    if outcome not in columns:
        hint = did_you_mean(outcome, columns) or f"; there are {listed(columns)}"
        raise PeopleError(f"there is no column '{outcome}' for the outcome{hint}")
    lines = _HEADER.format(rows=len(table), name=_scalar(name.encode(errors="replace").decode())).splitlines()
    lines += ["", "outcome:", *_outcome_lines(outcome, columns.pop(outcome)), "", "features:"]
    drafts: list[_Draft] = []
    left_out: list[str] = []
    room = LARGEST_DRAFT
    for feature, column in columns.items():
        draft = _draft(feature, column)
        if isinstance(draft, _Draft):
            written = draft.lines()
            room -= len("\n".join(written).encode())
            if room > 0 and len(drafts) < limits.MAX_FEATURES:
                drafts.append(draft)
                lines += written
                continue
            full = f"a problem has at most {limits.MAX_FEATURES:,} features"
            draft = "the file would become too long" if room <= 0 else full
        left_out.append(f"{_short(feature)}: {draft}")
    if not drafts:
        raise PeopleError(f"no column can be a feature ({listed(left_out) or 'there is none but the outcome'})")
    if len(left_out) > MOST_VALUES:
        left_out[MOST_VALUES:] = [f"… and {len(left_out) - MOST_VALUES:,} more"]
    if left_out:
        lines += ["", "# Columns left out:", *(f"#   {line}" for line in left_out)]
    return "\n".join([*lines, "", *_examples(drafts), ""])


def _outcome_lines(name: str, column: pd.Series[Any]) -> list[str]:
    known = column.dropna()
    counts = Counter(map(text_of, known))
    if len(counts) > MOST_OUTCOMES and all(map(_is_number, known)) and _writable(name):
        middle = _number(float(known.astype(float).median()))
        check = "# check: the scores that people hope for; or at_most. This is the median"
        return [f"  column: {_scalar(name)}", f"  favourable: {{at_least: {middle}}}  {check}"]
    if not 2 <= len(counts) <= MOST_OUTCOMES:
        content = f"{len(counts):,} different values, and a decision has at most {MOST_OUTCOMES}"
        content = content if len(counts) > 1 else f"only {_short(*counts)}" if counts else "nothing"
        raise PeopleError(f"column '{name}' cannot be the outcome: it holds {content}")
    if not all(isinstance(value, _SCALARS) for value in known) or not all(map(_writable, [name, *counts])):
        raise PeopleError(f"column {_short(name)} cannot be the outcome: a text is too long, or it is no text at all")
    values = _sorted(counts)
    favourable = [_scalar(value) for value in _favourable(name, values) or [min(values, key=counts.__getitem__)]]
    written = favourable[0] if len(favourable) == 1 else f"[{', '.join(favourable)}]"
    check = "# check: is this the outcome that people hope for?"
    return [f"  column: {_scalar(name)}", *_values_lines(values, "  "), f"  favourable: {written}  {check}"]


def _favourable(name: str, values: Sequence[str]) -> list[str]:
    """The favourable outcomes, inferred from words: positive ones, the negation of a negative `name`, or the other one
    of two if one is negative; empty if the words are not conclusive."""
    chosen = [value for value in values if _NO.fullmatch(value)] if _mentions(_NEGATIVE, name) else []
    for value in values if not chosen else ():
        positive = _mentions(_POSITIVE, value) and not _mentions(_NOT, value)
        if positive or value.lstrip().startswith(">") or (value == "1" and len(values) == 2):
            chosen.append(value)
    negative = [value for value in values if _mentions(_NEGATIVE, value) and not _mentions(_NOT, value)]
    if not chosen and len(values) == 2 and len(negative) == 1:
        chosen = [value for value in values if value not in negative]
    return chosen if len(chosen) < len(values) else []


@dataclass(frozen=True)
class _Draft:
    """A feature inferred from a column: a number if it has `numbers`, otherwise a category."""

    name: str
    values: Sequence[str] = ()
    numbers: Floats | None = None
    integer: bool = False
    empty: int = 0
    codes: bool = False
    """Whether the values are whole numbers that are likely codes."""
    absent: Sequence[tuple[float, int]] = ()
    """Numbers that are likely codes of missing values, and how many people have each."""

    @property
    def protected(self) -> bool:
        return looks_protected(self.name)

    def lines(self) -> list[str]:
        lines = [f"  {_scalar(self.name)}:"]
        if self.numbers is not None:
            few = np.unique(self.numbers)
            hint = f"; kind: category with values: [{', '.join(map(_number, few))}], if they are codes"
            hint = hint if self.integer and _few_and_frequent(self.numbers) else ""
            seen = f"seen: {_number(few[0])} to {_number(few[-1])}"
            lines.append(f"    kind: number  # {seen}{hint}")
            lines += ["    integer: true"] * self.integer
            lines.append(
                f"    bins: [{', '.join(['-.inf', *map(_number, quantile_cuts(self.numbers, self.integer)[1:])])}]"
            )
        else:
            ranked = len(self.values) > 2 and len([value for value in self.values if _RANKED.fullmatch(value)]) > 1
            hint = "  # ordered, if rank matters; then list the lowest first" if ranked else ""
            hint = "  # the only value seen" if len(self.values) == 1 else hint
            hint = "  # whole numbers, likely codes; if they are amounts: kind: number" if self.codes else hint
            lines += [f"    kind: category{hint}", *_values_lines(self.values, "    ")]
        lines += ["    protected: true  # check: is it something by which nobody may be treated?"] * self.protected
        lines += [f"    missing: true  # {self.empty:,} empty"] * (self.empty > 0)
        if self.absent:
            codes = ", ".join(f"{_number(code)} ({count:,} people)" for code, count in self.absent)
            lines.append(f"    # likely codes of missing values: {codes}; empty these cells, and allow missing: true")
        return lines


def _draft(name: str, column: pd.Series[Any]) -> _Draft | str:
    """The feature inferred from a column, or the reason to leave it out."""
    if not name.strip() or "`" in name or name == "argument" or not _writable(name):
        return "no feature can have this name; rename the column to use it"
    known = column.dropna()
    try:
        seen = list(known.unique())
    except TypeError:  # lists and the like are not hashable
        seen = [known.iloc[0]]
    if not seen:
        return "it is empty"
    types = [type(value).__name__ for value in seen if not isinstance(value, _SCALARS)]
    if _are_dates(name, seen):
        return "dates; to use them, add a number to the table, such as the days since then"
    if types:
        return f"it holds {types[0]} values, neither texts nor numbers"
    empty, unique = len(column) - len(known), len(seen) == len(known) > 1
    identifier = unique and _mentions(_IDENTIFIER, name)
    numeric = all(map(_is_number, seen))
    if numeric and len(seen) == 1 and not float(seen[0]).is_integer():
        return "the same number for everybody"
    if numeric and (len(seen) > 2 or not all(float(value).is_integer() for value in seen)):
        numbers = known.to_numpy(dtype=float)
        absent = _missing_codes(numbers)
        numbers = numbers[~np.isin(numbers, [code for code, _ in absent])]
        integer = bool((numbers == np.round(numbers)).all())
        counts_up = len(numbers) >= ENOUGH_ROWS and bool((np.diff(numbers) == 1).all())
        if counts_up or (identifier and integer):
            return "a different number for everybody, like an identifier"
        if integer and _few_and_frequent(numbers) and _holds_codes(name):
            values = [_number(number) for number in np.unique(known.to_numpy(dtype=float))]
            return _Draft(name, values, empty=empty, codes=True, absent=absent)
        return _Draft(name, numbers=numbers, integer=integer, empty=empty, absent=absent)
    if identifier or (unique and len(seen) >= ENOUGH_ROWS):
        return "a different value for everybody, like an identifier"
    values = _sorted(set(map(text_of, seen)))
    if len(values) > MOST_VALUES:
        return f"{len(values):,} different texts, too many for a category"
    if not all(map(_writable, values)):
        return "a text in it is too long, or not valid"
    return _Draft(name, values, empty=empty)


def _few_and_frequent(numbers: Floats) -> bool:
    """Whether numbers are few different ones, each of which many people have."""
    few = np.unique(numbers)
    return 2 < len(few) <= MOST_CODES and len(numbers) >= max(ENOUGH_ROWS, 5 * len(few))


def _holds_codes(name: str) -> bool:
    """Whether the whole numbers in a column of this name are likely codes rather than amounts."""
    return (_mentions(_CODED, name) or looks_protected(name)) and not _mentions(_COUNTED, name)


def _missing_codes(numbers: Floats) -> list[tuple[float, int]]:
    """Numbers that are likely codes of missing values, with their counts.

    Negative ones are if no other number is negative, large ones if they are further from the smaller numbers than these
    are from each other.
    """
    codes = [code for code in _MISSING_CODES if (numbers == code).sum() > 1]
    negative = numbers[numbers < 0]
    found = [code for code in codes if code < 0] if np.isin(negative, codes).all() else []
    for code in (code for code in codes if code > 0):
        smaller = numbers[(numbers >= 0) & (numbers < code)]
        if len(np.unique(smaller)) > 1 and (numbers <= code).all() and code - smaller.max() > np.ptp(smaller):
            found.append(code)
    others = numbers[~np.isin(numbers, found)]
    return [(code, int((numbers == code).sum())) for code in sorted(found)] if len(np.unique(others)) > 1 else []


def _are_dates(name: str, seen: Sequence[Any]) -> bool:
    if all(isinstance(value, (datetime.date, np.datetime64)) for value in seen):  # a Timestamp is one, too
        return True
    if all(isinstance(value, str) for value in seen):
        return all(_DATE.fullmatch(value.strip()) for value in seen)
    if not _mentions(_DATED, name) or not all(map(_is_number, seen)):
        return False
    return len(seen) > 2 and all(re.fullmatch("(19|20)[0-9]{2}(0[1-9]|1[0-2])[0-3][0-9]", _number(v)) for v in seen)


def _is_number(value: Any) -> bool:
    if isinstance(value, (bool, str, np.bool_)):
        return False
    return abs(value if isinstance(value, int) else float(value)) <= MAX_EXACT_INTEGER


def _examples(drafts: Sequence[_Draft]) -> list[str]:
    """Examples of functions and a cause, commented out, that are valid for this table."""
    free = sorted(drafts, key=lambda draft: draft.protected)
    category = next((draft for draft in free if len(draft.values) > 1), None)
    number = next((draft for draft in free if draft.numbers is not None), None)
    lines = ["# What people can do. Take away the # before an example and change it, or write your own.", "functions:"]
    if category is not None:
        lines += _commented(
            f"CHANGE_{constant_case(category.name)}:",
            f"set: {_scalar(category.name)}",
            "arguments: all",
            f"when: {_scalar(f'argument != {_in_condition(category.name)}')}",
            "cost: 10",
            f"phrase: {_quoted(f'Change {_words(category.name)} from {{before}} to {{argument}}')}",
        )
    if number is not None and number.numbers is not None:
        low, high = float(number.numbers.min()), float(number.numbers.max())
        step = float(f"{(high - low) / 10:.0e}") or high - low
        step = max(step, 1.0) if number.integer else step
        lines += _commented(
            f"RAISE_{constant_case(number.name)}:",
            f"add: {_scalar(number.name)}",
            f"arguments: [{', '.join(_number(float(f'{times * step:.2g}')) for times in (1, 2, 5))}]",
            f"when: {_scalar(f'{_in_condition(number.name)} + argument <= {_number(high)}')}",
            "cost: {base: 10, surcharge: [0, 1, 2]}",
            f"phrase: {_quoted(f'Raise {_words(number.name)} by {{amount}}')}",
        )
    target = category or number or drafts[0]
    source = next((draft for draft in [number, *drafts] if draft is not None and draft is not target), None)
    if source is not None:
        if source.numbers is None:
            scale = f"{{{_scalar(source.values[0])}: 0.5}}"
        else:
            scale = f"[{{below: {_number(float(np.median(source.numbers)))}, scale: 0.5}}, {{scale: 1}}]"
        lines += ["", "# What makes a change easier (below 1) or harder, by the values of another feature.", "causes:"]
        lines += _commented(f"- from: {_scalar(source.name)}", f"to: {_scalar(target.name)}", f"scale: {scale}")
    return lines


def _commented(first: str, *more: str) -> list[str]:
    return [f"  # {first}", *(f"  #   {line}" for line in more)]


def looks_protected(name: str) -> bool:
    """Whether a word in the name of a column says that it is a protected attribute, such as sex, age or race."""
    return _mentions(_PROTECTED, name)


def _mentions(pattern: re.Pattern[str], text: str) -> bool:
    """Whether a word of `text`, in lower case without accents, matches `pattern`."""
    spaced = unicodedata.normalize("NFKD", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)).casefold()
    letters = "".join(letter for letter in spaced if not unicodedata.combining(letter))
    return any(map(pattern.fullmatch, re.findall(r"[^\W\d_]+", letters)))


def _sorted(values: Iterable[str]) -> list[str]:
    """Sort numbers by size, then texts alphabetically."""
    texts = sorted(values)
    numbers = [text for text in texts if re.fullmatch(r"-?[0-9]{1,300}(\.[0-9]+)?", text)]
    return sorted(numbers, key=float) + [text for text in texts if text not in numbers]


def _values_lines(values: Sequence[str], indent: str) -> list[str]:
    written = [_scalar(value) for value in values]
    line = f"{indent}values: [{', '.join(written)}]"
    return [line] if len(line) <= 100 else [f"{indent}values:", *(f"{indent}  - {value}" for value in written)]


def _number(number: float) -> str:
    return str(int(number)) if float(number).is_integer() else repr(float(number))


def _scalar(text: str) -> str:
    """Write `text` in YAML: plain if that reads back the same, otherwise in double quotes."""
    return text if _PLAIN.fullmatch(text) and text.isprintable() and text_of(scalar(text)) == text else _quoted(text)


def _quoted(text: str) -> str:
    codes = [(letter, ord(letter)) for letter in json.dumps(text, ensure_ascii=False)]
    return "".join(c if c.isprintable() else f"\\u{n:04x}" if n < 0x10000 else f"\\U{n:08x}" for c, n in codes)


def _writable(text: str) -> bool:
    return len(_scalar(text)) <= LONGEST_TEXT and not re.search("[\ud800-\udfff]", text)


def _short(text: str) -> str:
    return _scalar(text if len(text) <= 60 else text[:59] + "…")


def _in_condition(name: str) -> str:
    return str(Node("name", (name,)))


def constant_case(name: str) -> str:
    """The name of a feature as part of a function's name: `hours per week` as `HOURS_PER_WEEK`."""
    return re.sub(r"\W+", "_", name).strip("_").upper()[:40] or "IT"


def _words(name: str) -> str:
    return re.sub(r"[\s_{}]+", " ", name).strip() or "it"
