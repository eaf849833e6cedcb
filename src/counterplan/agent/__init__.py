"""The agent: a network that learns, from its own searches, which action comes next. Training needs the extra `[train]`.

Knows problems and black boxes. `learning` alone needs JAX; a trained agent runs on numpy.
"""

from counterplan.agent.agent import Agent, load_agent, save_agent
from counterplan.agent.network import NetworkConfig
from counterplan.agent.search import SearchSettings

__all__ = ["Agent", "NetworkConfig", "SearchSettings", "load_agent", "save_agent"]
