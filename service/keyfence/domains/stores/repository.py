"""`StoreRepository`: creates the stores of one tenant, and finds the stores near a point."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from keyfence.domains.stores.access_patterns import store_by_id, stores, stores_by_geohash
from keyfence.domains.stores.geohash import Circle, covering_ranges
from keyfence.domains.stores.model import NearbyStore, Store, StoreId, new_store
from keyfence.errors import BadInput
from keyfence.store import timestamps
from keyfence.store.cursor import CursorPosition
from keyfence.store.expressions import absent
from keyfence.store.ids import new_id
from keyfence.store.keys import ValueRange
from keyfence.store.pagination import checked_page_size
from keyfence.store.sharded_query import BoundQuery
from keyfence.store.table import Table
from keyfence.store.writes import ActivityNote, put

MAX_CANDIDATES = 1_000
"""The largest number of stores that one search may read."""

RangeRead = tuple[BoundQuery[Store], CursorPosition | None]
"""The Query of a range of geohashes, and the position from which it continues. None starts at the beginning."""


@dataclass(frozen=True, slots=True)
class StoreRepository:
    """The stores of the tenant that the table belongs to."""

    table: Table
    now: Callable[[], datetime] = timestamps.utc_now

    async def find_many(self, ids: Sequence[StoreId]) -> list[Store | None]:
        return await self.table.find_many(store_by_id, [{"id": id} for id in ids])

    async def create(self, *, name: str, latitude: float, longitude: float) -> Store:
        store = new_store(id=StoreId(new_id("sto")), name=name, latitude=latitude, longitude=longitude, now=self.now())
        after = {"name": store.name, "latitude": float(store.latitude), "longitude": float(store.longitude)}
        await self.table.write(
            put(stores, store, when=absent()), note=ActivityNote("store.created", store.id, {"after": after})
        )
        return store

    async def near(self, circle: Circle, *, first: int) -> list[NearbyStore]:
        """Returns the stores in a circle, nearest first. Of stores at the same distance, the oldest comes first."""
        checked_page_size(first)
        ranges = [ValueRange(low=low, high=high) for low, high in covering_ranges(circle.box())]
        reads: list[RangeRead] = [
            (BoundQuery(stores_by_geohash, self.table.fence, {}, stores_by_geohash.sort_key_range(range_)), None)
            for range_ in ranges
        ]
        candidates = [_with_distance(circle, store) for store in await self._read_ranges(reads, MAX_CANDIDATES)]
        nearby = [candidate for candidate in candidates if candidate.distance_km <= circle.radius_km]
        return sorted(nearby, key=lambda candidate: (candidate.distance_km, candidate.store.id))[:first]

    async def _read_ranges(self, reads: Sequence[RangeRead], limit: int) -> list[Store]:
        """Returns all stores of these ranges. Raises BadInput if there are more than `limit`.

        Divides the limit equally among the ranges. Then calls itself for the ranges that have more stores, with the
        rest of the limit."""
        page_size = limit // len(reads) + 1
        pages = await asyncio.gather(*(self.table.read(query, page_size, position) for query, position in reads))
        remaining = limit - sum(map(len, pages))
        if remaining < 0:
            raise BadInput(
                f"more than {MAX_CANDIDATES} stores may be in this circle; use a smaller radius", field="radiusKm"
            )
        found_stores = [stores.from_item(item) for items in pages for item in items]
        unfinished = [
            (query, query.position(items[-1]))
            for (query, _), items in zip(reads, pages, strict=True)
            if len(items) == page_size
        ]
        return found_stores + (await self._read_ranges(unfinished, remaining) if unfinished else [])


def _with_distance(circle: Circle, store: Store) -> NearbyStore:
    return NearbyStore(store=store, distance_km=circle.distance_km(float(store.latitude), float(store.longitude)))
