"""The protocol of scorecards, for functions that `Scorecard` calls; `Scorecard` implements it."""

from __future__ import annotations

from typing import Protocol

from counterplan.program.protocol import Artefact
from counterplan.scorecard.parts import CardFeature


class ScorecardParts(Artefact, Protocol):
    """The entries of a card, the points that are enough, and the log odds that points stand for."""

    @property
    def features(self) -> tuple[CardFeature, ...]:
        """The entries by feature."""

    @property
    def needed(self) -> int:
        """Points that are enough."""

    @property
    def even(self) -> int:
        """The fewest points with which a favourable decision is as likely as not, `needed` at most."""

    @property
    def slope(self) -> float:
        """Log odds of one point."""

    @property
    def shift(self) -> float:
        """Log odds to be subtracted."""

    @property
    def entries(self) -> int:
        """Number of entries."""
