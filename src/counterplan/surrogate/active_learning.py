"""Learning a surrogate actively: people as they are and random plans first, then what the planner itself would ask.

Everything that decides what comes next is in a checkpoint: a run that was stopped goes on to the same surrogate.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from counterplan.blackbox import BlackBox
from counterplan.errors import PlanError
from counterplan.problem import People, Problem
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.search.change_sets import Hints
from counterplan.search.outcome import SearchOutcome
from counterplan.search.probes import probes
from counterplan.search.synthetic import crossover, random_walk
from counterplan.storage.answer_cache import LabelledStates
from counterplan.storage.checkpoints import LEARNING, Checkpoints
from counterplan.surrogate.acquisition import GuideSettings, guide
from counterplan.surrogate.fitting import FitSettings, fit
from counterplan.surrogate.ledger import Ledger
from counterplan.surrogate.surrogate import PARTS, Surrogate, from_arrays, to_arrays

CHECKPOINT, METRICS = LEARNING
_FEWEST = 16
"""A round plans for at least so many people."""
_RESERVE = 1.5
"""So many times the questions of a validation are left for the last one, and to choose parts."""
_KEPT = Checkpoints(
    CHECKPOINT, METRICS, plain=("round", "worse", "next_person", "learned", "finished", "cut"),
    arrays=("validation", "pupils", "least", "best_cost", "best_questions"),
)  # fmt: skip
"""What a checkpoint holds of a run, besides surrogates and answers."""


@dataclass(frozen=True)
class LearningSettings:
    """How a surrogate is learned; one setting for every problem."""

    budget: int = 10_000
    """Most questions to the black box in all."""
    people: int = 240
    """People asked about as they are, at first."""
    plans: int = 240
    """States at the end of random plans that are asked about, at first."""
    probes: int = 64
    """Pairs of a refused and a favourable state between which the boundary is looked for, if there are ..."""
    many: int = 100
    """... more actions than this: plans that work are then too rare to be met by chance."""
    validation: int = 48
    """Refused people held out, on whom the best surrogate is chosen."""
    growth: float = 0.3
    """Each round asks about so many more states, as a share of all that are known."""
    most: int = 20_000
    """Most answers to learn from: the last ones."""
    anchors: int = 1_000
    """Favourable states that are remembered as hints."""
    examples: int = 200
    """Plans that worked which are remembered as hints."""
    rounds: int = 20
    patience: int = 4
    """Learning ends after so many rounds in a row (with invented people half as many) that planned no better ..."""
    better: float = 0.004
    """... for validation people by at least so much, in shares of the least effort known."""
    price: float = 0.02
    """What a question counts in that comparison."""
    guide: GuideSettings = field(default_factory=GuideSettings)
    """How validation people are planned for."""
    demonstrate: GuideSettings = field(
        default_factory=lambda: GuideSettings(min_relative_gain=0.005, max_queries=3, max_expansions=150_000),
        metadata={"key": "teach"},
    )
    """How others are planned for in a round: whatever is asked then is learned from."""
    fit: FitSettings = field(default_factory=FitSettings)


@dataclass(frozen=True)
class Progress:
    """How learning stands after a round: also one line of the metrics file."""

    round: int
    queries: int
    known: int
    """Answers to learn from, those included that were handed in."""
    success: float | None
    """Share of validation people with a plan; None if nobody could be held out, or asked about."""
    cost: float
    """Mean cost of these plans."""
    questions: float
    """Mean number of questions about a validation person."""

    def __str__(self) -> str:
        asked = f"{self.queries:,} question{'' if self.queries == 1 else 's'} asked"
        if self.success is None:
            return f"nothing could be validated; {asked}"
        return (
            f"{self.success:.0%} of validation people have a plan, mean effort {self.cost:.1f}, "
            f"{self.questions:.1f} questions each; {asked}"
        )


class ActiveLearner:
    """One run. `run` works until it is done; interrupted, it leaves the best surrogate so far in `best`."""

    def __init__(
        self, problem: Problem, people: People, box: BlackBox, settings: LearningSettings, seed: int,
        folder: Path | None = None, answers: LabelledStates | None = None,
    ) -> None:  # fmt: skip
        if not len(people):
            raise PlanError("there is nobody to learn from: hand in people, most of them refused")
        self.problem, self.box, self.settings, self.seed, self.folder = problem, box, settings, seed, folder
        self.random = np.random.default_rng(seed)
        self.people = people.take(self.random.permutation(len(people)))
        self.whom = hashlib.sha256(self.people.states.tobytes()).hexdigest()
        self.ledger = Ledger(problem, box, settings.budget)
        if answers is not None and len(answers):
            self.ledger.hand_in(answers)
        self.validation: Ints = np.empty(0, np.intp)
        self.pupils: Ints = np.empty(0, np.intp)
        """Rows of `people` who are known to be refused and were not planned for yet."""
        self.next_person = 0
        self.surrogate: Surrogate | None = None
        self.best: Surrogate | None = None
        self.learned = self._fitted = 0
        """How many of the ledger's answers the best surrogate learned from, and the last one."""
        self.least = self.best_cost = np.empty(0)
        """[V] the least cost of a plan known for each validation person, and what the best surrogate found."""
        self.best_questions = np.empty(0)
        self.round = self.worse = 0
        self.finished = self.cut = False
        """Whether all is done, and whether the budget did not even suffice to begin."""
        self.metrics: list[dict[str, Any]] = []
        self.worked: Counter[tuple[int, ...]] = Counter()
        """How often each plan was found to hold."""

    @property
    def queries(self) -> int:
        """Different questions asked by this run."""
        return self.ledger.queries

    def run(self, progress: Callable[[Progress], None] = lambda report: None) -> Surrogate:
        """Learn until nothing is gained any more, and give the surrogate that planned best for validation people."""
        while not self.finished:
            progress(self.advance())
            if self.folder is not None:
                self.save()
        assert self.best is not None
        return self.best

    def advance(self) -> Progress:
        """One round: ask, learn, and see how well that plans for validation people."""
        if self.surrogate is None:
            self._begin()
        else:
            self._plan(self._next_pupils(), self.settings.demonstrate, self.surrogate)
        known, self._fitted = slice(-self.settings.most, None), len(self.ledger)
        self.surrogate = fit(
            self.problem, self.ledger.states[known], self.ledger.answers[known], self.settings.fit, self.seed,
            self.surrogate,
        )  # fmt: skip
        self.surrogate = replace(self.surrogate, hints=self._hints())
        report = self._validate(self.surrogate)
        self.metrics.append(asdict(report))
        self.round += 1
        self.finished = self._tired or self._poor
        if self.finished:
            self._choose_parts()
            report = replace(report, queries=self.queries, known=len(self.ledger))
            self.metrics[-1] = asdict(report)
        return report

    @property
    def _tired(self) -> bool:
        """Whether more rounds would gain nothing."""
        return self.round >= self.settings.rounds or self.worse >= self.settings.patience

    @property
    def _poor(self) -> bool:
        """Whether there are too few questions left for another round."""
        return self.ledger.spent or self._pupils_affordable() < _FEWEST

    @property
    def limited(self) -> bool:
        """Whether learning ended for want of questions: with a larger budget it can go on."""
        return self.finished and self._poor and not self._tired

    def _begin(self) -> None:
        """Ask about people as they are, hold some of the refused ones out, and follow random plans of the others."""
        settings = self.settings
        rows = np.arange(min(settings.people + settings.validation, len(self.people)))
        self.next_person = len(rows)
        favourable, known = self.ledger.about(self.people).ask(self.people.states[rows], rows)
        refused = np.flatnonzero(known & ~favourable)
        held = min(settings.validation, len(refused) // 3)
        self.validation, self.pupils = refused[:held], refused[held:]
        self.least = self.best_cost = np.full(held, np.inf)
        self.best_questions = np.zeros(held)
        if len(self.pupils):
            rows = self.pupils[self.random.integers(len(self.pupils), size=settings.plans)]
            self.ledger.about(self.people).ask(random_walk(self.problem, self.people.states[rows], self.random), rows)
            if len(self.problem.transitions) > settings.many:
                self._probe()
        self.cut = self.ledger.spent
        if not len(self.ledger):
            raise PlanError("no question may be asked: raise the budget")
        if self.ledger.answers.all():
            more = "raise the budget, " if self.cut else ""
            raise PlanError(
                f"nobody among {len(self.ledger):,} people asked about was refused, so there is nothing to learn; "
                f"{more}hand in people who were, or see whether the favourable outcome is the right one"
            )

    def _probe(self) -> None:
        """Look for the boundary between pupils and what is favourable: other people, or states far beyond any plan."""
        recorder = self.ledger.about(self.people)
        rows = self.pupils[self.random.integers(len(self.pupils), size=self.settings.plans)]
        if not self.ledger.answers.any():
            far = self.people.states[rows]
            for _ in range(-(-len(self.problem.transitions.functions) // self.problem.max_actions)):
                far = random_walk(self.problem, far, self.random)
            recorder.ask(far, rows)
        favourable = self.ledger.states[self.ledger.answers]
        if not len(favourable):
            return
        rows = rows[: self.settings.probes]
        partners = favourable[self.random.integers(len(favourable), size=len(rows))]

        def ask(states: Floats, which: Ints) -> Bools:
            return recorder(states, rows[which])

        probes(self.problem, self.people.states[rows], partners, ask, self.random)

    def _next_pupils(self) -> People:
        """People to plan for: those known to be refused, then those likely to be, then crossed ones."""
        assert self.surrogate is not None
        per_person = max(1.0, 0.7 * (self.settings.demonstrate.max_queries or 1))
        asked = max(self.queries, self.settings.people + self.settings.plans)
        count = max(_FEWEST, round(self.settings.growth * asked / per_person))
        count = max(0, min(count, self._pupils_affordable()))
        rows, self.pupils = self.pupils[:count], self.pupils[count:]
        need = count - len(rows)
        if need:
            fresh = np.arange(self.next_person, min(self.next_person + 4 * need, len(self.people)))
            likely = fresh[self.surrogate.logit(self.people.states[fresh]) < 0][:need]
            self.next_person = int(likely[-1]) + 1 if len(likely) == need else self.next_person + len(fresh)
            rows = np.concatenate([rows, likely])
        people = self.people.take(rows)
        if len(rows) == count:
            return people
        states, source = crossover(self.problem, self.people, 4 * (count - len(rows)), self.random)
        likely = np.flatnonzero(self.surrogate.logit(states) < 0)[: count - len(rows)]
        states, source = states[likely], source[likely]
        tables = [people.table, self.people.frame(states, source)]
        return People(people.features, np.concatenate([people.states, states]), pd.concat(tables))

    def _pupils_affordable(self) -> int:
        """How many more people can be planned for so that what is learned from them can still be validated."""
        asked = self.metrics[-1]["questions"] if self.metrics else 0.0
        left = self.settings.budget - self.queries - _RESERVE * asked * len(self.validation)
        return int(left / max(1, self.settings.demonstrate.max_queries or 1))

    def _plan(self, people: People, settings: GuideSettings, surrogate: Surrogate) -> SearchOutcome:
        allowed = np.ones((len(people), len(self.problem.transitions)), bool)
        found = guide(
            self.problem, people.states, allowed, surrogate.logit, self.ledger.about(people), settings,
            hints=surrogate.hints,
        )  # fmt: skip
        for plan in found.actions[found.verified].tolist():
            self.worked[tuple(plan)] += 1
        return found

    def _hints(self) -> Hints:
        """The plans that worked most often, and the last states that were found to be favourable."""
        plans = [list(plan) for plan, _ in self.worked.most_common(self.settings.examples)]
        anchors = self.ledger.states[self.ledger.answers][-self.settings.anchors :]
        return Hints(anchors, np.array(plans, np.intp).reshape(len(plans), self.problem.max_actions))

    def _validate(self, surrogate: Surrogate) -> Progress:
        """How well `surrogate` plans for validation people; it is kept unless an earlier one did clearly better."""
        found = self._plan(self.people.take(self.validation), self.settings.guide, surrogate)
        solved = np.isfinite(found.cost)
        told = len(solved) > 0 and not (self.ledger.spent and not found.queries.any())
        if self.ledger.spent and self.best is not None:  # half a validation tells nothing
            self.worse += 1
        else:
            self.least = np.minimum(self.least, found.cost)
            before = self._score(self.best_cost, self.best_questions) if self.best else np.inf
            score = self._score(found.cost, found.queries)
            if score < before + self.settings.better:
                self.best, self.learned = surrogate, self._fitted
            if score < before:
                self.best_cost, self.best_questions = found.cost, found.queries.astype(float)
            tired = 2 if self.next_person == len(self.people) else 1
            self.worse = 0 if score < before - self.settings.better else self.worse + tired
        return Progress(
            self.round, self.queries, len(self.ledger), float(solved.mean()) if told else None,
            float(found.cost[solved].mean()) if solved.any() else 0.0,
            float(found.queries.mean()) if len(solved) else 0.0,
        )  # fmt: skip

    def _score(self, cost: Floats, questions: Floats | Ints) -> float:
        """Mean ratio of `cost` [V] to the least one known (a failure counts 2), and the price of the questions."""
        known = np.isfinite(self.least)
        if not known.any():
            return 2.0
        ratio = np.minimum(cost[known] / np.maximum(self.least[known], 1e-9), 2.0)
        return float(ratio.mean() + self.settings.price * questions.mean())

    def _choose_parts(self) -> None:
        """Networks alone, or trees alone, if they plan clearly better for validation people than both together."""
        assert self.best is not None
        if self.ledger.spent:
            return
        scores = {}
        people = self.people.take(self.validation)
        for parts in PARTS:
            found = self._plan(people, self.settings.guide, self.best.with_parts(parts))
            self.least = np.minimum(self.least, found.cost)
            scores[parts] = found
        if not self.ledger.spent:
            told = {parts: self._score(found.cost, found.queries) for parts, found in scores.items()}
            told["both"] -= 3 * self.settings.better
            self.best = self.best.with_parts(min(told, key=lambda parts: told[parts]))

    def save(self) -> None:
        """Write a checkpoint and the metrics, whole or not at all."""
        assert self.surrogate is not None
        assert self.best is not None
        facts: dict[str, Any] = {
            "spent": self.ledger.spent,
            "worked": [[list(plan), count] for plan, count in self.worked.items()],
        }
        arrays = self.ledger.to_arrays()
        for name, surrogate in (("now", self.surrogate), ("best", self.best)):
            some, facts[name] = to_arrays(surrogate)
            arrays |= {f"{name}.{key}": value for key, value in some.items()}
        _KEPT.write(self, arrays, facts)

    @classmethod
    def resumed(
        cls, problem: Problem, people: People, box: BlackBox, settings: LearningSettings, seed: int, folder: Path,
        answers: LabelledStates | None = None,
    ) -> ActiveLearner:  # fmt: skip
        """The run whose checkpoint is in `folder`, as it was then; a PlanError says so if it is of another run.

        One that had ended goes on if it may ask more now, or if there are `answers` that it does not know; one that
        had too few questions to begin with begins again, if it may ask more, with the answers that it got. With a
        smaller budget nothing is lost.
        """
        kept = _KEPT.read(folder)
        with kept.trusted():
            kept.require(problem, box, settings, seed)
            run = cls(problem, people, box, settings, seed, folder)
            kept.require_people(run.whom)
            kept.restore(run)
            run.ledger.restore(kept.arrays)
            if run.cut and kept.budget < settings.budget:
                return cls(problem, people, box, settings, seed, folder, answers)
            run.ledger.spent = kept.facts["spent"]
            run.worked = Counter({tuple(plan): count for plan, count in kept.facts["worked"]})
            run.surrogate = from_arrays(problem, kept.named("now."), kept.facts["now"])
            run.best = from_arrays(problem, kept.named("best."), kept.facts["best"])
            if kept.budget != settings.budget:
                run.ledger.spent = run.queries >= settings.budget
                run.finished = run._tired or run._poor
        known = len(run.ledger)
        if answers is not None and len(answers):
            run.ledger.hand_in(answers)
        run.finished &= len(run.ledger) == known
        return run
