"""Plans that last: `python bench/survival.py [BENCHMARK …] [--first 30] [--seeds 3] [--validation] [--out FILE]`.

Plans for the first 100 refused, feasible test people are judged by models that planning never saw: trained again by the
benchmark's recipe with another seed, on a bootstrap sample, without 10 % of the people, and on another split, eight of
each. A model that equals today's is not counted: the boosted trees of taiwan do not depend on the seed. *Held* is the
share of judges that find the final state favourable, averaged over people; a person without a plan counts as 0. *Gap*
is the stated survival minus that share. Every planner starts without cached answers. `--refits` plans with five more
models of other seeds, `--program` with a program toward survival. `--frontier` adds cost and share for other weights,
for margins alone, and for an oracle that plans with the judges themselves; `--limits` for the cheapest plans with at
least a given survival. `--total` adds the cost until a judge says yes: that of the plan and of the cheapest further
plan from its end. `--validation` uses the seeds that settings were chosen on. `--fits DIR` saves what was fitted, for
later runs.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import common  # first: it sets the number of threads
import numpy as np
import pandas as pd

from counterplan import BlackBox, ExactPlanner, Plans, Problem, Recourse, benchmarks
from counterplan.benchmarks import Benchmark
from counterplan.benchmarks.models import TrainedModel
from counterplan.experiments.judges import JudgeOracle
from counterplan.problem import People
from counterplan.surrogate.score_link import ScoreLink
from counterplan.survival.calibration import MARGIN_ONLY
from counterplan.survival.estimator import Source, SurvivalEstimator

NAMES = ("german", "adult", "taiwan")
VALIDATION = {"german": (3, 4, 5), "adult": (3, 4), "taiwan": (3,)}
JUDGES = 8
"""Of each variation."""
REFITS = range(100, 105)
"""Numbers of the retrained models that planning may use; the judges have lower ones."""
WEIGHTS = {"none": 0.0, "balanced": 4.0, "high": 8.0}
FRONTIER = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
LIMITS = (0.5, 0.6, 0.7, 0.8, 0.9)
TOTAL_JUDGES = 2
"""Of each variation, that further plans are searched for."""
BARS = {
    "german": {"balanced": (0.75, 1.55), "high": (0.82, 1.95), "refits high": (0.84, 2.0), "program": (0.77, 1.8)},
    "adult": {"balanced": (0.84, 1.50), "high": (0.86, 1.65), "program": (0.77, 1.8)},
    "taiwan": {"balanced": (0.85, 1.5), "program": (0.77, 1.8)},
}
"""Least share that holds and largest cost ratio that are required."""


@dataclass(frozen=True)
class Case:
    """A benchmark with the people to plan for, their optimal costs, and the judges by variation."""

    benchmark: Benchmark
    people: pd.DataFrame
    optimum: np.ndarray
    judges: tuple[tuple[str, TrainedModel], ...]
    repeated: int
    """How many of the judges equal today's model; these are not among `judges`."""

    @classmethod
    def load(cls, name: str, seed: int) -> Case:
        """Load a case; judges are trained if they are not cached."""
        benchmark = benchmarks.load(name, seed)
        model = benchmark.model
        refused = common.by_feasibility(benchmark.problem, model, benchmark.refused_test)
        numbers = [(variation, number) for variation in benchmarks.VARIATIONS for number in range(JUDGES)]
        judges = [(variation, benchmarks.retrained(benchmark, variation, number)) for variation, number in numbers]
        others = tuple((variation, judge) for variation, judge in judges if judge.name != model.name)
        return cls(benchmark, refused.feasible, refused.optimum, others, len(judges) - len(others))

    @property
    def problem(self) -> Problem:
        """The problem of the benchmark."""
        return self.benchmark.problem

    def votes(self, states: np.ndarray) -> np.ndarray:
        """Whether each judge favours each of `states` [n, F]: [m, n]."""
        return np.array([judge.favourable(states) for _, judge in self.judges])

    def accepted(self) -> float:
        """The share of judges that accept a test person that today's model accepts."""
        states = self.problem.read(self.benchmark.test).states
        return float(self.votes(states[self.benchmark.model.favourable(states)]).mean())

    def measures(self, plans: Plans) -> dict[str, Any]:
        """Success, the share that holds, cost ratio, stated survival, and queries per person."""
        cost = np.array([plan.cost for plan in plans])
        found = np.array([plan.status == "found" for plan in plans])
        found &= self.benchmark.model.favourable(plans.final_states)
        votes = self.votes(plans.final_states) & found
        held, stated = votes.mean(axis=0), np.asarray(plans.survivals, float)
        known = found & np.isfinite(stated)
        kinds = np.array([variation for variation, _ in self.judges])
        return {
            "success": float(found.mean()),
            "held": float(held.mean()),
            "held_with_repeated": float((votes.sum(axis=0) + self.repeated * found).mean())
            / (len(self.judges) + self.repeated),
            "by_variation": {kind: float(votes[kinds == kind].mean()) for kind in dict.fromkeys(kinds.tolist())},
            "ratio": float((cost[found] / self.optimum[found]).mean()) if found.any() else float("nan"),
            "stated": float(stated[known].mean()) if known.any() else float("nan"),
            "gap": float((stated - held)[known].mean()) if known.any() else float("nan"),
            "queries": plans.queries / len(plans),
            "pairs": [
                [round(float(s), 4), round(float(h), 4)] for s, h in zip(stated[known], held[known], strict=True)
            ],
        }

    def total(self, plans: Plans) -> dict[str, float]:
        """The share of people who must come back, and the cost until a judge says yes, relative to the optimum.

        Further plans are searched for exactly. People without one are `stuck`.
        """
        ends, cost = plans.final_states, np.array([plan.cost for plan in plans])
        read, back, totals, stuck = self.problem.read(self.people), [], [], []
        for kind in dict.fromkeys(variation for variation, _ in self.judges):
            for judge in [judge for variation, judge in self.judges if variation == kind][:TOTAL_JUDGES]:
                further = np.zeros(len(ends))
                refused = np.flatnonzero(~judge.favourable(ends))
                table = read.frame(ends[refused], refused).reset_index(drop=True)
                if len(refused):
                    again = ExactPlanner(self.problem, BlackBox(judge)).plan(table, refused=True)
                    further[refused] = [plan.cost if plan.status == "found" else np.nan for plan in again]
                back.append(len(refused) / len(ends))
                stuck.append(float(np.isnan(further).mean()))
                totals.append(float(np.nanmean((cost + further) / self.optimum)))
        return {"back": float(np.mean(back)), "total": float(np.mean(totals)), "stuck": float(np.mean(stuck))}


class MarginAlone(SurvivalEstimator):
    """The margin of today's model alone."""

    source: ClassVar[Source] = "margin"
    portable = False

    def __init__(self, case: Case) -> None:
        model = case.benchmark.model
        self._model, self._link = model, ScoreLink(model.threshold, probability=True)

    def chance(self, problem: Problem, people: People, states: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """See `SurvivalEstimator.chance`."""
        return MARGIN_ONLY.chance(self._link.margin(self._model.score(states)))


def fitted(case: Case, folder: Path) -> tuple[Path, float]:
    """Fit to the training people with their outcomes, or find an earlier fit; the folder and the CPU seconds."""
    benchmark = case.benchmark
    saved = folder / f"{benchmark.name}-{benchmark.seed}"
    started = time.process_time()
    if not (saved / "problem.json").exists():
        recourse = Recourse(case.problem, BlackBox(benchmark.model))
        recourse.fit(benchmark.train, seed=benchmark.seed).save(saved)
    return saved, time.process_time() - started


def one(case: Case, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """All measures of one benchmark and seed."""
    benchmark = case.benchmark
    saved, seconds = fitted(case, folder)

    def recourse(**refits: Any) -> Recourse:
        """What was fitted, with a black box that has no cached answers."""
        return Recourse.load(saved, BlackBox(benchmark.model), answers=False, **refits)

    rows: dict[str, Any] = {}
    row = {"benchmark": benchmark.name, "seed": benchmark.seed, "people": len(case.people), "judges": len(case.judges)}
    row |= {"repeated": case.repeated, "accepted": case.accepted(), "fit_cpu": seconds, "rows": rows}
    for planner in options.planners:
        for survival in WEIGHTS:
            started = time.process_time()
            plans = recourse().recommend(case.people, planner, refused=True, survival=survival)
            rows[f"{planner} {survival}"] = case.measures(plans)
            rows[f"{planner} {survival}"]["milliseconds"] = 1000 * (time.process_time() - started) / len(case.people)
            if options.total and planner == options.planners[-1]:
                rows[f"{planner} {survival}"] |= case.total(plans)
    if options.refits and not case.repeated:
        refits = [benchmarks.retrained(benchmark, "seed", number) for number in REFITS]
        for survival in ("balanced", "high"):
            with_refits = recourse(refits=refits)
            plans = with_refits.recommend(case.people, options.planners[-1], refused=True, survival=survival)
            rows[f"refits {survival}"] = case.measures(plans)
    if options.program:
        learned = recourse()
        learned.distil(benchmark.train, survival="balanced", seed=benchmark.seed)
        rows["program"] = case.measures(learned.recommend(case.people, "program", refused=True))
    row["frontier"] = frontier(case, recourse().survival_) if options.frontier else {}
    if options.limits:
        row["frontier"]["at_least"] = [
            point(case, recourse().survival_, limit, survival_at_least=limit) for limit in LIMITS
        ]
    return row


def frontier(case: Case, estimator: SurvivalEstimator) -> dict[str, list[dict[str, float]]]:
    """The cost ratio and the share that holds, by method and weight, with exact search."""
    methods = {
        "survival": estimator,
        "margin": MarginAlone(case),
        "oracle": JudgeOracle([judge for _, judge in case.judges]),
    }
    return {
        name: [point(case, method, weight, survival=weight) for weight in FRONTIER] for name, method in methods.items()
    }


def point(case: Case, estimator: SurvivalEstimator, value: float, **goal: float) -> dict[str, float]:
    """The cost ratio and the share that holds of plans by exact search for one goal, whose parameter is `value`."""
    planner = ExactPlanner(case.problem, BlackBox(case.benchmark.model))
    planner.survival = estimator
    found = case.measures(planner.plan(case.people, refused=True, **goal))
    return {"weight": value} | {key: found[key] for key in ("held", "ratio", "gap")}


def summary(rows: Sequence[dict[str, Any]]) -> str:
    """Means over the seeds of one benchmark, with intervals for the first three."""
    name = rows[0]["benchmark"]
    lines = [f"{name}: seeds {', '.join(str(row['seed']) for row in rows)}; accepted people {_mean(rows, 'accepted')}"]
    for key in rows[0]["rows"]:
        group = [row["rows"][key] for row in rows if key in row["rows"]]
        held, ratio, gap = (common.interval([found[part] for found in group]) for part in ("held", "ratio", "gap"))
        text = f"  {key:18} held {held}  cost {ratio}  gap {gap}  queries {_mean(group, 'queries')}"
        text += f"  success {_mean(group, 'success')}"
        if rows[0]["repeated"]:
            text += f"  held with {rows[0]['repeated']} equal models {_mean(group, 'held_with_repeated')}"
        if "total" in group[0]:
            text += f"  back {_mean(group, 'back')}  total cost {_mean(group, 'total')}  stuck {_mean(group, 'stuck')}"
        bar = BARS.get(name, {}).get(key.removeprefix("guided ").removeprefix("exact "))
        lines.append(text + (f"  (required {bar[0]}, {bar[1]})" if bar else ""))
    for method, points in rows[0].get("frontier", {}).items():
        means = [
            (
                point["weight"],
                *(np.mean([row["frontier"][method][i][part] for row in rows]) for part in ("held", "ratio")),
            )
            for i, point in enumerate(points)
        ]
        sign = "≥" if method == "at_least" else "λ="
        lines.append(
            f"  {method:18} " + "  ".join(f"{sign}{w:g} {held:.3f} at {ratio:.2f}" for w, held, ratio in means)
        )
    return "\n".join(lines)


def _mean(rows: Sequence[dict[str, Any]], key: str) -> str:
    return f"{np.mean([row[key] for row in rows]):.3f}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("benchmarks", nargs="*", default=NAMES)
    parser.add_argument("--first", type=int, default=30, help="the first seed (settings were chosen on others)")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--validation", action="store_true", help="the seeds that settings were chosen on")
    parser.add_argument("--planners", nargs="+", default=("guided", "exact"))
    parser.add_argument("--refits", action="store_true", help="also with five refits")
    parser.add_argument("--program", action="store_true", help="also with a program")
    parser.add_argument("--frontier", action="store_true", help="also for other weights and estimates")
    parser.add_argument("--limits", action="store_true", help="also for least chances")
    parser.add_argument("--total", action="store_true", help="also the cost until a judge says yes")
    parser.add_argument("--fits", type=Path, help="folder of fits")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as temporary:
        for name in options.benchmarks:
            seeds = VALIDATION[name] if options.validation else range(options.first, options.first + options.seeds)
            group = []
            for seed in seeds:
                group.append(one(Case.load(name, seed), options.fits or Path(temporary), options))
                if options.out:
                    options.out.write_text(json.dumps([*rows, *group], indent=1))
            rows += group
            print(summary(group), flush=True)


if __name__ == "__main__":
    main()
