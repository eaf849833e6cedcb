"""The four benchmark problems of the paper, corrected: german, adult, syn, syn_long.

`load(name, seed)` gives the problem, its black box and its people. What needs training is trained once for each seed
and kept in the user's cache directory; a damaged or outdated file there is made anew.
"""

from counterplan.benchmarks.suite import NAMES, Benchmark, load

__all__ = ["NAMES", "Benchmark", "load"]
