"""Export of scorecards: a page (.html).

Everything here is text made from a card and its problem; no query is sent, and nothing here is run by counterplan.
"""
