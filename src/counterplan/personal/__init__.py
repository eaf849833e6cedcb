"""What is hard for one person: weights of actions, alternatives, and questions about preferences.

May import: errors, bounded_json, drawing, problem, blackbox, storage, search, plans.
"""
