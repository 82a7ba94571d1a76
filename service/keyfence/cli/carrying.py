"""A migration carried through by a command: followed, interruptible, and gone on with by the next."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from keyfence.cli import migrated
from keyfence.cli.migrating import migrating
from keyfence.errors import KeyfenceError

if TYPE_CHECKING:
    from keyfence.migrations.means import Means
    from keyfence.operations.migrator import Migrator
    from keyfence.settings import Settings
    from keyfence.tenancy.migration import Migration

INTERRUPTED = 130

Begin = Callable[["Migrator"], "Awaitable[Migration | None]"]
"""Finds the migration or begins it; None where there is nothing to do."""


def carried(begin: Begin, data: Path, endpoint_url: str | None, rate: float | None) -> "Migration | None":
    """To its end, as the migrator."""
    with migrating(data, endpoint_url) as (migrator, settings):
        means = migrator.migrations(rate=rate or settings.migration_units_per_second)
        return _followed(means, migrator, settling(settings), begin)


def settling(settings: "Settings") -> float:
    """Servers on this machine go by what they know for no longer than that, whatever the setting for AWS is."""
    from keyfence.settings import GRACE_SECONDS

    said = settings.roles or "settle_seconds" in settings.model_fields_set
    return settings.settle_seconds if said else settings.registry_seconds + GRACE_SECONDS + 1


def _followed(means: "Means", migrator: "Migrator", settle: float, begin: Begin) -> "Migration | None":
    import asyncio
    from dataclasses import replace

    from keyfence.cli.signals import interruptible

    last: Migration | None = None

    def heard(migration: "Migration") -> None:
        nonlocal last
        last = migration
        tell(migration)

    try:
        with interruptible(), migrated.followed() as tell:
            return asyncio.run(_work(replace(means, tell=heard), migrator, settle, begin))
    except KeyboardInterrupt:
        typer.echo(migrated.stopped("Interrupted", last), err=True)
        raise typer.Exit(INTERRUPTED) from None
    except KeyfenceError as error:
        raise KeyfenceError(migrated.stopped(error.message, last)) if last else error from error


async def _work(means: "Means", migrator: "Migrator", settle: float, begin: Begin) -> "Migration | None":
    from datetime import timedelta

    from keyfence.migrations.engine import carry_on
    from keyfence.operations.programs import program_of

    if (found := await begin(migrator)) is None:
        return None
    means.tell(found)
    return await carry_on(means, found.id, program_of(found, migrator, settle=timedelta(seconds=settle)))
