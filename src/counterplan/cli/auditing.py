"""The command `audit`."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Annotated

import typer

from counterplan.audit import Audit, AuditSettings
from counterplan.audit.findings import SAME_MODEL
from counterplan.audit.folder import AuditFolder
from counterplan.benchmarks import NAMES
from counterplan.cli.batch_auditing import BATCH_PLANNER, audit_batch, is_batch
from counterplan.cli.batching import BatchChoices, BatchJobs, Memory, PartitionRows, PersonKey, Record, SkipBad, refuse
from counterplan.cli.common import (
    Cluster,
    Like,
    ModelName,
    ProblemName,
    RefitNames,
    SurvivalWeight,
    Threshold,
    load_recourse,
    read_survival_option,
    recording,
)
from counterplan.cli.terminal import echo
from counterplan.errors import ModelError, SettingError
from counterplan.inputs import black_box, read_like, resolve
from counterplan.planners.registry import NAMES as PLANNERS
from counterplan.plans.progress import progress_bar
from counterplan.recourse import Recourse


def audit(
    problem: ProblemName,
    out: Annotated[Path, typer.Option(help="The folder to write everything to: report, tables, finished parts.")],
    people: Annotated[
        Path | None,
        typer.Option(
            help="The people, refused or not: CSV or Parquet, or a folder or a pattern of Parquet files, which are "
            "audited part by part (a benchmark brings its test people)."
        ),
    ] = None,
    model: ModelName = None,
    threshold: Threshold = None,
    like: Like = None,
    group: Annotated[
        list[str] | None,
        typer.Option(help="A column to group people by, or A*B for pairs; repeatable (default: protected features)."),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(help="Another model, in the forms of --model: who gains and loses recourse, which plans hold."),
    ] = None,
    against_threshold: Annotated[
        float | None,
        typer.Option(help="Threshold of the other model, which may be the same model (default: that of --threshold)."),
    ] = None,
    refit: RefitNames = None,
    survival: SurvivalWeight = None,
    survival_at_least: Annotated[
        float | None,
        typer.Option(help="The least chance, above 0 and at most 1, of recourse that counts as lasting."),
    ] = None,
    indispensable: Annotated[
        bool,
        typer.Option("--indispensable", help="Also plan without each function in use, and count who needs it."),
    ] = False,
    relaxations: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Most people without recourse to try relaxations of the problem for (default: 200, and fewer if these "
            "would take longer than planning).",
        ),
    ] = None,
    budget: Annotated[
        int | None, typer.Option(min=1, help="Most queries about a refused person; a person who needs more is unknown.")
    ] = None,
    planner: Annotated[
        str | None,
        typer.Option(
            help=f"How to plan: {', '.join(PLANNERS)}, cascade+exact (default: auto, exact where it can, else guided "
            "first; for people in Parquet files exact, or with --budget auto)."
        ),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Audit the first people only, at most this many.")] = None,
    min_group: Annotated[int, typer.Option(min=1, help="Give no figure for fewer people than this.")] = 10,
    level: Annotated[float, typer.Option(help="Confidence level of intervals.")] = 0.95,
    seed: Annotated[int, typer.Option(min=0, help="Seed of a benchmark, and of bootstrap intervals.")] = 0,
    jobs: BatchJobs = None,
    cluster: Cluster = None,
    key: PersonKey = None,
    partition_rows: PartitionRows = None,
    memory: Memory = None,
    skip_bad: SkipBad = False,
    record: Record = True,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the audit in the folder.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the audit in the folder.")] = False,
) -> None:
    """Audit a model: who has recourse, at what cost, and who provably has none, by group."""
    if str(out) in NAMES:
        raise SettingError(f"--out {out}: that is a benchmark's name; choose another folder")
    if resume and force:
        raise SettingError("--resume continues an audit, and --force replaces it: use one of them")
    if against_threshold is not None and against is None:
        raise SettingError("--against-threshold is the threshold of another model: name that model with --against")
    choices = BatchChoices(cluster, key, partition_rows, memory, skip_bad, record)
    in_parts = is_batch(people, choices)
    settings = AuditSettings(
        planner=planner or (BATCH_PLANNER if in_parts and budget is None else "auto"),
        budget=budget,
        groups=group or None,
        survival=read_survival_option(survival),
        survival_at_least=survival_at_least,
        indispensable=indispensable,
        relaxations=relaxations,
        min_group=min_group,
        level=level,
        seed=seed,
    )
    if in_parts:
        unusable = {"--limit": limit, "--force": force, "--refit": refit}
        refuse(unusable, "cannot be used for people in Parquet files that are audited part by part")
        audit_batch(
            problem,
            people,
            out,
            choices,
            jobs,
            resume=resume,
            model=model,
            against=against,
            threshold=threshold,
            against_threshold=against_threshold,
            like=like,
            settings=settings,
            benchmark_seed=seed,
        )
        return
    refuse(
        choices.given,
        "is for people in Parquet files that are audited part by part: name a folder or a pattern with --people, or "
        "give --partition-rows for a single file",
    )
    inputs = resolve(
        problem,
        people,
        model,
        threshold=threshold,
        seed=seed,
        split="test",
        like=like,
        refits=refit or (),
    ).take(limit=limit)
    other_threshold = threshold if against_threshold is None else against_threshold
    other = None if against is None else black_box(against, other_threshold, None if like is None else read_like(like))
    recourse = Recourse(inputs.problem, inputs.box, refits=inputs.refits or None)
    if inputs.workspace is not None:
        recourse = load_recourse(inputs.workspace, inputs.box, refits=inputs.refits or None)
    run = Audit(
        inputs.problem,
        recourse.box,
        against=other,
        settings=settings,
        learned=recourse.learned_parts,
        estimator=recourse.survival_ if refit or survival is not None or survival_at_least is not None else None,
    )
    read = inputs.people()
    total = len(read) * (1 if other is None else 2)
    if run.is_of_one_model:
        echo(f"Note: {SAME_MODEL}.", err=True)
    try:
        with warnings.catch_warnings(), recording(recourse, inputs.workspace), progress_bar("Auditing", total) as bar:
            warnings.filterwarnings("ignore", re.escape(SAME_MODEL))
            result = run.run(
                read, folder=out, resume=resume, force=force, jobs=1 if jobs is None else jobs, progress=bar.advance
            )
    except (KeyboardInterrupt, ModelError) as error:
        stopped = "Stopped" if isinstance(error, ModelError) else "Interrupted"
        if AuditFolder(out).has_parts:
            echo(f"{stopped}: finished parts are in {out}; run the command again with --resume to continue.", err=True)
        elif isinstance(error, KeyboardInterrupt):
            echo(f"{stopped}.", err=True)
        if isinstance(error, ModelError):
            raise
        raise typer.Exit(130) from None
    echo(str(result))
    echo(f"Wrote {out / 'report.html'}, tables and data.")
