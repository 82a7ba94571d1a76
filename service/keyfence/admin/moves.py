"""Moves of tenants between the pool and tables of their own."""

import strawberry

from keyfence.admin.context import Info
from keyfence.admin.migrations import Migration
from keyfence.tenancy.move import Placement
from keyfence.tenancy.repository import checked_tenant


@strawberry.type
class MoveMutations:
    """How tenants change their table."""

    @strawberry.mutation(
        description="Move a tenant to a table of its own, or back, while it is served. Asked again it goes on; asked "
        "for where the tenant came from, a move is called off. Where this server is not the migrator, `keyfence move` "
        "carries it through."
    )
    async def move_tenant(self, info: Info, id: strawberry.ID, to: Placement) -> Migration:
        return Migration.of(await info.context.moves(checked_tenant(id), to))
