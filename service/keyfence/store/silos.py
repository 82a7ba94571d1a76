"""The tables that tenants have of their own."""

import asyncio
from dataclasses import dataclass

from keyfence.store.calls import CredentialSource
from keyfence.store.dynamodb.client import Wire
from keyfence.store.schema import Administration
from keyfence_iam.boundary import TenantId
from keyfence_iam.deployment import silo_table


@dataclass(frozen=True, slots=True)
class Silos:
    """Made and removed by whoever these credentials are; each is defined as the pool is."""

    wire: Wire
    pool: str
    credentials: CredentialSource

    async def make(self, tenant: TenantId) -> None:
        """Called again, it makes sure of what is there."""
        administration = await self._of(tenant)
        await asyncio.to_thread(administration.create)
        await asyncio.to_thread(administration.check)

    async def drop(self, tenant: TenantId) -> None:
        await asyncio.to_thread((await self._of(tenant)).drop)

    async def _of(self, tenant: TenantId) -> Administration:
        credentials = await self.credentials()
        return await asyncio.to_thread(Administration.connect, self.wire, silo_table(self.pool, tenant), credentials)
