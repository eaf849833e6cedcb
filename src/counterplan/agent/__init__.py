"""The agent: a policy and value network that is trained on plans found by its own tree search.

Training needs the extra `[train]` (JAX, used in `learner` only); a
trained agent runs on numpy.

May import: errors, bounded_json, drawing, problem, blackbox, storage, parallel, search.
"""

from counterplan.agent.agent import Agent, load_agent, save_agent
from counterplan.agent.network import NetworkConfig
from counterplan.agent.search import SearchSettings

__all__ = ["Agent", "NetworkConfig", "SearchSettings", "load_agent", "save_agent"]
