"""Many people: tasks on partitions of Parquet files, in processes of one machine or on a Dask cluster.

A partition is a few row groups, and its result is one part, a Parquet file that is written whole or not at all.

May import: everything but causal, counterplan, experiments, cli.
"""

from counterplan.batch.audit import BatchAudit, audit
from counterplan.batch.recommend import recommend
from counterplan.batch.running import BatchResult
from counterplan.batch.sampling import sample

__all__ = ["BatchAudit", "BatchResult", "audit", "recommend", "sample"]
