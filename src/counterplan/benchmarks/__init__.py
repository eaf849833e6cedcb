"""Five benchmark problems: german, adult, syn and syn_long, which are the paper's, corrected, and taiwan.

`load(name, seed)` returns the problem, its black box and its people. Models are trained once per seed and cached in
the user's cache directory; damaged or outdated files are replaced. `retrained` trains a model again.

May import: errors, bounded_json, drawing, problem, models, blackbox, storage, search, plans, plugins, planners.
"""

from counterplan.benchmarks.retraining import VARIATIONS, retrained
from counterplan.benchmarks.suite import NAMES, PAPER_NAMES, Benchmark, load, load_problem

__all__ = ["NAMES", "PAPER_NAMES", "VARIATIONS", "Benchmark", "load", "load_problem", "retrained"]
