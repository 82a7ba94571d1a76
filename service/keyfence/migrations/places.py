"""The tables that a migration goes over: that of all, and those that tenants have of their own."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from keyfence.errors import Unauthenticated
from keyfence.migrations.passage import Pass
from keyfence.store.keys import Fence
from keyfence.store.location import Home
from keyfence.store.table import Table
from keyfence.tenancy.migration import EVERY_TENANT
from keyfence_iam.boundary import TenantId
from keyfence_iam.vending.wanted import Placement


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A table, the items in it that are meant, and what a pass over them is called besides its own name."""

    at: Placement = Placement.POOL
    inside: Fence | None = None
    table: str | None = None
    called: str = ""

    def over(self, one: Pass) -> Pass:
        return replace(one, name=f"{one.name}{self.called}", inside=self.inside, table=self.table)


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """By what the register says when it is asked."""

    home: Callable[[TenantId], Awaitable[Home]]
    as_tenant: Callable[[Home], Table]
    silos: Callable[[], Awaitable[Sequence[TenantId]]]

    async def of(self, whose: TenantId) -> list[Place]:
        if whose != EVERY_TENANT:
            silo = await self._reads(whose) is Placement.SILO
            return [self._own(whose) if silo else Place(inside=Fence.around(whose))]
        return [Place(), *(replace(self._own(one), called=f"-{one}") for one in await self.silos())]

    async def _reads(self, whose: TenantId) -> Placement:
        """Who is not registered has nothing but what lies among the others'."""
        try:
            return (await self.home(whose)).reads
        except Unauthenticated:
            return Placement.POOL

    def _own(self, whose: TenantId) -> Place:
        table = self.as_tenant(Home(tenant=whose, reads=Placement.SILO)).caller.table
        return Place(at=Placement.SILO, inside=Fence.around(whose), table=table)
