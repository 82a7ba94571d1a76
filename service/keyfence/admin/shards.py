"""Changes of the shards of a tenant's collections."""

import strawberry

from keyfence.admin.context import Info
from keyfence.admin.tenants import CollectionShards
from keyfence.tenancy.repository import checked_tenant


@strawberry.type
class ShardMutations:
    """How collections get as many slots as they need."""

    @strawberry.mutation(
        description="Give a collection so many shards while it is read and written. Asked again it goes on. More "
        "shards are served by every server soon after; fewer, and `rebalance`, which puts every item where it would be "
        "written now, are carried through by `keyfence reshard` where this server is not the migrator."
    )
    async def reshard(
        self, info: Info, tenant: strawberry.ID, collection: str, shards: int, rebalance: bool = False
    ) -> CollectionShards:
        id = checked_tenant(tenant, "tenant")
        return CollectionShards.of(collection, await info.context.reshards(id, collection, shards, rebalance=rebalance))
