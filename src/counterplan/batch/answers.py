"""Merge the answers that were recorded for each partition into the workspace."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from counterplan.batch.part_files import ANSWERS, PartRecord, answers_name
from counterplan.errors import CounterplanError
from counterplan.recourse import Recourse
from counterplan.storage.answer_cache import LabelledStates
from counterplan.storage.workspace import ANSWERS as SAVED
from counterplan.storage.workspace import Workspace

MOST_ANSWERS = 1_000_000
"""Most answers of a workspace after a batch run: every command loads all of them."""


def merge_answers(folder: Path, records: Sequence[PartRecord], recourse: Recourse, workspace: Workspace | None) -> str:
    """Add recorded answers to those of the workspace, each once, and remove the files that they were recorded in.

    A workspace with answers of another model, or one that would have more than `MOST_ANSWERS`, is left as it is, and
    so are the files. If the process is killed in between, the same answers are merged again when the run is resumed.

    Parameters
    ----------
    folder : Path
        The folder of the run.
    records : sequence of PartRecord
        Its parts.
    recourse : Recourse
        The problem and the model.
    workspace : Workspace or None
        The learned folder, if there is one.

    Returns
    -------
    str
        Why answers were not merged, for the user; empty if they were, or if there are none.
    """
    paths = [path for record in records if (path := folder / ANSWERS / answers_name(record.number)).is_file()]
    if not paths:
        return ""
    count = sum(record.answers for record in records)
    left = f"{count:,} answers of the model remain in {folder / ANSWERS}, a file for each part ('fit --answers FILE')"
    if workspace is None:
        return f"{left}: there is no learned folder"
    if recourse.foreign_model_ is not None:
        return f"{left}: those in {workspace} are of another model, {recourse.foreign_model_}"
    problem, box = recourse.problem, recourse.box
    try:
        if workspace.holds(SAVED):  # another process may have added some meanwhile
            workspace.load_answers(problem).add_to_cache(box, problem)
        if len(box.cached_answers(problem)) + count > MOST_ANSWERS:
            return f"{left}: {workspace} would have more than {MOST_ANSWERS:,}"
        for path in paths:
            LabelledStates.load(path, problem, follow_links=False).add_to_cache(box, problem)
        recourse.save_answers(workspace.folder)
    except CounterplanError as error:
        return f"{left}: {error}"
    for path in paths:
        path.unlink(missing_ok=True)
    return ""
