"""Shows the progress and the result of a job, on a terminal, as lines and as JSON."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from keyfence.jobs.job_record import Job

SECONDS_BETWEEN_LINES = 10.0
"""The shortest time between two progress lines of one phase, if standard error is not a terminal."""


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


def interrupted_message(reason: str, job: "Job | None") -> str:
    """Returns the reason and, if the job has started, the command that resumes the job."""
    if job is None:
        return f"{reason.rstrip('.')}."
    return f"{reason.rstrip('.')}. {changes_text(job)}. To resume: keyfence job resume {job.id}"
