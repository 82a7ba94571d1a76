"""What each tenant stores, summed over the whole table."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from iam.boundary import TenantId
from service.store.codec import Item
from service.store.expression import Change
from service.store.owner import owner_of
from service.store.rate import Rate
from service.store.size import item_bytes
from service.store.sweep import Sweep, Swept
from service.store.table import Table
from service.store.write import change
from service.tenancy.access import tenants
from service.tenancy.model import Tenant


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

    def add(self, item: Item) -> None:
        if owner := owner_of(item["PK"]["S"]):
            self.items[owner] += 1
            self.bytes[owner] += item_bytes(item)
        elif item.get("type") == {"S": tenants.type}:
            tenant: Tenant = tenants.read(item)
            self.known[tenant.id] = tenant.stored_bytes

    def weights(self) -> dict[TenantId, Weight]:
        """Of every tenant that is registered, or has items though it is not."""
        return {one: Weight(self.items[one], self.bytes[one]) for one in sorted({*self.known, *self.items})}


@dataclass(frozen=True, slots=True)
class Weighing:
    """One scan of the table. The register is told where it differs, and no event is made of it."""

    sweep: Sweep
    control: Table
    rate: float
    tell: Callable[[int], None] = lambda _: None
    page: int | None = None

    async def __call__(self) -> Mapping[TenantId, Weight]:
        scales = await self._scan()
        weights = scales.weights()
        for tenant, before in scales.known.items():
            if weights[tenant].bytes != before:
                now = Change(sets={("storedBytes",): weights[tenant].bytes})
                await self.control.write(change(tenants, {"id": tenant}, now))
        return weights

    async def _scan(self) -> Scales:
        scales, rate, limit = Scales(), Rate(self.rate), self.page or max(1, int(self.rate))
        after: Item | None = None
        while True:
            page: Swept = await self.sweep.page(inside=None, after=after, limit=limit)
            for item in page.items:
                scales.add(item)
            self.tell(page.scanned)
            await rate.wait(page.units)
            if (after := page.then) is None:
                return scales
