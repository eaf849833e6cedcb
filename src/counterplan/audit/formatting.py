"""Numbers, shares and intervals as text."""

from __future__ import annotations

import math

NOTHING = "–"


def number(value: float, digits: int = 1) -> str:
    """A number with at most `digits` decimals and a true minus sign.

    Examples
    --------
    >>> number(1234.5), number(-2.0), number(float("inf")), number(float("nan"))
    ('1,234.5', '−2', '∞', '–')
    """
    if math.isnan(value):
        return NOTHING
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    rounded = round(value, digits) + 0.0
    shown = f"{abs(rounded):,.{digits}f}"
    shown = shown.rstrip("0").rstrip(".") if "." in shown else shown
    return f"−{shown}" if rounded < 0 else shown


def percent(share: float, digits: int = 1) -> str:
    """A share as a percentage: "83.2 %".

    Examples
    --------
    >>> percent(0.8321), percent(float("nan"))
    ('83.2 %', '–')
    """
    return NOTHING if math.isnan(share) else f"{100 * share:.{digits}f} %".replace("-", "−")


def share_with_interval(share: float, low: float, high: float) -> str:
    """A share and its interval: "83.2 % (79.1 to 86.5)".

    Examples
    --------
    >>> share_with_interval(0.5, 0.4, 0.6)
    '50.0 % (40.0 to 60.0)'
    """
    if math.isnan(share):
        return NOTHING
    return f"{percent(share)} ({100 * low:.1f} to {100 * high:.1f})".replace("-", "−")


def with_interval(value: float, low: float, high: float, digits: int = 1) -> str:
    """A number and its interval: "10.4 (9.8 to 11)"; a bound that so few people do not give is left open.

    Examples
    --------
    >>> with_interval(10.0, 9.0, float("inf"))
    '10 (9 or more)'
    """
    if math.isnan(value):
        return NOTHING
    if math.isinf(low) and math.isinf(high):
        return f"{number(value, digits)} (no bound)"
    if math.isinf(high):
        return f"{number(value, digits)} ({number(low, digits)} or more)"
    if math.isinf(low):
        return f"{number(value, digits)} (at most {number(high, digits)})"
    return f"{number(value, digits)} ({number(low, digits)} to {number(high, digits)})"


def p_value(p: float) -> str:
    """A p-value: "0.031", "< 0.001"."""
    if math.isnan(p):
        return NOTHING
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def fewer_than(minimum: int) -> str:
    """What is said instead of a figure of too few people."""
    return f"fewer than {minimum} people" if minimum > 1 else "nobody"
