"""Ways through a problem that ask nobody: the order of plans, states in order of cost, keys of states.

May import `problem` and errors only.
"""
