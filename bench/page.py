"""Response time of the exported page: `python bench/page.py [FOLDER …]` (Chromium; milliseconds).

Fills in the form of the page for 200 random people, field by field; each change updates the plan and the layout. The
folders contain programs (`counterplan distil`); without any, one is made for german.
"""

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from counterplan import Problem, Program, Recourse, benchmarks
from counterplan.program.export import export

PEOPLE = 200
TARGET = 50.0
"""Milliseconds."""
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


def random_people(problem: Problem, table: pd.DataFrame, rng: np.random.Generator) -> list[dict[str, float]]:
    """People with features from different rows of `table`, by index of the feature, without missing values."""
    states = problem.read(table).states
    columns = [column[~np.isnan(column)] for column in states.T]
    return [{str(i): float(rng.choice(column)) for i, column in enumerate(columns)} for _ in range(PEOPLE)]


def german() -> Program:
    """Fit and distil a program for german."""
    benchmark = benchmarks.load("german")
    recourse = Recourse(benchmark.problem, benchmark.model)
    return recourse.fit(benchmark.train).distil(benchmark.train)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path)
    folders = parser.parse_args().folders
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        sys.exit("Chromium is not installed")
    from playwright.sync_api import sync_playwright

    programs = [Program.load(folder / "program.json") for folder in folders] or [german()]
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as play, tempfile.TemporaryDirectory() as folder:
        browser = play.chromium.launch(executable_path=chromium, args=sandbox)
        for program in programs:
            file = Path(folder) / f"{program.problem.name}.html"
            export(program, file)
            table = benchmarks.load(program.problem.name).test
            people = random_people(program.problem, table, np.random.default_rng(0))
            page = browser.new_page()
            page.goto(file.as_uri())
            took = np.array(page.evaluate(FILL, people))
            size = f"{file.stat().st_size / 1e6:.1f} MB"
            print(
                f"{program.problem.name:9} {len(took):,} updates for {PEOPLE} people: mean {took.mean():.2f} ms, "
                f"99 % within {np.quantile(took, 0.99):.1f} ms, longest {took.max():.1f} ms "
                f"(target {TARGET:g} ms); the page is {size}"
            )
        browser.close()


if __name__ == "__main__":
    main()
