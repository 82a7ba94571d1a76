"""What each tenant stores, summed over the whole table and over those that tenants have of their own."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from keyfence.store.codec import Item, item_bytes
from keyfence.store.dynamodb.flow_control import Rate
from keyfence.store.expressions import Change
from keyfence.store.scan import Sweep, Swept, owner_of
from keyfence.store.table import Table
from keyfence.store.writes import change
from keyfence.tenancy.access import tenants
from keyfence.tenancy.tenant import Placement, Tenant
from keyfence_iam.tenant import TenantId


@dataclass(frozen=True, slots=True)
class Weight:
    """What the items of a tenant come to."""

    items: int
    bytes: int


@dataclass(slots=True)
class Scales:
    """What was met so far: items by owner, and the registered tenants with what was known of each."""

    items: Counter[TenantId] = field(default_factory=Counter)
    bytes: Counter[TenantId] = field(default_factory=Counter)
    known: dict[TenantId, int] = field(default_factory=dict)
    silos: set[TenantId] = field(default_factory=set)
    """Whose items are in a table of their own, whatever else was met of them."""

    def add(self, item: Item) -> None:
        if owner := owner_of(item["PK"]["S"]):
            self.items[owner] += 1
            self.bytes[owner] += item_bytes(item)
        elif item.get("type") == {"S": tenants.type}:
            tenant: Tenant = tenants.read(item)
            self.known[tenant.id] = tenant.stored_bytes
            if tenant.reads is Placement.SILO:
                self.silos.add(tenant.id)

    def take(self, tenant: TenantId, other: "Scales") -> None:
        """What others say of a tenant, and no longer what is here."""
        self.items[tenant], self.bytes[tenant] = other.items[tenant], other.bytes[tenant]

    def weights(self) -> dict[TenantId, Weight]:
        """Of every tenant that is registered, or has items though it is not."""
        return {one: Weight(self.items[one], self.bytes[one]) for one in sorted({*self.known, *self.items})}


@dataclass(frozen=True, slots=True)
class Weighing:
    """One scan of each table. The register is told where it differs, and no event is made of it."""

    sweep: Sweep
    sweep_of: Callable[[TenantId], Sweep]
    """Over the table of a tenant's own."""
    control: Table
    rate: float
    tell: Callable[[int], None] = lambda _: None
    page: int | None = None

    async def __call__(self) -> Mapping[TenantId, Weight]:
        scales, rate = Scales(), Rate(self.rate)
        await self._scan(self.sweep, scales, rate)
        for tenant in sorted(scales.silos):
            own = Scales()
            await self._scan(self.sweep_of(tenant), own, rate)
            scales.take(tenant, own)
        weights = scales.weights()
        for tenant, before in scales.known.items():
            if weights[tenant].bytes != before:
                now = Change(sets={("storedBytes",): weights[tenant].bytes})
                await self.control.write(change(tenants, {"id": tenant}, now))
        return weights

    async def _scan(self, sweep: Sweep, scales: Scales, rate: Rate) -> None:
        limit, after = self.page or max(1, int(self.rate)), None
        while True:
            page: Swept = await sweep.page(inside=None, after=after, limit=limit)
            for item in page.items:
                scales.add(item)
            self.tell(page.scanned)
            await rate.wait(page.units)
            if (after := page.then) is None:
                return
