"""Results of a search for many people, as arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.search.orders import NO_ACTION


@dataclass
class SearchOutcome:
    """Plans that a search found for B people."""

    actions: Ints
    """[B, T] plans padded with NO_ACTION."""
    cost: Floats
    """[B] costs; infinite if there is no plan."""
    verified: Bools
    """[B] whether the black box was queried about the end of the plan."""
    lower_bound: Floats
    """[B] no plan costs less; infinite if it is proved that there is none."""
    queries: Ints
    """[B] queries about each person."""
    least: Floats
    """[B] estimated least cost of a plan, of a search with another objective than the cost; otherwise NaN."""
    least_chance: Floats
    """[B] estimated chance that the end of the cheapest plan stays favourable; NaN if there is no estimate."""
    incomplete: Bools
    """[B] whether a limit ended the search for alternatives."""
    alternatives: list[Ints] | None = None
    """[B] other plans [n, T] of each person; None if they were not searched for."""
    visits: npt.NDArray[np.float32] | None = None
    """[B, T + 1, A] of a stepwise tree search: shares of visits of each action at each step."""

    @classmethod
    def empty(cls, people: int, max_actions: int) -> SearchOutcome:
        """An outcome without plans."""
        return cls(
            actions=np.full((people, max_actions), NO_ACTION, np.intp),
            cost=np.full(people, np.inf),
            verified=np.zeros(people, bool),
            lower_bound=np.zeros(people),
            queries=np.zeros(people, np.intp),
            least=np.full(people, np.nan),
            least_chance=np.full(people, np.nan),
            incomplete=np.zeros(people, bool),
        )

    def put(self, rows: Ints, part: SearchOutcome) -> None:
        """Replace the plans of `rows` [n]; visits are not copied."""
        self.actions[rows], self.cost[rows], self.verified[rows] = part.actions, part.cost, part.verified
        self.lower_bound[rows], self.queries[rows] = part.lower_bound, part.queries
        self.least[rows], self.least_chance[rows] = part.least, part.least_chance
        self.incomplete[rows] = part.incomplete
