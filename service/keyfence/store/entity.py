"""`Entity`, `Get`, `Query`, `ItemCollection`."""

from collections.abc import Mapping
from dataclasses import Field, dataclass, fields
from datetime import datetime
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeVar

from keyfence.store.codec import Item, attribute_name, decode_model, encode_model
from keyfence.store.key_template import KeyField as Segment
from keyfence.store.key_template import KeyTemplate
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


class Model(Protocol):
    """A dataclass that can be kept: `version` is the optimistic lock."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def version(self) -> int: ...
    @property
    def created_at(self) -> datetime: ...
    @property
    def updated_at(self) -> datetime: ...


M = TypeVar("M", bound=Model)
CARRIED = frozenset({"created_at", "updated_at", "version"})


class BadEntity(TypeError):
    """An entity whose keys do not fit its dataclass or each other, refused where it is declared."""


@dataclass(frozen=True, slots=True)
class Entity(Generic[M]):
    """How one kind of item is kept."""

    model: type[M]
    keys: Mapping[Index, Key]
    stored_type: str | None = None
    index_fields: tuple[str, ...] = ()
    """Optional fields that queries on an index return too. Fields without a default are in every index anyway."""

    @property
    def type(self) -> str:
        """As items carry it: the name of the class, unless the class was renamed."""
        return self.stored_type or self.model.__name__

    def to_item(self, model: M, fence: Fence, shards: ShardMap) -> Item:
        return {**encode_model(model), **self.key_attributes(model, fence, shards), "type": {"S": self.type}}

    def key_attributes(self, model: M, fence: Fence, shards: ShardMap) -> Item:
        """The key attributes of the table and of every index that this item stands in now."""
        kept: Item = {}
        for index in self.keys:
            if pair := self.key_pair(index, model, fence, shards):
                names = key_names(index)
                kept |= {names.partition: {"S": pair.partition}, names.sort: {"S": pair.sort}}
        return kept

    def key_pair(self, index: Index, model: M, fence: Fence, shards: ShardMap) -> KeyPair | None:
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
    """A pattern that names one item by its table key."""

    entity: Entity[M]

    @property
    def takes(self) -> tuple[str, ...]:
        key = self.entity.keys["table"]
        return key.partition.fields + key.sort.fields


@dataclass(frozen=True, slots=True)
class Query(Generic[M]):
    """A pattern that reads one partition, or its slots, in sort order."""

    entity: Entity[M]
    index: Index
    begins_with: str
    newest_first: bool
    range_field: str | None = None
    """The field whose values a call may bound: the first one after `begins_with`."""

    def __post_init__(self) -> None:
        if self.index not in self.entity.keys:
            raise BadEntity(f"{self.entity.type} is not kept in {self.index}")
        *tags, rest = self.begins_with.split("#")
        if rest or list(self.key.sort.segments[: len(tags)]) != tags:
            raise BadEntity(f"no {self.entity.type} in {self.index} begins with {self.begins_with!r}")
        if self.range_field and [_name(one) for one in self.key.sort.segments[len(tags) : len(tags) + 1]] != [
            self.range_field
        ]:
            raise BadEntity(
                f"{self.range_field} does not follow {self.begins_with!r} in {self.index} of {self.entity.type}"
            )

    @property
    def key(self) -> Key:
        return self.entity.keys[self.index]

    @property
    def takes(self) -> tuple[str, ...]:
        return self.key.partition.fields

    def sort_key_range(self, between: ValueRange | None = None) -> SortKeyRange:
        if between is None:
            return SortKeyRange(self.begins_with)
        low = self.begins_with if between.low is None else self._bound(between.low)
        high = end_of_prefix(self.begins_with) if between.high is None else self._bound(between.high) + NEXT
        return SortKeyRange(self.begins_with, low, high)

    def _bound(self, value: object) -> str:
        (field,) = (one for one in self.key.sort.segments if _name(one) == self.range_field)
        return self.begins_with + ("" if isinstance(field, str) else field.render(value))

    @property
    def identity(self) -> str:
        """What a cursor of this pattern is bound to."""
        direction = "desc" if self.newest_first else "asc"
        return f"{self.entity.type}|{self.index}|{self.key}|{self.begins_with}|{direction}"


def _name(segment: str | Segment) -> str | None:
    return None if isinstance(segment, str) else segment.name


Pattern = Get[Any] | Query[Any]


def entity(
    model: type[M],
    *,
    type: str | None = None,
    table: Key,
    gsi1: Key | None = None,
    gsi2: Key | None = None,
    gsi3: Key | None = None,
    index_fields: tuple[str, ...] = (),
) -> Entity[M]:
    given: dict[Index, Key | None] = {"table": table, "gsi1": gsi1, "gsi2": gsi2, "gsi3": gsi3}
    keys = {index: key for index, key in given.items() if key is not None}
    for check in (_kinds, _fields, _carried):
        check(model, keys)
    if missing := sorted({*index_fields} - {field.name for field in fields(model)}):
        raise BadEntity(f"{model.__name__}.index_fields has {', '.join(missing)}, which the dataclass does not have")
    return Entity(model, keys, type, index_fields)


def _kinds(model: type[Model], keys: Mapping[Index, Key]) -> None:
    if {type(key) for key in keys.values()} not in ({TenantKey}, {ControlKey}):
        raise BadEntity(f"{model.__name__}: every key must be a TenantKey, or every key a ControlKey")


def _fields(model: type[Model], keys: Mapping[Index, Key]) -> None:
    known = {field.name for field in fields(model)}
    for index, key in keys.items():
        if missing := sorted(key.fields - known):
            raise BadEntity(f"{model.__name__}.{index} uses {', '.join(missing)}, which the dataclass does not have")


def _carried(model: type[Model], _keys: Mapping[Index, Key]) -> None:
    if missing := sorted(CARRIED - {field.name for field in fields(model)}):
        raise BadEntity(f"{model.__name__} must carry {', '.join(missing)}")


def key_names(index: Index) -> KeyPair:
    return _KEY_NAMES[index]


_KEY_NAMES: Mapping[Index, KeyPair] = {
    "table": KeyPair("PK", "SK"),
    "gsi1": KeyPair("GSI1PK", "GSI1SK"),
    "gsi2": KeyPair("GSI2PK", "GSI2SK"),
    "gsi3": KeyPair("GSI3PK", "GSI3SK"),
}


def attributes(entity: Entity[Any]) -> frozenset[str]:
    """Every attribute that an item of this entity may carry besides its keys."""
    return frozenset(attribute_name(field.name) for field in fields(entity.model)) | {"type"}


P = TypeVar("P", bound=Model)


@dataclass(frozen=True, slots=True)
class ItemCollection(Generic[P, M]):
    """A parent and its children, read in one Query since they are neighbours in one partition."""

    parent: Entity[P]
    children: Query[M]

    def __post_init__(self) -> None:
        if self.children.index != "table" or not self.children.begins_with or self.children.key.shard:
            raise BadEntity("children must be reached in the table, by the tag that their sort keys begin with")
        if self._shape(self.parent) != self._shape(self.children.entity):
            raise BadEntity(f"{self.parent.type} and {self.children.entity.type} are not kept in one partition")
        if self.parent_sort.fields or (self.parent_sort.text > self.children.begins_with) != self.children.newest_first:
            raise BadEntity(f"in the order of {self.children.entity.type} its {self.parent.type} does not come first")

    @property
    def parent_sort(self) -> KeyTemplate:
        return self.parent.keys["table"].sort

    @staticmethod
    def _shape(entity: Entity[Any]) -> list[str | None]:
        return [one if isinstance(one, str) else None for one in entity.keys["table"].partition.segments]

    @property
    def takes(self) -> tuple[str, ...]:
        return self.parent.keys["table"].partition.fields

    def sort_key_range(self) -> SortKeyRange:
        """From the parent to the last of the children, whichever way round they lie."""
        prefix, sort = self.children.begins_with, self.parent_sort.text
        return SortKeyRange(low=min(prefix, sort), high=sort if sort > prefix else end_of_prefix(prefix))
