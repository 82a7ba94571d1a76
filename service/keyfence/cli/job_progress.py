"""Running a job from a terminal: progress, interruption, JSON."""

import json
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keyfence.cli.connection import aws_access
from keyfence.errors import BadInput, KeyfenceError

if TYPE_CHECKING:
    from keyfence.jobs.job import Job
    from keyfence.jobs.migrator import MigratorAccess
    from keyfence.jobs.offboard.certificate import CertificateSigner
    from keyfence.jobs.runner import JobResources
    from keyfence.settings import Settings


UnitRate = Annotated[
    float | None,
    typer.Option(
        "--rate", min=1, metavar="UNITS_PER_SECOND", help="What may be scanned or purged in a second at most."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Say it as JSON.")]


@contextmanager
def migrator_access(data: Path, endpoint_url: str | None) -> Iterator[tuple["MigratorAccess", "Settings"]]:
    """As the migrator, who is the caller's own role on AWS."""
    aws = aws_access(data, endpoint_url)
    from keyfence.app.commands import connect_migrator

    with connect_migrator(aws) as migrator:
        yield migrator, aws.settings


def export_directory(settings: "Settings", data: Path, given: Path | None) -> Path:
    """Where exports are kept; only this machine's own tenants have a place without being told."""
    from keyfence.local.data_directory import EXPORTS

    if found := given or settings.exports:
        return found
    if settings.roles:
        raise BadInput("Say where exports are kept, with --exports DIR or in KEYFENCE_EXPORTS.")
    return data / EXPORTS


def certificate_signer(settings: "Settings", data: Path) -> "CertificateSigner":
    from keyfence.jobs.offboard.certificate import signer
    from keyfence.local.data_directory import signing_key

    if settings.signing_key is None and settings.roles:
        raise BadInput("KEYFENCE_SIGNING_KEY is missing: it signs the certificate, as Ed25519 in PEM or base64.")
    made = signer(settings.signing_key.get_secret_value() if settings.signing_key else signing_key(data))
    if made.mark and settings.roles:
        raise BadInput("KEYFENCE_SIGNING_KEY is a key of `keyfence dev`, which certifies nothing on AWS.")
    return made


@contextmanager
def progress_bar() -> Iterator[Callable[["Job"], None]]:
    """A bar on a terminal; elsewhere a line for each phase."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines().tell
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("migrating", total=None)

        def tell(now: "Job") -> None:
            completed, total = place(now)
            bar.tasks[task].total = total  # `update` takes None for "as before"
            bar.update(task, description=doing(now), completed=completed)

        yield tell


def place(migration: "Job") -> tuple[int, int | None]:
    """How many of a tenant's items are copied or, where nobody knows how many there are, what has been looked at.

    A pass scans what others have in the same table too, so its total is not that of the tenant."""
    total = migration.items_total
    if total is not None and migration.phase.startswith("COPYING"):
        return min(migration.items_copied, total), total
    return migration.items_scanned, None


class _Lines:
    def __init__(self) -> None:
        self._said = ""

    def tell(self, migration: "Job") -> None:
        if (now := f"{migration.id}: {migration.phase.lower()}") != self._said:
            self._said = now
            print(f"{now} ...", file=sys.stderr, flush=True)


def doing(migration: "Job") -> str:
    return f"{migration.id}: {migration.phase.lower()}, {migration.items_copied:,} changed"


def interrupted_message(why: str, migration: "Job | None") -> str:
    if migration is None:
        return why
    return f"{why.rstrip('.')}. {migration.items_copied:,} items are changed; keyfence migrate resume {migration.id}"


def print_job(migration: "Job | None", *, as_json: bool, nothing: str = "There is nothing to do.") -> None:
    if migration is None:
        typer.echo(json.dumps({"id": None}) if as_json else nothing)
        return
    if as_json:
        typer.echo(json.dumps(_json(migration)))
        return
    whose = "all tenants" if migration.tenant == "*" else migration.tenant
    typer.echo(f"{migration.id}  {migration.kind} of {whose}: {migration.phase}")
    typer.echo(f"{migration.items_scanned:,} items scanned last, {migration.items_copied:,} changed")
    for what, count in sorted(migration.counts.items()):
        typer.echo(f"{count:,} {what}")


def _json(migration: "Job") -> dict[str, object]:
    finished = migration.finished_at
    return {
        "id": migration.id,
        "tenant": migration.tenant,
        "kind": migration.kind,
        "phase": migration.phase,
        "by": migration.by,
        "detail": json.loads(migration.detail),
        "round": migration.round,
        "itemsScanned": migration.items_scanned,
        "itemsCopied": migration.items_copied,
        "itemsTotal": migration.items_total,
        "counts": dict(migration.counts),
        "startedAt": migration.created_at.isoformat(),
        "finishedAt": finished.isoformat() if finished else None,
    }


INTERRUPTED = 130

Begin = Callable[["MigratorAccess"], "Awaitable[Job | None]"]
"""Finds the migration or begins it; None where there is nothing to do."""


def run_job_command(begin: Begin, data: Path, endpoint_url: str | None, rate: float | None) -> "Job | None":
    """To its end, as the migrator."""
    with migrator_access(data, endpoint_url) as (migrator, settings):
        means = migrator.migrations(rate=rate or settings.migration_units_per_second)
        return _followed(means, migrator, begin)


def _followed(means: "JobResources", migrator: "MigratorAccess", begin: Begin) -> "Job | None":
    import asyncio
    from dataclasses import replace

    from keyfence.cli.process import interruptible

    last: Job | None = None

    def heard(migration: "Job") -> None:
        nonlocal last
        last = migration
        tell(migration)

    try:
        with interruptible(), progress_bar() as tell:
            return asyncio.run(_work(replace(means, tell=heard), migrator, begin))
    except KeyboardInterrupt:
        typer.echo(interrupted_message("Interrupted", last), err=True)
        raise typer.Exit(INTERRUPTED) from None
    except KeyfenceError as error:
        raise KeyfenceError(interrupted_message(error.message, last)) if last else error from error


async def _work(means: "JobResources", migrator: "MigratorAccess", begin: Begin) -> "Job | None":
    from keyfence.jobs.migrator import program_for
    from keyfence.jobs.runner import run_job

    if (found := await begin(migrator)) is None:
        return None
    means.tell(found)
    return await run_job(means, found.id, program_for(found, migrator))
