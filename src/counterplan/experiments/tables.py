"""The tables of the report: pure functions of the rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import pandas as pd

from counterplan.benchmarks.summary import COLUMNS as DATASET
from counterplan.distillation.distiller import HELD_BACK
from counterplan.experiments.budgets import QueriesSpent, SecondsSpent, questions_spent, seconds_spent
from counterplan.experiments.comparisons import AGAINST, TIMES, PairedComparison, paired_comparisons
from counterplan.experiments.evaluation import HOLDS, OUTCOMES
from counterplan.experiments.methods import ABLATION, BY_NAME, METHODS, label_of
from counterplan.experiments.published import PUBLISHED, RULE_LENGTH, SIMILARITY, TARGETS, Published, Target
from counterplan.experiments.rows import Rows
from counterplan.experiments.statistics import Interval, Line, curve, intersection, similarity, summary

T = TypeVar("T")
Section = tuple[str, tuple[tuple[str, ...], ...]]
"""A heading ("": none), and rows."""
NOTHING = "–"
FEWEST = 5
"""Groups with fewer people than this, over all seeds, are put together, if there are larger ones."""
NOT_PUBLISHED = Published(float("nan"))
_TINY = 1e-9
"""What a mean may be off because of the order of a sum."""


@dataclass(frozen=True)
class Table:
    """A table in words."""

    key: str
    title: str
    caption: str
    columns: tuple[str, ...]
    sections: tuple[Section, ...]

    def to_csv(self) -> str:
        """The same as a file, with the heading of each row in front."""
        body = [[heading, *row] for heading, rows in self.sections for row in rows]
        columns = ["section", *(column or "what" for column in self.columns)]
        return pd.DataFrame(body, columns=columns).to_csv(index=False, lineterminator="\n")


def all_tables(rows: Rows) -> dict[str, Table]:
    """Every table by its key, in the order of the report."""
    makers: tuple[Callable[[Rows], Table], ...] = (
        targets, against_baseline, datasets, everybody, in_common, ablation, questions, traces, alike, timing,
        failures, failed_people, groups,
    )  # fmt: skip
    return {table.key: table for table in (make(rows) for make in makers)}


# Words


def number(value: float | None, digits: int) -> str:
    """A number with so many digits, or a dash."""
    if value == float("inf"):
        return "∞"
    return NOTHING if value is None or pd.isna(value) else f"{value:,.{digits}f}"


def spread(interval: Interval, digits: int) -> str:
    """A mean and its interval: `0.94 ± 0.02`."""
    told = number(interval.mean, digits)
    return told if pd.isna(interval.half) else f"{told} ± {number(interval.half, digits)}"


def over_seeds(rows: Rows) -> str:
    """What the figures of a table are."""
    many = rows.results["seed"].nunique() > 1
    return "Means over seeds ± half a 95 % interval (Student’s t)." if many else "One seed, so there are no intervals."


def benchmarks_in(rows: Rows) -> list[str]:
    """The benchmarks that there are rows of."""
    return [str(name) for name in dict.fromkeys(rows.datasets["benchmark"])]


def methods_in(names: Iterable[object]) -> list[str]:
    """The methods among `names`, in the order in which they are told: those that others brought come last."""
    there = dict.fromkeys(str(name) for name in names)
    return [*(method.name for method in METHODS if method.name in there), *(one for one in there if one not in BY_NAME)]


def compared() -> list[str]:
    """The methods that count for the people whom everybody solves."""
    return [method.name for method in METHODS if method.compared]


def _sections(
    found: Mapping[tuple[str, str], T], benchmarks: Sequence[str], told: Callable[[str, str, T], tuple[str, ...]]
) -> tuple[Section, ...]:
    """A section for each benchmark, in it a row for each method as `told`."""
    made = []
    for name in benchmarks:
        methods = methods_in(method for benchmark, method in found if benchmark == name)
        made.append((name, tuple((label_of(method), *told(name, method, found[name, method])) for method in methods)))
    return tuple(made)


def _filled(sections: Iterable[Section]) -> tuple[Section, ...]:
    """Those sections in which there are rows."""
    return tuple(section for section in sections if section[1])


def published_of(benchmark: str, method: str) -> Published:
    """What the paper reports of a method, if it does."""
    name = "exact" if method == "exact" else BY_NAME[method].paper if method in BY_NAME else None
    return PUBLISHED.get(benchmark, {}).get(name or "", NOT_PUBLISHED)


# Tables


def targets(rows: Rows) -> Table:
    """What search, guided, program and cascade reach, beside what they should."""
    found = summary(rows)
    sections = [
        (
            label_of(method),
            tuple(
                (name, *_against(found[name, method], wanted[name]))
                for name in benchmarks_in(rows)
                if (name, method) in found and name in wanted
            ),
        )
        for method, wanted in TARGETS.items()
    ]
    return Table(
        "targets", "Against what was aimed at",
        "Success and questions a person (of people for whom it is not proved that there is no plan), effort ÷ least "
        "effort, and for programs the features in the rule of a step (mean over steps), each with what was aimed at: "
        f"✓ reached, ✗ missed. {over_seeds(rows)}",
        ("", "success", "aim", "effort ÷ least", "aim", "questions", "aim", "rule length", "aim"), _filled(sections),
    )  # fmt: skip


def reached(line: Line, wanted: Target) -> dict[str, bool]:
    """Whether success, effort, questions and rule length are as good as wanted, of what is wanted."""
    most = {
        "effort": (line.ratio, wanted.ratio),
        "questions": (line.asked, wanted.questions),
        "rule length": (line.rule_length, wanted.rule_length),
    }
    made = {"success": line.success.mean >= wanted.success - _TINY}
    return made | {what: got.mean <= aim + _TINY for what, (got, aim) in most.items() if aim is not None}


def _against(line: Line, wanted: Target) -> tuple[str, ...]:
    marks = {what: " ✓" if good else " ✗" for what, good in reached(line, wanted).items()}
    return (
        f"{spread(line.success, 3)}{marks['success']}", f"≥ {wanted.success:.2f}",
        f"{spread(line.ratio, 3)}{marks.get('effort', '')}",
        NOTHING if wanted.ratio is None else f"≤ {wanted.ratio:.4g}",
        f"{spread(line.asked, 2)}{marks['questions']}", f"≤ {wanted.questions:.1f}",
        f"{spread(line.rule_length, 2)}{marks.get('rule length', '')}",
        NOTHING if wanted.rule_length is None else f"≤ {wanted.rule_length:.1f}",
    )  # fmt: skip


def against_baseline(rows: Rows) -> Table:
    """Search and guided beside the evolutionary baseline."""
    found = paired_comparisons(rows)
    sections = [
        (
            label_of(method),
            tuple((name, *_beside(found[name, method])) for name in benchmarks_in(rows) if (name, method) in found),
        )
        for method in AGAINST
    ]
    return Table(
        "baseline", "Against the evolutionary baseline",
        "Search and guided beside CSCF. Aimed at: more success; less effort on the people whom both solve (✓ also if "
        f"both are as good as can be); CSCF sends more than {TIMES} times as many rows a person, and takes more than "
        f"{TIMES} times as long (processor time, everybody planned for together). Rows are those that the meter "
        "counts; candidates are what CSCF would send if it remembered nothing. ✓ reached, ✗ missed. "
        f"{over_seeds(rows)}",
        (
            "", "success", "CSCF’s", "both solve", "effort", "CSCF’s", "rows a person", "CSCF’s", "times as many",
            "its candidates", "times as many", "ms a person", "CSCF’s", "times as long",
        ),
        _filled(sections),
    )  # fmt: skip


def _beside(duel: PairedComparison) -> tuple[str, ...]:
    made = duel.reached() | {"candidates": duel.more_candidates > TIMES}
    marks = {what: " ✓" if good else " ✗" for what, good in made.items()}

    def marked(text: str, what: str) -> str:
        return text if text == NOTHING else f"{text}{marks.get(what, '')}"

    return (
        marked(spread(duel.success[0], 3), "success"), spread(duel.success[1], 3), f"{duel.people:,}",
        marked(spread(duel.cost[0], 2), "effort"), spread(duel.cost[1], 2),
        spread(duel.rows[0], 2), spread(duel.rows[1], 0), marked(_times(duel.more_rows), "questions"),
        number(duel.candidates.mean, 0), marked(_times(duel.more_candidates), "candidates"),
        *(spread(seconds.times(1_000), 1) for seconds in duel.seconds), marked(_times(duel.longer), "time"),
    )  # fmt: skip


def _times(ratio: float) -> str:
    """How many times as much, cut off, so that what falls short of a round number is not shown as that."""
    return number(ratio if ratio == float("inf") else (10 * ratio + _TINY) // 1 / 10, 1)


def datasets(rows: Rows) -> Table:
    """What the benchmarks consist of."""
    lines = (*DATASET[:9], ("unreachable", "of these provably unreachable", ","), *DATASET[9:])
    names = benchmarks_in(rows)
    parts = {name: rows.datasets[rows.datasets["benchmark"] == name] for name in names}
    body = [(label, *(_range(parts[name][key], form) for name in names)) for key, label, form in lines]
    return Table(
        "datasets", "The benchmarks",
        "The model is the benchmark’s black box. The lower half is about the refused test people that are planned for, "
        "solved exactly; where seeds differ, the mean and (least–most).",
        ("", *names), (("", tuple(body)),),
    )  # fmt: skip


def _range(column: pd.Series, form: str) -> str:
    """The value of all seeds, or their mean with the least and the most."""
    known = column.dropna().astype(float)
    if known.empty:
        return NOTHING
    if form == "," and known.nunique() > 1:
        form = ",.1f"
    told = [format(value, ",.0f" if form == "," else form) for value in known.agg(["mean", "min", "max"])]
    if told[1] == told[2]:
        return told[0]
    mean, least, most = (re.sub(r"\.0+(?=%?$)", "", text) for text in told)
    return f"{mean} ({least}–{most})"


def everybody(rows: Rows) -> Table:
    """Success, effort, length and questions of every method, over all people."""

    def told(name: str, method: str, line: Line) -> tuple[str, ...]:
        published = published_of(name, method)
        return (
            spread(line.success, 3), spread(line.ratio, 3), spread(line.cost, 2), spread(line.length, 2),
            spread(line.questions, 1), number(published.success, 2), number(published.cost, 1),
            number(published.questions, 0),
        )  # fmt: skip

    return Table(
        "everybody", "All people",
        f"{over_seeds(rows)} Success: of the people for whom it is not proved that there is no plan, the share whose "
        "plan is legal step by step, within the limit, and favourable at its end by the model itself. "
        "Effort and steps: of each method’s own successes, so do not compare these columns between methods "
        "of different success; effort ÷ least is against the same people’s optimum. Questions: rows sent to the "
        "model per person, training apart. Published: the paper’s figures on its own versions of the problems; of "
        "exact, what exact search finds there.",
        (
            "", "success", "effort ÷ least", "effort", "steps", "questions", "published success", "published effort",
            "published questions",
        ),
        _sections(summary(rows), benchmarks_in(rows), told),
    )  # fmt: skip


def in_common(rows: Rows) -> Table:
    """Effort and length on the people whom every compared method solves."""
    found = summary(rows, intersection(rows.results, compared()))

    def told(name: str, method: str, line: Line) -> tuple[str, ...]:
        return f"{line.solved:,}", spread(line.ratio, 3), spread(line.cost, 2), spread(line.length, 2)

    others = [method for method in methods_in(rows.results["method"]) if method not in compared()]
    also = f" For {_listed(others)}, who do not count for this: those of them whom it solves." if others else ""
    return Table(
        "in_common", "People whom every method solves",
        "Effort and steps on the same people, who are the easier ones: whoever one method failed on is left out."
        f"{also} {over_seeds(rows)}",
        ("", "people", "effort ÷ least", "effort", "steps"), _sections(found, benchmarks_in(rows), told),
    )  # fmt: skip


def _listed(methods: Sequence[str]) -> str:
    return " and ".join(f"“{label_of(method)}”" for method in methods)


def ablation(rows: Rows) -> Table:
    """What the agent and the search bring, each without the other."""
    found = {key: line for key, line in summary(rows).items() if key[1] in ABLATION}

    def told(name: str, method: str, line: Line) -> tuple[str, ...]:
        published = number(published_of(name, method).success, 2)
        return spread(line.success, 3), spread(line.ratio, 3), spread(line.questions, 1), published

    return Table(
        "ablation", "Search and agent, each without the other",
        "The same tree search with a trained agent and with one that has learned nothing (random weights; as many "
        "simulations, at most as many questions), and the trained agent without search.",
        ("", "success", "effort ÷ least", "questions", "published success"),
        _sections(found, benchmarks_in(rows), told),
    )  # fmt: skip


def questions(rows: Rows) -> Table:
    """Rows sent to the model, by what for."""

    def told(name: str, method: str, spent: QueriesSpent) -> tuple[str, ...]:
        return (
            spread(spent.training, 0), spread(spent.distillation, 0), spread(spent.trial, 0),
            spread(spent.prediction, 1), spread(spent.remembered, 1), number(published_of(name, method).questions, 0),
        )  # fmt: skip

    return Table(
        "questions", "Questions to the model",
        "Rows sent to the black box, counted by its meter: once in training, in distillation, and in trying the "
        f"program on up to {HELD_BACK} people held back, which only tells how good it is; and for each person in "
        "prediction. Rows that memory answered, because the same state had been asked about before, are apart. The "
        "paper’s own counts for its evolutionary baseline sum a cumulative counter and are left out.",
        ("", "training", "distillation", "trial", "a person", "a person, from memory", "published, a person"),
        _sections(questions_spent(rows), benchmarks_in(rows), told),
    )  # fmt: skip


def traces(rows: Rows) -> Table:
    """The paper's construction with more and more traces, and the default program."""
    points, usual = curve(rows, "paper_program", "traces"), summary(rows)
    sections = []
    for name in benchmarks_in(rows):
        body = [
            (f"{value:,} traces", *_of_program(line))
            for (benchmark, value), line in points.items()
            if benchmark == name
        ]
        if (name, "program") in usual:
            body.append(("default program", *_of_program(usual[name, "program"])))
        if name in RULE_LENGTH:
            least, most = RULE_LENGTH[name]
            body.append(("published", NOTHING, f"{least}–{most}", NOTHING, NOTHING, NOTHING))
        sections.append((name, tuple(body)))
    return Table(
        "traces", "Programs against the number of traces",
        "The paper’s construction: scikit-learn trees that imitate so many confirmed traces of the agent. Below it the "
        "default program, which is found by policy search on a surrogate. Rule length: features in the rule of a "
        "step, mean over steps; published: literals, over the published programs.",
        ("", "success", "rule length", "effort ÷ least", "effort", "steps"), tuple(sections),
    )  # fmt: skip


def _of_program(line: Line) -> tuple[str, ...]:
    return (
        spread(line.success, 3), spread(line.rule_length, 2), spread(line.ratio, 3), spread(line.cost, 2),
        spread(line.length, 2),
    )  # fmt: skip


PAIRS = (("program", "search"), ("paper_program", "search"), ("paper_program", "policy"), ("program", "guided"))


def alike(rows: Rows) -> Table:
    """How similar the plans of programs and planners are."""
    names = benchmarks_in(rows)
    body = []
    for one, other in PAIRS:
        found = similarity(rows.results, one, other)
        cells = []
        for name in names:
            part = found[found["benchmark"] == name]
            same, told = Interval.of(part["same"]).mean, spread(Interval.of(part["alike"]), 2)
            cells.append(told if pd.isna(same) else f"{told} ({same:.0%} the same)")
        body.append((f"{label_of(one)} – {label_of(other)}", *cells))
    body.append(("published program – search", *(number(SIMILARITY.get(name), 2) for name in names)))
    return Table(
        "similarity", "How alike plans are",
        "The paper’s measure: difflib’s ratio of the two plans written as strings of actions, over people who got a "
        "plan from both, whether it holds or not. 1 is the same plan.",
        ("", *names), (("", tuple(body)),),
    )  # fmt: skip


def timing(rows: Rows) -> Table:
    """How long learning and planning take."""

    def told(name: str, method: str, spent: SecondsSpent) -> tuple[str, ...]:
        return spread(spent.learning, 1), spread(spent.person.times(1_000), 1), spread(spent.alone.times(1_000), 1)

    return Table(
        "timing", "Time",
        "Processor time of one core, all methods in the same run on the same machine: seconds to learn (training and "
        "distillation, once), and milliseconds a person when everybody is planned for together, and for one person "
        "alone. The models here answer in microseconds; where one does not, count questions instead.",
        ("", "learning, s", "a person, ms", "one alone, ms"),
        _sections(seconds_spent(rows), benchmarks_in(rows), told),
    )  # fmt: skip


def failures(rows: Rows) -> Table:
    """How many people each method failed on, and how."""
    kinds = [kind for kind in OUTCOMES if kind != HOLDS]
    sections = []
    for name in benchmarks_in(rows):
        mine = rows.results[rows.results["benchmark"] == name]
        body = []
        for method in methods_in(mine["method"]):
            some = mine[mine["method"] == method]
            lost = some[~some["success"]]
            hopeful = lost[lost["reachable"] != "no"]
            ways = [int((hopeful["outcome"] == kind).sum()) for kind in kinds]
            counts = (len(some), len(lost) - len(hopeful), *ways)
            body.append((label_of(method), *(f"{one:,}" for one in counts)))
        sections.append((name, tuple(body)))
    return Table(
        "failures", "What fails",
        "People, over all seeds. Those for whom exact search proved that there is no plan count for nobody. The rest "
        "by how planning for them ended: " + "; ".join(f"{_said(kind)}: {OUTCOMES[kind]}" for kind in kinds) + ".",
        ("", "people", "provably unreachable", *(_said(kind) for kind in kinds)), tuple(sections),
    )  # fmt: skip


def _said(kind: str) -> str:
    return kind.replace("_", " ")


def failed_people(rows: Rows) -> Table:
    """On whom each method failed."""
    lost = rows.results[~rows.results["success"] & (rows.results["reachable"] != "no")]
    sections = []
    for name in benchmarks_in(rows):
        mine = lost[lost["benchmark"] == name]
        body = []
        for method in methods_in(mine["method"]):
            for outcome, part in mine[mine["method"] == method].groupby("outcome", sort=False):
                body.append((label_of(method), _said(str(outcome)), _people(part)))
        sections.append((name, tuple(body)))
    hopeless = rows.results[(rows.results["method"] == "exact") & (rows.results["reachable"] == "no")]
    none = [(str(name), "no plan exists", _people(part)) for name, part in hopeless.groupby("benchmark", sort=False)]
    return Table(
        "failed_people", "Who they are",
        "Refused test people by number; results.csv has the plan that each of them got.",
        ("", "how", "people"), (*sections, ("provably unreachable", tuple(none))),
    )  # fmt: skip


def _people(rows: pd.DataFrame) -> str:
    """People by seed."""
    return "; ".join(
        f"seed {seed}: {', '.join(str(person) for person in part['person'])}" for seed, part in rows.groupby("seed")
    )


def grouped(rows: Rows) -> pd.DataFrame:
    """Results of people with a plan in reach, a row for each protected feature of theirs; small groups together."""
    people = rows.people.copy()
    feature, whole = ["benchmark", "feature"], ["benchmark", "feature", "group"]
    small = people.groupby(whole)["person"].transform("size") < FEWEST
    few = people["group"].where(small).groupby([people[name] for name in feature]).transform("nunique")
    large = (~small).groupby([people[name] for name in feature]).transform("any")
    people["group"] = people["group"].mask(small & large & (few > 1), "others")
    hopeful = rows.results[rows.results["reachable"] != "no"]
    return hopeful.merge(people, on=["benchmark", "seed", "person"])


def groups(rows: Rows) -> Table:
    """Success, effort and length by protected group."""
    sections = []
    for (name, feature), part in grouped(rows).groupby(["benchmark", "feature"], sort=False):
        body = []
        for method in methods_in(part["method"]):
            by_group = part[part["method"] == method].groupby("group")
            for group, some in sorted(by_group, key=lambda pair: -len(pair[1])):
                body.append((label_of(method), str(group), *_of_group(some)))
        sections.append((f"{name}: {feature}", tuple(body)))
    return Table(
        "groups", "By protected group",
        "People for whom it is not proved that there is no plan, all seeds together. A difference in effort that "
        "“exact” shows too is in the model and the problem; one in success, or in effort ÷ least, is the method’s own. "
        f"Where a feature has several groups of fewer than {FEWEST} people beside larger ones, they are put together "
        "as “others”; small groups say little.",
        ("", "group", "people", "success", "effort ÷ least", "effort", "steps"), tuple(sections),
    )  # fmt: skip


def _of_group(rows: pd.DataFrame) -> tuple[str, ...]:
    good = rows[rows["success"]]
    ratio = (good["cost"] / good["least_effort"])[good["least_effort"] > 0]
    return (
        f"{len(rows):,}", number(rows["success"].mean(), 3), number(ratio.mean(), 3), number(good["cost"].mean(), 2),
        number(good["length"].astype(float).mean(), 2),
    )  # fmt: skip
