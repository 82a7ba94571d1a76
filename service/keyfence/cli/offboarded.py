"""What `keyfence tenant offboard` says: how far it has come, and what it leaves behind."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from keyfence.operations.offboarding.beginning import Departure
    from keyfence.operations.offboarding.signer import Signer
    from keyfence.tenancy.offboarding import Job


@contextmanager
def followed(tenant: str) -> Iterator[Callable[["Job"], None]]:
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

        def tell(job: "Job") -> None:
            completed, total = _place(job)
            bar.tasks[task].total = total  # `update` takes None for "as before"
            bar.update(task, description=f"{tenant}: {doing(job)}", completed=completed)

        yield tell


class _Lines:
    def __init__(self, tenant: str) -> None:
        self._said = ""
        print(f"offboarding {tenant} ...", file=sys.stderr, flush=True)

    def tell(self, job: "Job") -> None:
        if (now := doing(job)) != self._said:
            self._said = now
            print(f"{now} ...", file=sys.stderr, flush=True)


def doing(job: "Job") -> str:
    again = f", round {job.round}" if job.round > 1 else ""
    where = f" {job.index.upper()}" if job.index != "table" else ""
    return f"{job.phase.lower()}{where}{again}"


def _place(job: "Job") -> tuple[int, int | None]:
    """How much of what is done or, where nobody knows how much there is, has been looked at."""
    return (job.purged, job.lines) if job.phase == "PURGING" else (job.scanned, None)


def stopped(why: str, job: "Job | None") -> str:
    so_far = f"{job.lines:,} items are exported and {job.purged:,} purged; " if job else ""
    return f"{why.rstrip('.')}. {so_far}the same command goes on from there."


def done(departure: "Departure", signer: "Signer", exports: Path, seconds: float, *, as_json: bool) -> None:
    from keyfence.operations.offboarding.certificate import certificate_file

    job, beside = departure.job, certificate_file(exports, departure.job.export)
    if as_json:
        typer.echo(json.dumps({**_told(departure), "key": signer.verifier.text, "seconds": round(seconds, 3)}))
        return
    typer.echo(f"{job.tenant} is gone: {job.lines:,} items exported and purged in {seconds:.1f} s.")
    typer.echo(f"Export       {job.uri}")
    typer.echo(f"Certificate  {beside}, signed with the key {signer.verifier.kid}")


def _told(departure: "Departure") -> dict[str, object]:
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
