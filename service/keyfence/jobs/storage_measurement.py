"""Measures how many items and bytes each tenant stores, by scanning the shared table and the silos."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from keyfence.store.codec import Item
from keyfence.store.dynamodb.pacer import Pacer
from keyfence.store.expressions import UpdateExpression
from keyfence.store.scan import ScanPage, TableScan, tenant_of_partition
from keyfence.store.table import Table
from keyfence.store.writes import update_attributes
from keyfence.tenancy.access_patterns import tenants
from keyfence.tenancy.placement import Placement
from keyfence.tenancy.tenant import Tenant
from keyfence_iam.dynamodb.item_size import stored_size
from keyfence_iam.tenant import TenantId


@dataclass(frozen=True, slots=True)
class TenantStorage:
    """How much one tenant stores."""

    items: int
    bytes: int


@dataclass(slots=True)
class StorageTotals:
    """The bytes that a scan has counted so far, by tenant."""

    items: Counter[TenantId] = field(default_factory=Counter)
    bytes: Counter[TenantId] = field(default_factory=Counter)
    last_measured: dict[TenantId, int] = field(default_factory=dict)
    """The stored bytes that each registered tenant's record contains."""
    in_silos: set[TenantId] = field(default_factory=set)
    """Tenants whose items are in a table of their own."""

    def add(self, item: Item) -> None:
        if owner := tenant_of_partition(item["PK"]["S"]):
            self.items[owner] += 1
            self.bytes[owner] += stored_size(item)
        elif item.get("type") == {"S": tenants.type}:
            tenant: Tenant = tenants.from_item(item)
            self.last_measured[tenant.id] = tenant.stored_bytes
            if tenant.reads is Placement.SILO:
                self.in_silos.add(tenant.id)

    def replace_tenant(self, tenant: TenantId, other: "StorageTotals") -> None:
        """Uses the totals of another scan for one tenant, instead of those counted here."""
        self.items[tenant], self.bytes[tenant] = other.items[tenant], other.bytes[tenant]

    def by_tenant(self) -> dict[TenantId, TenantStorage]:
        """Returns the totals of every tenant that is registered or has items."""
        found = sorted({*self.last_measured, *self.items})
        return {tenant: TenantStorage(self.items[tenant], self.bytes[tenant]) for tenant in found}


@dataclass(frozen=True, slots=True)
class StorageMeasurement:
    """Scans each table once, and saves the stored bytes of tenants where they changed. It makes no events."""

    scan: TableScan
    silo_scan: Callable[[TenantId], TableScan]
    control: Table
    units_per_second: float
    on_progress: Callable[[int], None] = lambda _: None
    page_size: int | None = None

    async def __call__(self) -> Mapping[TenantId, TenantStorage]:
        totals, pacer = StorageTotals(), Pacer(self.units_per_second)
        await self._count(self.scan, totals, pacer)
        for tenant in sorted(totals.in_silos):
            silo = StorageTotals()
            await self._count(self.silo_scan(tenant), silo, pacer)
            totals.replace_tenant(tenant, silo)
        storage = totals.by_tenant()
        for tenant, before in totals.last_measured.items():
            if storage[tenant].bytes != before:
                change = UpdateExpression(sets={("storedBytes",): storage[tenant].bytes})
                await self.control.write(update_attributes(tenants, {"id": tenant}, change))
        return storage

    async def _count(self, scan: TableScan, totals: StorageTotals, pacer: Pacer) -> None:
        limit, after = self.page_size or max(1, int(self.units_per_second)), None
        while True:
            page: ScanPage = await scan.page(fence=None, after=after, limit=limit)
            for item in page.items:
                totals.add(item)
            self.on_progress(page.scanned)
            await pacer.wait(page.units)
            if (after := page.next_key) is None:
                return
