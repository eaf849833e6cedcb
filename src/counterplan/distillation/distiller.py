"""How a program is made for a problem and a model: teach or sample, distil, and try it on people held back.

The room `program` knows neither agents nor black boxes; whatever needs one of them is here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from counterplan.agent import Agent
from counterplan.agent.rollout import rollout, sampling
from counterplan.blackbox import BlackBox, QueryBudgetExceeded
from counterplan.distillation.demonstrations import DemonstrationSettings, demonstrate
from counterplan.distillation.imitation import imitate, pairs_of
from counterplan.distillation.policy_search import PolicySearch, PolicySearchSettings
from counterplan.distillation.trial import EXAMPLES, Trial, Without, card_of
from counterplan.errors import PlanError
from counterplan.planners import ExactPlanner, GuidedPlanner, Planner, SearchPlanner
from counterplan.planners.base import is_whole
from counterplan.plans import Status
from counterplan.problem import People, Problem
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.problem.values import did_you_mean
from counterplan.program import Program
from counterplan.program.export.about import used
from counterplan.search import orders
from counterplan.search.orders import NO_ACTION
from counterplan.search.synthetic import synthesize
from counterplan.surrogate import Surrogate

PRESETS = ("default", "paper")
PREFER = ("success", "effort", "short")
TRACES = 250
"""What the paper samples."""
TRIES = 20
"""How many traces an agent may sample for each one that is wanted."""
HELD_BACK = 200
"""Most people whom a program is tried on, and at most a fifth of those there are."""

Progress = Callable[[str, int, int], None]
"""What is being done ("teaching", "distilling"), how much of it is, and of how much."""


@dataclass(frozen=True)
class DistillOptions:
    """What is asked of a distillation; see `Recourse.distil`."""

    traces: int | None = None
    rounds: int | None = None
    max_conditions: int | None = None
    prefer: str | None = None
    preset: str = "default"
    protected: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        for what, name, known in (("preset", self.preset, PRESETS), ("preference", self.prefer, PREFER)):
            if name is not None and name not in known:
                hint = did_you_mean(str(name), known) or f"; there are {', '.join(known)}"
                raise PlanError(f"there is no {what} '{name}'{hint}")
        for what, number in (("traces", self.traces), ("rounds", self.rounds), ("max_conditions", self.max_conditions)):
            if number is not None and not is_whole(number, 1):
                raise PlanError(f"'{what}' is a whole number, one or more, not {number!r}")
        if not is_whole(self.seed) or self.seed >= 2**32:
            raise PlanError(f"'seed' is a whole number from 0 to {2**32 - 1:,}, not {self.seed!r}")
        if self.preset == "paper" and (self.prefer or self.rounds):
            raise PlanError("the preset 'paper' imitates once: 'prefer' and 'rounds' are for the default")

    def settings(self) -> PolicySearchSettings:
        """The settings of a distillation that they stand for."""
        made = PolicySearchSettings()
        tree = replace(made.tree, max_conditions=self.max_conditions)
        if self.prefer == "short":
            tree = replace(tree, feature_price=4 * tree.feature_price, leaf_price=60 * tree.leaf_price)
        penalty = made.penalty * {"success": 1.6, "effort": 0.45}.get(self.prefer or "", 1.0)
        rounds = made.rounds if self.rounds is None else self.rounds
        return replace(made, tree=tree, penalty=penalty, rounds=rounds)


class ProgramDistiller:
    """Makes one program from `people`, some of whom are held back to try it on.

    `asked` is how many questions the fit took, by method.
    """

    def __init__(
        self,
        problem: Problem,
        people: People,
        box: BlackBox,
        agent: Agent | None,
        surrogate: Surrogate | None,
        wishes: DistillOptions,
        progress: Progress = lambda what, done, total: None,
        asked: Mapping[str, int] | None = None,
    ) -> None:
        self.problem, self.box, self.agent, self.surrogate = problem, box, agent, surrogate
        self.wishes, self.progress = wishes, progress
        self.random = np.random.default_rng(wishes.seed)
        self.avoid = () if wishes.protected else tuple(f.index for f in problem.features if f.protected)
        fitted = "search" if wishes.preset == "paper" else "guided"
        self.questions = {"to_fit": asked[fitted]} if asked and fitted in asked else {}
        """By purpose, as often as this run needs them: answers that the black box remembers are counted too."""
        self.model = box.fingerprint(problem)
        """Before it is asked anything: some models change as they answer."""
        self.people = people
        if not len(people):
            raise PlanError("there is nobody to distil a program from: hand in people whom the model refuses")

    def run(self) -> Program:
        """The program, with its card. On one thread: for arrays as small as these, several get in each other's way."""
        with threadpool_limits(1):
            return self.by_imitation() if self.wishes.preset == "paper" else self.by_policy_search()

    def by_policy_search(self) -> Program:
        """The default way: trees grown from what every choice loses, judged by the surrogate."""
        if self.surrogate is None:
            raise PlanError(
                "a program is distilled with a surrogate: call fit(people, method='guided'), or 'counterplan fit "
                "--method guided', first; an agent alone will do for preset='paper'"
            )
        wishes, surrogate = self.wishes, self.surrogate
        teaching = DemonstrationSettings() if wishes.traces is None else DemonstrationSettings(people=wishes.traces)
        rows = np.flatnonzero(surrogate.logit(self.people.states) < 0)
        _, held = self.hold_back(rows)
        others = np.setdiff1d(np.arange(len(self.people)), held)
        lessons = demonstrate(
            self.problem, self.people.take(others), surrogate, teaching, self.random,
            lambda done, total: self.progress("teaching", done, total),
        )  # fmt: skip
        settings = wishes.settings()
        distillation = PolicySearch(
            self.problem, lessons.starts, lessons.least, lessons.plans, surrogate.logit, settings, self.random,
            self.avoid,
        )  # fmt: skip
        trees = distillation.run(lambda done: self.progress("distilling", done, settings.rounds))
        made_with = {"method": "policy search on a surrogate", "prefer": wishes.prefer or "balanced"}
        how = {"teaching": asdict(teaching), "distilling": asdict(settings)}
        program = Program(self.problem, trees).simplified()
        return self.with_card(program, held, lessons.starts, lessons.real, made_with, how)

    def by_imitation(self) -> Program:
        """The paper's way: traces sampled from the agent, and a tree of scikit-learn in each node."""
        if self.agent is None:
            raise PlanError(
                "the paper's program imitates an agent: call fit(people, method='search'), or 'counterplan fit "
                "--method search', first"
            )
        refused, unsure = self.refused(self.people)
        mine, held = self.hold_back(refused)
        if not len(mine):
            raise PlanError(
                f"a program is distilled from refused people, and none of these {len(self.people):,} is known to be; "
                "hand in others"
            )
        people, wanted = self.people.take(mine), self.wishes.traces or TRACES
        starts, traces = self.sample(people, wanted)
        if not len(traces):
            raise PlanError(
                "the agent found no plan for anybody among these people, so there is nothing to distil; train it "
                "longer, or on more people"
            )
        pairs = pairs_of(self.problem, starts, traces)
        encoding = self.agent.encoding
        trees = imitate(self.problem, encoding, pairs, self.wishes.seed, self.wishes.max_conditions, self.avoid)
        made_with = {"method": "imitation of an agent's traces, as in the paper", "traces": len(traces)}
        made_with |= {"people_not_asked_about": unsure} if unsure else {}
        how = {"imitating": {"max_conditions": self.wishes.max_conditions}}
        return self.with_card(Program(self.problem, trees), held, starts, len(starts), made_with, how, refused=True)

    def hold_back(self, rows: Ints) -> tuple[Ints, Ints]:
        """The people `rows` [n], split into those to learn from and those to try the program on."""
        count = min(HELD_BACK, len(rows) // 5)
        mixed = self.random.permutation(rows)
        return np.sort(mixed[count:]), np.sort(mixed[:count])

    def refused(self, people: People) -> tuple[Ints, int]:
        """The people [n] who are refused as they are, and of how many more that is not known."""
        favourable, known = self.ask("people_as_they_are", people, people.states, np.arange(len(people)))
        return np.flatnonzero(known & ~favourable), int((~known).sum())

    def ask(self, purpose: str, people: People, states: Floats, rows: Ints) -> tuple[Bools, Bools]:
        """Ask about `states` [n, F] of the people `rows` [n], and count it: what is favourable, and what is known."""
        answers, known = np.zeros(len(rows), bool), np.ones(len(rows), bool)
        try:
            if len(rows):
                answers = self.box.session(self.problem, people)(states, rows)
        except QueryBudgetExceeded as stop:
            answers, known = stop.answers & stop.known, stop.known
        self.questions[purpose] = self.questions.get(purpose, 0) + len({state.tobytes() for state in states[known]})
        return answers, known

    def sample(self, people: People, wanted: int) -> tuple[Floats, Ints]:
        """At most so many starts [n, F] and traces [n, T] that the black box confirms."""
        starts, traces, count = [], [], 0
        size = min(len(people), max(wanted, 1))
        tries = -(-TRIES * wanted // size)
        for _ in range(tries):
            rows = self.random.choice(len(people), size, replace=False)
            actions = self.sampled(people.states[rows])
            rows, actions = rows[actions[:, 0] != NO_ACTION], actions[actions[:, 0] != NO_ACTION]
            ends, _, _ = orders.rollout(self.problem.transitions, people.states[rows], actions)
            good, _ = self.ask("traces", people, ends, rows)
            starts.append(people.states[rows[good]])
            traces.append(actions[good])
            count += int(good.sum())
            self.progress("sampling", min(count, wanted), wanted)
            if count >= wanted:
                break
        return np.concatenate(starts)[:wanted], np.concatenate(traces)[:wanted]

    def sampled(self, states: Floats) -> Ints:
        """A trace [B, T] for each of `states` [B, F]: a function by its chance, then an argument, until STOP.

        Both at once, as their chances multiply. Whoever never stops has no trace.
        """
        assert self.agent is not None
        everything = np.ones(len(self.problem.transitions), bool)
        traces = rollout(
            self.agent,
            states,
            everything,
            sampling(self.random),
            decisions=self.problem.max_actions + 1,
            act_first=True,
        )
        return np.where(traces.stopped[:, None], traces.actions, NO_ACTION)

    def with_card(
        self, program: Program, held: Ints, starts: Floats, real: int, made_with: dict[str, Any], how: dict[str, Any],
        refused: bool = False,
    ) -> Program:  # fmt: skip
        """The program with a card that says how it did for the people `held` back (who may be known to be refused), by
        the black box itself."""
        self.progress("trying", 0, 1)
        trial, questions = self.tried(program, self.people.take(held), refused)
        card = card_of(
            program, trial, starts, made_with=made_with | how, seed=self.wishes.seed, real=real, questions=questions,
            examples=self.examples(program), avoided=[self.problem.features[i].name for i in self.avoid],
            model=self.model,
        )  # fmt: skip
        self.progress("trying", 1, 1)
        return replace(program, card=json.loads(json.dumps(card)))

    def tried(self, program: Program, people: People, refused: bool) -> tuple[Trial, dict[str, int]]:
        """How the program does for people: one question each, and what the least effort takes to find out."""
        unsure = 0
        if not refused:
            rows, unsure = self.refused(people)
            people = people.take(rows)
        run = program.run(people.states)
        rows = np.flatnonzero(run.stopped)
        holds, known = np.zeros(len(people), bool), np.ones(len(people), bool)
        holds[rows], known[rows] = self.ask("its_plans", people, run.states[rows], rows)
        known = np.logical_and.accumulate(known)  # so that those without a plan, who need no question, do not prevail
        plans = self.planner().plan(people.take(np.flatnonzero(known)), refused=True)
        least = np.full(len(people), np.inf)
        least[known] = [plan.cost if plan.status is Status.FOUND else np.inf for plan in plans]
        self.questions["least_effort"] = sum(plan.queries for plan in plans)
        if self.box.remaining_budget == 0:
            least[np.isinf(least)] = np.nan  # nobody has looked everywhere
        states, unsure = people.states[known], unsure + int((~known).sum())
        encoding = self.problem.encoding(self.people)
        without = self.tried_without(program, people.take(np.flatnonzero(known)))
        trial = Trial(states, program.run(states), holds[known], least[known], encoding, unsure, without)
        return trial, self.questions

    def tried_without(self, program: Program, people: People) -> dict[str, Without]:
        """How the program does, function by function, for those who were to use it and cannot: one question each."""
        transitions, usual = self.problem.transitions, program.run(people.states)
        tried = {}
        for function, span in zip(transitions.functions, transitions.spans, strict=True):
            rows = np.flatnonzero(np.isin(usual.actions, np.arange(span.start, span.stop)).any(axis=1))
            allowed = np.broadcast_to(self.problem.allowed(function.name), (len(rows), len(transitions)))
            run = program.run(people.states[rows], allowed)
            given = np.flatnonzero(run.stopped)
            holds, known = self.ask("its_plans_without_something", people, run.states[given], rows[given])
            if len(rows) and known.all():
                tried[function.name] = Without(len(rows), len(given), int(holds.sum()))
        return tried

    def planner(self) -> Planner:
        """The best way at hand to find the least effort."""
        if self.surrogate is not None:
            return GuidedPlanner(self.problem, self.box, self.surrogate)
        if self.agent is not None:
            return SearchPlanner(self.problem, self.box, self.agent)
        return ExactPlanner(self.problem, self.box)

    def invented(self, count: int) -> Floats:
        """So many people [n, F] who might exist, with numbers as people tell them: of three digits or so."""
        states = synthesize(self.problem, self.people, count, self.random)
        for feature in self.problem.features:
            known = self.people.states[:, feature.index]
            known = known[~np.isnan(known)]
            if feature.is_number and not feature.integer and len(known) and known.std() > 0:
                told = np.round(states[:, feature.index], 2 - math.floor(math.log10(known.std())))
                states[:, feature.index] = np.clip(told, feature.low, feature.high)
        return states

    def examples(self, program: Program) -> list[Floats]:
        """Invented people with a plan, for a page to show: nobody's own data."""
        invented, shown = self.invented(400), [f.index for f in used(program)]
        known = {state.tobytes() for state in self.people.states[:, shown]}
        fresh = np.array([state.tobytes() not in known for state in invented[:, shown]], bool)
        if self.surrogate is not None:
            fresh &= self.surrogate.logit(invented) < 0
        invented = invented[fresh]
        return list(invented[program.run(invented).stopped][:EXAMPLES])
