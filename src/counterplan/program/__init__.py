"""The program: what was learned, written down so that anybody can read it, audit it and run it.

Running one needs `problem` and `plan`, and neither an agent, a planner nor a black box.
"""
