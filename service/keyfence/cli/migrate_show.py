"""keyfence migrate show: how far a migration has come."""

from typing import TYPE_CHECKING

from keyfence.cli import migrated
from keyfence.cli.migrate_keys import Id
from keyfence.cli.migrating import AsJson, migrating
from keyfence.cli.options import Data
from keyfence.cli.reach import EndpointUrl
from keyfence.local.directory import DEFAULT

if TYPE_CHECKING:
    from keyfence.operations.migrator import Migrator
    from keyfence.tenancy.migration import Migration, MigrationId


def show(id: Id, json: AsJson = False, data: Data = DEFAULT, endpoint_url: EndpointUrl = None) -> None:
    """Show what a migration is doing, or has done.

    [bold]Example:[/bold] keyfence migrate show mig_01M7HHHGKHN6S6V7032B0W8CKZ --json
    """
    import asyncio

    from keyfence.migrations.records import checked_migration

    wanted = checked_migration(id)
    with migrating(data, endpoint_url) as (migrator, _):
        found = asyncio.run(_found(migrator, wanted))
    migrated.told(found, as_json=json)


async def _found(migrator: "Migrator", id: "MigrationId") -> "Migration":
    from keyfence.migrations.records import Records

    return await Records(migrator.control).get(id)
