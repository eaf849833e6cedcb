"""Limits on problems from untrusted sources, for files and for data in memory (JSON) alike.

A problem beyond one of them is refused with a `ProblemError` before it costs much time or memory. The limits are far
above what a person can write and review; docs/problem-files.md lists them.
"""

MAX_FILE_BYTES = 5_000_000
"""Bytes of a problem file; characters in the texts of a problem given as data."""
MAX_LINES = 200_000
"""Lines of a problem file, comments and empty ones included."""
MAX_TEXT_LENGTH = 200_000
"""Characters of one text; a file has at most twice as many between line breaks or commas."""
MAX_NODES = 100_000
"""Keys, values, lists and mappings of a file, those that aliases repeat included."""
MAX_DEPTH = 20
"""Lists and mappings within one another."""
MAX_FINDINGS = 200
"""Mistakes that are reported; reading stops after them."""
MAX_FEATURES = 2_000
MAX_VALUES = 10_000
"""Values of one category, or of the outcome."""
MAX_FUNCTIONS = 1_000
MAX_ACTIONS = 10_000
"""Arguments of all functions together. Planners hold arrays of people × actions."""
MAX_CAUSES = 1_000
MAX_CONDITION_LENGTH = 100_000
"""Characters of one condition or formula."""
MAX_CONDITIONS_LENGTH = 500_000
"""Characters of all conditions and formulas together."""
MAX_CONDITION_DEPTH = 60
"""Operations within one another in a condition or formula; each further term of a sum counts."""
MAX_PLAN_LENGTH = 64
"""The largest `max_actions`."""
MAX_DURATION = 1_000_000
"""The longest duration of an action, in the problem's unit."""
MAX_UNIT_LENGTH = 40
"""Characters of the unit of durations."""
MAX_UNIT_WORDS = 3
"""Words of the unit of durations."""
MAX_DIGITS = 1_000
"""Decimal digits of a whole number."""
