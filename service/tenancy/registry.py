"""The register of tenants, read on every request and so remembered for a moment."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from iam.boundary import TenantId
from service.errors import Unauthenticated
from service.store.expression import absent
from service.store.table import Table
from service.store.write import put
from service.tenancy.access import tenant_by_id, tenants
from service.tenancy.model import Tenant

MAX_AGE = 5.0
LARGEST = 10_000


@dataclass(slots=True)
class Registry:
    """Tenants by id, no older than MAX_AGE seconds; only tenants that exist are remembered."""

    table: Table
    clock: Callable[[], float] = time.monotonic
    _known: dict[TenantId, tuple[float, Tenant]] = field(default_factory=dict)

    async def get(self, tenant: TenantId) -> Tenant:
        """A token for a tenant that is not registered is worth nothing, and says no more than any other bad token."""
        read_at, known = self._known.get(tenant, (0.0, None))
        if known is not None and self.clock() - read_at < MAX_AGE:
            return known
        found = await self.find(tenant)
        if found is None:
            self._known.pop(tenant, None)
            raise Unauthenticated("the token's tenant is not accepted")
        self._remember(found)
        return found

    async def find(self, tenant: TenantId) -> Tenant | None:
        return await self.table.find(tenant_by_id, id=tenant)

    async def reach(self) -> None:
        """Raise unless the register can be read."""
        await self.find(TenantId("readiness"))

    async def register(self, tenant: Tenant) -> None:
        await self.table.write(put(tenants, tenant, when=absent()))

    def _remember(self, tenant: Tenant) -> None:
        self._known.pop(tenant.id, None)
        if len(self._known) >= LARGEST:
            self._known.pop(next(iter(self._known)))
        self._known[tenant.id] = (self.clock(), tenant)
