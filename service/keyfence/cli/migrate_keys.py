"""keyfence migrate keys and resume: index keys as the declarations say, and any migration to its end."""

from typing import TYPE_CHECKING, Annotated

import typer

from keyfence.cli import migrated
from keyfence.cli.carrying import carried
from keyfence.cli.migrating import AsJson, UnitRate
from keyfence.cli.options import Data
from keyfence.cli.reach import EndpointUrl
from keyfence.cli.tenant_operator import By, operator
from keyfence.local.directory import DEFAULT

if TYPE_CHECKING:
    from keyfence.operations.migrator import Migrator
    from keyfence.tenancy.migration import Migration

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
    from keyfence.migrations.keys import keys_migration
    from keyfence.migrations.records import Records
    from keyfence.tenancy.repository import checked_tenant

    whose = checked_tenant(tenant, "tenant") if tenant else None
    made = keys_migration(whose, by=operator(by), type=type, segments=segments, dry_run=dry_run)

    async def begin(migrator: "Migrator") -> "Migration":
        return await Records(migrator.control).add(made)

    migrated.told(carried(begin, data, endpoint_url, rate), as_json=json)


def resume(
    id: Id, rate: UnitRate = None, json: AsJson = False, data: Data = DEFAULT, endpoint_url: EndpointUrl = None
) -> None:
    """Go on with a migration that was interrupted, from where it was.

    [bold]Example:[/bold] keyfence migrate resume mig_01M7HHHGKHN6S6V7032B0W8CKZ
    """
    from keyfence.migrations.records import Records, checked_migration

    wanted = checked_migration(id)

    async def find(migrator: "Migrator") -> "Migration":
        return await Records(migrator.control).get(wanted)

    migrated.told(carried(find, data, endpoint_url, rate), as_json=json)
