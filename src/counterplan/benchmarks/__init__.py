"""The four benchmark problems of the paper, corrected: german, adult, syn, syn_long.

`load(name, seed)` returns the problem, its black box and its people. Networks are trained once per seed and cached in
the user's cache directory; damaged or outdated files are replaced.

May import: errors, bounded_json, problem, models, blackbox, storage, search, plans, plugins, planners.
"""

from counterplan.benchmarks.suite import NAMES, Benchmark, load

__all__ = ["NAMES", "Benchmark", "load"]
