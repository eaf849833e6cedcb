"""The tables of the report. Pure functions of the rows."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from counterplan.benchmarks.summary import COLUMNS as DATASET
from counterplan.distillation.base import HELD_BACK
from counterplan.experiments.budgets import CpuUsage, QueryUsage, cpu_usage, distillation_queries, query_usage
from counterplan.experiments.comparisons import AGAINST, TIMES, PairedComparison, paired_comparisons, targets_met
from counterplan.experiments.evaluation import HOLDS, OUTCOMES
from counterplan.experiments.formatting import (
    NOTHING,
    ReportTable,
    factor,
    marked,
    nonempty,
    number,
    over_seeds,
    sections,
    spread,
    value_range,
)
from counterplan.experiments.methods import ABLATION, OWN_MODELS, PAPER_MODELS, in_order, label_of, method_named
from counterplan.experiments.published import (
    IN_COMMON,
    SIMILARITY,
    TARGETS,
    TRACES,
    Target,
    published_of,
    published_totals,
)
from counterplan.experiments.rows import ExperimentRows
from counterplan.experiments.statistics import (
    SMALL_GROUP,
    Interval,
    MethodStats,
    benchmarks_in,
    by_protected_group,
    curve,
    intersection,
    similarity,
    summary,
)
from counterplan.experiments.survival_table import survival


def all_tables(rows: ExperimentRows) -> dict[str, ReportTable]:
    """Every table by its key, in the order of the report."""
    makers: tuple[Callable[[ExperimentRows], ReportTable], ...] = (
        *(targets, against_baseline, datasets, everybody, in_common, in_common_own, ablation, totals, queries, traces),
        *(similarities, timing, failures, failed_people, groups, survival),
    )
    return {table.key: table for table in (make(rows) for make in makers)}


def targets(rows: ExperimentRows) -> ReportTable:
    """Search, guided, program and cascade against the values expected of them."""
    stats = summary(rows)
    parts = [
        (
            label_of(method),
            tuple(
                (name, *_against_target(stats[name, method], wanted[name]))
                for name in benchmarks_in(rows)
                if (name, method) in stats and name in wanted
            ),
        )
        for method, wanted in TARGETS.items()
    ]
    return ReportTable(
        "targets",
        "Results and expected values",
        "Success and queries per person (of people without a proof of infeasibility), cost ratio (cost ÷ optimal "
        "cost), and for programs the rule length (features in the rule of a step, mean over steps), each with its "
        "expected value, which was fixed in advance for the benchmark and method: ✓ reached, ✗ not reached. "
        f"{over_seeds(rows)}",
        (
            *("", "success", "expected", "cost ratio", "expected"),
            *("queries", "expected", "rule length", "expected"),
        ),
        nonempty(parts),
    )


def _against_target(stats: MethodStats, target: Target) -> tuple[str, ...]:
    met = targets_met(stats, target)
    return (
        marked(spread(stats.success, 3), met["success"]),
        f"≥ {target.success:.2f}",
        marked(spread(stats.ratio, 3), met.get("cost ratio")),
        NOTHING if target.ratio is None else f"≤ {target.ratio:.4g}",
        marked(spread(stats.feasible_queries, 2), met["queries"]),
        f"≤ {target.queries:.1f}",
        marked(spread(stats.rule_length, 2), met.get("rule length")),
        NOTHING if target.rule_length is None else f"≤ {target.rule_length:.1f}",
    )


def against_baseline(rows: ExperimentRows) -> ReportTable:
    """Search and guided against the evolutionary baseline."""
    found = paired_comparisons(rows)
    parts = [
        (
            label_of(method),
            tuple((name, *_compared(found[name, method])) for name in benchmarks_in(rows) if (name, method) in found),
        )
        for method in AGAINST
    ]
    return ReportTable(
        "baseline",
        "Against the evolutionary baseline",
        "Search and guided compared with CSCF. Expected: higher success; lower cost on the people solved by both (✓ "
        f"also if both are optimal); CSCF sends more than {TIMES} times the queries per person, and takes more than "
        f"{TIMES} "
        "times the CPU time (all people in one batch). Queries are those that the meter counts; candidates are those "
        f"that CSCF would send without a cache. ✓ as expected, ✗ not. {over_seeds(rows)}",
        (
            *("", "success", "CSCF", "solved by both", "cost", "CSCF", "queries per person", "CSCF", "factor"),
            *("CSCF candidates", "factor", "ms per person", "CSCF", "factor"),
        ),
        nonempty(parts),
    )


def _compared(comparison: PairedComparison) -> tuple[str, ...]:
    met = comparison.targets_met()
    return (
        marked(spread(comparison.success[0], 3), met.get("success")),
        spread(comparison.success[1], 3),
        f"{comparison.people:,}",
        marked(spread(comparison.cost[0], 2), met.get("cost")),
        spread(comparison.cost[1], 2),
        spread(comparison.queries[0], 2),
        spread(comparison.queries[1], 0),
        marked(factor(comparison.query_factor), met.get("queries")),
        number(comparison.candidates.mean, 0),
        marked(factor(comparison.candidate_factor), comparison.candidate_factor > TIMES),
        *(spread(seconds.times(1_000), 1) for seconds in comparison.seconds),
        marked(factor(comparison.time_factor), met.get("time")),
    )


def datasets(rows: ExperimentRows) -> ReportTable:
    """The benchmarks."""
    lines = (*DATASET[:9], ("unreachable", "of these provably infeasible", ","), *DATASET[9:])
    names = benchmarks_in(rows)
    parts = {name: rows.datasets[rows.datasets["benchmark"] == name] for name in names}
    body = [(label, *(value_range(parts[name][key], form) for name in names)) for key, label, form in lines]
    return ReportTable(
        "datasets",
        "The benchmarks",
        "The model is the benchmark’s black box. The lower half describes the refused test people that are planned "
        "for, solved exactly; where seeds differ, the mean and (minimum–maximum).",
        ("", *names),
        (("", tuple(body)),),
    )


def everybody(rows: ExperimentRows) -> ReportTable:
    """Success, cost, length and queries of every method, over all people."""

    def cells(name: str, method: str, stats: MethodStats) -> tuple[str, ...]:
        published = published_of(name, method)
        return (
            spread(stats.success, 3),
            spread(stats.ratio, 3),
            spread(stats.cost, 2),
            spread(stats.length, 2),
            spread(stats.queries, 1),
            number(published.success, 2),
            number(published.cost, 1),
            number(published.queries, 0),
        )

    return ReportTable(
        "everybody",
        "All people",
        f"{over_seeds(rows)} Success: of the people without a proof of infeasibility, the share whose plan is legal "
        "step by step, within the limit, and favourable at its end by the model itself. Cost and steps: over each "
        "method’s own successes, so that these columns are not comparable between methods of different success; the "
        "cost ratio is to the optimum of the same people. Queries: sent to the model per person, without training. "
        "Published: the paper’s figures on its own versions of the problems; for exact, the optimum of those.",
        (
            *("", "success", "cost ratio", "cost", "steps", "queries"),
            *("published success", "published cost", "published queries"),
        ),
        sections(summary(rows), benchmarks_in(rows), cells),
    )


def in_common(rows: ExperimentRows) -> ReportTable:
    """Cost and length on the people solved by all of the paper's four models."""
    found = summary(rows, intersection(rows.results, PAPER_MODELS))
    shown = {key: stats for key, stats in found.items() if key[1] in (*PAPER_MODELS, "exact")}

    def cells(name: str, method: str, stats: MethodStats) -> tuple[str, ...]:
        published = IN_COMMON.get(name, {}).get(method_named(method).paper or "")
        return (
            *_on_the_same_people(stats),
            number(published.cost if published else None, 1),
            number(published.length if published else None, 2),
        )

    return ReportTable(
        "in_common",
        "People solved by the paper’s four models",
        f"Cost and steps on the people solved by all of {', '.join(map(label_of, PAPER_MODELS))}, as in the paper; "
        "they are the easier ones. “exact” is the optimum of the same people. Published: on the paper’s own versions "
        f"of the problems. {over_seeds(rows)}",
        ("", "people", "cost ratio", "cost", "steps", "published cost", "published steps"),
        sections(shown, benchmarks_in(rows), cells),
    )


def in_common_own(rows: ExperimentRows) -> ReportTable:
    """Cost and length on the people solved by every compared method of this library."""
    found = summary(rows, intersection(rows.results, OWN_MODELS))
    others = [method for method in in_order(rows.results["method"]) if method not in OWN_MODELS]
    also = " For the other methods: the people of these that each solves." if others else ""
    return ReportTable(
        "in_common_own",
        "People solved by the methods of this library",
        f"The same for the people solved by all of {', '.join(map(label_of, OWN_MODELS))}.{also} {over_seeds(rows)}",
        ("", "people", "cost ratio", "cost", "steps"),
        sections(found, benchmarks_in(rows), lambda name, method, stats: _on_the_same_people(stats)),
    )


def _on_the_same_people(stats: MethodStats) -> tuple[str, ...]:
    return f"{stats.solved:,}", spread(stats.ratio, 3), spread(stats.cost, 2), spread(stats.length, 2)


def ablation(rows: ExperimentRows) -> ReportTable:
    """Search without a trained agent, and the agent without search."""
    found = {key: stats for key, stats in summary(rows).items() if key[1] in ABLATION}

    def cells(name: str, method: str, stats: MethodStats) -> tuple[str, ...]:
        published = number(published_of(name, method).success, 2)
        return spread(stats.success, 3), spread(stats.ratio, 3), spread(stats.queries, 1), published

    return ReportTable(
        "ablation",
        "Search and agent, each without the other",
        "The paper’s agent with and without its search, and an agent trained without tree search (M_agent, no MCTS): "
        "on traces sampled from its own policy, within the same budget of queries. Of this library: the tree search "
        "with a trained agent, the agent alone, and the search with an untrained one (random weights; the same "
        "simulations and limit of queries). Published figures of M_agent: its code never updates the hidden state.",
        ("", "success", "cost ratio", "queries", "published success"),
        sections(found, benchmarks_in(rows), cells),
    )


def totals(rows: ExperimentRows) -> ReportTable:
    """Queries in total, by phase, beside the published ones."""

    def cells(name: str, method: str, usage: QueryUsage) -> tuple[str, ...]:
        published = published_totals(name, method)
        phases = ("training", "distillation", "total")
        return tuple(
            text for phase in phases for text in (spread(getattr(usage, phase), 0), number(published.get(phase), 0))
        )

    return ReportTable(
        "totals",
        "Queries in total",
        "Queries sent to the model for all test people of a seed, with training and distillation, which happen once, "
        "apart. Published: as the paper plots them, for 100 test people (34 of german); of the evolutionary baseline "
        f"it counts every candidate, also those that here are not sent to the model. {over_seeds(rows)}",
        ("", "training", "published", "distillation", "published", "prediction, all people", "published"),
        sections(query_usage(rows), benchmarks_in(rows), cells),
    )


def queries(rows: ExperimentRows) -> ReportTable:
    """Queries sent to the model, by phase."""

    def cells(name: str, method: str, usage: QueryUsage) -> tuple[str, ...]:
        return (
            spread(usage.training, 0),
            spread(usage.distillation, 0),
            spread(usage.trial, 0),
            spread(usage.prediction, 1),
            spread(usage.cached, 1),
            number(published_of(name, method).queries, 0),
        )

    return ReportTable(
        "questions",
        "Queries to the model",
        "Rows sent to the black box, counted by its meter: once in training, in distillation, and in the trial of the "
        f"program on up to {HELD_BACK} held-out people, which measures it and does not contribute to it; and per "
        "person in prediction. Queries answered from the cache are listed separately.",
        ("", "training", "distillation", "trial", "per person", "per person, cached", "published, per person"),
        sections(query_usage(rows), benchmarks_in(rows), cells),
    )


def traces(rows: ExperimentRows) -> ReportTable:
    """The paper's construction by number of traces, and the balanced program."""
    points, stats = curve(rows, "paper_program", "traces"), summary(rows)
    sent = distillation_queries(rows)
    parts = []
    for name in benchmarks_in(rows):
        body = []
        for (benchmark, value), point in points.items():
            if benchmark == name:
                published = TRACES.get(name, {}).get(value)
                body.append(
                    (
                        f"{value:,} traces",
                        *_of_program(point, sent.get((name, value))),
                        number(published.success if published else None, 2),
                        number(published.rule_length if published else None, 2),
                    )
                )
        if (name, "program") in stats:
            body.append((BALANCED_PROGRAM, *_of_program(stats[name, "program"], None), NOTHING, NOTHING))
        parts.append((name, tuple(body)))
    return ReportTable(
        "traces",
        "Programs by number of traces",
        "The paper’s construction: scikit-learn trees that imitate verified traces of M_mcts, by their number. "
        "Below it the method “program” (prefer='balanced'), found by policy search on a surrogate. Rule length: "
        "features in the rule of a step, mean over steps. Queries: of distillation, to get the traces. Published: "
        "success, and literals in a rule, on the paper’s own versions of the problems.",
        (
            *("", "success", "rule length", "cost ratio", "cost", "steps", "queries"),
            *("published success", "published rule length"),
        ),
        tuple(parts),
    )


def _of_program(stats: MethodStats, queries: Interval | None) -> tuple[str, ...]:
    return (
        spread(stats.success, 3),
        spread(stats.rule_length, 2),
        spread(stats.ratio, 3),
        spread(stats.cost, 2),
        spread(stats.length, 2),
        NOTHING if queries is None else spread(queries, 0),
    )


BALANCED_PROGRAM = "program, balanced"
"""The label of the method "program" beside programs by the paper's construction."""
PAIRS = (("paper_program", "paper_search"), ("program", "search"), ("program", "guided"))
"""The methods whose plans are compared."""


def similarities(rows: ExperimentRows) -> ReportTable:
    """Similarity of the plans of programs and planners."""
    names = benchmarks_in(rows)
    body = []
    for method, other in PAIRS:
        found = similarity(rows.results, method, other)
        cells = []
        for name in names:
            part = found[found["benchmark"] == name]
            same, alike = Interval.of(part["same"]).mean, spread(Interval.of(part["alike"]), 2)
            cells.append(alike if pd.isna(same) else f"{alike} ({same:.0%} the same)")
        body.append((f"{label_of(method)} – {label_of(other)}", *cells))
    body.append(("published, M_prog – M_mcts", *(number(SIMILARITY.get(name), 2) for name in names)))
    return ReportTable(
        "similarity",
        "Similarity of plans",
        "The paper’s measure: difflib’s ratio of two plans written as strings of actions, over people with a plan of "
        "both methods, successful or not. 1 is the same plan.",
        ("", *names),
        (("", tuple(body)),),
    )


def timing(rows: ExperimentRows) -> ReportTable:
    """CPU time of learning and planning."""

    def cells(name: str, method: str, usage: CpuUsage) -> tuple[str, ...]:
        return spread(usage.learning, 1), spread(usage.person.times(1_000), 1), spread(usage.alone.times(1_000), 1)

    return ReportTable(
        "timing",
        "Time",
        "CPU time of one core, all methods in the same run on the same machine: seconds of learning (training and "
        "distillation, once), milliseconds per person with all people in one batch, and milliseconds for a single "
        "person. The models here answer in microseconds; for slower ones, the number of queries decides.",
        ("", "learning, s", "per person, ms", "single person, ms"),
        sections(cpu_usage(rows), benchmarks_in(rows), cells),
    )


def failures(rows: ExperimentRows) -> ReportTable:
    """Infeasible people and the queries on them, and the number of failures of each method, by outcome."""
    kinds = [kind for kind in OUTCOMES if kind != HOLDS]
    parts = []
    for name in benchmarks_in(rows):
        results = rows.results[rows.results["benchmark"] == name]
        body = []
        for method in in_order(results["method"]):
            own = results[results["method"] == method]
            failed = own[~own["success"]]
            feasible, infeasible = failed[failed["reachable"] != "no"], own[own["reachable"] == "no"]
            by_kind = [f"{(feasible['outcome'] == kind).sum():,}" for kind in kinds]
            spent = number(infeasible["questions"].astype(float).mean(), 1)
            body.append((label_of(method), f"{len(own):,}", f"{len(infeasible):,}", spent, *by_kind))
        parts.append((name, tuple(body)))
    return ReportTable(
        "failures",
        "Failures",
        "People, over all seeds. Those proved infeasible by exact search count against no method; the queries "
        "per person on them, as planned for, are beside their number. The others by the outcome of planning: "
        + "; ".join(f"{_words(kind)}: {OUTCOMES[kind]}" for kind in kinds)
        + ".",
        ("", "people", "provably infeasible", "queries on these", *(_words(kind) for kind in kinds)),
        tuple(parts),
    )


def _words(outcome: str) -> str:
    return outcome.replace("_", " ")


def failed_people(rows: ExperimentRows) -> ReportTable:
    """The people not solved by each method."""
    failed = rows.results[~rows.results["success"] & (rows.results["reachable"] != "no")]
    parts = []
    for name in benchmarks_in(rows):
        results = failed[failed["benchmark"] == name]
        body = []
        for method in in_order(results["method"]):
            for outcome, part in results[results["method"] == method].groupby("outcome", sort=False):
                body.append((label_of(method), _words(str(outcome)), _people(part)))
        parts.append((name, tuple(body)))
    infeasible = rows.results[(rows.results["method"] == "exact") & (rows.results["reachable"] == "no")]
    none = [(str(name), "no plan exists", _people(part)) for name, part in infeasible.groupby("benchmark", sort=False)]
    return ReportTable(
        "failed_people",
        "People not solved",
        "Refused test people by number; results.csv has the plan of each.",
        ("", "outcome", "people"),
        (*parts, ("provably infeasible", tuple(none))),
    )


def _people(rows: pd.DataFrame) -> str:
    """People by seed."""
    return "; ".join(
        f"seed {seed}: {', '.join(str(person) for person in part['person'])}" for seed, part in rows.groupby("seed")
    )


def groups(rows: ExperimentRows) -> ReportTable:
    """Success, cost and length by protected group."""
    parts = []
    for (name, feature), part in by_protected_group(rows).groupby(["benchmark", "feature"], sort=False):
        body = []
        for method in in_order(part["method"]):
            by_group = part[part["method"] == method].groupby("group")
            for group, members in sorted(by_group, key=lambda pair: -len(pair[1])):
                body.append((label_of(method), str(group), *_of_group(members)))
        parts.append((f"{name}: {feature}", tuple(body)))
    return ReportTable(
        "groups",
        "By protected group",
        "People without a proof of infeasibility, all seeds together. A difference in cost that “exact” shows too is "
        "due to the model and the problem; one in success, or in cost ratio, is due to the method. Where a feature has "
        f"several groups of fewer than {SMALL_GROUP} people beside larger ones, they are merged as “others”.",
        ("", "group", "people", "success", "cost ratio", "cost", "steps"),
        tuple(parts),
    )


def _of_group(rows: pd.DataFrame) -> tuple[str, ...]:
    solved = rows[rows["success"]]
    ratio = (solved["cost"] / solved["least_effort"])[solved["least_effort"] > 0]
    return (
        f"{len(rows):,}",
        number(rows["success"].mean(), 3),
        number(ratio.mean(), 3),
        number(solved["cost"].mean(), 2),
        number(solved["length"].astype(float).mean(), 2),
    )
