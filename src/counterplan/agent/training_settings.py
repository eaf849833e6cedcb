"""`TrainingSettings`: how an agent is trained."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from counterplan.agent.forest import ForestSettings
from counterplan.agent.network import NetworkConfig
from counterplan.agent.search import SearchSettings
from counterplan.errors import SettingError

EXPLORE = ("tree", "policy")


@dataclass(frozen=True)
class TrainingSettings:
    """Settings of `AgentTrainer`; the defaults serve every benchmark.

    Pass them to `Recourse.fit`, which then trains an agent. With the default settings, that takes minutes.

    Parameters
    ----------
    people : int, default=6_000
        Maximum number of people to train on.
    min_people : int, default=1_500
        If there are fewer people, synthetic ones are added by crossover. Training starts with this many people, unless
        `first_people` is set.
    validation : int, default=64
        People held out to select the best agent.
    passes : int, default=10
        Maximum number of passes over the people.
    group_size : int, default=128
        People searched for between two rounds of gradient steps.
    simulations : int, default=90
        Simulations in each training search.
    queries_per_search : int, default=4
        Maximum number of queries about one person in one training search.
    gradient_steps : int, default=16
        Gradient steps after each group.
    batch_size : int, default=128
        Plans in a minibatch.
    learning_rate, weight_decay : float
        Of AdamW.
    max_refusals : int, default=8_192
        Refused plans kept as negative examples for STOP.
    refusal_weight : float, default=1.0
        Weight of the loss on refused plans.
    budget : int, default=50_000
        Maximum number of queries in all.
    join_threshold : float, default=0.2
        The number of people in training doubles when fewer than this share of them improved in a pass.
    search_patience : int, default=5
        Stop searching for a person after this many searches without improvement; three times as many for people
        without a plan.
    tolerance : float, default=0.01
        Training ends when fewer than this share of the people improved in a pass.
    patience : int, default=8
        Training ends after this many validations without improvement.
    validate_every : int, default=12
        Groups between two validations.
    tree : ForestSettings
        Tree search in training.
    search : SearchSettings
        Search for validation people; if it is stepwise, so are the training searches.
    network : NetworkConfig
        Layer sizes.
    checkpoint_seconds : float, default=5.0
        Minimum time between two checkpoints.
    first_people : int, optional
        Training starts with this many people; `min_people` if None.
    lag : int, default=2
        Groups are searched for with the agent before its last `lag` updates, so that searches and updates can run at
        the same time. With 0, each search waits for the update after the search before it.
    select_by_success : bool, default=False
        Select the agent with the highest success rate on validation people, the newest of equal ones, as in the
        paper. By default the one with the least mean cost ratio is selected, where a failure counts 2.
    explore : {"tree", "policy"}, default="tree"
        How plans are found in training: by tree search, or by sampling `simulations` traces of each person from the
        agent's own policy, to measure what the search contributes. The cheapest successful trace is archived, and
        validation people get the plan of the policy alone.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from counterplan import TrainingSettings
    >>> settings = replace(TrainingSettings.preset("paper"), budget=20_000)
    >>> settings.budget, settings.people, settings.select_by_success
    (20000, 2000, True)
    """

    people: int = 6_000
    min_people: int = field(default=1_500, metadata={"key": "enough_people"})
    validation: int = 64
    passes: int = 10
    group_size: int = field(default=128, metadata={"key": "group"})
    simulations: int = 90
    queries_per_search: int = field(default=4, metadata={"key": "questions"})
    gradient_steps: int = field(default=16, metadata={"key": "steps"})
    batch_size: int = field(default=128, metadata={"key": "batch"})
    learning_rate: float = 2e-3
    weight_decay: float = 0.1
    max_refusals: int = field(default=8_192, metadata={"key": "refusals"})
    refusal_weight: float = 1.0
    budget: int = 50_000
    join_threshold: float = field(default=0.2, metadata={"key": "join"})
    search_patience: int = field(default=5, metadata={"key": "tries"})
    tolerance: float = field(default=0.01, metadata={"key": "settled"})
    patience: int = 8
    validate_every: int = 12
    tree: ForestSettings = field(default_factory=lambda: ForestSettings(exploration=2.0, stop_floor=0.001, noise=0.25))
    search: SearchSettings = field(default_factory=SearchSettings)
    network: NetworkConfig = field(default_factory=NetworkConfig)
    checkpoint_seconds: float = 5.0
    first_people: int | None = field(default=None, metadata={"added": True})
    lag: int = 2
    select_by_success: bool = field(default=False, metadata={"added": True})
    explore: str = field(default="tree", metadata={"added": True})

    def __post_init__(self) -> None:
        if self.explore not in EXPLORE:
            raise SettingError(f"explore={self.explore!r}: there are {' and '.join(EXPLORE)}")
        if isinstance(self.lag, bool) or not isinstance(self.lag, int) or self.lag < 0:
            raise SettingError(f"'lag' must be an integer, zero or more, not {self.lag!r}")

    @classmethod
    def preset(cls, name: str) -> TrainingSettings:
        """Named settings.

        Parameters
        ----------
        name : {"default", "paper"}
            "paper" searches step by step, imitates visit counts, rewards λ^T, ignores refusals, shows the agent binary
            states only, and selects it by success.

        Returns
        -------
        TrainingSettings
            The settings.

        Raises
        ------
        SettingError
            If there is no such preset.

        Examples
        --------
        >>> from counterplan import TrainingSettings
        >>> for name in ("default", "paper"):
        ...     settings = TrainingSettings.preset(name)
        ...     print(settings.search.stepwise, settings.select_by_success, settings.lag)
        False False 2
        True True 0
        """
        if name == "default":
            return cls()
        if name == "paper":
            search = SearchSettings.preset("paper")
            return cls(
                people=2_000,
                first_people=600,
                passes=10,
                group_size=32,
                queries_per_search=1_000,
                gradient_steps=16,
                batch_size=64,
                learning_rate=1e-3,
                weight_decay=0.0,
                refusal_weight=0.0,
                budget=96_000,
                tolerance=0.0,
                patience=10,
                validate_every=32,
                select_by_success=True,
                lag=0,
                search=search,
                tree=replace(search.tree, noise=0.25),
                network=NetworkConfig(numbers=False),
            )
        raise SettingError(f"there is no preset '{name}': there are default and paper")
