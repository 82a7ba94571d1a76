"""`EntityRegistry`: all entities and queries of one table, with its sharded collections and index projections."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from keyfence.store.codec import attribute_name, has_empty_default
from keyfence.store.entity import Entity, Index, Query
from keyfence.store.shards import ShardedCollections

Projections = Mapping[Index, tuple[str, ...]]
"""The attributes that each index needs, besides its own keys and the keys of the table."""

MAX_INCLUDED_ATTRIBUTES = 20
"""DynamoDB includes at most this many named attributes in an index. An index that needs more projects
all attributes."""


@dataclass(frozen=True)
class EntityRegistry:
    """The entities that one table stores, for tenants and for the control plane, and the queries on them."""

    entities: tuple[Entity[Any], ...] = ()
    queries: tuple[Query[Any], ...] = ()

    def __iter__(self) -> Iterator[Entity[Any]]:
        return iter(self.entities)

    @cached_property
    def tenant_entities_by_type(self) -> Mapping[str, Entity[Any]]:
        """The entities that tenants have, by the attribute `type` of their items."""
        return {entity.type: entity for entity in self.entities if entity.keys["table"].realm == "tenant"}

    @cached_property
    def collections(self) -> ShardedCollections:
        """All collections. Each sharded key of an entity names one."""
        sharded = [
            (index, key.sharding) for entity in self.entities for index, key in entity.keys.items() if key.sharding
        ]
        return ShardedCollections(
            {sharding.collection: sharding for _, sharding in sharded},
            frozenset(sharding.collection for index, sharding in sharded if index == "table"),
        )

    @cached_property
    def projections(self) -> Projections:
        """The attributes that each index must project, so that queries can make models from the items of the index."""
        names_by_index: dict[Index, set[str]] = {}
        for query in self.queries:
            if query.index != "table":
                names_by_index.setdefault(query.index, set()).update(_projected_attributes(query))
        return {index: tuple(sorted(names)) for index, names in names_by_index.items()}


def _projected_attributes(query: Query[Any]) -> Iterator[str]:
    """Yields the attributes that the models of a query need. A field whose default is None or an empty set is not
    needed: without the attribute, the model has the default."""
    entity = query.entity
    yield from (attribute_name(field.name) for field in fields(entity.model) if not has_empty_default(field))
    for key in (entity.keys["table"], query.key):
        yield from map(attribute_name, key.fields)
    yield from map(attribute_name, entity.index_fields)
