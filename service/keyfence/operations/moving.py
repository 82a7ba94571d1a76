"""The beginning of a move: the tenant is marked, and the migration is there for a worker."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from keyfence.errors import Conflict, Internal
from keyfence.operations.resharding import nobody
from keyfence.store.expressions import absent
from keyfence.store.write import Write, put
from keyfence.tenancy.access import migration_by_id, migrations
from keyfence.tenancy.migration import Kind, Migration, new_migration
from keyfence.tenancy.model import Tenant
from keyfence.tenancy.move import Placement
from keyfence.tenancy.moving import BEGUN, CALLED_OFF, called_off, planned
from keyfence.tenancy.repository import Register
from keyfence_iam.boundary import TenantId

SEGMENTS = 4


@dataclass(frozen=True, slots=True)
class Moves:
    """Needs the register alone. `told` hears of the tenant as it is from then on, `carry_on` of what is to be done."""

    register: Register
    told: Callable[[Tenant], None] = lambda _: None
    carry_on: Callable[[Migration], None] = nobody
    segments: int = SEGMENTS

    async def __call__(self, id: TenantId, to: Placement) -> Migration:
        """Asked again it is gone on with; asked for where the tenant came from, it is called off."""
        tenant = await self.register.get(id)
        if tenant.move is None:
            return await self._begin(tenant, to)
        if to is not tenant.move.goal:
            tenant = await self.register.change(id, CALLED_OFF, called_off, detail={"to": to})
            self.told(tenant)
        return await self._go_on(tenant)

    async def _begin(self, before: Tenant, to: Placement) -> Migration:
        if before.placement is to:
            raise Conflict(f"the tenant is in the {to} already")
        made = new_migration(
            Kind.MOVE,
            before.id,
            by=self.register.by,
            at=self.register.now(),
            segments=self.segments,
            detail={"to": to},
        )

        def changed(tenant: Tenant) -> Tenant:
            if (tenant.move, tenant.placement) != (None, before.placement):
                raise Conflict("somebody else has just moved the tenant; look at it and ask again")
            return planned(tenant, to, made.id)

        async def also() -> Sequence[Write[Any]]:
            return (put(migrations, made, when=absent()),)

        detail = {"to": to, "migration": made.id}
        self.told(await self.register.change(before.id, BEGUN, changed, detail=detail, also=also))
        self.carry_on(made)
        return made

    async def _go_on(self, tenant: Tenant) -> Migration:
        if tenant.move is None:
            raise Conflict("the move has just ended; look at the tenant and ask again")
        found = await self.register.table.find(migration_by_id, id=tenant.move.migration)
        if found is None:
            raise Internal(f"there is no migration {tenant.move.migration}")
        self.carry_on(found)
        return found
