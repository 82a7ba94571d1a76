"""Foreign items (items of other tenants in an index partition): their log, and the read units that they used."""

import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import floor
from typing import Any

import structlog

from keyfence.log import EventThrottle
from keyfence.store.codec import Item
from keyfence.store.dynamodb.capacity import consumed_capacity
from keyfence.store.keys import Fence
from keyfence.store.scan import tenant_of_partition

MAX_FOREIGN_ITEMS = 200
"""How many foreign items a tenant's read of one shard may drop. A read that has dropped more does not continue."""

MAX_THROTTLES = 1_000
"""How many pairs of tenants are remembered, so that each pair is logged once in an interval."""

OnForeignItems = Callable[[Fence, Sequence[Item]], None]
"""Called with the fence of the reader and the items outside this fence."""

log = structlog.get_logger(__name__)


@dataclass(slots=True, kw_only=True)
class ForeignItemLog:
    """Logs foreign items: in each interval one line for each pair of a reader and an owner of such items."""

    on_count: Callable[[int], None] = lambda _: None
    """Called with the number of foreign items that a Query returned."""
    clock: Callable[[], float] = time.monotonic
    _throttles: OrderedDict[tuple[str, str], EventThrottle] = field(default_factory=OrderedDict)

    def __call__(self, reader: Fence, items: Sequence[Item]) -> None:
        self.on_count(len(items))
        tenant = _owner(reader.prefix)
        for owner, count in Counter(_owner(item["PK"]["S"]) for item in items).items():
            if logged_count := self._throttle(tenant, owner).count(count, self.clock()):
                log.error("foreign_item_in_index", tenant=tenant, owner=owner, items=logged_count)

    def _throttle(self, tenant: str, owner: str) -> EventThrottle:
        throttle = self._throttles.pop((tenant, owner), None) or EventThrottle()
        self._throttles[tenant, owner] = throttle
        if len(self._throttles) > MAX_THROTTLES:
            self._throttles.popitem(last=False)
        return throttle


def foreign_read_units(answer: Mapping[str, Any], foreign_count: int) -> float:
    """Returns how many read units of a Query were used for foreign items. The result is a multiple of 0.5, because
    the own items alone would have used a multiple of 0.5."""
    units = consumed_capacity("Query", answer.get("ConsumedCapacity")).read_units
    return floor(2 * units * foreign_count / len(answer["Items"])) / 2


def _owner(partition: str) -> str:
    """Returns the tenant of a partition, or the partition itself if it belongs to no tenant."""
    return tenant_of_partition(partition) or partition
