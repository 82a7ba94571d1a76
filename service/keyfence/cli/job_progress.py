"""Runs a job from a terminal: shows its progress, handles Ctrl-C, and prints its result."""

import json
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from keyfence.cli.table_connection import aws_access
from keyfence.errors import BadInput, KeyfenceError

if TYPE_CHECKING:
    from keyfence.jobs.job_programs import ExportTarget
    from keyfence.jobs.job_record import Job
    from keyfence.jobs.migrator_access import MigratorAccess
    from keyfence.settings import Settings


UnitRateOption = Annotated[
    float | None,
    typer.Option(
        "--rate",
        min=1,
        metavar="UNITS_PER_SECOND",
        help="Use at most this many capacity units in a second. Default: KEYFENCE_MIGRATION_UNITS_PER_SECOND.",
    ),
]
ExportsOption = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="The directory for exports. Default: KEYFENCE_EXPORTS, or `exports` in the data directory."
    ),
]
SECONDS_BETWEEN_LINES = 10.0
"""The shortest time between two progress lines of one phase, if standard error is not a terminal."""

StartJob = Callable[["MigratorAccess"], "Awaitable[Job | None]"]
"""Starts or finds a job. Returns None if there is nothing to do."""


@contextmanager
def migrator_access(data: Path, endpoint_url: str | None) -> Iterator[tuple["MigratorAccess", "Settings"]]:
    """Yields the connections of the role `migrator`. On AWS the credentials of the process must be of that role."""
    aws = aws_access(data, endpoint_url)
    from keyfence.app.command_connections import connect_migrator

    with connect_migrator(aws) as migrator:
        yield migrator, aws.settings


def export_target(settings: "Settings", data: Path, directory: Path | None) -> "ExportTarget":
    """Returns the directory for exports and the signer of certificates.

    On a laptop both have defaults in the data directory. On AWS, raises BadInput if one is missing.
    """
    from keyfence.jobs.job_programs import ExportTarget
    from keyfence.jobs.offboard.certificate import parse_signer
    from keyfence.local.data_directory import EXPORTS, signing_key

    export_directory = directory or settings.exports
    if export_directory is None and settings.role_arn_prefix:
        raise BadInput("There is no directory for exports: name one with --exports DIR or in KEYFENCE_EXPORTS.")
    if settings.signing_key is None and settings.role_arn_prefix:
        raise BadInput("KEYFENCE_SIGNING_KEY is missing: set it to an Ed25519 private key in PEM or base64.")
    key = settings.signing_key.get_secret_value() if settings.signing_key else signing_key(data)
    signer = parse_signer(key)
    if signer.key_prefix and settings.role_arn_prefix:
        raise BadInput("KEYFENCE_SIGNING_KEY is a development key of `keyfence dev`: use another key on AWS.")
    return ExportTarget(export_directory or data / EXPORTS, signer)


def run_job_command(
    start: StartJob,
    data: Path,
    endpoint_url: str | None,
    rate: float | None,
    exports: Path | None = None,
) -> "Job | None":
    """Starts a job and runs it to its end as the migrator. Returns None if there is nothing to do."""
    import asyncio
    from dataclasses import replace

    from keyfence.cli.interrupts import Interrupted, interruptible
    from keyfence.jobs.job_programs import program_for
    from keyfence.jobs.job_record import JobKind
    from keyfence.jobs.job_runner import run_job

    latest_job: Job | None = None

    with migrator_access(data, endpoint_url) as (migrator, settings), progress_display() as show:

        def on_progress(job: "Job") -> None:
            nonlocal latest_job
            latest_job = job
            show(job)

        async def run() -> "Job | None":
            if (job := await start(migrator)) is None:
                return None
            on_progress(job)
            target = export_target(settings, data, exports) if job.kind is JobKind.OFFBOARD else None
            resources = migrator.job_resources(units_per_second=rate or settings.migration_units_per_second)
            program = program_for(job, migrator, target)
            return await run_job(replace(resources, on_progress=on_progress), job.id, program)

        try:
            with interruptible():
                return asyncio.run(run())
        except KeyboardInterrupt:
            raise Interrupted(interrupted_message("Interrupted", latest_job)) from None
        except KeyfenceError as error:
            raise KeyfenceError(interrupted_message(error.message, latest_job)) if latest_job else error from error


def interrupted_message(reason: str, job: "Job | None") -> str:
    """Returns the reason and, if the job has started, the command that resumes the job."""
    if job is None:
        return f"{reason.rstrip('.')}."
    return f"{reason.rstrip('.')}. {changes_text(job)}. To resume: keyfence job resume {job.id}"


@contextmanager
def progress_display() -> Iterator[Callable[["Job"], None]]:
    """Yields a function that shows the progress of a job: a bar on a terminal, and lines elsewhere."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield PlainProgress().show
        return
    with Progress(TextColumn("{task.description}"), BarColumn(), console=console, transient=True) as bar:
        task = bar.add_task("starting", total=None)

        def show(job: "Job") -> None:
            from keyfence.jobs.progress_estimate import progress_of

            percent = progress_of(job).percent
            bar.tasks[task].total = None if percent is None else 100.0  # not by `update`, where None means no change
            bar.update(task, description=progress_text(job), completed=percent or 0.0)

        yield show


class PlainProgress:
    """Prints a line when a job enters a phase, and at most every few seconds within a phase."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._phase, self._printed_at = clock, "", 0.0

    def show(self, job: "Job") -> None:
        phase = f"{job.id} {job.phase} {job.round}"
        if phase == self._phase and self._clock() < self._printed_at + SECONDS_BETWEEN_LINES:
            return
        self._phase, self._printed_at = phase, self._clock()
        print(progress_text(job), file=sys.stderr, flush=True)


def progress_text(job: "Job") -> str:
    from keyfence.jobs.progress_estimate import progress_of

    progress = progress_of(job)
    parts = [f"{job.id}: {job.phase.lower().replace('_', ' ')}"]
    if progress.percent is not None and not job.finished_at:
        parts.append(f"about {progress.percent:.0f} %")
    if progress.seconds_left is not None and not job.finished_at:
        parts.append(f"about {duration_text(progress.seconds_left)} left")
    return ", ".join([*parts, changes_text(job)])


def changes_text(job: "Job") -> str:
    if job.kind == "OFFBOARD":
        return f"{job.counts.get('exported', 0):,} items exported, {job.counts.get('purged', 0):,} purged"
    return f"{job.items_changed:,} items changed"


def duration_text(seconds: float) -> str:
    minutes, remaining_seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {remaining_seconds} s" if minutes else f"{remaining_seconds} s"


def print_job(job: "Job | None", *, as_json: bool, nothing_to_do: str = "There is nothing to do.") -> None:
    if job is None:
        typer.echo(json.dumps({"id": None}) if as_json else nothing_to_do)
        return
    if as_json:
        typer.echo(json.dumps(job_json(job)))
        return
    tenant = "all tenants" if job.tenant == "*" else job.tenant
    typer.echo(f"{job.id}  {job.kind} of {tenant}: {job.phase}")
    typer.echo(f"{job.items_scanned:,} items scanned in the last pass, {job.items_changed:,} items changed")
    for name, count in sorted(job.counts.items()):
        typer.echo(f"{count:,} {name}")


def job_json(job: "Job") -> dict[str, Any]:
    from keyfence.cli.terminal_output import format_timestamp
    from keyfence.jobs.progress_estimate import progress_of

    progress = progress_of(job)
    return {
        "id": job.id,
        "tenant": job.tenant,
        "kind": job.kind,
        "phase": job.phase,
        "percent": progress.percent,
        "secondsLeft": progress.seconds_left,
        "createdBy": job.created_by,
        "parameters": json.loads(job.parameters),
        "round": job.round,
        "itemsScanned": job.items_scanned,
        "itemsChanged": job.items_changed,
        "itemsTotal": job.items_total,
        "counts": dict(job.counts),
        "worker": job.worker,
        "createdAt": format_timestamp(job.created_at),
        "updatedAt": format_timestamp(job.updated_at),
        "finishedAt": format_timestamp(job.finished_at) if job.finished_at else None,
    }
