"""Constraints on a person's actions: `forbid` by name, or a mask of allowed actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from counterplan.errors import SettingError
from counterplan.problem import People, Problem
from counterplan.problem.transitions import Bools

Forbid = str | Sequence[str] | Mapping[Any, Sequence[str]] | None
"""Names of forbidden functions or actions, for everybody or, in a mapping, by the index label of a person."""


def allowed_actions(problem: Problem, people: People, forbid: Forbid, allowed: Bools | None = None) -> Bools:
    """Combine `forbid` and `allowed` into one mask of actions.

    Parameters
    ----------
    problem : Problem
    people : People
        B people; `forbid` may refer to their index labels.
    forbid : str, sequence of str, mapping or None
        Functions (`"CHANGE_JOB"`) or actions (`"CHANGE_JOB=manager"`), for all people or by index label.
    allowed : bool array of shape [B, A], optional
        Mask of allowed actions.

    Returns
    -------
    bool array of shape [B, A]
        The actions that each person may take; STOP is always allowed.

    Raises
    ------
    SettingError
        If a name or a person does not exist, or `allowed` has another shape or type.
    """
    shape = (len(people), len(problem.transitions))
    if allowed is not None and (np.shape(allowed) != shape or np.asarray(allowed).dtype != bool):
        raise SettingError(f"'allowed' should be a Boolean array of shape {shape}, not {np.shape(allowed)}")
    mask = np.ones(shape, bool) if allowed is None else np.array(allowed)
    if forbid is None:
        forbid = ()
    if not isinstance(forbid, Mapping | Sequence):
        raise SettingError(f"'forbid' lists functions or actions, or maps people to such lists; {forbid!r} is neither")
    if isinstance(forbid, Mapping):
        labels = list(people.table.index)
        for person, names in forbid.items():
            rows = [row for row, label in enumerate(labels) if label == person]
            if not rows:
                raise SettingError(f"cannot forbid anything to person {person!r}: there is no such person")
            mask[rows] &= problem.allowed(names)
    else:
        mask &= problem.allowed(forbid)
    mask[:, problem.transitions.stop] = True
    return mask
