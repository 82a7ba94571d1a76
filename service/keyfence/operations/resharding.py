"""The beginning of a change of shards: the map says so, and the migration is there for a worker."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from keyfence.errors import BadInput, Conflict, Internal
from keyfence.store.expressions import absent
from keyfence.store.shards import ShardCounts
from keyfence.store.write import Write, put
from keyfence.tenancy.access import migration_by_id, migrations
from keyfence.tenancy.migration import Kind, Migration, new_migration
from keyfence.tenancy.model import Tenant
from keyfence.tenancy.repository import Register
from keyfence.tenancy.resharding import (
    BEGUN,
    Way,
    begun,
    checked_collection,
    checked_shards,
    counts_of,
    reshardable,
    way_to,
    with_counts,
)
from keyfence_iam.boundary import TenantId

SEGMENTS = 4


class Wish(NamedTuple):
    """What somebody wants of a collection; `rebalance` for its items to be where they belong by as many as it has."""

    collection: str
    shards: int
    rebalance: bool = False

    def is_met_by(self, counts: ShardCounts) -> bool:
        return self.shards == counts.write_shards and not self.rebalance

    def is_that_of(self, migration: Migration) -> bool:
        asked = orjson.loads(migration.detail)
        return (self.shards, self.rebalance) == (asked["shards"], asked["way"] == Way.REBALANCE)


def nobody(_: Migration) -> None:
    """Whoever runs the migrator carries it on."""


@dataclass(frozen=True, slots=True)
class Reshards:
    """Needs the register alone. `told` hears of the tenant as it is from then on, `carry_on` of what is to be done."""

    register: Register
    told: Callable[[Tenant], None] = lambda _: None
    carry_on: Callable[[Migration], None] = nobody
    segments: int = SEGMENTS

    async def __call__(self, id: TenantId, collection: str, shards: int, *, rebalance: bool = False) -> ShardCounts:
        """Asked again for the same, it is gone on with; where all is so already, nothing is done."""
        name = checked_collection(collection)
        wish = Wish(name, checked_shards(name, shards), rebalance)
        before = counts_of(await self.register.get(id), name)
        if before.migration is not None:
            self.carry_on(await self._under_way(before.migration, wish))
            return before
        if wish.is_met_by(before):
            return before
        return await self._begin(id, wish, before)

    async def _under_way(self, id: str, wish: Wish) -> Migration:
        found = await self.register.table.find(migration_by_id, id=id)
        if found is None:
            raise Internal(f"there is no migration {id}")
        if not wish.is_that_of(found):
            words = f"another change of these shards is under way; `keyfence migrate resume {id}` goes on with it"
            raise Conflict(words, migration=id)
        return found

    async def _begin(self, id: TenantId, wish: Wish, before: ShardCounts) -> ShardCounts:
        way = way_to(before, wish.shards)
        if wish.rebalance and way is not Way.REBALANCE:
            raise BadInput(f"there are {before.write_shards} shards; rebalance keeps their number", field="shards")
        detail = {"collection": wish.collection, "shards": wish.shards, "way": way}
        made = new_migration(
            Kind.RESHARD, id, by=self.register.by, at=self.register.now(), segments=self.segments, detail=detail
        )

        def changed(tenant: Tenant) -> Tenant:
            if counts_of(reshardable(tenant), wish.collection) != before:
                raise Conflict("somebody else has just changed these shards; look at them and ask again")
            return with_counts(tenant, wish.collection, begun(before, wish.shards, made.id))

        async def also() -> Sequence[Write[Any]]:
            return (put(migrations, made, when=absent()),)

        tenant = await self.register.change(
            id, BEGUN[way], changed, detail={**detail, "from": before.write_shards, "migration": made.id}, also=also
        )
        self.told(tenant)
        self.carry_on(made)
        return counts_of(tenant, wish.collection)
