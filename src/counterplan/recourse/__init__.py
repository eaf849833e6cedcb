"""The front door: fit, plan, distil, explain, save and load with one object.

May import: everything but causal, audit, benchmarks, inputs, batch, counterplan, experiments, cli.
"""

from counterplan.recourse.learned_parts import load_card, load_program
from counterplan.recourse.quality import Quality, QualitySettings
from counterplan.recourse.recourse import Recourse

__all__ = ["Quality", "QualitySettings", "Recourse", "load_card", "load_program"]
