"""keyfence migrate show: how far a migration has come."""

from typing import TYPE_CHECKING

from service.cli import migrated
from service.cli.migrate_keys import Id
from service.cli.migrating import AsJson, migrating
from service.cli.options import Data
from service.cli.reach import EndpointUrl
from service.local.directory import DEFAULT

if TYPE_CHECKING:
    from service.operations.migrator import Migrator
    from service.tenancy.migration import Migration, MigrationId


def show(id: Id, json: AsJson = False, data: Data = DEFAULT, endpoint_url: EndpointUrl = None) -> None:
    """Show what a migration is doing, or has done.

    [bold]Example:[/bold] keyfence migrate show mig_01M7HHHGKHN6S6V7032B0W8CKZ --json
    """
    import asyncio

    from service.migrations.records import checked_migration

    wanted = checked_migration(id)
    with migrating(data, endpoint_url) as (migrator, _):
        found = asyncio.run(_found(migrator, wanted))
    migrated.told(found, as_json=json)


async def _found(migrator: "Migrator", id: "MigrationId") -> "Migration":
    from service.migrations.records import Records

    return await Records(migrator.control).get(id)
