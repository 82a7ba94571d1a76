"""Stores of the tenant that the table at hand belongs to."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from keyfence.domains.stores.access_patterns import store_by_id, stores, stores_by_place
from keyfence.domains.stores.geohash import Circle, covering_ranges
from keyfence.domains.stores.model import Nearby, Store, StoreId, new_store
from keyfence.errors import BadInput
from keyfence.store import timestamps
from keyfence.store.cursor import CursorPosition
from keyfence.store.expressions import absent
from keyfence.store.ids import new_id
from keyfence.store.keys import ValueRange
from keyfence.store.pagination import check_page_size
from keyfence.store.sharded_query import BoundQuery
from keyfence.store.table import Table
from keyfence.store.writes import ActivityNote, put

CANDIDATES = 1_000
"""The most stores that one search looks at."""

Search = tuple[BoundQuery[Store], CursorPosition | None]
"""A stretch of places, from where it has not been read yet."""


@dataclass(frozen=True, slots=True)
class StoreRepository:
    """Everything that can be asked and done about stores."""

    table: Table
    now: Callable[[], datetime] = timestamps.utc_now

    async def find_many(self, ids: Sequence[StoreId]) -> list[Store | None]:
        return await self.table.find_many(store_by_id, [{"id": id} for id in ids])

    async def create(self, *, name: str, latitude: float, longitude: float) -> Store:
        store = new_store(id=StoreId(new_id("sto")), name=name, latitude=latitude, longitude=longitude, now=self.now())
        shown = {"name": store.name, "latitude": float(store.latitude), "longitude": float(store.longitude)}
        await self.table.write(
            put(stores, store, when=absent()), note=ActivityNote("store.created", store.id, {"after": shown})
        )
        return store

    async def near(self, circle: Circle, *, first: int) -> list[Nearby]:
        """The nearest first, and of equally near ones the oldest."""
        check_page_size(first)
        spans = [ValueRange(low=low, high=high) for low, high in covering_ranges(circle.box())]
        searches: list[Search] = [
            (BoundQuery(stores_by_place, self.table.fence, {}, stores_by_place.sort_key_range(span)), None)
            for span in spans
        ]
        candidates = [_measured(circle, store) for store in await self._searched(searches, CANDIDATES)]
        inside = [one for one in candidates if one.distance_km <= circle.radius_km]
        return sorted(inside, key=lambda one: (one.distance_km, one.store.id))[:first]

    async def _searched(self, searches: Sequence[Search], most: int) -> list[Store]:
        """All that lies there. Each stretch may first use its part of what may be read, then what others left."""
        part = most // len(searches) + 1
        found = await asyncio.gather(*(self.table.read(reading, part, start) for reading, start in searches))
        left = most - sum(map(len, found))
        if left < 0:
            raise BadInput(f"more than {CANDIDATES} stores may be that near; ask for less", field="radiusKm")
        here = [stores.from_item(item) for items in found for item in items]
        longer = [
            (reading, reading.position(items[-1]))
            for (reading, _), items in zip(searches, found, strict=True)
            if len(items) == part
        ]
        return here + (await self._searched(longer, left) if longer else [])


def _measured(circle: Circle, store: Store) -> Nearby:
    return Nearby(store=store, distance_km=circle.distance_km(float(store.latitude), float(store.longitude)))
