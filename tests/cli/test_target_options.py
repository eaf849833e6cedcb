"""Targets on the command line: --target of fit, recommend, distil, show and export, and --target-column."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import yaml

import grades
from counterplan import Plans, Program, Recourse

pytestmark = pytest.mark.usefixtures("quick_fits")


@pytest.fixture
def words(folder: Path) -> tuple[str, ...]:
    """Options for a problem with the grades A, B and C in the current folder."""
    (folder / "grades.yaml").write_text(yaml.safe_dump(grades.GRADES, sort_keys=False))
    (folder / "rater.py").write_text(
        f"import sys\nsys.path.append({str(Path(__file__).parents[1])!r})\nimport grades\n"
    )
    grades.people(300).to_csv(folder / "train.csv", index=False)
    grades.people(6, seed=1).assign(wanted=["A", "B", "C"] * 2).to_csv(folder / "some.csv", index=False)
    return "--people", "some.csv", "--model", "rater:grades.model"


def test_recommends_for_a_target_and_for_one_of_each_person(run, folder: Path, words) -> None:
    people = grades.people(6, seed=1)
    ran = run("recommend", "grades.yaml", *words, "--target", "A", "--json", "plans.json")
    assert ran.code == 0, ran.err
    assert "would change the decision to A" in ran.out
    plans = Plans.load(folder / "plans.json")
    expected = Recourse(grades.grades(), grades.model).recommend(people, target="A")
    assert [plan.actions for plan in plans] == [plan.actions for plan in expected]
    ran = run("recommend", "grades.yaml", *words, "--target-column", "wanted", "--csv", "plans.csv")
    assert ran.code == 0, ran.err
    table = pd.read_csv(folder / "plans.csv").drop_duplicates("person")
    assert table["target"].tolist() == ["A", "B", "C"] * 2
    each = Recourse(grades.grades(), grades.model).recommend(people, target=["A", "B", "C"] * 2)
    assert table["status"].tolist() == [plan.status for plan in each]
    several = run("recommend", "grades.yaml", *words, "--target", "A, C", "--person", "2")
    assert "A or C" in several.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--target", "a"), "the target 'a' is not one of the problem's outcomes; did you mean 'A'?"),
        (("--target", "A,D"), "the target 'A,D' is not one of the problem's outcomes"),
        (("--target", "A", "--target-column", "wanted"), "use one of them"),
        (("--target-column", "wnated"), "no such column besides the features; did you mean 'wanted'?"),
        (("--target-column", "age"), "no such column besides the features"),
        (("--target", "A", "--planner", "guided"), "requires a surrogate"),
    ],
)
def test_refuses_wrong_targets(run, words, options, message: str) -> None:
    ran = run("recommend", "grades.yaml", *words, *options)
    assert ran.code == 2
    assert message in ran.err


def test_fits_distils_and_shows_for_targets(run, folder: Path, words) -> None:
    train = ("--people", "train.csv", "--model", "rater:grades.model")
    fit = run("fit", "grades.yaml", *train, "--out", "learned", "--target", "A", "--target", "B", "--budget", 900)
    assert fit.code == 0, fit.err
    assert "Target A:" in fit.out
    assert "Target B:" in fit.out
    assert "--target 'A'" in fit.out
    for target in ("A", "B"):
        ran = run("distil", "learned", *train, "--target", target, "--traces", 200, "--rounds", 1)
        assert ran.code == 0, ran.err
        assert f"counterplan show learned --target '{target}'" in ran.out
        shown = run("show", "learned", "--target", target)
        assert shown.out.splitlines()[0].endswith(f"to reach grade {target}")
        assert shown.code == 0, shown.err
        exported = run("export", "learned", "--target", target, "--to", f"{target}.json")
        assert exported.code == 0, exported.err
        assert Program.load(folder / f"{target}.json").problem.outcome.favourable == {target}
        assert run("export", "learned", "--target", target, "--to", f"{target}.html").code == 0
        assert f"What would change the decision to {target}?" in (folder / f"{target}.html").read_text()
    assert run("show", "learned", "--target", "A").out != run("show", "learned", "--target", "B").out
    missing = run("show", "learned")
    assert missing.code == 2
    assert "there is no program yet" in missing.err
    assert "one program" in run("show", "A.json", "--target", "A").err
    planned = run("recommend", "learned", *words, "--planner", "program", "--target-column", "wanted")
    assert planned.code == 2
    assert "The target is C" in planned.err
    pd.read_csv(folder / "some.csv").replace({"wanted": {"C": "A"}}).to_csv(folder / "some.csv", index=False)
    planned = run("recommend", "learned", "--people", "some.csv", "--planner", "program", "--target-column", "wanted")
    assert planned.code == 0, planned.err
    assert "should change the decision to" in planned.out
    guided = run("recommend", "learned", *words, "--planner", "guided", "--target", "B")
    assert guided.code == 0, guided.err
    assert "because" in guided.out, "steps have reasons from the program of the target"
