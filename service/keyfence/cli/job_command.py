"""Runs a job as a command: connects with the role `migrator`, shows the progress, and handles Ctrl-C."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keyfence.cli.job_progress import interrupted_message, progress_display
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

StartJob = Callable[["MigratorAccess"], "Awaitable[Job | None]"]
"""A function that starts or finds a job. It returns None if there is nothing to do."""


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
    """Starts a job, and runs it to its end with the role `migrator`. Returns None if there is nothing to do."""
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
