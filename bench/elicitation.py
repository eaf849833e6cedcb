"""Regret after questions about what is hard: `python bench/elicitation.py [--benchmarks NAME …] [--options 2 3 4]`.

Simulated users answer the questions of `Elicitation`: by default 300, 100 refused, feasible test people of each seed.
The regret of a plan is its cost under the user's true weights minus that of the exact optimum under these, relative to
that optimum, because the unit of a user's weights is arbitrary. Figures are ratios of mean regrets: 1 is the exact plan
for average weights, 0 that for known weights; with the 95 % interval of a bootstrap over users. `in cost` are the same
ratios without dividing by the optimum. A user for whom no further question would pay keeps the plan.

The weights of a user are not drawn from the prior of the elicitation: their logarithms are normal with a standard
deviation of the user, uniform from 0.4 to 1.2, and with probability 0.3 one function is five times harder. A user
chooses option i with probability ∝ exp(−noise · true cost of i / least true cost of any plan): `--noise` 10, or 5 for
noisier answers. `--planner` is guided, by a surrogate that is fitted first, or exact. Prints the regret after 1, 2, 3,
5 and 10 questions, the questions asked, queries a question, and CPU seconds a question: planning it, and the update by
its answer. `--surrogates DIR` saves what was fitted, for later runs. Settings were tuned on seeds 3 to 5.
"""

import json
import time
from dataclasses import asdict, dataclass, field

import common  # first: it sets the number of threads
import numpy as np

from counterplan import BlackBox, Elicitation, ExactPlanner, Plan, Problem, Recourse, benchmarks
from counterplan.benchmarks import Benchmark
from program import fitted

AFTER = (1, 2, 3, 5, 10)
RESAMPLES = 2_000


@dataclass(frozen=True)
class Asking:
    """How users are asked, and how they answer."""

    options: int
    planner: str
    noise: float


@dataclass
class User:
    """A person with weights."""

    weights: dict[str, float]
    optimum: float
    noise: float
    rng: np.random.Generator

    def cost(self, plan: Plan) -> float:
        """The true cost of a plan."""
        return sum(step.cost / step.weight * self.weights[step.function] for step in plan.steps)

    def choose(self, options: tuple[Plan, ...]) -> int:
        """Answer a question."""
        utility = -self.noise * np.array([self.cost(option) for option in options]) / self.optimum
        chance = np.exp(utility - utility.max())
        return int(self.rng.choice(len(options), p=chance / chance.sum()))


@dataclass
class Record:
    """What happened to one user."""

    optimum: float
    average: float
    """Regret, in cost, of the exact plan for average weights."""
    regret: list[float] = field(default_factory=list)
    """Regret, in cost, of the plan after 0 to 10 questions."""
    questions: int = 0
    queries: int = 0
    seconds: list[float] = field(default_factory=list)


def true_weights(problem: Problem, rng: np.random.Generator) -> dict[str, float]:
    functions = [function.name for function in problem.transitions.functions]
    weights = np.exp(rng.uniform(0.4, 1.2) * rng.standard_normal(len(functions)))
    if rng.random() < 0.3:
        weights[rng.integers(len(functions))] *= 5
    return dict(zip(functions, np.clip(weights, 0.01, 100).tolist(), strict=True))


def ask(benchmark: Benchmark, recourse: Recourse, people: common.Refused, number: int, how: Asking) -> Record:
    """Ask one user, whose weights do not depend on the settings."""
    problem, exact = benchmark.problem, ExactPlanner(benchmark.problem, BlackBox(benchmark.model))
    person = people.feasible.iloc[[number % len(people.feasible)]]
    weights = true_weights(problem, np.random.default_rng([benchmark.seed, number]))
    optimum = exact.plan(person, refused=True, weights=weights)[0].cost
    user = User(weights, optimum, how.noise, np.random.default_rng([benchmark.seed, number, 1]))
    record = Record(optimum, user.cost(exact.plan(person, refused=True)[0]) - optimum)
    box = BlackBox(benchmark.model)
    fresh = Recourse(problem, box, surrogate=recourse.surrogate_)
    elicitation = Elicitation(
        fresh, person, options=how.options, planner=how.planner, seed=number, max_questions=max(AFTER)
    )
    while True:
        start = time.process_time()
        question = elicitation.question()
        spent = time.process_time() - start
        record.regret.append(user.cost(elicitation.plan()) - optimum)
        if question is None:
            break
        choice = user.choose(question.options)
        start = time.process_time()
        elicitation.answer(choice)
        record.seconds.append(spent + time.process_time() - start)
    record.questions, record.queries = elicitation.answers, box.queries
    record.regret += record.regret[-1:] * (max(AFTER) + 1 - len(record.regret))
    return record


def ratio(records: list[Record], after: int, *, in_cost: bool = False) -> str:
    """The ratio of mean regrets, and its interval."""
    pairs = np.array([(record.regret[after], record.average) for record in records])
    pairs /= 1.0 if in_cost else np.array([[record.optimum] for record in records])
    drawn = np.random.default_rng(0).integers(len(pairs), size=(RESAMPLES, len(pairs)))
    sums = pairs[drawn].sum(axis=1)
    low, high = np.quantile(sums[:, 0] / sums[:, 1], (0.025, 0.975))
    return f"{pairs[:, 0].sum() / pairs[:, 1].sum():.3f} [{low:.3f}, {high:.3f}]"


def report(label: str, records: list[Record]) -> None:
    regrets = "  ".join(f"{after}: {ratio(records, after)}" for after in AFTER)
    in_cost = "  ".join(f"{after}: {ratio(records, after, in_cost=True)}" for after in AFTER[-2:])
    asked = sum(record.questions for record in records)
    seconds = np.concatenate([record.seconds for record in records if record.seconds])
    queries = sum(record.queries for record in records) / asked
    print(f"{label} regret after {regrets}; in cost {in_cost}")
    print(
        f"{label} {asked / len(records):.1f} questions asked, {queries:.1f} queries a question, "
        f"{seconds.mean():.3f} CPU s a question (95 %: {np.quantile(seconds, 0.95):.3f})",
        flush=True,
    )


def main() -> None:
    parser = common.seeded_parser([60, 61, 62], ["german", "adult"])
    parser.add_argument("--options", nargs="+", type=int, default=[3])
    parser.add_argument("--users", type=int, default=100, help="of each seed")
    parser.add_argument("--planner", default="guided")
    parser.add_argument("--noise", type=float, default=10.0)
    options = parser.parse_args()
    rows = []
    for name in options.benchmarks:
        records: dict[int, list[Record]] = {count: [] for count in options.options}
        for seed in options.seeds:
            benchmark = benchmarks.load(name, seed)
            people = common.by_feasibility(benchmark.problem, benchmark.model, benchmark.refused_test)
            recourse = fitted(benchmark, "guided", options.surrogates)
            for count in options.options:
                how = Asking(count, options.planner, options.noise)
                own = [ask(benchmark, recourse, people, number, how) for number in range(options.users)]
                records[count] += own
                rows += [{"benchmark": name, "seed": seed, **asdict(how), **asdict(record)} for record in own]
        for count, group in records.items():
            report(f"{name:7} {options.planner:7} {count} options, noise {options.noise:g}:", group)
        if options.out:
            options.out.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
