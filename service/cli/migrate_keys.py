"""keyfence migrate keys and resume: index keys as the declarations say, and any migration to its end."""

from typing import TYPE_CHECKING, Annotated

import typer

from service.cli import migrated
from service.cli.migrating import AsJson, UnitRate, migrating, settling
from service.cli.options import Data
from service.cli.reach import EndpointUrl
from service.cli.tenant_operator import By, operator
from service.errors import KeyfenceError
from service.local.directory import DEFAULT

if TYPE_CHECKING:
    from service.migrations.engine import Program
    from service.migrations.means import Means
    from service.operations.migrator import Migrator
    from service.tenancy.migration import Migration, MigrationId

INTERRUPTED = 130

Only = Annotated[str | None, typer.Option("--tenant", metavar="TENANT", help="Of one tenant, not of all.")]
Type = Annotated[str | None, typer.Option("--type", metavar="TYPE", help="Of one type, such as User.")]
Segments = Annotated[int, typer.Option(min=1, max=64, help="How many parts of the table are gone over at once.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Count what is wrong, and change nothing.")]
Id = Annotated[str, typer.Argument(metavar="ID", help="The migration, mig_ and 26 characters.")]


def keys(
    tenant: Only = None,
    type: Type = None,
    segments: Segments = 4,
    rate: UnitRate = None,
    dry_run: DryRun = False,
    by: By = None,
    json: AsJson = False,
    data: Data = DEFAULT,
    endpoint_url: EndpointUrl = None,
) -> None:
    """Put every item into the index partitions that its declaration says, after an index was added or changed.

    On AWS it runs as the migrator, and changes items as the tenant whose they are. The service may run meanwhile.
    It can be interrupted at any time: keyfence migrate resume goes on.

    [bold]Example:[/bold] keyfence migrate keys --dry-run

    [bold]Example:[/bold] keyfence migrate keys --tenant acme --type User --rate 200 --json
    """
    from service.migrations.keys import keys_migration
    from service.tenancy.register import checked_tenant

    whose = checked_tenant(tenant, "tenant") if tenant else None
    made = keys_migration(whose, by=operator(by), type=type, segments=segments, dry_run=dry_run)
    with migrating(data, endpoint_url) as (migrator, settings):
        means = migrator.migrations(rate=rate or settings.migration_units_per_second)
        ended = _run(means, migrator, settling(settings), made.id, made)
    migrated.told(ended, as_json=json)


def resume(
    id: Id, rate: UnitRate = None, json: AsJson = False, data: Data = DEFAULT, endpoint_url: EndpointUrl = None
) -> None:
    """Go on with a migration that was interrupted, from where it was.

    [bold]Example:[/bold] keyfence migrate resume mig_01M7HHHGKHN6S6V7032B0W8CKZ
    """
    from service.migrations.records import checked_migration

    with migrating(data, endpoint_url) as (migrator, settings):
        means = migrator.migrations(rate=rate or settings.migration_units_per_second)
        ended = _run(means, migrator, settling(settings), checked_migration(id))
    migrated.told(ended, as_json=json)


def _run(
    means: "Means", migrator: "Migrator", settle: float, id: "MigrationId", made: "Migration | None" = None
) -> "Migration":
    import asyncio
    from dataclasses import replace

    from service.cli.signals import interruptible

    last: Migration | None = None

    def heard(migration: "Migration") -> None:
        nonlocal last
        last = migration
        tell(migration)

    try:
        with interruptible(), migrated.followed() as tell:
            return asyncio.run(_work(replace(means, tell=heard), migrator, settle, id, made))
    except KeyboardInterrupt:
        typer.echo(migrated.stopped("Interrupted", last), err=True)
        raise typer.Exit(INTERRUPTED) from None
    except KeyfenceError as error:
        raise KeyfenceError(migrated.stopped(error.message, last)) if last else error from error


async def _work(
    means: "Means", migrator: "Migrator", settle: float, id: "MigrationId", made: "Migration | None"
) -> "Migration":
    from datetime import timedelta

    from service.migrations.engine import carry_on
    from service.operations.programs import program_of

    migration = await means.records.add(made) if made else await means.records.get(id)
    program: Program = program_of(migration, migrator, settle=timedelta(seconds=settle))
    return await carry_on(means, migration.id, program)
