"""What each tenant stores, summed over the whole table and over those that tenants have of their own."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from keyfence.store.codec import Item
from keyfence.store.dynamodb.flow_control import Pacer
from keyfence.store.expressions import UpdateExpression
from keyfence.store.scan import ScanPage, TableScan, tenant_of_partition
from keyfence.store.table import Table
from keyfence.store.writes import update_attributes
from keyfence.tenancy.access_patterns import tenants
from keyfence.tenancy.tenant import Placement, Tenant
from keyfence_iam.dynamodb.item_size import stored_size
from keyfence_iam.tenant import TenantId


@dataclass(frozen=True, slots=True)
class TenantStorage:
    """What the items of a tenant come to."""

    items: int
    bytes: int


@dataclass(slots=True)
class StorageTotals:
    """What was met so far: items by owner, and the registered tenants with what was known of each."""

    items: Counter[TenantId] = field(default_factory=Counter)
    bytes: Counter[TenantId] = field(default_factory=Counter)
    known: dict[TenantId, int] = field(default_factory=dict)
    silos: set[TenantId] = field(default_factory=set)
    """Whose items are in a table of their own, whatever else was met of them."""

    def add(self, item: Item) -> None:
        if owner := tenant_of_partition(item["PK"]["S"]):
            self.items[owner] += 1
            self.bytes[owner] += stored_size(item)
        elif item.get("type") == {"S": tenants.type}:
            tenant: Tenant = tenants.from_item(item)
            self.known[tenant.id] = tenant.stored_bytes
            if tenant.reads is Placement.SILO:
                self.silos.add(tenant.id)

    def take(self, tenant: TenantId, other: "StorageTotals") -> None:
        """What others say of a tenant, and no longer what is here."""
        self.items[tenant], self.bytes[tenant] = other.items[tenant], other.bytes[tenant]

    def weights(self) -> dict[TenantId, TenantStorage]:
        """Of every tenant that is registered, or has items though it is not."""
        return {one: TenantStorage(self.items[one], self.bytes[one]) for one in sorted({*self.known, *self.items})}


@dataclass(frozen=True, slots=True)
class StorageMeasurement:
    """One scan of each table. The register is told where it differs, and no event is made of it."""

    sweep: TableScan
    sweep_of: Callable[[TenantId], TableScan]
    """Over the table of a tenant's own."""
    control: Table
    rate: float
    tell: Callable[[int], None] = lambda _: None
    page: int | None = None

    async def __call__(self) -> Mapping[TenantId, TenantStorage]:
        scales, rate = StorageTotals(), Pacer(self.rate)
        await self._scan(self.sweep, scales, rate)
        for tenant in sorted(scales.silos):
            own = StorageTotals()
            await self._scan(self.sweep_of(tenant), own, rate)
            scales.take(tenant, own)
        weights = scales.weights()
        for tenant, before in scales.known.items():
            if weights[tenant].bytes != before:
                now = UpdateExpression(sets={("storedBytes",): weights[tenant].bytes})
                await self.control.write(update_attributes(tenants, {"id": tenant}, now))
        return weights

    async def _scan(self, sweep: TableScan, scales: StorageTotals, rate: Pacer) -> None:
        limit, after = self.page or max(1, int(self.rate)), None
        while True:
            page: ScanPage = await sweep.page(fence=None, after=after, limit=limit)
            for item in page.items:
                scales.add(item)
            self.tell(page.scanned)
            await rate.wait(page.units)
            if (after := page.next_key) is None:
                return
