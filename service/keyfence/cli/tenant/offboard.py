"""`offboard`."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keyfence.cli.connection import Data, EndpointUrl
from keyfence.cli.job_progress import AsJson, UnitRate, certificate_signer, export_directory, migrator_access
from keyfence.cli.operator import By, operator_name
from keyfence.errors import KeyfenceError
from keyfence.local.data_directory import DEFAULT

if TYPE_CHECKING:
    from keyfence.jobs.offboard.certificate import CertificateSigner
    from keyfence.jobs.offboard.job import OffboardResources
    from keyfence.jobs.offboard.start import OffboardingProgress, OffboardingState
    from keyfence_iam.tenant import TenantId


@contextmanager
def followed(tenant: str) -> Iterator[Callable[["OffboardingState"], None]]:
    """A bar on a terminal; elsewhere a line for each phase."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines(tenant).tell
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(f"offboarding {tenant}", total=None)

        def tell(job: "OffboardingState") -> None:
            completed, total = _place(job)
            bar.tasks[task].total = total  # `update` takes None for "as before"
            bar.update(task, description=f"{tenant}: {doing(job)}", completed=completed)

        yield tell


class _Lines:
    def __init__(self, tenant: str) -> None:
        self._said = ""
        print(f"offboarding {tenant} ...", file=sys.stderr, flush=True)

    def tell(self, job: "OffboardingState") -> None:
        if (now := doing(job)) != self._said:
            self._said = now
            print(f"{now} ...", file=sys.stderr, flush=True)


def doing(job: "OffboardingState") -> str:
    again = f", round {job.round}" if job.round > 1 else ""
    where = f" {job.index.upper()}" if job.index != "table" else ""
    return f"{job.phase.lower()}{where}{again}"


def _place(job: "OffboardingState") -> tuple[int, int | None]:
    """How much of what is done or, where nobody knows how much there is, has been looked at."""
    return (job.purged, job.lines) if job.phase == "PURGING" else (job.scanned, None)


def stopped(why: str, job: "OffboardingState | None") -> str:
    so_far = f"{job.lines:,} items are exported and {job.purged:,} purged; " if job else ""
    return f"{why.rstrip('.')}. {so_far}the same command goes on from there."


def done(
    departure: "OffboardingProgress", signer: "CertificateSigner", exports: Path, seconds: float, *, as_json: bool
) -> None:
    from keyfence.jobs.offboard.certificate import certificate_file

    job, beside = departure.job, certificate_file(exports, departure.job.export)
    if as_json:
        typer.echo(json.dumps({**_told(departure), "key": signer.verifier.text, "seconds": round(seconds, 3)}))
        return
    typer.echo(f"{job.tenant} is gone: {job.lines:,} items exported and purged in {seconds:.1f} s.")
    typer.echo(f"Export       {job.uri}")
    typer.echo(f"Certificate  {beside}, signed with the key {signer.verifier.kid}")


def _told(departure: "OffboardingProgress") -> dict[str, object]:
    job = departure.job
    return {
        "tenant": job.tenant,
        "status": departure.tenant.status,
        "phase": job.phase,
        "exportUri": job.uri,
        "itemsExported": job.lines,
        "itemsPurged": job.purged,
        "rounds": job.round,
        "certificate": json.loads(job.certificate) if job.certificate else None,
    }


INTERRUPTED = 130

Id = Annotated[str, typer.Argument(metavar="TENANT", help="The tenant that goes.")]
Confirm = Annotated[str, typer.Option(metavar="TENANT", help="The same again: there is no way back.")]
Exports = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Where the export is kept; KEYFENCE_EXPORTS, or in --data.")
]


def offboard(
    id: Id,
    confirm: Confirm = "",
    rate: UnitRate = None,
    exports: Exports = None,
    by: By = None,
    json: AsJson = False,
    data: Data = DEFAULT,
    endpoint_url: EndpointUrl = None,
) -> None:
    """Shut a tenant out, export all its items, purge them, look into every index, and certify that it is gone.

    On AWS it runs as the migrator. It can be interrupted at any time: the same command goes on, on the same machine,
    since the export's file is there. While one is at it, another is refused.

    [bold]Example:[/bold] keyfence tenant offboard acme --confirm acme

    [bold]Example:[/bold] keyfence tenant offboard acme --confirm acme --rate 200 --exports /srv/exports --json
    """
    from keyfence.tenancy.repository import parse_tenant_id

    tenant, begun = parse_tenant_id(id), time.monotonic()
    with migrator_access(data, endpoint_url) as (migrator, settings):
        where, signer = export_directory(settings, data, exports), certificate_signer(settings, data)
        pace = rate or settings.migration_units_per_second
        means = migrator.means(by=operator_name(by), exports=where, signer=signer, rate=pace)
        departure = _run(means, tenant, confirm)
    done(departure, signer, where, time.monotonic() - begun, as_json=json)


def _run(means: "OffboardResources", tenant: "TenantId", confirm: str) -> "OffboardingProgress":
    import asyncio
    from dataclasses import replace

    from keyfence.cli.process import interruptible

    last: OffboardingState | None = None

    def heard(job: "OffboardingState") -> None:
        nonlocal last
        last = job
        tell(job)

    try:
        with interruptible(), followed(tenant) as tell:
            return asyncio.run(_work(replace(means, tell=heard), tenant, confirm))
    except KeyboardInterrupt:
        typer.echo(stopped("Interrupted", last), err=True)
        raise typer.Exit(INTERRUPTED) from None
    except KeyfenceError as error:
        raise KeyfenceError(stopped(error.message, last)) if last else error from error


async def _work(means: "OffboardResources", tenant: "TenantId", confirm: str) -> "OffboardingProgress":
    from keyfence.jobs.offboard.job import Worker
    from keyfence.jobs.offboard.start import OffboardingProgress, StartOffboarding

    await StartOffboarding(means.register, means.suspensions)(tenant, confirm)
    job = await Worker(means).run(tenant)
    return OffboardingProgress(tenant=await means.register.get(tenant), job=job)
