"""Many people: tasks on partitions of Parquet files, in processes of one machine or on a Dask cluster.

A partition is a few row groups, and its result is one part, a Parquet file that is written whole or not at all. Audits
are imported on first use.

May import: everything but causal, counterplan, experiments, cli.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from counterplan.batch.recommend import recommend
from counterplan.batch.running import BatchResult
from counterplan.batch.sampling import sample

if TYPE_CHECKING:
    from counterplan.batch.auditing import BatchAudit, audit

__all__ = ["BatchAudit", "BatchResult", "audit", "recommend", "sample"]


def __getattr__(name: str) -> Any:
    if name not in ("BatchAudit", "audit"):
        raise AttributeError(f"module 'counterplan.batch' has no attribute '{name}'")
    value = globals()[name] = getattr(import_module("counterplan.batch.auditing"), name)
    return value
