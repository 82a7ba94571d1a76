"""Entities (how a dataclass is stored) and their access patterns: `Get`, `Query` and `ItemCollection`."""

from collections.abc import Mapping
from dataclasses import Field, dataclass, fields
from datetime import datetime
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeVar

from keyfence.store.codec import Item, decode_model, encode_model
from keyfence.store.key_template import KeyField, KeyTemplate
from keyfence.store.keys import (
    NEXT,
    ControlKey,
    Fence,
    Key,
    KeyPair,
    SortKeyRange,
    TenantKey,
    ValueRange,
    end_of_prefix,
)
from keyfence.store.shards import ShardMap

Index = Literal["table", "gsi1", "gsi2", "gsi3"]
"""The table itself or one of its global secondary indexes."""
INDEXES: tuple[Index, ...] = ("gsi1", "gsi2", "gsi3")

_KEY_NAMES: Mapping[Index, KeyPair] = {
    "table": KeyPair("PK", "SK"),
    "gsi1": KeyPair("GSI1PK", "GSI1SK"),
    "gsi2": KeyPair("GSI2PK", "GSI2SK"),
    "gsi3": KeyPair("GSI3PK", "GSI3SK"),
}


def key_names(index: Index) -> KeyPair:
    """Returns the names of the attributes that are the partition key and the sort key of an index."""
    return _KEY_NAMES[index]


class Model(Protocol):
    """A dataclass that can be stored. `version` is its optimistic lock."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def version(self) -> int: ...
    @property
    def created_at(self) -> datetime: ...
    @property
    def updated_at(self) -> datetime: ...


M = TypeVar("M", bound=Model)
P = TypeVar("P", bound=Model)
_REQUIRED_FIELDS = frozenset({"created_at", "updated_at", "version"})


class BadEntity(TypeError):
    """An entity or a pattern was declared with keys that do not fit its dataclass or each other."""


@dataclass(frozen=True, slots=True)
class Entity(Generic[M]):
    """A dataclass with the keys that it is stored under. Declare it with `entity`."""

    model: type[M]
    keys: Mapping[Index, Key]
    index_fields: tuple[str, ...] = ()
    """Optional fields that queries on an index return too. Fields without a default are in every index anyway."""

    @property
    def type(self) -> str:
        """The value of the attribute `type` of its items."""
        return self.model.__name__

    def to_item(self, model: M, fence: Fence, shards: ShardMap) -> Item:
        return {**encode_model(model), **self.key_attributes(model, fence, shards), "type": {"S": self.type}}

    def key_attributes(self, model: M, fence: Fence, shards: ShardMap) -> Item:
        """Returns the key attributes of the table and of every index that contains this item."""
        attributes: Item = {}
        for index in self.keys:
            if pair := self.key_pair(index, model, fence, shards):
                names = key_names(index)
                attributes |= {names.partition: {"S": pair.partition}, names.sort: {"S": pair.sort}}
        return attributes

    def key_pair(self, index: Index, model: M, fence: Fence, shards: ShardMap) -> KeyPair | None:
        """Returns the item's key in an index, or None if the item is not in the index: a field of the key is None, or
        the key's `when` returns False."""
        key = self.keys[index]
        values = {name: getattr(model, name) for name in key.fields}
        if None in values.values() or (key.when and not key.when(model)):
            return None
        return key.render(fence, shards, values)

    def from_item(self, item: Item) -> M:
        return decode_model(self.model, item)

    def get(self) -> "Get[M]":
        return Get(self)

    def query(
        self, index: Index, *, begins_with: str = "", newest_first: bool = False, range_field: str | None = None
    ) -> "Query[M]":
        return Query(self, index, begins_with, newest_first, range_field)


@dataclass(frozen=True, slots=True)
class Get(Generic[M]):
    """An access pattern that reads one item by its table key."""

    entity: Entity[M]


@dataclass(frozen=True, slots=True)
class Query(Generic[M]):
    """An access pattern that reads one partition, or all shards of it, in the order of the sort key."""

    entity: Entity[M]
    index: Index
    begins_with: str
    newest_first: bool
    range_field: str | None = None
    """The field that `between` limits: the first field of the sort key after `begins_with`."""

    def __post_init__(self) -> None:
        if self.index not in self.entity.keys:
            raise BadEntity(f"{self.entity.type} is not stored in {self.index}")
        *tags, rest = self.begins_with.split("#")
        if rest or list(self.key.sort.segments[: len(tags)]) != tags:
            raise BadEntity(f"no sort key of {self.entity.type} in {self.index} begins with {self.begins_with!r}")
        following = [_name(segment) for segment in self.key.sort.segments[len(tags) : len(tags) + 1]]
        if self.range_field and following != [self.range_field]:
            problem = f"{self.range_field} does not follow {self.begins_with!r}"
            raise BadEntity(f"{problem} in the sort key of {self.entity.type} in {self.index}")

    @property
    def key(self) -> Key:
        return self.entity.keys[self.index]

    def sort_key_range(self, between: ValueRange | None = None) -> SortKeyRange:
        """Returns the sort keys that the query reads: all after `begins_with`, or those `between` two values."""
        if between is None:
            return SortKeyRange(self.begins_with)
        low = self.begins_with if between.low is None else self._bound(between.low)
        high = end_of_prefix(self.begins_with) if between.high is None else self._bound(between.high) + NEXT
        return SortKeyRange(self.begins_with, low, high)

    def _bound(self, value: object) -> str:
        (field,) = (segment for segment in self.key.sort.segments if _name(segment) == self.range_field)
        return self.begins_with + ("" if isinstance(field, str) else field.render(value))

    @property
    def identity(self) -> str:
        """A text that differs between any two queries. A cursor is valid for one identity only."""
        direction = "desc" if self.newest_first else "asc"
        return f"{self.entity.type}|{self.index}|{self.key}|{self.begins_with}|{direction}"


@dataclass(frozen=True, slots=True)
class ItemCollection(Generic[P, M]):
    """An access pattern that reads a parent and its children in one Query: they are stored in one partition, and the
    parent comes first."""

    parent: Entity[P]
    children: Query[M]

    def __post_init__(self) -> None:
        if self.children.index != "table" or not self.children.begins_with or self.children.key.sharding:
            raise BadEntity("the children of an item collection need an unsharded query of the table with begins_with")
        if self._shape(self.parent) != self._shape(self.children.entity):
            raise BadEntity(f"{self.parent.type} and {self.children.entity.type} are not stored in one partition")
        if self.parent_sort.fields or (self.parent_sort.text > self.children.begins_with) != self.children.newest_first:
            raise BadEntity(f"{self.parent.type} does not come first in the order of {self.children.entity.type}")

    @property
    def parent_sort(self) -> KeyTemplate:
        return self.parent.keys["table"].sort

    @staticmethod
    def _shape(entity: Entity[Any]) -> list[str | None]:
        return [segment if isinstance(segment, str) else None for segment in entity.keys["table"].partition.segments]

    def sort_key_range(self) -> SortKeyRange:
        """Returns the range from the parent to the last child, in either direction."""
        prefix, sort = self.children.begins_with, self.parent_sort.text
        return SortKeyRange(low=min(prefix, sort), high=sort if sort > prefix else end_of_prefix(prefix))


def entity(
    model: type[M],
    *,
    table: Key,
    gsi1: Key | None = None,
    gsi2: Key | None = None,
    gsi3: Key | None = None,
    index_fields: tuple[str, ...] = (),
) -> Entity[M]:
    """Declares how a dataclass is stored. Raises BadEntity if the keys do not fit."""
    declared: dict[Index, Key | None] = {"table": table, "gsi1": gsi1, "gsi2": gsi2, "gsi3": gsi3}
    keys = {index: key for index, key in declared.items() if key is not None}
    for check in (_check_key_types, _check_key_fields, _check_required_fields):
        check(model, keys)
    if missing := sorted({*index_fields} - {field.name for field in fields(model)}):
        raise BadEntity(f"{model.__name__}.index_fields has {', '.join(missing)}, which the dataclass does not have")
    return Entity(model, keys, index_fields)


def _check_key_types(model: type[Model], keys: Mapping[Index, Key]) -> None:
    if {type(key) for key in keys.values()} not in ({TenantKey}, {ControlKey}):
        raise BadEntity(f"{model.__name__}: every key must be a TenantKey, or every key a ControlKey")


def _check_key_fields(model: type[Model], keys: Mapping[Index, Key]) -> None:
    known = {field.name for field in fields(model)}
    for index, key in keys.items():
        if missing := sorted(key.fields - known):
            raise BadEntity(f"{model.__name__}.{index} uses {', '.join(missing)}, which the dataclass does not have")


def _check_required_fields(model: type[Model], _keys: Mapping[Index, Key]) -> None:
    if missing := sorted(_REQUIRED_FIELDS - {field.name for field in fields(model)}):
        raise BadEntity(f"{model.__name__} must have the fields {', '.join(missing)}")


def _name(segment: str | KeyField) -> str | None:
    return None if isinstance(segment, str) else segment.name
