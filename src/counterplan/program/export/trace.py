"""The trace of one person over the automaton: actions in black, and the rules that chose them in red."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from counterplan.drawing import Sheet, text_width, wrapped
from counterplan.errors import PeopleError, PlanError
from counterplan.plans import Plan, Plans, allowed_actions
from counterplan.problem.parts import STOP, format_number
from counterplan.problem.values import Native, cut, text_of
from counterplan.program.export.resolved import title
from counterplan.program.export.svg import automaton, drawing_style
from counterplan.program.protocol import ProgramLike
from counterplan.program.recommendation import columns_of
from counterplan.program.rules import Rule

if TYPE_CHECKING:
    from counterplan.plans import Forbid
    from counterplan.problem import People, PeopleTable

_PANEL = 470
"""Width of the texts beside the automaton."""
_TOP = 56
_LONGEST_RULE = 2_000
"""Characters of a rule; longer ones are cut."""
_BADGE = 11
"""Half the height of a number on an arc."""


class _Trace(NamedTuple):
    """A plan of a program, the nodes from INTERVENE to STOP, and the rule that led from each to the next."""

    plan: Plan
    path: tuple[str, ...]
    rules: tuple[Rule, ...]


def trace_svg(program: ProgramLike, person: PeopleTable | People | Plan, *, forbid: Forbid = ()) -> str:
    """Draw the trace of one person, from INTERVENE to STOP, over the automaton.

    Actions are black and the rules that selected them red, in the language of problem files: the conditions on the
    path through the tree of a node, as short as possible, and the choices of the leaf that were not possible.

    Parameters
    ----------
    program : Program
        The program that is run.
    person : table with one row, dict, People or Plan
        The person; or one of the program's plans, whose person is drawn.
    forbid : optional
        Functions or actions that are not to be used.

    Returns
    -------
    str
        A standalone SVG file, with colours for light and dark.

    Raises
    ------
    PlanError
        If the program has no plan for the person, or the plan given is not the program's.
    PeopleError
        If there is not exactly one person, or it does not match the problem.

    Examples
    --------
    >>> from pathlib import Path
    >>> from counterplan import Program, benchmarks
    >>> from counterplan.program import Choice, Leaf
    >>> from counterplan.program.export import trace_svg
    >>> german = benchmarks.load("german")
    >>> save, stop = Leaf((Choice(3),)), Leaf((Choice(german.problem.transitions.stop),))
    >>> program = Program(german.problem, {"INTERVENE": save, "CHANGE_SAVINGS": stop})
    >>> svg = trace_svg(program, german.refused_test.iloc[[0]])
    >>> _ = Path("trace.svg").write_text(svg, encoding="utf-8")
    """
    trace = _trace(program, person, forbid)
    plan, sheet = trace.plan, Sheet()
    drawn = automaton(program, trace.path, name_of=str)
    name = _name(plan)
    sheet.text(20, 14, f"{cut(title(program.problem), 60)}: the trace of {name}", "bold", 16)
    sheet.add(f'<g class="automaton" transform="translate(0 {_TOP})">')
    sheet.elements += drawn.elements
    sheet.add("</g>")
    sheet.cover(drawn.width, _TOP + drawn.height)
    numbers: dict[tuple[str, str], list[int]] = {}
    for number, edge in enumerate(pairwise(trace.path), 1):
        numbers.setdefault(edge, []).append(number)
    for edge, all_numbers in numbers.items():
        x, y = drawn.middles[edge]
        _badge(sheet, x, y + _TOP, ", ".join(map(str, all_numbers)))
    _panel(sheet, program, trace, drawn.width + 28.0)
    actions = ", ".join([*plan.actions, STOP])
    return sheet.svg(
        f"{title(program.problem)}: the trace of {name}",
        f"The actions of {name}: {actions}. Rules: {'; '.join(_rule_text(rule) for rule in trace.rules)}.",
        name="drawing showing",
        style=drawing_style(),
    )


def _trace(program: ProgramLike, person: PeopleTable | People | Plan, forbid: Forbid) -> _Trace:
    """Run the program for one person."""
    problem = program.problem
    given = person if isinstance(person, Plan) else None
    if given is not None:
        person = pd.DataFrame([given.start], index=[given.person], dtype=object)
    people = problem.read(person)  # type: ignore[arg-type]  # not a Plan any more
    if len(people) != 1:
        raise PeopleError(f"a trace is that of one person, and the table has {len(people):,}; select a row")
    allowed = allowed_actions(problem, people, forbid)
    plan = Plans.from_columns(problem, people, columns_of(program, people, allowed))[0]
    if not plan.steps:
        raise PlanError(
            f"the program has no plan for person {plan.person}, so that there is no trace to draw; "
            "choose another person, or plan with the cascade"
        )
    if given is not None and given.actions != plan.actions:
        raise PlanError(
            f"the plan of person {given.person} is not the program's, which is {', '.join(plan.actions)}; if actions "
            "were forbidden, give the same 'forbid'"
        )
    run = program.run(people.states, allowed)
    decisions = zip(
        *(part[0][: len(plan.steps) + 1].tolist() for part in (run.nodes, run.leaves, run.ranks)), strict=True
    )
    rules = tuple(program.rule(program.nodes[node], leaf, rank) for node, leaf, rank in decisions)
    path = (*(program.nodes[node] for node in run.nodes[0][: len(plan.steps) + 1].tolist()), STOP)
    return _Trace(plan, path, rules)


def _name(plan: Plan) -> str:
    return f"person {cut(plan.person, 40)}"


def _rule_text(rule: Rule) -> str:
    """The Boolean rule: `amount >= 5820 and not possible: CHANGE_JOB=manager`; `always` if it has no conditions."""
    impossible = f"not possible: {', '.join(rule.cannot)}" if rule.cannot else ""
    conditions = rule.formal if rule.conditions else ""
    return cut(", ".join(filter(None, (conditions, impossible))) or "always", _LONGEST_RULE)


def _panel(sheet: Sheet, program: ProgramLike, trace: _Trace, left: float) -> None:
    """The steps beside the automaton, numbered like its arcs, and the relevant values of the person."""
    plan, inner = trace.plan, left + 2 * _BADGE + 12
    width = _PANEL - (inner - left)
    y = sheet.text(left, _TOP + 14, _name(plan), "bold", 14) + 2
    y = sheet.text(left, y, wrapped(_values(program, trace), _PANEL, 12.5), "soft", 12.5) + 16
    for number, (step, rule) in enumerate(zip([*plan.steps, None], trace.rules, strict=True), 1):
        _badge(sheet, left + _BADGE, y + 9, str(number))
        y = sheet.text(inner, y, wrapped(_rule_text(rule), width, 13), "rule", 13) + 1
        if step is None:
            sheet.text(inner, y, STOP, "bold", 14)
            y = sheet.text(left + _PANEL, y, f"total cost {format_number(plan.cost)}", "bold", 13, "end")
            continue
        cost = f"cost {format_number(step.cost)}"
        lines = wrapped(
            f"{cut(step.function)} = {_value(step.argument)}", width - text_width(cost, 13) - 12, 14, bold=True
        )
        sheet.text(left + _PANEL, y, cost, "", 13, "end")
        y = sheet.text(inner, y, lines, "bold", 14)
        y = sheet.text(inner, y, wrapped(_changes(step.before, step.after), width, 12.5), "soft", 12.5) + 14
    if plan.caution:
        sheet.text(left, y + 12, wrapped(plan.caution, _PANEL, 12.5), "soft", 12.5)


def _values(program: ProgramLike, trace: _Trace) -> str:
    """The values that the rules of a trace test or its actions change, before the first one."""
    start = trace.plan.start
    relevant = {condition.feature.name for rule in trace.rules for condition in rule.conditions}
    for step in trace.plan.steps:
        relevant |= {name for name in start if step.before[name] != step.after[name]}
    names = [feature.name for feature in program.problem.features if feature.name in relevant]
    return ", ".join(f"{name} = {_value(start[name])}" for name in names)


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """The values that a step changes: `job: skilled → highly_skilled`."""
    return ", ".join(
        f"{name}: {_value(before[name])} → {_value(after[name])}" for name in before if before[name] != after[name]
    )


def _value(value: Native | None) -> str:
    return "unknown" if value is None else cut(text_of(value))


def _badge(sheet: Sheet, x: float, y: float, text: str) -> None:
    """A number on an arc, or the same number beside it."""
    half = max(float(_BADGE), text_width(text, 12, bold=True) / 2 + 5)
    sheet.add(
        f'<rect class="badge" x="{x - half:.1f}" y="{y - _BADGE:.1f}" width="{2 * half:.1f}" height="{2 * _BADGE}" '
        f'rx="{_BADGE}"/>'
    )
    sheet.text(x, y - 8, text, "on bold", 12, "middle")
