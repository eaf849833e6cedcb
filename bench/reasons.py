"""Reasons by points, judged by the true model: `python bench/reasons.py [BENCHMARK …] [--first 30] [--seeds 3]`.

For each seed, a surrogate is fitted to the training people, and the guided planner plans for the first 100 refused test
people who have a plan. The plans are explained without a program. Measured are the share of plans by the source of
their reasons; the share of answers about people that points agree with; and, on fresh random plans of at most twice the
cost of the person's plan, the share whose decision points predict, and the share of favourable ones among those that
would be called likely. Options are judged by the true model, too.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import common  # first: it sets the number of threads
import numpy as np

from counterplan import BlackBox, Plans, Recourse, benchmarks
from counterplan.benchmarks import Benchmark
from counterplan.explanation.arrays import groups, unexplained
from counterplan.explanation.options import LIKELY_ODDS
from counterplan.explanation.point_fits import PointFits
from counterplan.explanation.point_reasons import PointExplainer
from counterplan.explanation.points import LIKELY, NEEDED
from counterplan.search.orders import NO_ACTION, rollout
from counterplan.search.variations import PlanSampler

NAMES = ("german", "adult", "taiwan")
BARS = {"explained": 1.0, "agreement": 1.0, "sign": 0.94, "likely": 0.96, "milliseconds": 8.0}
"""Least shares, and most CPU time for each person, that are required."""
FRESH = 300
"""Random plans of each person that points are judged by."""
FRESH_SEED = 1_000_003
COST_RATIO = 2.0


def fitted(benchmark: Benchmark, folder: Path) -> Recourse:
    """A surrogate fitted to the training people, or an earlier fit, with a black box that has no cached answers."""
    saved = folder / f"{benchmark.name}-{benchmark.seed}"
    if not (saved / "problem.json").exists():
        recourse = Recourse(benchmark.problem, BlackBox(benchmark.model))
        recourse.fit(benchmark.train, seed=benchmark.seed).save(saved)
    return Recourse.load(saved, BlackBox(benchmark.model), answers=False)


def one(benchmark: Benchmark, folder: Path) -> dict[str, Any]:
    """All measures of one benchmark and seed."""
    recourse = fitted(benchmark, folder)
    people = common.by_feasibility(benchmark.problem, benchmark.model, benchmark.refused_test).feasible
    plans = recourse.recommend(people, "guided", refused=True)
    plans = plans.take(np.flatnonzero(plans.lengths > 0))
    started = time.process_time()
    explained = recourse.explain(plans)
    milliseconds = 1000 * (time.process_time() - started) / len(plans)
    row = {"benchmark": benchmark.name, "seed": benchmark.seed, "people": len(plans), "milliseconds": milliseconds}
    return row | sources(explained) | agreement(benchmark, recourse, plans) | options(benchmark, explained)


def sources(explained: Plans) -> dict[str, float]:
    """The share of plans all of whose steps have a reason, and of those with reasons from one source."""
    by_plan = [[step.because.source if step.because else "none" for step in plan.steps] for plan in explained]
    shares = {source: float(np.mean([set(own) == {source} for own in by_plan])) for source in ("points", "contrast")}
    return {"explained": float(np.mean(["none" not in own for own in by_plan])), **shares}


def fits_of(recourse: Recourse, plans: Plans) -> Iterator[tuple[PointFits, Any]]:
    """Points of all people, some at a time, and the answers about them."""
    assert recourse.surrogate_ is not None
    explainer = PointExplainer(recourse.problem, recourse.box, recourse.surrogate_)
    for group in groups(recourse.problem, plans, unexplained(plans)):
        for _, fits, known in explainer.fits(group):
            yield fits, known


def agreement(benchmark: Benchmark, recourse: Recourse, plans: Plans) -> dict[str, float]:
    """Agreement of points with known answers, and with the true model on fresh random plans."""
    problem = benchmark.problem
    sampler = PlanSampler(problem, np.random.default_rng(FRESH_SEED), FRESH, 0)
    agree, signs, enough, likely, predicted = [], [], [], [], []
    for fits, known in fits_of(recourse, plans):
        with_points = np.array([points is not None for points in fits.points])
        total = np.array([fits.points[row](known.states[[i]])[0] for i, row in enumerate(known.rows)])
        agree += ((total >= NEEDED) == known.favourable).tolist()
        fresh = sampler.plans(fits.group.people.states)
        cheap = fresh.costs <= COST_RATIO * fits.group.costs[fresh.person] + 1e-9
        fresh = fresh.take(cheap & with_points[fresh.person])
        points, truth = fits.points_of(fresh.states, fresh.person), benchmark.model.favourable(fresh.states)
        odds = fits.predict(fresh.states, fresh.person)[1]
        for row in np.unique(fresh.person):
            mine = fresh.person == row
            signs.append(float(((points >= NEEDED) == truth)[mine].mean()))
            predicted.append(float(((odds > 0) == truth)[mine].mean()))
        enough += truth[points >= LIKELY].tolist()
        likely += truth[(points >= LIKELY) & (odds >= LIKELY_ODDS)].tolist()
    return {
        "agreement": float(np.mean(agree)),
        "answers": len(agree),
        "sign": float(np.mean(signs)),
        "surrogate_sign": float(np.mean(predicted)),
        "from_125": float(np.mean(enough)),
        "likely": float(np.mean(likely)),
        "called_likely": len(likely),
        "share_called": len(likely) / max(1, len(enough)),
    }


def options(benchmark: Benchmark, explained: Plans) -> dict[str, float]:
    """The number of options of each person, and the share of favourable ones by the true model, checked or not."""
    problem = benchmark.problem
    index = {str(action): action.index for action in problem.transitions.actions}
    assert explained.people is not None
    judged: dict[bool, list[bool]] = {True: [], False: []}
    for row, plan in enumerate(explained):
        for option in plan.options:
            actions = np.full((1, problem.max_actions), NO_ACTION, np.intp)
            actions[0, : len(option.actions)] = [index[name] for name in option.actions]
            end, cost, legal = rollout(problem.transitions, explained.people.states[[row]], actions)
            assert legal[0]
            assert abs(cost[0] - option.cost) < 1e-6
            judged[option.checked].append(bool(benchmark.model.favourable(end)[0]))
    return {
        "with_options": float(np.mean([bool(plan.options) for plan in explained])),
        "checked_options": len(judged[True]),
        "checked_favourable": float(np.mean(judged[True])) if judged[True] else float("nan"),
        "likely_options": len(judged[False]),
        "likely_favourable": float(np.mean(judged[False])) if judged[False] else float("nan"),
    }


def summary(rows: list[dict[str, Any]]) -> str:
    """Means over the seeds of one benchmark."""
    lines = [f"{rows[0]['benchmark']}: seeds {', '.join(str(row['seed']) for row in rows)}"]
    for key in (key for key in rows[0] if key not in ("benchmark", "seed")):
        values = [row[key] for row in rows]
        required = f"  (required {BARS[key]:g})" if key in BARS else ""
        spread = f"  {' '.join(f'{value:.3f}' for value in values)}"
        lines.append(f"  {key:18} {np.nanmean(values):8.3f}{spread}{required}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("benchmarks", nargs="*", default=NAMES)
    parser.add_argument("--first", type=int, default=30, help="the first seed (settings were chosen on 3 to 5)")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--fits", type=Path, help="folder of fits")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as temporary:
        for name in options.benchmarks:
            group = []
            for seed in range(options.first, options.first + options.seeds):
                group.append(one(benchmarks.load(name, seed), options.fits or Path(temporary)))
                if options.out:
                    options.out.write_text(json.dumps([*rows, *group], indent=1))
            rows += group
            print(summary(group), flush=True)


if __name__ == "__main__":
    main()
