"""What the commands of `keyfence migrate` say: how far a migration has come, and what came of it."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from keyfence.tenancy.migration import Migration


@contextmanager
def followed() -> Iterator[Callable[["Migration"], None]]:
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

        def tell(now: "Migration") -> None:
            completed, total = place(now)
            bar.tasks[task].total = total  # `update` takes None for "as before"
            bar.update(task, description=doing(now), completed=completed)

        yield tell


def place(migration: "Migration") -> tuple[int, int | None]:
    """How many of a tenant's items are copied or, where nobody knows how many there are, what has been looked at.

    A pass scans what others have in the same table too, so its total is not that of the tenant."""
    total = migration.items_total
    if total is not None and migration.phase.startswith("COPYING"):
        return min(migration.items_copied, total), total
    return migration.items_scanned, None


class _Lines:
    def __init__(self) -> None:
        self._said = ""

    def tell(self, migration: "Migration") -> None:
        if (now := f"{migration.id}: {migration.phase.lower()}") != self._said:
            self._said = now
            print(f"{now} ...", file=sys.stderr, flush=True)


def doing(migration: "Migration") -> str:
    return f"{migration.id}: {migration.phase.lower()}, {migration.items_copied:,} changed"


def stopped(why: str, migration: "Migration | None") -> str:
    if migration is None:
        return why
    return f"{why.rstrip('.')}. {migration.items_copied:,} items are changed; keyfence migrate resume {migration.id}"


def told(migration: "Migration | None", *, as_json: bool, nothing: str = "There is nothing to do.") -> None:
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


def _json(migration: "Migration") -> dict[str, object]:
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
