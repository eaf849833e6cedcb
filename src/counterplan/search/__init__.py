"""State-space search without model queries: enumeration by cost, action orders, change sets, synthetic people.

May import: errors, bounded_json, drawing, problem.
"""
