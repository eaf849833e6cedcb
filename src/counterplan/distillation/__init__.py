"""Distillation of programs: demonstrations, policy search, fallbacks, imitation, and the trial that makes the card.

May import everything below `planners`, and `planners`; a program itself needs none of it.
"""
