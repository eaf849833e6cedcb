"""A small problem of one's own, people and models for it, as the command line gets them: in files."""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd

from counterplan import Problem

LOAN = """\
counterplan: 1
name: loan
outcome: {column: decision, values: [yes, no], favourable: yes}
max_actions: 2
features:
  income: {kind: number, unit: €, bins: auto}
  job: {kind: ordered, values: [none, clerk, manager]}
functions:
  EARN: {add: income, arguments: [500, 1000], cost: {base: 1, surcharge: [0, 0.5]}, phrase: "Earn {amount} more"}
  WORK: {set: job, arguments: all, when: argument > job, cost: 2}
"""
MODEL = """\
def decide(people):
    return ["yes" if row.income >= 2000 and row.job != "none" else "no" for row in people.itertuples()]

def score(people):
    return (people["income"] / 4000).to_list()
"""
PEOPLE = "name,income,job,decision\nann,1000,clerk,no\nbob,1600,none,no\neve,9000,manager,yes\n"
MANY = pd.DataFrame({"income": [100 * i for i in range(60)], "job": ["none", "clerk"] * 30})
IMPATIENT = """
rows = 0
def impatient(people):
    global rows
    rows += len(people)
    if rows > {rows}:
        raise {error}
    return decide(people)
impatient.identity = ""
"""
SLOW = """
import os, time
def slow(people):
    with open("asked", "a") as file:
        file.write(f"{len(people)} ")
    time.sleep(float(os.environ.get("PAUSE", 0)) * len(people))
    return decide(people)
"""


TWO_WAYS = {
    "counterplan": 1,
    "name": "ways",
    "outcome": {"column": "decision", "values": ["yes", "no"], "favourable": "yes"},
    "max_actions": 3,
    "features": {
        "income": {"kind": "number", "bins": "auto", "minimum": 0},
        "debt": {"kind": "number", "bins": "auto", "minimum": 0},
    },
    "functions": {
        "EARN": {"add": "income", "arguments": [10, 20], "cost": {"base": [4, 7]}},
        "SAVE": {"add": "debt", "arguments": [-10, -20], "cost": {"base": [3, 8]}},
    },
}
"""A loan that more income and less debt decide: `income - debt` at least 30."""


def two_ways() -> Problem:
    """The problem `TWO_WAYS`."""
    return Problem.from_dict(TWO_WAYS)


class Ran(NamedTuple):
    code: int
    out: str
    err: str
