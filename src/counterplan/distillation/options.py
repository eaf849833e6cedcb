"""Options of a distillation, as `Recourse.distil` takes them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from counterplan.distillation.policy_search import PolicySearchSettings
from counterplan.errors import SettingError
from counterplan.planners.base import is_whole
from counterplan.problem.values import did_you_mean
from counterplan.program.text import PAGE
from counterplan.survival.goal import WEIGHTS

PRESETS = ("default", "paper")
FORMS = ("program", "card")
PREFER = ("short", "balanced", "success", "effort")
"""The first one is the default."""
_PENALTIES = {"short": 6 / 7, "balanced": 1.0, "success": 1.6, "effort": 0.45}
"""Factors on the penalty of a plan that fails."""
_SURVIVAL_POWER = 0.25
"""Exponent of "balanced": the penalty of failures, which is high because a program cannot query, multiplies it."""


@dataclass(frozen=True)
class DistillOptions:
    """Options of a distillation.

    Parameters
    ----------
    traces : int, optional
        Number of people to distil from; with preset "paper", number of the agent's traces.
    rounds : int, optional
        Most rounds of policy search.
    max_conditions : int, optional
        Most features that a rule tests.
    prefer : {"short", "balanced", "success", "effort"}, optional
        A program of about a page ("short", the default), or one of hundreds of rules that favours plans that hold
        ("success"), cheap plans ("effort") or neither ("balanced").
    preset : {"default", "paper"}, default="default"
        Policy search on a surrogate, or imitation of an agent as in the paper.
    protected : bool, optional
        Whether rules may test protected features; None is False, and True with preset "paper".
    seed : int, default=0
    survival : float, default=0
        Weight of survival, as of plans: 0 for plans that need only hold today.
    form : {"program", "card"}, default="program"
        What is distilled. A card has none of `rounds`, `max_conditions`, `prefer`, `preset` and `survival`.

    Raises
    ------
    SettingError
        If a value is out of range, or options do not go together.

    Examples
    --------
    >>> DistillOptions(prefer="success").settings().failure_penalty
    11.2
    """

    traces: int | None = None
    rounds: int | None = None
    max_conditions: int | None = None
    prefer: str | None = None
    preset: str = "default"
    protected: bool | None = None
    seed: int = 0
    survival: float = 0.0
    form: str = "program"

    def __post_init__(self) -> None:
        for what, name, known in (
            ("preset", self.preset, PRESETS),
            ("preference", self.prefer, PREFER),
            ("form", self.form, FORMS),
        ):
            if name is not None and name not in known:
                hint = did_you_mean(str(name), known) or f"; there are {', '.join(known)}"
                raise SettingError(f"there is no {what} '{name}'{hint}")
        for what, number in (("traces", self.traces), ("rounds", self.rounds), ("max_conditions", self.max_conditions)):
            if number is not None and not is_whole(number, 1):
                raise SettingError(f"'{what}' must be an integer, one or more, not {number!r}")
        if not is_whole(self.seed) or self.seed >= 2**32:
            raise SettingError(f"'seed' must be an integer from 0 to {2**32 - 1:,}, not {self.seed!r}")
        if self.preset == "paper" and (self.prefer or self.rounds):
            raise SettingError("'prefer' and 'rounds' are not for the preset 'paper', which imitates an agent once")
        if self.preset == "paper" and self.survival:
            raise SettingError("'survival' is not for the preset 'paper', which imitates an agent")

        if self.form == "card":
            given = {
                "rounds": self.rounds,
                "max_conditions": self.max_conditions,
                "prefer": self.prefer,
                "preset": self.preset != "default",
                "survival": self.survival,
            }
            if names := [f"'{name}'" for name, value in given.items() if value]:
                raise SettingError(f"{' and '.join(names)}: for programs only, not for the form 'card'")

    @property
    def tests_protected(self) -> bool:
        """Whether rules may test protected features, by the preset if it is not given."""
        return self.preset == "paper" if self.protected is None else self.protected

    @property
    def survival_power(self) -> float:
        """Exponent of the chance of survival in the success of a plan: 1/4 for the weight "balanced"."""
        return _SURVIVAL_POWER * self.survival / WEIGHTS["balanced"]

    @property
    def preference(self) -> str:
        """What to favour, with the default filled in."""
        return self.prefer or PREFER[0]

    def settings(self) -> PolicySearchSettings:
        """The settings of the policy search."""
        default = PolicySearchSettings()
        tree = replace(default.tree, max_conditions=self.max_conditions)
        if self.preference == "short":
            tree = replace(tree, feature_penalty=0.25 * tree.feature_penalty, leaf_penalty=45 * tree.leaf_penalty)
            default = replace(default, max_lines=PAGE, fallback_leaves=5.0)
        penalty = default.failure_penalty * _PENALTIES[self.preference]
        rounds = default.rounds if self.rounds is None else self.rounds
        return replace(default, tree=tree, failure_penalty=penalty, rounds=rounds)
