"""Figures of training and calibration. Matplotlib comes with the extra `[train]`.

May import: errors, problem, storage, surrogate, agent.
"""
