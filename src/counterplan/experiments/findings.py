"""What was found, in sentences that follow from the rows; nothing in them is known beforehand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd

from counterplan.experiments.budgets import questions_spent
from counterplan.experiments.comparisons import AGAINST, TIMES, PairedComparison, paired_comparisons
from counterplan.experiments.methods import label_of
from counterplan.experiments.published import PUBLISHED, TARGETS
from counterplan.experiments.rows import Rows
from counterplan.experiments.statistics import Line, Summary, summary
from counterplan.experiments.tables import benchmarks_in, grouped, number, reached

ENOUGH = 30
"""A group is spoken of if it has at least so many people."""


def findings(rows: Rows) -> list[str]:
    """The findings, one sentence or two each; what there are no rows of is not spoken of."""
    found, names = summary(rows), benchmarks_in(rows)
    told = [_people(rows), _planners(found, names), _baseline(rows, found, names), _programs(found, names)]
    told += [_ablation(found, names), _cascade(found, names), _aims(found, names), *_duels(rows), _fairness(rows)]
    return [sentence for sentence in told if sentence]


def _people(rows: Rows) -> str:
    people = rows.results[rows.results["method"] == "exact"]
    hopeless, unknown = (int((people["reachable"] == word).sum()) for word in ("no", "unknown"))
    seeds = people["seed"].nunique()
    told = (
        f"Plans were made for {len(people):,} refused people: {_count(len(benchmarks_in(rows)), 'benchmark')}, "
        f"{_count(seeds, 'seed')}. "
    )
    told += (
        f"For {hopeless:,} of them exact search proved that no plan exists, which counts against no method."
        if hopeless
        else "For every one of them a plan exists."
        if not unknown
        else "For none of them was it proved that no plan exists."
    )
    return told + (f" For {unknown:,} exact search gave up." if unknown else "")


def _planners(found: Summary, names: Sequence[str]) -> str:
    """Search and guided: success, effort, questions."""
    told = []
    for method in ("search", "guided"):
        lines = _lines(found, names, method)
        if lines:
            told.append(
                f"{label_of(method).capitalize()} finds a plan that holds for {_shares(lines)}, at {_ratios(lines)} "
                f"times the least effort, for {_asked(lines)} questions a person."
            )
    published = [PUBLISHED[name]["M_mcts"] for name in names if name in PUBLISHED]
    least = [PUBLISHED[name]["exact"] for name in names if name in PUBLISHED]
    pairs = [(a.cost, b.cost) for a, b in zip(published, least, strict=True) if a.cost and b.cost]
    if told and pairs:
        told.append(
            f"(The published search: {_percents([one.success for one in published])}, at a mean cost of "
            f"{_range([a / b for a, b in pairs], 1)} times the mean least cost of its own problems.)"
        )
    return " ".join(told)


def _baseline(rows: Rows, found: Summary, names: Sequence[str]) -> str:
    """CSCF against search: success, questions, and when training has paid."""
    ours, theirs = _lines(found, names, "search"), _lines(found, names, "evolution")
    both = [name for name in names if name in ours and name in theirs]
    if not both:
        return ""
    spent = questions_spent(rows)
    more = [theirs[name].questions.mean / ours[name].questions.mean for name in both if ours[name].questions.mean > 0]
    paid = []
    for name in both:
        saved = theirs[name].questions.mean - ours[name].questions.mean
        if saved > 0:
            paid.append(spent[name, "search"].training.mean / saved)
    told = f"The evolutionary baseline (CSCF) solves {_shares({name: theirs[name] for name in both})}"
    told += f" at {_ratios({name: theirs[name] for name in both})} times the least effort"
    if more:
        told += f", and asks {_range(more, 0)} times as many questions as search."
    if len(paid) == len(both):
        told += f" The questions that training an agent takes are made up for after {_range(paid, 0)} people."
    return told if told.endswith(".") else f"{told}."


def _programs(found: Summary, names: Sequence[str]) -> str:
    ours, papers = _lines(found, names, "program"), _lines(found, names, "paper_program")
    told = ""
    if ours:
        told = (
            f"The program, which asks nothing, holds for {_shares(ours)} at {_ratios(ours)} times the least effort, "
            f"with rules of {_range([line.rule_length.mean for line in ours.values()], 1)} features."
        )
    both = [name for name in names if name in ours and name in papers]
    if both:
        better = [name for name in both if ours[name].success.mean > papers[name].success.mean]
        told += (
            f" Programs made the paper’s way, from the agent’s traces, hold for {_shares(papers)} at {_ratios(papers)} "
            f"times the least effort, with {_range([line.rule_length.mean for line in papers.values()], 1)} features; "
            f"the default program succeeds more often {_on(len(better), len(both))}."
        )
    return told


def _ablation(found: Summary, names: Sequence[str]) -> str:
    search, alone, blind = (_lines(found, names, method) for method in ("search", "policy", "untrained"))
    if not (search and alone and blind):
        return ""
    worse = [
        name
        for name in names
        if name in blind and name in alone and max(blind[name].success.mean, alone[name].success.mean)
        < search[name].success.mean
    ]  # fmt: skip
    return (
        f"The agent without search holds for {_shares(alone)}, the search without a trained agent for "
        f"{_shares(blind)}: {_on(len(worse), len(search))} both together do better than either."
    )


def _cascade(found: Summary, names: Sequence[str]) -> str:
    lines = _lines(found, names, "cascade")
    if not lines:
        return ""
    return (
        f"The cascade, which checks the program’s plan and plans anew where it fails, holds for {_shares(lines)} for "
        f"{_asked(lines)} questions a person, at {_ratios(lines)} times the least effort."
    )


def _aims(found: Summary, names: Sequence[str]) -> str:
    missed, total = [], 0
    for method, wanted in TARGETS.items():
        for name in names:
            if (name, method) in found and name in wanted:
                for what, good in reached(found[name, method], wanted[name]).items():
                    total += 1
                    missed += [] if good else [f"{label_of(method)} on {name} ({what})"]
    if not total:
        return ""
    if not missed:
        return f"All {total} aims for success, effort, questions and rule length are reached."
    return (
        f"Of {total} aims for success, effort, questions and rule length, {_are(total - len(missed))} reached; missed: "
        f"{', '.join(missed)}."
    )


def _duels(rows: Rows) -> list[str]:
    """What was aimed at against the evolutionary baseline, and what came of it."""
    found = paired_comparisons(rows)
    told = []
    for method in AGAINST:
        mine = [duel for (_, one), duel in found.items() if one == method]
        if mine:
            told.append(f"Against CSCF, {label_of(method)} {'; '.join(_against(mine))}.")
    if told:
        marks = [good for duel in found.values() for good in duel.reached().values()]
        told[-1] += f" Of {_count(len(marks), 'aim')} against CSCF, {_are(sum(marks))} reached."
        if any(not duel.reached().get("time", True) for duel in found.values()):
            told[-1] += " (Here CSCF plans for everybody at once, on arrays, so its time a person is short.)"
    return told


def _against(mine: Sequence[PairedComparison]) -> list[str]:
    """How a method does beside the baseline: on how many benchmarks each aim is reached, of those that are known."""
    tied = {what for duel in mine for what in duel.tied}
    always = " (or both always do)" if "success" in tied else ""
    least = " (or both the least possible)" if "effort" in tied else ""
    words = {
        "success": f"succeeds more often{always}",
        "effort": f"costs less on the people whom both solve{least}",
        "questions": "needs less than a hundredth of its rows",
        "time": "takes less than a hundredth of its time",
    }
    forgetful = [duel.more_candidates > TIMES for duel in mine if not pd.isna(duel.more_candidates)]
    more = {
        "questions": f" (CSCF sends {_range([duel.more_rows for duel in mine], 1)} times as many; if it "
        f"remembered nothing, {_on(sum(forgetful), len(forgetful))})",
        "time": f" (CSCF takes {_range([duel.longer for duel in mine], 1)} times as long)",
    }
    told = []
    for what, said in words.items():
        known = [duel.reached()[what] for duel in mine if what in duel.reached()]
        if known:
            told.append(f"{said} {_on(sum(known), len(known))}{more.get(what, '')}")
    return told


def _fairness(rows: Rows) -> str:
    """The widest difference in success between two groups that are large enough to speak of."""
    frame = grouped(rows)
    gaps = []
    for (name, feature, method), part in frame.groupby(["benchmark", "feature", "method"], sort=False):
        shares = sorted(
            (float(some["success"].mean()), str(group))
            for group, some in part.groupby("group")
            if len(some) >= ENOUGH and group != "others"
        )
        if len(shares) > 1 and str(method) not in ("exact", "untrained"):
            (least, low), (most, high) = shares[0], shares[-1]
            gaps.append((most - least, f"{label_of(str(method))} on {name}, {feature}: {high} over {low}"))
    if not gaps:
        return f"Protected groups are not compared: no feature has two groups of {ENOUGH} people or more."
    widest, where = max(gaps)
    if widest < 0.005:
        return (
            f"No two protected groups of {ENOUGH} people or more differ by half a point of success or more, whatever "
            "the method, search without a trained agent left out."
        )
    return (
        f"The widest difference in success between two protected groups of {ENOUGH} people or more is "
        f"{100 * widest:.0f} points ({where}), search without a trained agent left out."
    )


# Words


def _lines(found: Summary, names: Iterable[str], method: str) -> dict[str, Line]:
    return {name: found[name, method] for name in names if (name, method) in found}


def _shares(lines: dict[str, Line]) -> str:
    return _percents([line.success.mean for line in lines.values()])


def _ratios(lines: dict[str, Line]) -> str:
    return _range([line.ratio.mean for line in lines.values()], 2)


def _on(some: int, all_of: int) -> str:
    if some in (0, all_of):
        return "on no benchmark" if not some else "on every benchmark"
    return f"on {some} of {all_of} benchmarks"


def _asked(lines: dict[str, Line]) -> str:
    return _range([line.questions.mean for line in lines.values()], 1)


def _percents(values: Iterable[float]) -> str:
    known = [100 * value for value in values if not pd.isna(value)]
    if not known:
        return "nobody"
    least, most = (_cut(value) for value in (min(known), max(known)))
    return f"{least} % of people" if least == most else f"{least}–{most} % of people (by benchmark)"


def _cut(percent: float) -> str:
    """A share in per cent, cut off, so that what falls short of all is not called that."""
    return number((10 * percent + 1e-6) // 1 / 10, 1).removesuffix(".0")


def _range(values: Iterable[float], digits: int) -> str:
    known = [value for value in values if not pd.isna(value)]
    if not known:
        return "an unknown number of"
    least, most = number(min(known), digits), number(max(known), digits)
    return least if least == most else f"{least}–{most}"


def _are(number: int) -> str:
    return f"{number} {'is' if number == 1 else 'are'}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
