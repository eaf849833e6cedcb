"""Everything that touches a disk: whole files, bounded readers, serialization, answers, checkpoints, workspaces.

May import: errors, bounded_json, drawing, problem, models, blackbox.
"""
