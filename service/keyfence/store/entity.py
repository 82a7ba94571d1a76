"""Entities (dataclasses with the keys that they are stored under) and their access patterns."""

from collections.abc import Mapping
from dataclasses import Field, dataclass, fields
from datetime import datetime
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeVar

from keyfence.store.codec import Item, decode_model, encode_model
from keyfence.store.key_template import KeyField, KeyTemplate
from keyfence.store.keys import (
    AFTER_SEPARATOR,
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
    """A dataclass that can be stored. Every update increases `version`, which serves as an optimistic lock."""

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
    """An entity or an access pattern that is declared with keys that do not fit its dataclass or each other."""


@dataclass(frozen=True, slots=True)
class Entity(Generic[M]):
    """A dataclass with the keys that it is stored under. The function `entity` declares and checks one."""

    model: type[M]
    keys: Mapping[Index, Key]
    index_fields: tuple[str, ...] = ()
    """Fields that indexes project although their default is None or an empty set. A field with another default, or
    without a default, is always projected."""

    @property
    def type(self) -> str:
        """The value of the attribute `type` in all items of this entity."""
        return self.model.__name__

    def to_item(self, model: M, fence: Fence, shards: ShardMap) -> Item:
        return {**encode_model(model), **self.key_attributes(model, fence, shards), "type": {"S": self.type}}

    def key_attributes(self, model: M, fence: Fence, shards: ShardMap) -> Item:
        """Returns the key attributes of a model, for the table and for every index that contains the model."""
        attributes: Item = {}
        for index in self.keys:
            if pair := self.key_pair(index, model, fence, shards):
                names = key_names(index)
                attributes |= {names.partition: {"S": pair.partition}, names.sort: {"S": pair.sort}}
        return attributes

    def key_pair(self, index: Index, model: M, fence: Fence, shards: ShardMap) -> KeyPair | None:
        """Returns the key of a model in an index.

        Returns None if the model is not in the index: a field of the key is None, or the key's `when` returns False."""
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
    """An access pattern that reads one partition, or all shards of a list, in the order of the sort key."""

    entity: Entity[M]
    index: Index
    begins_with: str
    """The constant text that the sort keys begin with, such as 'ORDER#', or an empty text."""
    newest_first: bool
    """Whether the list is in descending order."""
    range_field: str | None = None
    """The field that a range of values can limit. It must be the field right after `begins_with`."""

    def __post_init__(self) -> None:
        if self.index not in self.entity.keys:
            raise BadEntity(f"{self.entity.type} is not stored in {self.index}")
        *tags, rest = self.begins_with.split("#")
        segments = self.key.sort.segments
        if rest or list(segments[: len(tags)]) != tags:
            raise BadEntity(f"no sort key of {self.entity.type} in {self.index} begins with {self.begins_with!r}")
        next_fields = [_field_name(segment) for segment in segments[len(tags) : len(tags) + 1]]
        if self.range_field and next_fields != [self.range_field]:
            problem = f"{self.range_field} does not follow {self.begins_with!r}"
            raise BadEntity(f"{problem} in the sort key of {self.entity.type} in {self.index}")

    @property
    def key(self) -> Key:
        return self.entity.keys[self.index]

    def sort_key_range(self, between: ValueRange | None = None) -> SortKeyRange:
        """Returns the sort keys to read: all that begin with `begins_with`. With `between`, only those whose value of
        `range_field` is in this range."""
        if between is None:
            return SortKeyRange(self.begins_with)
        low = self.begins_with if between.low is None else self._sort_key_start(between.low)
        if between.high is None:
            high = end_of_prefix(self.begins_with)
        else:
            high = self._sort_key_start(between.high) + AFTER_SEPARATOR
        return SortKeyRange(self.begins_with, low, high)

    def _sort_key_start(self, value: object) -> str:
        """Returns the start of all sort keys that have this value in `range_field`."""
        (field,) = (segment for segment in self.key.sort.segments if _field_name(segment) == self.range_field)
        return self.begins_with + ("" if isinstance(field, str) else field.render(value))

    @property
    def identity(self) -> str:
        """A text that describes the query pattern. A cursor is valid only for a pattern with the same text."""
        direction = "desc" if self.newest_first else "asc"
        return f"{self.entity.type}|{self.index}|{self.key}|{self.begins_with}|{direction}"


@dataclass(frozen=True, slots=True)
class ItemCollection(Generic[P, M]):
    """An access pattern that reads a parent and its children with one Query.

    The parent and its children must be in one partition, and the parent must come first."""

    parent: Entity[P]
    children: Query[M]

    def __post_init__(self) -> None:
        if self.children.index != "table" or not self.children.begins_with or self.children.key.sharding:
            raise BadEntity("the children of an item collection need an unsharded query of the table with begins_with")
        if self._partition_tags(self.parent) != self._partition_tags(self.children.entity):
            raise BadEntity(f"{self.parent.type} and {self.children.entity.type} are not stored in one partition")
        is_parent_highest = self.parent_sort.text > self.children.begins_with
        if self.parent_sort.fields or is_parent_highest != self.children.newest_first:
            raise BadEntity(f"{self.parent.type} does not come first in the order of {self.children.entity.type}")

    @property
    def parent_sort(self) -> KeyTemplate:
        return self.parent.keys["table"].sort

    @staticmethod
    def _partition_tags(entity: Entity[Any]) -> list[str | None]:
        """Returns the segments of the partition key: constant texts, and None in the place of each field."""
        return [segment if isinstance(segment, str) else None for segment in entity.keys["table"].partition.segments]

    def sort_key_range(self) -> SortKeyRange:
        """Returns the sort keys of the parent and all children. In a list that is newest first, the parent has the
        highest sort key."""
        children_prefix, parent_key = self.children.begins_with, self.parent_sort.text
        if parent_key > children_prefix:
            return SortKeyRange(low=children_prefix, high=parent_key)
        return SortKeyRange(low=parent_key, high=end_of_prefix(children_prefix))


def entity(
    model: type[M],
    *,
    table: Key,
    gsi1: Key | None = None,
    gsi2: Key | None = None,
    gsi3: Key | None = None,
    index_fields: tuple[str, ...] = (),
) -> Entity[M]:
    """Declares the keys of a dataclass in the table and its indexes. Raises BadEntity if the keys do not fit the
    dataclass or each other."""
    declared: dict[Index, Key | None] = {"table": table, "gsi1": gsi1, "gsi2": gsi2, "gsi3": gsi3}
    keys = {index: key for index, key in declared.items() if key is not None}
    for check in (_check_key_types, _check_key_fields, _check_required_fields):
        check(model, keys)
    if missing := sorted({*index_fields} - {field.name for field in fields(model)}):
        raise BadEntity(f"{model.__name__}.index_fields names {', '.join(missing)}, which the dataclass does not have")
    keys_in_place = {index: key if index == "table" else key.for_index() for index, key in keys.items()}
    return Entity(model, keys_in_place, index_fields)


def _check_key_types(model: type[Model], keys: Mapping[Index, Key]) -> None:
    if {type(key) for key in keys.values()} not in ({TenantKey}, {ControlKey}):
        raise BadEntity(f"{model.__name__}: every key must be a TenantKey, or every key a ControlKey")


def _check_key_fields(model: type[Model], keys: Mapping[Index, Key]) -> None:
    model_fields = {field.name for field in fields(model)}
    for index, key in keys.items():
        if missing := sorted(key.fields - model_fields):
            raise BadEntity(f"{model.__name__}.{index} uses {', '.join(missing)}, which the dataclass does not have")


def _check_required_fields(model: type[Model], _keys: Mapping[Index, Key]) -> None:
    if missing := sorted(_REQUIRED_FIELDS - {field.name for field in fields(model)}):
        raise BadEntity(f"{model.__name__} must have the fields {', '.join(missing)}")


def _field_name(segment: str | KeyField) -> str | None:
    return None if isinstance(segment, str) else segment.name
