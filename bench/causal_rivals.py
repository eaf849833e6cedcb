"""Other methods for the direction of an edge, which `bench/causal.py --rivals` compares.

Each takes a problem, people and edges, and returns for each edge 1 if it finds the direction of the edge, −1 if it
finds the opposite, and 0 if it does not decide.
"""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from scipy.special import gammaln

from counterplan import Problem
from counterplan.causal.columns import DataColumn, to_columns

Edge = tuple[str, str]
Decide = Callable[[Problem, pd.DataFrame, Sequence[Edge]], list[int]]
BINS = 30


def columns_of(problem: Problem, people: pd.DataFrame) -> dict[str, DataColumn]:
    """The columns of a table."""
    return {column.name: column for column in to_columns(problem.features, problem.read(people).states)}


def pairwise(score: Callable[[np.ndarray], float]) -> Decide:
    """Decide by the sign of a score of the joint counts [X, Y], which favours X → Y if it is positive."""

    def decide(problem: Problem, people: pd.DataFrame, edges: Sequence[Edge]) -> list[int]:
        columns = columns_of(problem, people)
        return [int(np.sign(score(joint(columns[first], columns[second])))) for first, second in edges]

    return decide


def joint(first: DataColumn, second: DataColumn) -> np.ndarray:
    """Counts of pairs of values; numbers have at most `BINS` of them."""
    codes = [
        pd.factorize(pd.Series(c.cells * BINS // c.size if c.size > BINS else c.cells), sort=True)[0]
        for c in (first, second)
    ]
    table = np.zeros((codes[0].max() + 1, codes[1].max() + 1))
    np.add.at(table, (codes[0], codes[1]), 1.0)
    return table


def entropy(shares: np.ndarray) -> float:
    """Entropy in nats."""
    shares = shares[shares > 0]
    return -float(shares @ np.log(shares))


def exogenous_entropy(conditionals: np.ndarray) -> float:
    """Entropy of a variable that makes all the rows [X, Y] of a conditional distribution, by greedy coupling."""
    rows, parts = conditionals.copy(), []
    while (mass := rows.max(axis=1).min()) > 1e-9:
        parts.append(mass)
        rows[np.arange(len(rows)), rows.argmax(axis=1)] -= mass
    return entropy(np.array(parts))


def entropic(counts: np.ndarray) -> float:
    """Entropic causality: the direction in which cause and noise together have less entropy."""
    shares = counts / counts.sum()
    first, second = shares.sum(axis=1), shares.sum(axis=0)
    forward = entropy(first) + exogenous_entropy(shares / first[:, None])
    return entropy(second) + exogenous_entropy((shares / second).T) - forward


def information_geometric(counts: np.ndarray) -> float:
    """IGCI with a uniform reference: the cause has more entropy, relative to the most it could have."""
    shares = counts / counts.sum()
    sizes = np.log(counts.shape)
    return entropy(shares.sum(axis=1)) / sizes[0] - entropy(shares.sum(axis=0)) / sizes[1]


def complexity(size: int, count: int) -> float:
    """The parametric complexity of the multinomial distribution, as a logarithm."""
    if not count or size == 1:
        return 0.0
    k = np.arange(count + 1)
    rest = count - k
    terms = gammaln(count + 1) - gammaln(k + 1) - gammaln(rest + 1)
    terms += k * np.log(np.maximum(k, 1) / count) + rest * np.log(np.maximum(rest, 1) / count)
    before, now = 1.0, float(np.exp(terms).sum())
    for j in range(3, size + 1):
        before, now = now, now + count / (j - 2) * before
    return float(np.log(now))


def stochastic_complexity(counts: np.ndarray) -> float:
    """CISC: the direction of less stochastic complexity (the likelihoods of both are equal)."""

    def length(table: np.ndarray) -> float:
        cause = complexity(table.shape[0], int(table.sum()))
        return cause + sum(complexity(table.shape[1], int(row)) for row in table.sum(axis=1))

    return length(counts.T) - length(counts)


def additive_noise(problem: Problem, people: pd.DataFrame, edges: Sequence[Edge]) -> list[int]:
    """ANM of causal-learn on 300 people: the direction with more independent residuals, if one p-value is below .01."""
    from causallearn.search.FCMBased.ANM.ANM import ANM

    columns = columns_of(problem, people.head(300))
    verdicts = []
    for first, second in edges:
        pair = [columns[name].values[:, None] for name in (first, second)]
        forward, backward = ANM().cause_or_effect(*[(one - one.mean()) / one.std() for one in pair])
        decided = (forward < 0.01) != (backward < 0.01)
        verdicts.append(int(np.sign(forward - backward)) if decided else 0)
    return verdicts


def pc(problem: Problem, people: pd.DataFrame, edges: Sequence[Edge]) -> list[int]:
    """PC of causal-learn with chi-squared tests on groups of values."""
    from causallearn.search.ConstraintBased.PC import pc as run

    columns = columns_of(problem, people)
    names = list(columns)
    data = np.column_stack([column.groups[column.cells] for column in columns.values()])
    graph = run(data, 0.01, "chisq", show_progress=False).G.graph
    verdicts = []
    for first, second in edges:
        i, j = names.index(first), names.index(second)
        verdicts.append(
            1 if graph[i, j] == -1 and graph[j, i] == 1 else -1 if graph[i, j] == 1 and graph[j, i] == -1 else 0
        )
    return verdicts


RIVALS: dict[str, Decide] = {
    "PC": pc,
    "ANM": additive_noise,
    "entropic": pairwise(entropic),
    "IGCI": pairwise(information_geometric),
    "CISC": pairwise(stochastic_complexity),
}
