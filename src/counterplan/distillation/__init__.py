"""Distillation of programs: demonstrations, policy search, fallbacks, imitation, and the trial that makes the card.

A program itself needs none of it.

May import: everything but causal, plugins, explanation, figures, audit, recourse, benchmarks, inputs, batch,
counterplan, experiments, cli.
"""
