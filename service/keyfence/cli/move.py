"""keyfence move: a tenant to a table of its own, and back, while it is served."""

from typing import TYPE_CHECKING, Annotated

import typer

from keyfence.cli import migrated
from keyfence.cli.carrying import carried
from keyfence.cli.migrating import AsJson, UnitRate
from keyfence.cli.options import Data
from keyfence.cli.reach import EndpointUrl
from keyfence.cli.tenant_operator import By, operator
from keyfence.local.directory import DEFAULT
from keyfence.tenancy.move import Placement

if TYPE_CHECKING:
    from keyfence.operations.migrator import Migrator
    from keyfence.tenancy.migration import Migration

Id = Annotated[str, typer.Argument(metavar="TENANT", help="The tenant that moves.")]
To = Annotated[Placement, typer.Argument(case_sensitive=False, help="A table of its own, or the one of all.")]


def move(
    tenant: Id,
    to: To,
    rate: UnitRate = None,
    by: By = None,
    json: AsJson = False,
    data: Data = DEFAULT,
    endpoint_url: EndpointUrl = None,
) -> None:
    """Move a tenant to a table of its own (SILO), or back among the others (POOL), while it is served.

    Its servers write to both tables, everything is copied and compared, they read the new table, and what is left in
    the old one goes. Until then the move can be called off: ask for where the tenant came from. On AWS it runs as the
    migrator. It can be interrupted at any time: the same command goes on.

    [bold]Example:[/bold] keyfence move acme silo

    [bold]Example:[/bold] keyfence move acme pool --rate 500 --json
    """
    from keyfence.tenancy.repository import checked_tenant

    id = checked_tenant(tenant, "tenant")

    async def begin(migrator: "Migrator") -> "Migration | None":
        from keyfence.operations.moving import Moves
        from keyfence.tenancy.repository import Register

        register = Register(migrator.control, operator(by))
        found = await register.get(id)
        if found.move is None and found.placement is to:
            return None
        return await Moves(register)(id, to)

    migrated.told(carried(begin, data, endpoint_url, rate), as_json=json, nothing=f"{id} is in the {to} already.")
