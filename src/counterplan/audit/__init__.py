"""Audits of recourse: who is stuck, and which single relaxation of the problem would help them.

May import: nothing.
"""
