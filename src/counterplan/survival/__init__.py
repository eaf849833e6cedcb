"""The chance that a plan still leads to a favourable decision after the model was trained again.

May import: errors, bounded_json, drawing, problem, models, blackbox, storage, parallel, search, plans, surrogate.
"""
