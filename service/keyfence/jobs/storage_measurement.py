"""`StorageMeasurement`: counts the items and bytes of each tenant by scanning the shared table and the silos."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from keyfence.jobs.scan_checkpoint import PassResult
from keyfence.jobs.scan_pass import PacedScan, ScanPass, run_pass_once
from keyfence.store.codec import Item
from keyfence.store.dynamodb.pacer import Pacer
from keyfence.store.expressions import UpdateExpression
from keyfence.store.scan import TableScan, tenant_of_partition
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
    """The items and bytes that a scan has counted so far, by tenant."""

    items: Counter[TenantId] = field(default_factory=Counter)
    bytes: Counter[TenantId] = field(default_factory=Counter)
    saved_bytes: dict[TenantId, int] = field(default_factory=dict)
    """The bytes that the record of each registered tenant contains from the last measurement."""
    tenants_in_silos: set[TenantId] = field(default_factory=set)
    """Tenants whose items are in a table of their own."""

    async def add_page(self, items: Sequence[Item]) -> PassResult:
        for item in items:
            self.add(item)
        return PassResult()

    def add(self, item: Item) -> None:
        if owner := tenant_of_partition(item["PK"]["S"]):
            self.items[owner] += 1
            self.bytes[owner] += stored_size(item)
        elif item.get("type") == {"S": tenants.type}:
            tenant: Tenant = tenants.from_item(item)
            self.saved_bytes[tenant.id] = tenant.stored_bytes
            if tenant.read_placement is Placement.SILO:
                self.tenants_in_silos.add(tenant.id)

    def replace_tenant(self, tenant: TenantId, other: "StorageTotals") -> None:
        """Replaces the totals of one tenant by those of another scan."""
        self.items[tenant], self.bytes[tenant] = other.items[tenant], other.bytes[tenant]

    def by_tenant(self) -> dict[TenantId, TenantStorage]:
        """Returns the totals of every tenant that is registered or has items."""
        ids = sorted({*self.saved_bytes, *self.items})
        return {tenant: TenantStorage(self.items[tenant], self.bytes[tenant]) for tenant in ids}


@dataclass(frozen=True, slots=True)
class StorageMeasurement:
    """Scans each table once, and saves the stored bytes of those tenants whose number has changed.

    It writes no events. It is not a job: if it is interrupted, the next run starts again."""

    scan: TableScan
    """A scan of the shared table."""
    silo_scan: Callable[[TenantId], TableScan]
    control: Table
    units_per_second: float
    on_progress: Callable[[int], None] = lambda _: None
    """Called after each page with the number of items that were scanned."""
    page_size: int | None = None
    """How many items a page has. None means `units_per_second` items."""

    async def __call__(self) -> Mapping[TenantId, TenantStorage]:
        pacer = Pacer(self.units_per_second)
        totals = await self._count(self.scan, pacer)
        for tenant in sorted(totals.tenants_in_silos):
            totals.replace_tenant(tenant, await self._count(self.silo_scan(tenant), pacer))
        storage = totals.by_tenant()
        for tenant, saved_bytes in totals.saved_bytes.items():
            if storage[tenant].bytes != saved_bytes:
                change = UpdateExpression(sets={("storedBytes",): storage[tenant].bytes})
                await self.control.write(update_attributes(tenants, {"id": tenant}, change))
        return storage

    async def _count(self, scan: TableScan, pacer: Pacer) -> StorageTotals:
        totals = StorageTotals()
        page_size = self.page_size or max(1, int(self.units_per_second))
        paced = PacedScan(scan=scan, pacer=pacer, page_size=page_size)
        await run_pass_once(paced, ScanPass(name="MEASURING", process=totals.add_page), self.on_progress)
        return totals
