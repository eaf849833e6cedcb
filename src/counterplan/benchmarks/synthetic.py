"""Sample the people of syn and syn_long from their causal graph; the rules of their black boxes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

ROWS = 10_004

JOBS = ["unemployed", "worker", "self_employed", "office_worker", "manager", "ceo"]
EDUCATIONS = ["none", "diploma", "bachelor", "master", "phd"]
_JOB_GIVEN_EDUCATION = [
    [0.59, 0.10, 0.10, 0.10, 0.10, 0.01],
    [0.05, 0.30, 0.30, 0.20, 0.10, 0.05],
    [0.01, 0.20, 0.20, 0.20, 0.29, 0.10],
    [0.01, 0.09, 0.30, 0.30, 0.20, 0.10],
    [0.01, 0.01, 0.19, 0.19, 0.30, 0.30],
]
_HOUSE_GIVEN_INCOME = [[0.4, 0.4, 0.2], [0.01, 0.7, 0.29], [0.001, 0.299, 0.7]]
_RELATIONSHIP_GIVEN_AGE = [[0.2, 0.4, 0.3, 0.1], [0.1, 0.4, 0.3, 0.2]]
_PURPOSE_GIVEN_PHD = [[0, 0.33, 0.34, 0.33], [0.4, 0.2, 0.2, 0.2]]
_INCOME = [9_000, 40_000, 50_000, 60_000, 80_000, 100_000]
_SAVINGS = [9_000, 20_000, 40_000, 30_000, 90_000, 100_000]
_EXPENSES = [500, 900, 1_500, 1_250, 3_000, 4_000]

RULES = {
    "syn": """
        education >= 'bachelor' and (
          job in ['self_employed', 'office_worker'] and income >= 50000 and house == 'own'
          or job in ['manager', 'ceo'] and income >= 80000
        )""",
    "syn_long": """
        education >= 'bachelor' and (
          job in ['self_employed', 'office_worker'] and income >= 50000 and credit_score > 4
          and 12 * expenses <= 0.6 * income and (
            house == 'own' and (savings > 50000 or savings > 30000 and purpose in ['education', 'furniture', 'car'])
            or house != 'own' and (
              savings > 80000
              or savings > 50000 and purpose in ['education', 'furniture', 'car']
              or savings > 30000 and purpose in ['education', 'furniture']
            )
          )
          or job in ['manager', 'ceo'] and income >= 80000 and credit_score > 2
          and 12 * expenses <= 0.8 * income and (
            savings > 60000
            or savings > 30000 and purpose in ['education', 'furniture', 'car']
            or savings > 20000 and purpose in ['education', 'furniture']
          )
        )""",
}
"""The condition for a loan, by benchmark."""


def sample(count: int, random: np.random.Generator, long: bool) -> pd.DataFrame:
    """Sample `count` people from the causal graph, without outcomes."""
    age = random.integers(30, 60, count)
    education = random.integers(0, 5, count)
    job = _choose(random, _JOB_GIVEN_EDUCATION, education)
    income = _around(random, _INCOME, job, 10_000, 200_000)
    house = _choose(random, _HOUSE_GIVEN_INCOME, np.digitize(income, [20_000, 40_000]))
    relationship = _choose(random, _RELATIONSHIP_GIVEN_AGE, (age >= 45).astype(int))
    table = {
        "age": age,
        "education": np.array(EDUCATIONS)[education],
        "job": np.array(JOBS)[job],
        "income": income,
        "house": np.array(["none", "rent", "own"])[house],
        "credit": random.integers(0, 50_000, count),
        "sex": np.array(["male", "female"])[random.integers(0, 2, count)],
        "relationship": np.array(["single", "married", "divorced", "widowed"])[relationship],
        "country": np.array(["italy", "europe", "outside_europe"])[random.integers(0, 3, count)],
    }
    if long:
        purpose = _choose(random, _PURPOSE_GIVEN_PHD, (education == 4).astype(int))
        table |= {
            "savings": _around(random, _SAVINGS, job, 5_000, 200_000),
            "purpose": np.array(["education", "furniture", "car", "house"])[purpose],
            "credit_score": random.integers(0, 7, count),
            "expenses": np.abs(random.normal(np.array(_EXPENSES)[job], 100)).round(2),
        }
    return pd.DataFrame(table)


def _choose(
    random: np.random.Generator, shares: list[list[float]], given: npt.NDArray[np.integer]
) -> npt.NDArray[np.intp]:
    """Sample a value for each of `given` [B] with the probabilities in its row of `shares`."""
    edges = np.cumsum(np.array(shares), axis=1)[given]
    edges /= edges[:, -1:]
    chosen: npt.NDArray[np.intp] = (random.random((len(given), 1)) >= edges).sum(axis=1)
    return chosen


def _around(
    random: np.random.Generator, means: list[int], job: npt.NDArray[np.integer], low: float, high: float
) -> npt.NDArray[np.float64]:
    """Sample an amount by job: 9,000 for the unemployed, otherwise |N(mean, 10,000)| within bounds, in cents."""
    drawn = np.abs(random.normal(np.array(means)[job], 10_000))
    return np.where(job == 0, 9_000.0, np.clip(drawn, low, high)).round(2)
