"""Personal plans on the command line: --weight, --weights and --alternatives of recommend."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

import loans
from counterplan import Plans, Problem, Recourse


@pytest.fixture
def words(folder: Path) -> tuple[str, ...]:
    """Options for a loan that more income or less debt decides, in the current folder."""
    (folder / "ways.yaml").write_text(yaml.safe_dump(loans.TWO_WAYS, sort_keys=False))
    (folder / "decide.py").write_text(
        "def model(people):\n    return ['yes' if i - d >= 30 else 'no' for i, d in zip(people.income, people.debt)]\n"
    )
    pd.DataFrame({"income": [40.0, 30.0, 90.0], "debt": [20.0, 30.0, 0.0]}).to_csv(folder / "people.csv", index=False)
    return "recommend", "ways.yaml", "--people", "people.csv", "--model", "decide:model"


def decide(people: pd.DataFrame) -> list[str]:
    return ["yes" if i - d >= 30 else "no" for i, d in zip(people.income, people.debt, strict=True)]


def test_weights_for_everybody_and_for_each_person(run, folder: Path, words) -> None:
    ran = run(*words, "--weight", "SAVE=10", "--weight", "SAVE=-20=100", "--json", "plans.json")
    assert ran.code == 0, ran.err
    plans = Plans.load(folder / "plans.json")
    assert [plan.actions for plan in plans] == [["EARN=10"], ["EARN=10", "EARN=20"], []]
    (folder / "weights.csv").write_text("SAVE,EARN=20\n,\n10,\n,5\n")
    ran = run(*words, "--weights", "weights.csv", "--csv", "plans.csv")
    assert ran.code == 0, ran.err
    table = pd.read_csv(folder / "plans.csv")
    assert table.groupby("person")["function"].first().tolist()[:2] == ["SAVE", "EARN"]
    alone = run(*words, "--weights", "weights.csv", "--person", "1", "--json", "one.json")
    assert alone.code == 0, alone.err
    assert Plans.load(folder / "one.json")[0].actions == ["EARN=10", "EARN=20"]


def test_weights_of_people_in_a_parquet_file(run, folder: Path, words) -> None:
    pd.read_csv(folder / "people.csv").to_parquet(folder / "people.parquet")
    (folder / "weights.csv").write_text("SAVE\n10\n1\n1\n")
    words = [word.replace(".csv", ".parquet") for word in words]
    ran = run(*words, "--weights", "weights.csv", "--json", "plans.json")
    assert ran.code == 0, ran.err
    assert Plans.load(folder / "plans.json")[0].actions == ["EARN=10"]


def test_a_person_may_be_named_twice(run, folder: Path, words) -> None:
    (folder / "weights.csv").write_text("SAVE\n1\n10\n1\n")
    ran = run(*words, "--weights", "weights.csv", "--person", "1", "--person", "1", "--json", "plans.json")
    assert ran.code == 0, ran.err
    assert [plan.actions for plan in Plans.load(folder / "plans.json")] == [["EARN=10", "EARN=20"]] * 2


@pytest.mark.parametrize("labels", [[2, 0, 1], ["b", "c", "a"], [(1, 2), (1, 0), (0, 1)], [1, 2, 3]])
def test_labels_in_a_parquet_file_belong_to_people(run, folder: Path, words, labels: list[Any]) -> None:
    index = pd.MultiIndex.from_tuples(labels) if isinstance(labels[0], tuple) else pd.Index(labels)
    people = pd.read_csv(folder / "people.csv").set_axis(index.sort_values() if labels != [2, 0, 1] else range(3))
    people.to_parquet(folder / "people.parquet")
    weights = pd.DataFrame({"SAVE": [1, 10, 1]}, index=index)
    words = [word.replace(".csv", ".parquet") for word in words]
    first = people.index.get_loc(index[1])
    weights.to_parquet(folder / "weights.parquet")
    for options in ((), ("--person", "0", "--person", "1")):
        ran = run(*words, "--weights", "weights.parquet", "--json", "plans.json", *options)
        assert ran.code == 0, ran.err
        plans = Plans.load(folder / "plans.json")
        assert [plan.steps[0].function == "EARN" for plan in list(plans)[:2]] == [first == 0, first == 1]
    weights.to_parquet(folder / "weights.parquet", index=False)
    ran = run(*words, "--weights", "weights.parquet", "--json", "plans.json")
    assert ran.code == 0, ran.err
    assert [plan.steps[0].function for plan in list(Plans.load(folder / "plans.json"))[:2]] == ["SAVE", "EARN"]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 1, 3], "weights.parquet: nobody of the people has the label 3: give rows the labels of the people"),
        (["a", "b", "c"], "nobody of the people has the label 'a'"),
        ([0, 1, 1], "two rows of the file have the label 1"),
        (pd.RangeIndex(1, 4), "nobody of the people has the label 3"),
    ],
)
def test_labels_of_other_people_are_refused(run, folder: Path, words, labels: Any, message: str) -> None:
    pd.DataFrame({"SAVE": [2, 3, 4]}, index=labels).to_parquet(folder / "weights.parquet")
    ran = run(*words, "--weights", "weights.parquet")
    assert ran.code == 2
    assert message in " ".join(ran.err.split())


def test_alternatives_in_every_output(run, folder: Path, words) -> None:
    ran = run(*words, "--alternatives", 3, "--json", "plans.json", "--csv", "plans.csv")
    assert ran.code == 0, ran.err
    assert "Another way, with other steps:" in ran.out
    assert "(effort 4.0; checked with the model)" in ran.out
    plans = Plans.load(folder / "plans.json")
    people = pd.read_csv(folder / "people.csv")
    expected = Recourse(Problem.load(folder / "ways.yaml"), decide).recommend(people, alternatives=3)
    assert [[one.actions for one in plan.alternatives] for plan in plans] == (
        [[one.actions for one in plan.alternatives] for plan in expected]
    )
    table = pd.read_csv(folder / "plans.csv", keep_default_na=False)
    assert (table["related"] == "alternatives").sum() == sum(
        len(one.steps) for plan in plans for one in plan.alternatives
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--weight", "SAVE"), "write FUNCTION=NUMBER"),
        (("--weight", "SVAE=2"), "'SVAE' is neither a function nor an action; did you mean 'SAVE'"),
        (("--weight", "SAVE=1000"), "the weight of SAVE must be a number from 0.01 to 100, not 1000"),
        (("--weight", "SAVE=2", "--weights", "weights.csv"), "use one of them"),
        (("--weights", "weights.csv"), "weights.csv: 1 row of weights for 3 people"),
        (("--weights", "nothing.csv"), "nothing.csv"),
        (("--weights", "heavy.csv"), "heavy.csv: 'weights' of person 1: the weight of SAVE must be a number from 0.01"),
        (("--weights", "typo.csv"), "typo.csv: 'weights': 'SVAE' is neither a function nor an action; did you mean"),
        (("--alternatives", 21), "should be less than or equal to 20"),
        (("--weight", "SAVE=0"), "the weight of SAVE must be a number from 0.01 to 100, not 0. Use --forbid"),
        (("--weight", "SAVE=inf"), "the weight of SAVE must be a number from 0.01 to 100, not inf. Use --forbid"),
        (("--weights", "named.csv"), "named.csv: 'weights': 'id' is neither a function nor an action"),
        (("--alternatives", 3, "--survival", "high"), "leave out either 'alternatives' or 'survival'"),
    ],
)
def test_refuses_wrong_options(run, folder: Path, words, options, message: str) -> None:
    (folder / "weights.csv").write_text("SAVE\n2\n")
    (folder / "heavy.csv").write_text("SAVE\n2\n101\n2\n")
    (folder / "named.csv").write_text("id,SAVE\na,2\nb,2\nc,2\n")
    (folder / "typo.csv").write_text("SVAE\n2\n2\n2\n")
    ran = run(*words, *options, "--json", "plans.json")
    assert ran.code == 2
    assert message in " ".join(ran.err.split())
    assert not (folder / "plans.json").exists()
