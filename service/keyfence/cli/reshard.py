"""keyfence reshard: other shards for a collection of a tenant, while it is read and written."""

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

Id = Annotated[str, typer.Argument(metavar="TENANT", help="Whose collection it is.")]
Collection = Annotated[str, typer.Argument(help="The collection, as `keyfence tenant show` names it.")]
Shards = Annotated[int, typer.Argument(min=1, max=256, help="How many shards it is to have.")]
Rebalance = Annotated[bool, typer.Option("--rebalance", help="Keep their number, and spread what is there over them.")]


def reshard(
    tenant: Id,
    collection: Collection,
    shards: Shards,
    rebalance: Rebalance = False,
    rate: UnitRate = None,
    by: By = None,
    json: AsJson = False,
    data: Data = DEFAULT,
    endpoint_url: EndpointUrl = None,
) -> None:
    """Give a collection of a tenant more shards or fewer, or spread its items over those that it has.

    More shards move nothing: reads look into them first, and when every server knows, writes use them. Fewer, and
    --rebalance, move items, no faster than --rate. Nobody notices but by how fast it is. On AWS it runs as the
    migrator. It can be interrupted at any time: the same command goes on.

    [bold]Example:[/bold] keyfence reshard acme activity 8

    [bold]Example:[/bold] keyfence reshard acme users 2 --rate 200 --json
    """
    from keyfence.tenancy.repository import checked_tenant

    id = checked_tenant(tenant, "tenant")

    async def begin(migrator: "Migrator") -> "Migration | None":
        from keyfence.operations.resharding import Reshards
        from keyfence.tenancy.repository import Register

        found: list[Migration] = []
        reshards = Reshards(Register(migrator.control, operator(by)), carry_on=found.append)
        await reshards(id, collection, shards, rebalance=rebalance)
        return found[0] if found else None

    words = f"{collection} of {id} has {shards} {'shard' if shards == 1 else 'shards'} already."
    migrated.told(carried(begin, data, endpoint_url, rate), as_json=json, nothing=words)
