"""Figures of training and calibration. Matplotlib comes with the extra `[train]`.

May import: errors, bounded_json, drawing, plotting, problem, storage, surrogate, agent.
"""
