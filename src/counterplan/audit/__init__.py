"""Audits of recourse: who is stuck, and which single relaxation of the problem would help them.

May import: everything but plugins, distillation, explanation, figures, recourse, benchmarks, inputs, counterplan,
experiments, cli.
"""
