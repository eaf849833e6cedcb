"""`RelaxationReport`: which relaxations give recourse to how many of the people who have none."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from counterplan.audit.intervals import share_interval
from counterplan.audit.relaxation_kinds import Relaxation, SkippedRelaxation
from counterplan.audit.relaxation_reach import HELPED, NOT_HELPED, UNKNOWN
from counterplan.errors import SettingError
from counterplan.plans import PlanColumns, Plans, Status
from counterplan.problem import People
from counterplan.problem.transitions import Bools, Ints
from counterplan.problem.values import count, did_you_mean

OUTCOMES = {UNKNOWN: "unknown", NOT_HELPED: "not helped", HELPED: "helped"}
"""The outcome of a relaxation for a person, by its code."""
COLUMNS = ("kind", "relaxation", "description", "people", "helped", "share", "low", "high", "unknown")


@dataclass(frozen=True)
class RelaxationReport:
    """Which relaxations give recourse to how many of the people who have none.

    Attributes
    ----------
    relaxations : list of Relaxation
        The relaxations, in the order in which they were tried.
    people : People
        The people without recourse who were examined.
    outcomes : int array of shape [B, R]
        1 if a plan was found in the relaxed problem and the black box confirmed its end, 0 if it is proved that there
        is none, -1 if neither is known, because of a limit.
    actions : list of int array of shape [B, T]
        For each relaxation, the plans that it makes possible, by action of the relaxed problem.
    stuck : int
        The number of people without recourse; more than were examined if these are a sample.
    skipped : list of SkippedRelaxation
        What was not relaxed, and why.
    queries : int
        Rows sent to the black box.
    unproved : int
        The number of refused people with neither a plan nor a proof that there is none, because exact search ended at a
        limit. They are not examined.
    """

    relaxations: list[Relaxation]
    people: People = field(repr=False)
    outcomes: Ints = field(repr=False)
    actions: list[Ints] = field(repr=False)
    stuck: int
    skipped: list[SkippedRelaxation] = field(repr=False, default_factory=list)
    queries: int = 0
    unproved: int = 0

    @property
    def is_sample(self) -> bool:
        """Whether only some of the people without recourse were examined."""
        return len(self.people) < self.stuck

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row for each relaxation, those that help most people first.

        The columns are `kind`, `relaxation` (its name), `description`, `people` (examined), `helped`, `share` of them,
        `low` and `high`, and `unknown`. `low` and `high` bound the share that the relaxation helps among all people
        without recourse: people whose outcome is unknown may be helped or not, and if the examined people are a sample,
        the bounds are those of 95 % intervals.
        """
        rows = []
        examined = len(self.people)
        for number, relaxation in enumerate(self.relaxations):
            helped, unknown = (int((self.outcomes[:, number] == code).sum()) for code in (HELPED, UNKNOWN))
            share = helped / examined if examined else np.nan
            low, high = share, (helped + unknown) / examined if examined else np.nan
            if self.is_sample:
                low = float(share_interval(helped, examined)[0])
                high = float(share_interval(helped + unknown, examined)[1])
            named = (relaxation.kind, relaxation.name, relaxation.description)
            rows.append((*named, examined, helped, share, low, high, unknown))
        table = pd.DataFrame(rows, columns=list(COLUMNS))
        return table.sort_values("helped", ascending=False, kind="stable", ignore_index=True)

    @cached_property
    def by_person(self) -> pd.DataFrame:
        """Whether [B, R] each relaxation is known to help each person."""
        return pd.DataFrame(self.outcomes == HELPED, self.people.table.index, self._names)

    @cached_property
    def outcome_by_person(self) -> pd.DataFrame:
        """The outcome [B, R] of each relaxation for each person: "helped", "not helped" or "unknown"."""
        words = np.array([OUTCOMES[code] for code in (0, 1, -1)], object)
        return pd.DataFrame(words[self.outcomes], self.people.table.index, self._names)

    @cached_property
    def best(self) -> pd.DataFrame:
        """Relaxations that together help everybody helped by any of them, chosen one after the other.

        Each is the one that helps most of the people not helped by those before it. The columns are `relaxation`,
        `description`, `helped`, the number of people that it adds, `in_all`, and `share` of all people examined. Each
        is a relaxation by itself: two of them at once may help more people than these.
        """
        helped, rows = self.outcomes == HELPED, []
        left = np.ones(len(self.people), bool)
        while len(self.relaxations) and (gain := helped[left].sum(axis=0)).any():
            number = int(gain.argmax())
            left &= ~helped[:, number]
            in_all = int((~left).sum())
            one = self.relaxations[number]
            rows.append((one.name, one.description, int(gain[number]), in_all, in_all / len(self.people)))
        return pd.DataFrame(rows, columns=["relaxation", "description", "helped", "in_all", "share"])

    @cached_property
    def helped_by_none(self) -> pd.Index[Any]:
        """The labels of the people who are proved to be helped by none of the relaxations."""
        return self._labels((self.outcomes == NOT_HELPED).all(axis=1))

    @cached_property
    def undecided(self) -> pd.Index[Any]:
        """The labels of the people with some unknown outcome who are not known to be helped by any relaxation."""
        return self._labels(~(self.outcomes == HELPED).any(axis=1) & (self.outcomes == UNKNOWN).any(axis=1))

    def _labels(self, mask: Bools) -> pd.Index[Any]:
        labels: pd.Index[Any] = self.people.table.index[mask]
        return labels

    def plans(self, name: str) -> Plans:
        """The plans that a relaxation makes possible.

        Parameters
        ----------
        name : str
            The name of a relaxation.

        Returns
        -------
        Plans
            One plan for each person helped by the relaxation: a plan of the relaxed problem with the fewest actions,
            verified by the black box. It need not be the cheapest one.

        Raises
        ------
        SettingError
            If there is no relaxation of this name.
        """
        if name not in self._names:
            raise SettingError(f"there is no relaxation '{name}'{did_you_mean(name, self._names)}")
        number = self._names.index(name)
        rows = np.flatnonzero(self.outcomes[:, number] == HELPED)
        columns = PlanColumns.empty(len(rows), self.actions[number].shape[1])
        columns.actions[:] = self.actions[number][rows]
        columns.status = [Status.FOUND] * len(rows)
        columns.verified[:] = True
        return Plans.from_columns(self.relaxations[number].problem, self.people.take(rows), columns)

    @cached_property
    def _names(self) -> list[str]:
        return [relaxation.name for relaxation in self.relaxations]

    def to_text(self, most: int = 10, min_group: int = 10) -> str:
        """Describe the report in lines of text.

        Parameters
        ----------
        most : int, default=10
            Most relaxations that are listed; those that help nobody are counted only.
        min_group : int, default=10
            Fewest people that shares are shown for; of fewer, the text has counts only.

        Returns
        -------
        str
            Several lines of plain text.
        """
        return "\n".join(relaxation_lines(without_small_shares(self.to_dict(), min_group), most))

    def to_dict(self) -> dict[str, Any]:
        """Serialize the report to plain data, without the people."""
        rows = self.table.to_dict("records")
        return {
            "stuck": self.stuck,
            "examined": len(self.people),
            "unproved": self.unproved,
            "queries": self.queries,
            "relaxations": [{key: None if pd.isna(value) else value for key, value in row.items()} for row in rows],
            "best": self.best.to_dict("records"),
            "helped_by_none": len(self.helped_by_none),
            "undecided": len(self.undecided),
            "skipped": [{"kind": one.kind, "name": one.name, "reason": one.reason} for one in self.skipped],
        }


def helped_by_none_text(none: int, undecided: int, people: int) -> str:
    """A sentence about the people that no relaxation helps, of those examined."""
    unknown = f"; undecided: {undecided:,}" if undecided else ""
    if none:
        return f"{none:,} of {count(people, 'person is', 'people are')} helped by none of them{unknown}."
    return f"{count(people - undecided, 'person is', 'people are')} helped by at least one of them{unknown}."


def without_small_shares(data: dict[str, Any], min_group: int) -> dict[str, Any]:
    """`RelaxationReport.to_dict` without shares and their bounds if fewer than `min_group` people were examined."""
    if data["examined"] >= min_group:
        return data
    hidden: dict[str, Any] = {"share": None, "low": None, "high": None}
    best = [row | {"share": None} for row in data["best"]]
    return data | {"relaxations": [row | hidden for row in data["relaxations"]], "best": best}


def relaxation_lines(data: dict[str, Any], most: int) -> list[str]:
    """Lines of text about `RelaxationReport.to_dict`, with at most so many relaxations."""
    stuck, examined, rows = data["stuck"], data["examined"], data["relaxations"]
    unproved = [f"Neither a plan nor a proof: {data['unproved']:,} refused people."] if data["unproved"] else []
    if not stuck:
        return ["Nobody is proved to have no recourse.", *unproved]
    people = count(examined or stuck, "person", "people")
    if not examined:
        return [f"{people} without recourse, none of them examined: the budget was spent before.", *unproved]
    sample = f" (a sample of {stuck:,})" if examined < stuck else ""
    lines = [f"{people} without recourse{sample}. What would help (an explanation, not advice):"]
    helpful = [row for row in rows if row["helped"]]
    lines += [_line(row) for row in helpful[:most]]
    if len(helpful) > most:
        lines.append(f"  … and {len(helpful) - most} more")
    nobody = sum(not row["helped"] and not row["unknown"] for row in rows)
    lines.append(f"{count(nobody, 'relaxation helps', 'relaxations help')} nobody.")
    if open_ := len(rows) - len(helpful) - nobody:
        lines.append(f"{count(open_, 'relaxation helps', 'relaxations help')} nobody as far as is known.")
    return [*lines, helped_by_none_text(data["helped_by_none"], data["undecided"], examined), *unproved]


def _line(row: dict[str, Any]) -> str:
    facts = []
    if row["share"] is not None:
        facts.append(f"{row['share']:.0%}")
        facts += [f"{row['low']:.0%} to {row['high']:.0%}"] if row["low"] < row["high"] else []
    facts += [f"{row['unknown']:,} unknown"] if row["unknown"] else []
    details = f" ({', '.join(facts)})" if facts else ""
    return f"  {row['helped']:,}{details}: {row['description']}"
