"""Audits: `python bench/audit.py` (CPU time, unknown), `--coverage` (intervals), `--random 2000` (brute force).

CPU time of one core, for the whole audit with its statistics, per refused person. Settings were tuned on other seeds.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import binom

from counterplan import Audit, BlackBox, Problem, benchmarks
from counterplan.audit.intervals import mean_interval, median_difference, newcombe, quantile_interval, share_interval

MOST_MILLISECONDS, MOST_UNKNOWN, LEAST_COVERAGE = 50.0, 0.01, 0.93
_TINY = 1e-12


def speed(names: Sequence[str], seeds: Sequence[int], people: int, relaxations: int | None) -> None:
    """Audit the first refused people of each benchmark."""
    print(
        f"{'':8} {'seed':>5} {'refused':>8} {'ms each':>8} {'plan':>6} {'none':>6} {'unknown':>8} {'queries each':>13}"
    )
    for name in names:
        for seed in seeds:
            benchmark = benchmarks.load(name, seed)
            refused = pd.concat([benchmark.refused_test, benchmark.refused_train], ignore_index=True).head(people)
            box = BlackBox(benchmark.model)
            start = time.process_time()
            result = Audit(benchmark.problem, box, relaxations=relaxations).run(refused)
            facts = result.summary
            result.to_html()
            each = (time.process_time() - start) * 1000 / facts["refused"]
            unknown = facts["unknown"] / facts["refused"]
            met = each <= MOST_MILLISECONDS and unknown <= MOST_UNKNOWN
            shares = f"{facts['recourse_share']:6.3f} {facts['none_share']:6.3f} {unknown:8.4f}"
            missed = "" if met else "MISSED"
            queries = box.queries / facts["refused"]
            print(f"{name:8} {seed:5} {facts['refused']:8} {each:8.1f} {shares} {queries:13,.0f} {missed}")


def coverage(repeats: int, seed: int) -> None:
    """How often intervals of 95 % contain the true value: of shares by calculation, of others in simulation."""
    rng = np.random.default_rng(seed)
    print(f"{'':44} {'mean':>6} {'least':>6}")
    for name, cases in {
        "shares": _share_cases(),
        "differences of shares": _share_difference_cases(),
        "quantiles, bootstrap": _quantile_cases(rng, repeats),
        "difference of medians, bootstrap": _median_cases(rng, repeats),
        "mean, bootstrap": _mean_cases(rng, repeats),
    }.items():
        found = list(cases)
        shares = np.array([share for _, share in found])
        worst = found[int(shares.argmin())][0]
        missed = "" if shares.min() >= LEAST_COVERAGE else "MISSED"
        print(f"{name:44} {shares.mean():6.3f} {shares.min():6.3f}  ({worst}; {len(found)} cases) {missed}")


def _inside(low: np.ndarray, value: float, high: np.ndarray) -> float:
    return float(((low <= value + _TINY) & (value - _TINY <= high)).mean())


def _share_cases() -> Iterator[tuple[str, float]]:
    """Sums of binomial probabilities; shares include those at which Wilson's interval covers least, 0.17 / n."""
    for n in (10, 20, 50, 100, 200, 500, 1000):
        counts = np.arange(n + 1)
        low, high = share_interval(counts, np.full(n + 1, n))
        for p in (0.17 / n, *np.linspace(0.005, 0.995, 199), 1 - 0.17 / n):
            inside = (low <= p + _TINY) & (p - _TINY <= high)
            yield f"n {n}, p {p:.3g}", float(binom.pmf(counts, n, p)[inside].sum())


def _share_difference_cases() -> Iterator[tuple[str, float]]:
    """Sums of products of binomial probabilities."""
    for n, m in ((10, 10), (10, 100), (30, 60), (100, 100), (50, 1000)):
        counts = np.meshgrid(np.arange(n + 1), np.arange(m + 1), indexing="ij")
        low, high = newcombe((counts[0], np.full_like(counts[0], n)), (counts[1], np.full_like(counts[1], m)))
        for p, q in ((0.5, 0.5), (0.3, 0.6), (0.9, 0.9), (0.95, 0.8), (0.98, 0.9), (0.05, 0.2), (0.05, 0.95)):
            inside = (low <= p - q + _TINY) & (p - q - _TINY <= high)
            chance = np.outer(binom.pmf(np.arange(n + 1), n, p), binom.pmf(np.arange(m + 1), m, q))
            yield f"n {n} and {m}, p {p} and {q}", float(chance[inside].sum())


Sampler = Callable[[tuple[int, ...]], np.ndarray]


def _samplers(rng: np.random.Generator) -> dict[str, tuple[Sampler, np.ndarray]]:
    """Distributions of costs, with a large sample of each, sorted: smooth, skewed, discrete."""

    def discrete(shape: tuple[int, ...]) -> np.ndarray:
        return rng.choice([3.0, 5.0, 6.0, 10.0, 20.0], shape, p=[0.2, 0.25, 0.3, 0.15, 0.1])

    made: dict[str, Sampler] = {
        "log-normal": lambda shape: rng.lognormal(2.0, 0.8, shape),
        "gamma": lambda shape: rng.gamma(2.0, 5.0, shape),
        "discrete": discrete,
    }
    return {name: (sample, np.sort(sample((2_000_000,)))) for name, sample in made.items()}


def _quantile_cases(rng: np.random.Generator, repeats: int) -> Iterator[tuple[str, float]]:
    for name, (sample, known) in _samplers(rng).items():
        for n in (10, 20, 50, 200):
            drawn = sample((repeats, n))
            for quantile in (0.25, 0.5, 0.75, 0.9):
                true = float(known[int(np.ceil(quantile * len(known))) - 1])
                ends = np.array([quantile_interval(values, quantile) for values in drawn])
                yield f"{name}, n {n}, quantile {quantile}", _inside(ends[:, 0], true, ends[:, 1])


def _median_cases(rng: np.random.Generator, repeats: int) -> Iterator[tuple[str, float]]:
    for name, (sample, known) in _samplers(rng).items():
        for n, m in ((10, 10), (15, 60), (50, 200), (100, 100)):
            for factor in (1.0, 1.5):
                true = float(known[(len(known) - 1) // 2]) * (factor - 1)
                ends = np.array(
                    [median_difference(factor * sample((n,)), sample((m,)), rng=rng) for _ in range(repeats)]
                )
                yield f"{name}, n {n} and {m}, factor {factor}", _inside(ends[:, 0], true, ends[:, 1])


def _mean_cases(rng: np.random.Generator, repeats: int) -> Iterator[tuple[str, float]]:
    for a, b in ((8.0, 2.0), (2.0, 2.0), (4.0, 1.0)):
        for n in (10, 30, 100):
            ends = np.array([mean_interval(rng.beta(a, b, n), rng=rng) for _ in range(repeats)])
            yield f"survival, beta {a:g} and {b:g}, n {n}", _inside(ends[:, 0], a / (a + b), ends[:, 1])
    for refits, a, b in ((2, 8.0, 2.0), (5, 4.0, 1.0), (5, 1.0, 4.0)):
        for n in (10, 30, 100):
            chances = rng.binomial(refits, rng.beta(a, b, (repeats, n))) / refits
            ends = np.array([mean_interval(one, rng=rng) for one in chances])
            yield f"survival by {refits} refits, {a:g} and {b:g}, n {n}", _inside(ends[:, 0], a / (a + b), ends[:, 1])


def against_brute_force(count: int, first: int) -> None:
    """Compare the outcomes and costs of audits of random problems with enumeration."""
    tests = Path(__file__).parents[1] / "tests"
    sys.path.insert(0, str(tests))
    import worlds
    from planners.brute_force import DECIMALS, brute_force

    people, tally = 0, {"favourable": 0, "recourse": 0, "none": 0, "unknown": 0}
    for seed in range(first, first + count):
        problem = Problem.from_dict(worlds.random_problem(seed))
        table = worlds.random_people(problem, seed, 4)
        model = worlds.random_black_box(problem, seed)
        outcomes = Audit(problem, model).run(table).outcomes
        read = problem.read(table)
        for row in range(len(read)):
            best = brute_force(problem, read, row, BlackBox(model))
            expected = "none" if best is None else "recourse" if best[1] else "favourable"
            found = outcomes.iloc[row]
            assert found["outcome"] == expected, (seed, row, found["outcome"], expected)
            assert best is None or abs(found["cost"] - best[0]) < 10**-DECIMALS * 10, (
                seed,
                row,
                found["cost"],
                best[0],
            )
            assert best is None or found["steps"] == best[1], (seed, row)
            people, tally[expected] = people + 1, tally[expected] + 1
    print(f"{count:,} random problems, {people:,} people: equal to brute force; {tally}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--benchmarks", nargs="+", default=["german", "adult", "taiwan"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[80, 81])
    parser.add_argument("--people", type=int, default=300)
    parser.add_argument("--relaxations", type=int, help="most people for whom relaxations are tried")
    parser.add_argument("--coverage", action="store_true", help="compute the coverage of intervals")
    parser.add_argument("--repeats", type=int, default=2_000)
    parser.add_argument("--random", type=int, metavar="N", help="compare N random problems with brute force")
    parser.add_argument("--first", type=int, default=70_000, help="the first seed of random problems")
    options = parser.parse_args()
    if options.coverage:
        coverage(options.repeats, 70)
    elif options.random:
        against_brute_force(options.random, options.first)
    else:
        speed(options.benchmarks, options.seeds, options.people, options.relaxations)


if __name__ == "__main__":
    main()
