"""Distillation of programs: demonstrations, policy search, fallbacks, imitation, and the trial that makes the card.

A program itself needs none of it.

May import: everything but causal, plugins, explanation, figures, recourse, benchmarks, inputs, counterplan,
experiments, cli.
"""
