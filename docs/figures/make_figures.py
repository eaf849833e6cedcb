"""Draw the figures of the documentation that follow from code alone: `python docs/figures/make_figures.py`.

The figures of measurements are drawn by bench/figures.py.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from counterplan import BlackBox, ExactPlanner, Problem, Program, benchmarks
from counterplan.drawing import Sheet, text_width
from counterplan.plans.text import headline, total_effort
from counterplan.plans.time_text import duration_text
from counterplan.problem.parts import format_number
from counterplan.program.export import trace_svg

FOLDER = Path(__file__).parent
EXAMPLES = FOLDER.parent / "examples"
ORDERS = (("GET_DEGREE", "CHANGE_JOB", "SAVE"), ("SAVE", "CHANGE_JOB", "GET_DEGREE"))
PERSON = {
    "age": 30,
    "sex": "female",
    "job": "skilled",
    "housing": "own",
    "saving_accounts": "quite_rich",
    "checking_account": "moderate",
    "credit_amount": 8358,
    "duration": 48,
    "purpose": "car",
}
"""Person 5 of docs/reading-a-program.md."""
READER = 14
"""The person of the README."""
BAR_STYLE = """\
.drawing .box.bar { fill: var(--arc); stroke: none; }
.drawing .line.tick { stroke: var(--rim); stroke-width: 1; opacity: .6; }
"""
"""Bars of plans, in a colour that stands out from the background in both themes."""


class Block:
    """A box with a name and lines of text, and the points at its sides."""

    def __init__(
        self,
        sheet: Sheet,
        x: float,
        y: float,
        width: float,
        height: float,
        name: str,
        lines: Sequence[str],
        kind: str = "",
    ) -> None:
        sheet.box(x, y, width, height, kind)
        needed = 14 * 1.36 + len(lines) * 12 * 1.36
        top = sheet.text(x + width / 2, y + (height - needed) / 2, name, "bold", 14, "middle")
        sheet.text(x + width / 2, top, lines, "soft", 12, "middle")
        self.left, self.right = (x, y + height / 2), (x + width, y + height / 2)
        self.top, self.bottom = (x + width / 2, y), (x + width / 2, y + height)
        for line in lines:
            assert text_width(line, 12) <= width, f"{line!r} is wider than its box"


def network() -> str:
    """The agent: encoder, LSTM and three heads, and its training by tree search."""
    sheet = Sheet()
    sheet.text(20, 14, "The agent, and how it learns from its own searches", "bold", 16)
    sheet.box(20, 50, 860, 238, "frame")
    sheet.text(36, 58, "network", "soft", 12)
    state = Block(sheet, 36, 134, 150, 74, "state", ["binary encoding;", "default: numbers too"], "first")
    encoder = Block(sheet, 226, 134, 150, 74, "state encoder", ["2 layers of", "64 units, ReLU"])
    lstm = Block(sheet, 416, 134, 150, 74, "LSTM controller", ["64 units;", "remembers past steps"])
    heads = [
        Block(sheet, 626, top, 236, 56, name, [line])
        for top, name, line in (
            (68, "function head", "π_f: STOP or which function"),
            (143, "argument head", "π_x: which argument of it"),
            (218, "value head", "V: expected reward"),
        )
    ]
    sheet.connect([state.right, encoder.left])
    sheet.connect([encoder.right, lstm.left])
    for head in heads:
        sheet.curve(lstm.right, head.left)
    sheet.connect([(520, 134), (520, 102), (462, 102), (462, 134)], "dashed")
    sheet.text(491, 82, "hidden state, next step", "soft", 11.5, "middle")
    about_search = [
        "selects by Q + U + L, expands with π_f · π_x and V,",
        "queries the model at STOP, backs up rewards",
    ]
    search = Block(sheet, 416, 338, 446, 96, "Monte Carlo tree search", about_search, "lit")
    Block(sheet, 416, 484, 190, 56, "black box", ["favourable or not"], "last")
    plan = Block(sheet, 672, 484, 190, 56, "plan", ["functions, arguments, STOP"])
    replay = Block(sheet, 36, 350, 230, 72, "replay buffer", ["successful traces: states,", "actions, rewards"])
    sheet.connect([(744, 288), (744, 338)])
    sheet.text(754, 304, "π_f, π_x, V", "soft", 12)
    sheet.connect([(496, 434), (496, 484)])
    sheet.connect([(526, 484), (526, 434)])
    sheet.text(486, 451, "query", "soft", 12, "end")
    sheet.text(536, 451, "answer", "soft", 12)
    sheet.connect([(767, 434), plan.top])
    sheet.connect([search.left, replay.right])
    sheet.text(341, 366, "traces", "soft", 12, "middle")
    sheet.connect([(151, 350), (151, 288)])
    sheet.text(161, 304, "gradient steps: two cross-entropies and the value error", "soft", 12)
    return sheet.svg(
        "The agent, and how it learns from its own searches",
        "A state is encoded by two layers and an LSTM; three heads give the policy over functions, the policy over "
        "arguments and the value. Tree search uses them, queries the black box at STOP, and stores successful traces "
        "in a replay buffer, from which the network learns.",
    )


def distillation() -> str:
    """Traces, automaton, a tree for each node, a rule for each action."""
    sheet = Sheet()
    sheet.text(20, 14, "From traces to a program", "bold", 16)
    columns = (20.0, 275.0, 520.0, 770.0)
    names = ("1  traces", "2  automaton", "3  a tree for each node", "4  a rule for each action")
    for left, name in zip(columns, names, strict=True):
        sheet.text(left, 52, name, "bold", 14)
    notes = (
        ["plans with their states,", "from the agent's search", "or the surrogate"],
        ["a node for each function,", "INTERVENE first, STOP last"],
        ["which action follows,", "by the person's state"],
        ["the path to a leaf,", "as short as possible"],
    )
    for left, lines in zip(columns, notes, strict=True):
        sheet.text(left, 74, lines, "soft", 12)
    traces = (("STUDY", "WORK", "STOP"), ("WORK", "STOP"), ("STUDY", "STOP"))
    for row, actions in enumerate(traces):
        y, x = 152.0 + 62 * row, columns[0]
        for place, action in enumerate(actions):
            width = text_width(action, 11.5, bold=True) + 12
            sheet.box(x, y, width, 28, "last" if action == "STOP" else "", 8)
            sheet.text(x + width / 2, y + 6, action, "bold", 11.5, "middle")
            if place < len(actions) - 1:
                sheet.connect([(x + width, y + 14), (x + width + 16, y + 14)])
            x += width + 16
    nodes = {}
    for row, name in enumerate(("INTERVENE", "STUDY", "WORK", "STOP")):
        kind = {"INTERVENE": "first", "STOP": "last", "STUDY": "lit"}.get(name, "")
        sheet.box(columns[1] + 8, 140 + 60 * row, 116, 34, kind, 12)
        sheet.text(columns[1] + 66, 149 + 60 * row, name, "bold", 12, "middle")
        nodes[name] = 157.0 + 60 * row
    middle, side = columns[1] + 66, columns[1] + 124
    for one, other in (("INTERVENE", "STUDY"), ("STUDY", "WORK"), ("WORK", "STOP")):
        sheet.connect([(middle, nodes[one] + 17), (middle, nodes[other] - 17)])
    for one, other, out in (("INTERVENE", "WORK", 26), ("STUDY", "STOP", 50)):
        start, end = nodes[one] + 7, nodes[other] - 7
        sheet.connect([(side, start), (side + out, start), (side + out, end), (side, end)], radius=14)
    left = columns[2]
    sheet.text(left, 138, "after STUDY:", "soft", 12)
    sheet.box(left + 20, 160, 150, 34, "lit", 17)
    sheet.text(left + 95, 169, "age < 40 ?", "", 12.5, "middle")
    sheet.box(left - 4, 248, 84, 34, "last", 8)
    sheet.text(left + 38, 257, "STOP", "bold", 12, "middle")
    sheet.box(left + 104, 248, 112, 34, "lit", 17)
    sheet.text(left + 160, 257, "income < 30 ?", "", 12, "middle")
    sheet.box(left + 60, 336, 84, 34, "", 8)
    sheet.text(left + 102, 345, "WORK = 10", "bold", 12, "middle")
    sheet.box(left + 160, 336, 70, 34, "last", 8)
    sheet.text(left + 195, 345, "STOP", "bold", 12, "middle")
    for start, end, text, anchor in (
        ((left + 66, 194), (left + 38, 248), "yes", "end"),
        ((left + 124, 194), (left + 160, 248), "no", "start"),
        ((left + 140, 282), (left + 102, 336), "yes", "end"),
        ((left + 180, 282), (left + 195, 336), "no", "start"),
    ):
        sheet.connect([start, end])
        shift = -6 if anchor == "end" else 6
        sheet.text((start[0] + end[0]) / 2 + shift, (start[1] + end[1]) / 2 - 10, text, "soft", 11.5, anchor)
    left = columns[3]
    rules = (
        ("age < 40", "STOP"),
        ("age >= 40 and income < 30", "WORK = 10"),
        ("age >= 40 and income >= 30", "STOP"),
    )
    for row, (rule, action) in enumerate(rules):
        y = sheet.text(left, 160 + 66 * row, rule, "rule", 13)
        sheet.text(left, y, action, "bold", 13)
    for x, y in ((240.0, 228.0), (478.0, 228.0), (740.0, 228.0)):
        sheet.connect([(x - 6, y), (x + 20, y)], "lit")
    return sheet.svg(
        "From traces to a program",
        "Traces become an automaton with a node for each function; each node gets a decision tree that selects the "
        "next action; the path to each leaf is the rule of its action.",
    )


def data_flow() -> str:
    """What flows between the parts of counterplan."""
    sheet = Sheet()
    sheet.text(20, 14, "Data flow", "bold", 16)
    file = Block(sheet, 20, 52, 150, 62, "problem.yaml", ["or a dict"], "first")
    problem = Block(sheet, 220, 52, 160, 62, "Problem", ["features, functions,", "causal graph"])
    transitions = Block(
        sheet, 430, 52, 220, 62, "transitions", ["legal, cost, apply: the only", "definition of how states change"]
    )
    table = Block(sheet, 20, 164, 150, 62, "tables", ["pandas, polars, Arrow,", "CSV, Parquet"], "first")
    people = Block(sheet, 220, 164, 160, 62, "People", ["states [B, F]"])
    task = Block(sheet, 430, 164, 220, 62, "PlanningTask", ["allowed and cost weights [B, A],", "goal, query budget"])
    planners = Block(
        sheet,
        430,
        276,
        220,
        78,
        "planners",
        ["exact, guided, search, policy,", "program, cascade, auto,", "evolution"],
        "lit",
    )
    plans = Block(sheet, 720, 276, 190, 78, "Plans", ["columns; text, JSON, CSV,", "Parquet; replay"], "last")
    learned = Block(
        sheet, 20, 276, 360, 78, "surrogate or agent", ["chance of a favourable decision;", "policies and value"]
    )
    box = Block(sheet, 430, 420, 220, 62, "BlackBox", ["counted, cached, batched,", "limited"])
    Block(sheet, 720, 420, 190, 62, "model", ["the decision"], "first")
    program = Block(sheet, 20, 530, 360, 62, "Program", ["distilled; runs without a model"], "last")
    exports = Block(sheet, 430, 530, 220, 62, "exports", ["page, .py, .svg, .json"])
    sheet.connect([file.right, problem.left])
    sheet.connect([problem.right, transitions.left])
    sheet.connect([problem.bottom, people.top])
    sheet.connect([table.right, people.left])
    sheet.connect([people.right, task.left])
    sheet.connect([transitions.bottom, task.top])
    sheet.connect([task.bottom, planners.top])
    sheet.connect([learned.right, planners.left])
    sheet.connect([planners.right, plans.left])
    sheet.connect([(510, 354), (510, 420)])
    sheet.connect([(570, 420), (570, 354)])
    sheet.text(502, 378, "query", "soft", 12, "end")
    sheet.text(578, 378, "answer", "soft", 12)
    sheet.connect([(650, 443), (720, 443)])
    sheet.connect([(720, 461), (650, 461)])
    sheet.connect([box.left, (270, 451), (270, 354)])
    sheet.text(280, 428, "training, active learning", "soft", 12)
    sheet.connect([(130, 354), (130, 530)])
    sheet.text(140, 484, "distillation", "soft", 12)
    sheet.connect([program.right, exports.left])
    sheet.connect([program.bottom, (200, 626), (950, 626), (950, 315), plans.right])
    sheet.text(815, 604, "rules as reasons, no queries", "soft", 12, "middle")
    return sheet.svg(
        "Data flow",
        "A problem file and tables become states; planners make plans from them, with a surrogate or an agent, and "
        "query the model through a black box; distillation makes a program that plans without a model.",
    )


def causal_graph() -> str:
    """The causal graph of the example in which the order of actions matters."""
    return Problem.load(EXAMPLES / "order-matters.yaml").to_svg()


def orders() -> str:
    """The same actions in two orders, with the costs of their steps."""
    problem, sheet = Problem.load(EXAMPLES / "order-matters.yaml"), Sheet()
    transitions, features = problem.transitions, problem.features
    actions = {action.function: action.index for action in transitions.actions}
    sheet.text(20, 14, "The same actions in two orders", "bold", 16)
    totals = []
    for row, order in enumerate(ORDERS):
        top, x, total = 56.0 + 108 * row, 20.0, 0.0
        state = np.zeros((1, len(features)))
        for place, name in enumerate(order):
            function = transitions.functions[int(transitions.function_of[actions[name]])]
            feature, base = features[function.target], float(function.base[0])
            state, cost, _ = transitions.step(state, np.array([actions[name]]))
            paid = float(cost[0])
            shown = format_number(paid)
            if paid != base:
                shown = f"{format_number(base)} × {format_number(paid / base)} = {shown}"
            sheet.box(x, top, 196, 78, "first")
            y = sheet.text(x + 98, top + 9, f"{place + 1}. {name}", "bold", 14, "middle")
            y = sheet.text(
                x + 98, y, f"{feature.name}: {feature.values[0]} → {feature.values[1]}", "soft", 12, "middle"
            )
            sheet.text(x + 98, y + 2, f"cost {shown}", "cost bold", 13, "middle")
            sheet.connect([(x + 196, top + 39), (x + 232, top + 39)])
            x, total = x + 232, total + paid
        sheet.box(x, top, 150, 78, "last" if row == 0 else "lit")
        sheet.text(x + 75, top + 12, f"{format_number(total)}", "bold", 26, "middle")
        sheet.text(x + 75, top + 49, "causes first" if row == 0 else "effects first", "soft", 12, "middle")
        totals.append(total)
    return sheet.svg(
        "The same actions in two orders",
        " ".join(f"{', '.join(order)}: {format_number(total)}." for order, total in zip(ORDERS, totals, strict=True)),
    )


def trace() -> str:
    """The trace of one person over the program of docs/reading-a-program.md."""
    program = Program.load(EXAMPLES / "german-reading.json")
    return trace_svg(program, pd.DataFrame([PERSON], index=[5]))


def plan() -> str:
    """A plan of german as a timeline with the words of `plan.plot()`, for the README."""
    german = benchmarks.load("german")
    planner = ExactPlanner(german.problem, BlackBox(german.model))
    made = planner.plan(german.refused_test.iloc[[READER]])[0]
    assert made.duration is not None
    left, right, top, row = 20.0, 800.0, 84.0, 58.0
    scale, bottom = (right - left) / made.duration, top + row * len(made.steps)
    title = f"{headline(made)} ({total_effort(made)})"
    sheet = Sheet()
    sheet.text(left, 14, title, "bold", 16)
    sheet.text(left, 40, duration_text(made), "soft", 13)
    for month in (*range(0, int(made.duration), 6), made.duration):
        if month == made.duration or made.duration - month > 3:
            x = left + month * scale
            words = f"{format_number(round(month, 1))} {made.time_unit}" if month == made.duration else str(month)
            sheet.text(x, bottom + 8, "now" if not month else words, "soft", 12, "middle" if month else "start")
            sheet.connect([(x, top - 8), (x, bottom)], "tick", head=False)
    for number, step in enumerate(made.steps):
        y = top + row * number
        sheet.text(left, y, f"{number + 1}. {step.text} (effort {step.cost:.1f})", "bold", 13)
        width = max((step.duration or 0) * scale, 6)
        sheet.box(left + (step.start or 0) * scale, y + 24, width, 20, "bar", 4)
    return sheet.svg(title, f"The steps as bars over time. {duration_text(made)}", style=BAR_STYLE)


FIGURES: dict[str, Callable[[], str]] = {
    "agent.svg": network,
    "distillation.svg": distillation,
    "data-flow.svg": data_flow,
    "causal-graph.svg": causal_graph,
    "orders.svg": orders,
    "trace.svg": trace,
    "plan.svg": plan,
}


def main() -> None:
    """Write the figures, or only those named."""
    for name in sys.argv[1:] or FIGURES:
        (FOLDER / name).write_text(FIGURES[name](), encoding="utf-8")


if __name__ == "__main__":
    main()
