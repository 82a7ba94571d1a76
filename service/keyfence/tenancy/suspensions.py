"""Shutting tenants out of the fence: kept in one item of the register, and published to IAM from there."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from keyfence.store import clock
from keyfence.store.expressions import absent
from keyfence.store.table import Table
from keyfence.store.write import Write, put, revise
from keyfence.tenancy.access import suspended_tenants, suspensions
from keyfence.tenancy.suspension import Suspended, fitting
from keyfence_iam.boundary import TenantId

Shut = Callable[[Sequence[TenantId]], Awaitable[None]]
"""Makes IAM refuse the sessions of these tenants and of no others."""


@dataclass(frozen=True, slots=True)
class Suspensions:
    """Changes of the list are writes for the transaction that suspends or resumes; then it is published."""

    table: Table
    shut: Shut
    now: Callable[[], datetime] = clock.now

    async def with_tenant(self, tenant: TenantId) -> Sequence[Write[Any]]:
        return await self._changed(lambda since: fitting({tenant: self.now(), **since}, self.now()))

    async def without(self, tenant: TenantId) -> Sequence[Write[Any]]:
        return await self._changed(lambda since: {name: at for name, at in since.items() if name != tenant})

    async def publish(self) -> None:
        """Until what was published is still the newest: of two who publish at once, the last one sees the other's."""
        published = None
        while (listed := await self.table.find(suspended_tenants)) != published:
            await self.shut(listed.tenants if listed else [])
            published = listed

    async def _changed(
        self, change: Callable[[Mapping[str, datetime]], Mapping[str, datetime]]
    ) -> Sequence[Write[Any]]:
        before, now = await self.table.find(suspended_tenants), self.now()
        since = change(before.since if before else {})
        if before is None:
            return (put(suspensions, Suspended(since=since, created_at=now, updated_at=now), when=absent()),)
        after = replace(before, since=since, updated_at=now, version=before.version + 1)
        return (revise(suspensions, before, after),)
