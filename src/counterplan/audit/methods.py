"""The section of the report about definitions, methods and limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterplan.audit.formatting import percent
from counterplan.audit.intervals import FEW_PEOPLE
from counterplan.audit.section import Section, text
from counterplan.problem.values import count

if TYPE_CHECKING:
    from counterplan.audit.result import AuditResult

_PLANNERS = {
    "exact": "exact search in order of cost, which finds the cheapest plan or proves that there is none",
    "guided": "planning guided by a surrogate, and exact search for the people without a plan",
}


def methods(result: AuditResult) -> Section:
    """Definitions, planner, limits, number of comparisons, fingerprints and date."""
    settings, about, problem = result.settings, result.about, result.problem
    level, comparisons = percent(settings.level, 0), count(len(result.differences), "comparison")
    planners = [
        f"{name} ({_PLANNERS[name]}): {people:,} refused people" if name in _PLANNERS else f"{name}: {people:,} people"
        for name, people in about.get("planners", {}).items()
    ]
    budget = "no limit" if settings.budget is None else f"at most {settings.budget:,} queries a refused person"
    facts = {
        "Refused": "The model decides unfavourably about the person as they are. All people were queried once.",
        "Has a plan": "A sequence of actions that is legal step by step from the person's present state, with at most "
        f"{problem.max_actions} actions, at whose end the model decided favourably. Nothing else counts.",
        "Provably has none": "Every state that legal sequences of this length reach was queried, and none was "
        "favourable. The proof is about this problem file: its functions, preconditions, costs and limit.",
        "Unknown": "The search ended at a limit of states, time or queries, with neither a verified plan nor a proof. "
        "Shares count these people as without a plan, so that they are lower bounds.",
        "Planner": "; ".join(planners) or "nobody was planned for",
        "Queries": f"{int(result.outcomes['queries'].sum()):,} states queried, including answers from the cache; "
        f"budget: {budget}.",
        "Sampling": "Intervals treat the people as a random sample of those the model decides about. For the people of "
        "this table alone, the counts are exact.",
        "Shares": f"Wilson score intervals, {level}; Clopper–Pearson intervals, which are wider, where fewer than "
        f"{FEW_PEOPLE} people have, or do not have, the outcome.",
        "Quantiles": f"Percentile bootstrap intervals, {level}, computed exactly from the distribution of order "
        "statistics and widened by one order statistic on each side. A side is open where so few people give no bound.",
        "Differences": f"Each group against all others of its grouping: {comparisons}. Shares: Newcombe "
        "intervals of these, Fisher's exact test. Median costs: bootstrap intervals, Mann–Whitney test of the costs. "
        f"Intervals for all: Bonferroni. P-values: Holm. Seed of the bootstrap: {settings.seed}.",
        "Small groups": f"No figure is given for fewer than {settings.min_group:,} people.",
        "Problem": f"{about['name']}, fingerprint {about['problem']}",
        "Model": f"{about['model_name']}, fingerprint {about['model']}",
    }
    if about.get("against_name"):
        facts["Other model"] = f"{about['against_name']}, fingerprint {about['against']}"
    facts |= {"People": f"{len(result):,}, fingerprint {about['people']}", "Date": str(about["date"])}
    items = "".join(f"<dt>{text(name)}</dt><dd>{text(words)}</dd>" for name, words in facts.items())
    return Section("methods", "Definitions and methods", (f"<dl class=methods>{items}</dl>",))
