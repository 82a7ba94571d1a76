"""`EntityRegistry`: all entities of one table, and what follows: sharded collections and index projections."""

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from functools import cached_property
from typing import Any

from keyfence.store.codec import attribute_name
from keyfence.store.entity import Entity, Index, Query
from keyfence.store.shards import ShardedCollections

Projections = Mapping[Index, tuple[str, ...]]
"""The attributes that each index has besides the keys of the table and its own."""


@dataclass(frozen=True)
class EntityRegistry:
    """The entities of tenants and of the control plane that one table stores, and the queries on its indexes."""

    all: tuple[Entity[Any], ...] = ()
    queries: tuple[Query[Any], ...] = ()

    def __iter__(self) -> Iterator[Entity[Any]]:
        return iter(self.all)

    @cached_property
    def tenant_entities_by_type(self) -> Mapping[str, Entity[Any]]:
        """The entities that tenants have, by stored type."""
        return {entity.type: entity for entity in self.all if entity.keys["table"].realm == "tenant"}

    @cached_property
    def collections(self) -> ShardedCollections:
        """Every collection that a key of an entity names."""
        sharded = [(index, key.sharding) for entity in self.all for index, key in entity.keys.items() if key.sharding]
        return ShardedCollections(
            {shard.collection: shard for _, shard in sharded},
            frozenset(shard.collection for index, shard in sharded if index == "table"),
        )

    @cached_property
    def projections(self) -> Projections:
        """Each index has the attributes that the queries on it need to make models of its items."""
        found: dict[Index, set[str]] = {}
        for query in self.queries:
            if query.index != "table":
                found.setdefault(query.index, set()).update(_projected(query))
        return {index: tuple(sorted(names)) for index, names in found.items()}


def _projected(query: Query[Any]) -> Iterator[str]:
    entity = query.entity
    yield from (attribute_name(one.name) for one in fields(entity.model) if not _may_be_unknown(one))
    for key in (entity.keys["table"], query.key):
        yield from map(attribute_name, key.fields)
    yield from map(attribute_name, entity.index_fields)


def _may_be_unknown(field: Field[Any]) -> bool:
    """A model without this field is still true: None and the empty set mean that nothing is known."""
    default = field.default if field.default_factory is MISSING else field.default_factory()
    return default is None or default == frozenset()
