"""Response time and conformance of exported pages: `python bench/page.py [FOLDER …]` (Chromium; milliseconds).

Of a program (`counterplan distil`): fills in the form of the page for 200 random people, field by field; each change
updates the plan and the layout. Of a card (`counterplan distil --form card`): plans for 2,000 people, a quarter each as
they are, with weights, with something forbidden, and with both, and compares plan, cost and points with `CardPlanner`
without queries. Without folders, both are made for german.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from counterplan import Problem, Program, Recourse, benchmarks
from counterplan.planners import CardPlanner
from counterplan.program.export import to_html as program_page
from counterplan.scorecard import Scorecard
from counterplan.scorecard.export.html import to_html as card_page

PEOPLE, PLANNED = 200, 2_000
TARGET = 50.0
"""Milliseconds."""
WEIGHTS = (0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0)
"""Those of the page's sliders."""
FILL = """(people) => {
  const took = [];
  for (const person of people) {
    for (const [feature, value] of Object.entries(person)) {
      const field = document.getElementById(`feature-${feature}`);
      if (!field || field.tagName === "OUTPUT") continue;
      field.value = value;
      const started = performance.now();
      field.dispatchEvent(new Event(field.tagName === "SELECT" ? "change" : "input", { bubbles: true }));
      document.body.getBoundingClientRect();
      took.push(performance.now() - started);
    }
  }
  return took;
}"""
PLAN = """([states, cannot, weights]) => states.map((state) => {
  const started = performance.now(), start = state.map((number) => number ?? NaN);
  const { status, path, cost, points } = counterplan.parts.card.plan(start, { cannot: new Set(cannot), weights });
  return { status, path, cost, points, took: performance.now() - started };
})"""


def random_people(problem: Problem, table: pd.DataFrame, rng: np.random.Generator) -> list[dict[str, float]]:
    """People with features from different rows of `table`, by index of the feature, without missing values."""
    states = problem.read(table).states
    columns = [column[~np.isnan(column)] for column in states.T]
    return [{str(i): float(rng.choice(column)) for i, column in enumerate(columns)} for _ in range(PEOPLE)]


def time_form(page: Any, problem: Problem) -> str:
    """Response time of the form of a page."""
    people = random_people(problem, benchmarks.load(problem.name).test, np.random.default_rng(0))
    took = np.array(page.evaluate(FILL, people))
    return (
        f"{len(took):,} updates for {PEOPLE} people: mean {took.mean():.2f} ms, "
        f"99 % within {np.quantile(took, 0.99):.1f} ms, longest {took.max():.1f} ms (target {TARGET:g} ms)"
    )


def compare(page: Any, card: Scorecard, count: int) -> str:
    """Time to plan on the page, and agreement with the card planner, for `count` refused people."""
    problem, rng = card.problem, np.random.default_rng(0)
    transitions, benchmark = problem.transitions, benchmarks.load(problem.name)
    refused = pd.concat([benchmark.refused_test, benchmark.refused_train])
    people = refused.iloc[rng.choice(len(refused), count, replace=len(refused) < count)].reset_index(drop=True)
    names = [function.name for function in transitions.functions]
    took, same, total, spent, gave = [], 0, 0, 0.0, 0
    for number, rows in enumerate(np.array_split(np.arange(count), 4 * max(1, count // 400))):
        weights = {name: float(rng.choice(WEIGHTS)) for name in names} if number % 4 in (1, 3) else {}
        forbid = [str(rng.choice(names))] if number % 4 in (2, 3) else []
        read = problem.read(people.iloc[rows])
        states = [[None if np.isnan(value) else value for value in state] for state in read.states.tolist()]
        answers = page.evaluate(PLAN, [states, forbid, weights])
        started = time.perf_counter()
        by_action = np.array([*(weights.get(name, 1.0) for name in names), 1.0])[transitions.function_of]
        planner = CardPlanner(problem, None, card, queries=0)
        plans = planner.plan(read, forbid=forbid, weights=np.tile(by_action, (len(rows), 1)), budget=0)
        spent += time.perf_counter() - started
        indices = {str(action): action.index for action in transitions.actions}
        for answer, plan in zip(answers, plans, strict=True):
            found = bool(plan.steps)
            wanted = [indices[step.action] for step in plan.steps]
            points = int(card.points(problem.states([plan.steps[-1].after]))[0]) if found else None
            agrees = (answer["status"] == "found") is found and answer["path"] == wanted
            same += agrees and (not found or (answer["cost"], answer["points"]) == (plan.cost, points))
        took += [answer["took"] for answer in answers]
        gave += sum(answer["status"] == "gave_up" for answer in answers)
        total += len(rows)
    times = np.array(took)
    return (
        f"{same:,} of {total:,} people have the plan, cost and points of CardPlanner ({gave} given up): median "
        f"{np.median(times):.2f} ms a plan, 99 % within {np.quantile(times, 0.99):.1f} ms, longest {times.max():.0f} "
        f"ms (CardPlanner {1000 * spent / total:.0f} ms)"
    )


def german() -> tuple[Program, Scorecard]:
    """Fit and distil a program and a card for german."""
    benchmark = benchmarks.load("german")
    recourse = Recourse(benchmark.problem, benchmark.model).fit(benchmark.train)
    return recourse.distil(benchmark.train), recourse.distil(benchmark.train, form="card")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--people", type=int, default=PLANNED, help="people to compare plans of")
    options = parser.parse_args()
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        sys.exit("Chromium is not installed")
    from playwright.sync_api import sync_playwright

    artefacts: list[Program | Scorecard] = []
    for folder in options.folders:
        artefacts += [Program.load(path) for path in folder.glob("program.json")]
        artefacts += [Scorecard.load(path) for path in folder.glob("card.json")]
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as play, tempfile.TemporaryDirectory() as folder:
        browser = play.chromium.launch(executable_path=chromium, args=sandbox)
        for artefact in artefacts or german():
            is_card = isinstance(artefact, Scorecard)
            text = card_page(card=artefact) if is_card else program_page(artefact)
            file = Path(folder) / "page.html"
            file.write_text(text, encoding="utf-8")
            page, name = browser.new_page(), f"{artefact.problem.name} {'card' if is_card else 'program'}"
            page.goto(file.as_uri())
            print(f"{name:17} {time_form(page, artefact.problem)}; the page is {len(text) / 1e6:.1f} MB", flush=True)
            if is_card:
                print(f"{name:17} {compare(page, artefact, options.people)}", flush=True)
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
