"""`CallTimer`: how long a model takes to answer."""

from __future__ import annotations

_CALL_SECONDS = 2.0
"""Target duration of one call of the model while answers are recorded."""
_OVERHEAD_SECONDS = 0.01
"""Duration of a call that is not attributed to its rows."""


class CallTimer:
    """Durations of the calls of a model.

    Attributes
    ----------
    fast_rows : int
        Rows that the model answers within about two seconds, estimated from the calls so far.
    """

    def __init__(self) -> None:
        self.fast_rows = 32
        self._rows, self._seconds, self._overhead = 0, 0.0, 0.0
        """Rows that the model has answered, how long its calls took, and how much of that does not depend on rows."""
        self._known_speed: float | None = None

    @property
    def seconds_per_row(self) -> float | None:
        """Mean time of an answer so far; None if it is not known. Assign a value that was measured before."""
        return self._seconds / self._rows if self._rows else self._known_speed

    @seconds_per_row.setter
    def seconds_per_row(self, seconds: float | None) -> None:
        self._known_speed = seconds

    @property
    def marginal_seconds(self) -> float | None:
        """Estimated time of one more row in a call, without the part that does not depend on rows."""
        return (self._seconds - self._overhead) / self._rows if self._rows else self._known_speed

    def record(self, rows: int, seconds: float) -> None:
        """Add a call."""
        self._rows += rows
        self._seconds += seconds
        self._overhead += min(_OVERHEAD_SECONDS, 0.9 * seconds)
        if seconds > 2 * _CALL_SECONDS:
            self.fast_rows = max(1, int(rows * _CALL_SECONDS / seconds))
        elif seconds < _CALL_SECONDS / 2 and rows == self.fast_rows:
            self.fast_rows *= 2
