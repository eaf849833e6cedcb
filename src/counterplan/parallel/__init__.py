"""Worker processes: chunks of people are planned for beside each other, and all queries are sent by this process.

The black box stays in the process that was started by the user, so that queries are counted, cached and recorded in one
place, and a model need not be sent to other processes.

May import: errors, bounded_json, drawing, problem, models, blackbox.
"""

from counterplan.parallel.blas import one_blas_thread
from counterplan.parallel.pool import (
    WorkerLink,
    WorkerTeam,
    checked_jobs,
    hidden_main,
    leave_interrupts_to_parent,
    run_chunks,
    single_thread,
    worker_team,
)
from counterplan.parallel.remote_box import PeopleChunk, RemoteBox, answering, people_chunks

__all__ = [
    "PeopleChunk",
    "RemoteBox",
    "WorkerLink",
    "WorkerTeam",
    "answering",
    "checked_jobs",
    "hidden_main",
    "leave_interrupts_to_parent",
    "one_blas_thread",
    "people_chunks",
    "run_chunks",
    "single_thread",
    "worker_team",
]
