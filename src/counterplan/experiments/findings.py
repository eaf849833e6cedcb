"""The findings of an experiment, in sentences computed from the rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd

from counterplan.experiments.budgets import query_usage
from counterplan.experiments.comparisons import AGAINST, TIMES, PairedComparison, paired_comparisons, targets_met
from counterplan.experiments.formatting import number
from counterplan.experiments.frontier import ACCEPTED, COMMITTEE, ORACLE, frontier_points, seed_records
from counterplan.experiments.methods import label_of
from counterplan.experiments.published import TARGETS, published_of
from counterplan.experiments.rows import ExperimentRows
from counterplan.experiments.statistics import MethodStats, Summary, benchmarks_in, by_protected_group, summary
from counterplan.survival.goal import WEIGHTS

LARGE_GROUP = 30
"""Groups with fewer people are not compared."""


def findings(rows: ExperimentRows) -> list[str]:
    """The findings, one or two sentences each; those without rows are left out."""
    stats, names = summary(rows), benchmarks_in(rows)
    sentences = [
        _people(rows),
        _paper(stats, names),
        _planners(stats, names),
        _baseline(rows, stats, names),
        _programs(stats, names),
        _ablation(stats, names),
        _unsearched(stats, names),
        _cascade(stats, names),
        _targets(stats, names),
        *_comparisons(rows),
        _fairness(rows),
        _survival(rows),
    ]
    return [sentence for sentence in sentences if sentence]


def _people(rows: ExperimentRows) -> str:
    people = rows.results[rows.results["method"] == "exact"]
    infeasible, unknown = (int((people["reachable"] == word).sum()) for word in ("no", "unknown"))
    seeds = people["seed"].nunique()
    text = (
        f"Plans were made for {len(people):,} refused people: {_count(len(benchmarks_in(rows)), 'benchmark')}, "
        f"{_count(seeds, 'seed')}. "
    )
    if infeasible:
        text += f"For {infeasible:,} of them exact search proved infeasibility, which counts against no method."
    elif not unknown:
        text += "For every one of them a plan exists."
    else:
        text += "For none of them was infeasibility proved."
    return text + (f" For {unknown:,} exact search reached its limit." if unknown else "")


def _planners(stats: Summary, names: Sequence[str]) -> str:
    """Search and guided: success, cost ratio, queries."""
    sentences = []
    for method in ("search", "guided"):
        by_name = _of_method(stats, names, method)
        if by_name:
            sentences.append(
                f"{label_of(method).capitalize()} finds a successful plan for {_success(by_name)}, at a cost ratio of "
                f"{_ratios(by_name)}, with {_queries(by_name)} queries per person."
            )
    return " ".join(sentences)


def _paper(stats: Summary, names: Sequence[str]) -> str:
    """The paper's methods by its preset, beside the published figures."""
    sentences = []
    for method in ("paper_search", "paper_program", "paper_policy"):
        by_name = _of_method(stats, names, method)
        if by_name:
            published = _percent_range(published_of(name, method).success for name in by_name)
            known = f" (published: {published})" if published else ""
            sentences.append(f"{label_of(method)} succeeds for {_success(by_name)}{known}")
    if not sentences:
        return ""
    text = f"By the paper’s preset, {'; '.join(sentences)}."
    search = _of_method(stats, names, "paper_search")
    pairs = [(published_of(name, "paper_search").cost, published_of(name, "exact").cost) for name in search]
    ratios = [cost / optimal for cost, optimal in pairs if cost and optimal]
    if ratios:
        text += (
            f" The cost ratio of M_mcts is {_ratios(search)}; its published mean cost is {_range(ratios, 1)} times the "
            "mean optimal cost of its own problems."
        )
    return text


def _baseline(rows: ExperimentRows, stats: Summary, names: Sequence[str]) -> str:
    """CSCF and search: success, queries, and the number of people that amortizes training."""
    ours, theirs = _of_method(stats, names, "search"), _of_method(stats, names, "evolution")
    both = [name for name in names if name in ours and name in theirs]
    if not both:
        return ""
    usage = query_usage(rows)
    factors = [theirs[name].queries.mean / ours[name].queries.mean for name in both if ours[name].queries.mean > 0]
    amortized = []
    for name in both:
        saved = theirs[name].queries.mean - ours[name].queries.mean
        if saved > 0:
            amortized.append(usage[name, "search"].training.mean / saved)
    common = {name: theirs[name] for name in both}
    text = f"The evolutionary baseline (CSCF) solves {_success(common)} at a cost ratio of {_ratios(common)}"
    if factors:
        text += f", and sends {_range(factors, 0)} times as many queries as search."
    if len(amortized) == len(both):
        text += f" The queries of training an agent are amortized after {_range(amortized, 0)} people."
    return text if text.endswith(".") else f"{text}."


def _programs(stats: Summary, names: Sequence[str]) -> str:
    ours, papers = _of_method(stats, names, "program"), _of_method(stats, names, "paper_program")
    text = ""
    if ours:
        text = (
            f"The program, which sends no queries, succeeds for {_success(ours)} at a cost ratio of {_ratios(ours)}, "
            f"with rules of {_range([one.rule_length.mean for one in ours.values()], 1)} features."
        )
    both = [name for name in names if name in ours and name in papers]
    if both:
        better = [name for name in both if ours[name].success.mean > papers[name].success.mean]
        text += (
            f" Programs by the paper’s construction, from traces of M_mcts, succeed for {_success(papers)} at a "
            f"cost ratio of {_ratios(papers)}, with {_range([one.rule_length.mean for one in papers.values()], 1)} "
            f"features; the balanced program succeeds more often {_on(len(better), len(both))}."
        )
    return text


def _ablation(stats: Summary, names: Sequence[str]) -> str:
    search, policy, untrained = (_of_method(stats, names, method) for method in ("search", "policy", "untrained"))
    if not (search and policy and untrained):
        return ""
    worse = [
        name
        for name in names
        if name in untrained
        and name in policy
        and max(untrained[name].success.mean, policy[name].success.mean) < search[name].success.mean
    ]
    return (
        f"The agent without search succeeds for {_success(policy)}, the search without a trained agent for "
        f"{_success(untrained)}: {_on(len(worse), len(search))} the combination is better than either."
    )


def _unsearched(stats: Summary, names: Sequence[str]) -> str:
    """Training with and without tree search, each agent alone."""
    searched, sampled = _of_method(stats, names, "paper_policy"), _of_method(stats, names, "unsearched")
    both = [name for name in names if name in searched and name in sampled]
    if not both:
        return ""
    worse = [name for name in both if sampled[name].success.mean < searched[name].success.mean]
    return (
        f"An agent trained without tree search, within the same budget, succeeds alone for {_success(sampled)}, the "
        f"one of M_mcts for {_success(searched)}: it is worse {_on(len(worse), len(both))}."
    )


def _cascade(stats: Summary, names: Sequence[str]) -> str:
    by_name = _of_method(stats, names, "cascade")
    if not by_name:
        return ""
    return (
        f"The cascade, which verifies the program’s plan and plans again where it fails, succeeds for "
        f"{_success(by_name)} with {_queries(by_name)} queries per person, at a cost ratio of {_ratios(by_name)}."
    )


def _targets(stats: Summary, names: Sequence[str]) -> str:
    missed, total = [], 0
    for method, targets in TARGETS.items():
        for name in names:
            if (name, method) in stats and name in targets:
                for measure, met in targets_met(stats[name, method], targets[name]).items():
                    total += 1
                    missed += [] if met else [f"{label_of(method)} on {name} ({measure})"]
    if not total:
        return ""
    if not missed:
        return f"All {total} expected values of success, cost ratio, queries and rule length are reached."
    return (
        f"Of {total} expected values of success, cost ratio, queries and rule length, {_are(total - len(missed))} "
        f"reached; not reached: {', '.join(missed)}."
    )


def _comparisons(rows: ExperimentRows) -> list[str]:
    """Comparisons with the evolutionary baseline."""
    found = paired_comparisons(rows)
    sentences = []
    for method in AGAINST:
        own = [comparison for (_, name), comparison in found.items() if name == method]
        if own:
            sentences.append(f"Against CSCF, {label_of(method)} {'; '.join(_against(own))}.")
    if sentences:
        marks = [met for comparison in found.values() for met in comparison.targets_met().values()]
        sentences[-1] += f" Of {_count(len(marks), 'comparison')} with CSCF, {_are(sum(marks))} as expected."
        if any(not comparison.targets_met().get("time", True) for comparison in found.values()):
            sentences[-1] += " (Here CSCF is vectorized over all people, so that its time per person is short.)"
    return sentences


def _against(comparisons: Sequence[PairedComparison]) -> list[str]:
    """For each comparison with the baseline, the number of benchmarks on which it is as expected."""
    tied = {measure for comparison in comparisons for measure in comparison.tied}
    always = " (or both always do)" if "success" in tied else ""
    optimal = " (or both are optimal)" if "cost" in tied else ""
    claims = {
        "success": f"succeeds more often{always}",
        "cost": f"has a lower cost on the people solved by both{optimal}",
        "queries": "sends less than a hundredth of its queries",
        "time": "takes less than a hundredth of its time",
    }
    uncached = [one.candidate_factor > TIMES for one in comparisons if not pd.isna(one.candidate_factor)]
    details = {
        "queries": f" (CSCF sends {_range([one.query_factor for one in comparisons], 1)} times as many; without a "
        f"cache, {_on(sum(uncached), len(uncached))})",
        "time": f" (CSCF takes {_range([one.time_factor for one in comparisons], 1)} times as long)",
    }
    texts = []
    for measure, claim in claims.items():
        known = [one.targets_met()[measure] for one in comparisons if measure in one.targets_met()]
        if known:
            texts.append(f"{claim} {_on(sum(known), len(known))}{details.get(measure, '')}")
    return texts


def _fairness(rows: ExperimentRows) -> str:
    """The largest difference in success between two sufficiently large groups."""
    frame = by_protected_group(rows)
    gaps = []
    for (name, feature, method), part in frame.groupby(["benchmark", "feature", "method"], sort=False):
        shares = sorted(
            (float(members["success"].mean()), str(group))
            for group, members in part.groupby("group")
            if len(members) >= LARGE_GROUP and group != "others"
        )
        if len(shares) > 1 and str(method) not in ("exact", "untrained"):
            (least, low), (most, high) = shares[0], shares[-1]
            gaps.append((most - least, f"{label_of(str(method))} on {name}, {feature}: {high} over {low}"))
    if not gaps:
        return f"Protected groups are not compared: no feature has two groups of {LARGE_GROUP} people or more."
    widest, place = max(gaps)
    if widest < 0.005:
        return (
            f"No two protected groups of {LARGE_GROUP} people or more differ by half a point of success or more with "
            "any method except search without a trained agent."
        )
    return (
        f"The largest difference in success between two protected groups of {LARGE_GROUP} people or more is "
        f"{100 * widest:.0f} points ({place}), search without a trained agent left out."
    )


def _survival(rows: ExperimentRows) -> str:
    """Plans of least cost and balanced ones under retrained models."""
    points = frontier_points(seed_records(rows.survival))
    by_goal = {
        goal: [point for point in points if (point.method, point.value) == goal]
        for goal in (
            (COMMITTEE, 0.0),
            (COMMITTEE, WEIGHTS["balanced"]),
            (ORACLE, WEIGHTS["balanced"]),
            (ACCEPTED, None),
        )
    }
    cheapest, balanced, oracle, accepted = by_goal.values()
    if not (cheapest and balanced):
        return ""
    held = [_percent_range(point.held.mean for point in part) for part in by_goal.values()]
    return (
        f"Of the cheapest plans, {held[0]} hold when the model is trained again, of those that weigh survival against "
        f"cost (λ = 4) {held[1]}, at {_range([point.ratio.mean for point in balanced], 2)} times the least cost"
        + (f" (an oracle that knows the judges: {held[2]})" if oracle else "")
        + (f"; of people who are accepted as they are, {held[3]} still are." if accepted else ".")
    )


def _of_method(stats: Summary, names: Iterable[str], method: str) -> dict[str, MethodStats]:
    """Statistics of a method by benchmark."""
    return {name: stats[name, method] for name in names if (name, method) in stats}


def _success(by_name: dict[str, MethodStats]) -> str:
    return _percents([one.success.mean for one in by_name.values()])


def _ratios(by_name: dict[str, MethodStats]) -> str:
    return _range([one.ratio.mean for one in by_name.values()], 2)


def _queries(by_name: dict[str, MethodStats]) -> str:
    return _range([one.queries.mean for one in by_name.values()], 1)


def _on(part: int, total: int) -> str:
    if part in (0, total):
        return "on no benchmark" if not part else "on every benchmark"
    return f"on {part} of {total} benchmarks"


def _percents(values: Iterable[float]) -> str:
    text = _percent_range(values)
    if not text:
        return "nobody"
    return f"{text} of people (by benchmark)" if "–" in text else f"{text} of people"


def _percent_range(values: Iterable[float]) -> str:
    """The least and the largest of shares that are known; empty if there are none."""
    known = [100 * value for value in values if not pd.isna(value)]
    if not known:
        return ""
    least, most = (_truncated(value) for value in (min(known), max(known)))
    return f"{least} %" if least == most else f"{least}–{most} %"


def _truncated(percent: float) -> str:
    """A percentage, truncated, so that only a full share is shown as 100."""
    return number((10 * percent + 1e-6) // 1 / 10, 1).removesuffix(".0")


def _range(values: Iterable[float], digits: int) -> str:
    known = [value for value in values if not pd.isna(value)]
    if not known:
        return "an unknown number of"
    least, most = number(min(known), digits), number(max(known), digits)
    return least if least == most else f"{least}–{most}"


def _are(number: int) -> str:
    return f"{number} {'is' if number == 1 else 'are'}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
