"""`Fence`, `TenantKey`, `ControlKey`, `SortKeyRange`."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from keyfence.errors import BadInput
from keyfence.store.codec import Value
from keyfence.store.key_template import BadTemplate, KeyTemplate
from keyfence.store.shards import Shard, ShardMap, shard_of, shard_suffix
from keyfence_iam.tenant import CONTROL_PLANE_PREFIX, TenantId, parse_tenant_id, tenant_key_prefix

Realm = Literal["tenant", "control"]

RESERVED_TAGS: Mapping[Realm, frozenset[str]] = {
    "tenant": frozenset({"TENANT", "CONTROL"}),
    "control": frozenset({"CONTROL"}),
}
MAX_PARTITION_KEY_BYTES = 2048
MAX_SORT_KEY_BYTES = 1024


@dataclass(frozen=True, slots=True)
class Fence:
    """The prefix that every partition of one tenant, or of the control plane, begins with."""

    realm: Realm
    prefix: str

    @classmethod
    def for_tenant(cls, tenant: TenantId) -> "Fence":
        return cls("tenant", tenant_key_prefix(parse_tenant_id(tenant)))

    @classmethod
    def for_control_plane(cls) -> "Fence":
        return cls("control", CONTROL_PLANE_PREFIX)

    def contains(self, partition: str) -> bool:
        return partition.startswith(self.prefix)


class KeyPair(NamedTuple):
    """A rendered partition key and sort key."""

    partition: str
    sort: str


@dataclass(frozen=True, slots=True, init=False)
class _Key:
    """What the two kinds of key share; which boundary they stand in is their type."""

    realm: Realm
    partition: KeyTemplate
    sort: KeyTemplate
    shard: Shard | None
    when: Callable[[Any], bool] | None
    fields: frozenset[str]

    def __init__(
        self,
        partition: str,
        sort: str,
        *,
        shard: Shard | None = None,
        when: Callable[[Any], bool] | None = None,
    ) -> None:
        object.__setattr__(self, "realm", self._realm())
        object.__setattr__(self, "partition", _inside(self.realm, partition))
        object.__setattr__(self, "sort", KeyTemplate.parse(sort))
        object.__setattr__(self, "shard", shard)
        object.__setattr__(self, "when", when)
        by = {shard.by} if shard else set()
        object.__setattr__(self, "fields", frozenset({*self.partition.fields, *self.sort.fields, *by}))

    @classmethod
    def _realm(cls) -> Realm:
        raise TypeError("declare a TenantKey or a ControlKey")

    def render(self, fence: Fence, shards: ShardMap, values: Mapping[str, object]) -> KeyPair:
        sort = self.sort.render(values)
        if len(sort.encode()) > MAX_SORT_KEY_BYTES:
            raise BadInput(f"{_blame(self.sort)}: too long for a key ({MAX_SORT_KEY_BYTES} bytes when escaped)")
        return KeyPair(self._partition(fence, values) + self._slot(shards, values), sort)

    def candidates(self, fence: Fence, shards: ShardMap, values: Mapping[str, object]) -> Iterator[KeyPair]:
        """Every key that an item with these values may have: one, or one for each slot that it may be in."""
        plain, sort = self._partition(fence, values), self.sort.render(values)
        if self.shard is None:
            yield KeyPair(plain, sort)
            return
        counts = shards.counts_of(self.shard.collection)
        known = self.shard.by in values
        for slot in counts.candidates(str(values[self.shard.by])) if known else range(counts.read_shards):
            yield KeyPair(_in_slot(plain, slot), sort)

    def partitions(self, fence: Fence, shards: ShardMap, values: Mapping[str, object]) -> Iterator[str]:
        """Every partition in which items with these values may lie, in the order of waves."""
        for wave in self.read_stages(fence, shards, values):
            yield from wave

    def read_stages(self, fence: Fence, shards: ShardMap, values: Mapping[str, object]) -> Iterator[list[str]]:
        """The partitions in which items with these values may lie, those first that have to be read first."""
        plain = self._partition(fence, values)
        if self.shard is None:
            yield [plain]
        else:
            for wave in shards.counts_of(self.shard.collection).read_stages():
                yield [_in_slot(plain, slot) for slot in wave]

    def is_moving(self, shards: ShardMap) -> bool:
        """Whether items may change their slots meanwhile."""
        return self.shard is not None and shards.counts_of(self.shard.collection).move_direction is not None

    def _partition(self, fence: Fence, values: Mapping[str, object]) -> str:
        if fence.realm != self.realm:
            raise TypeError(f"a {self.realm} key cannot be made inside a {fence.realm} boundary")
        text = fence.prefix + self.partition.render(values)
        if len(text.encode()) > MAX_PARTITION_KEY_BYTES - 3:
            raise BadInput(
                f"{_blame(self.partition)}: too long for a key ({MAX_PARTITION_KEY_BYTES} bytes when escaped)"
            )
        return text

    def _slot(self, shards: ShardMap, values: Mapping[str, object]) -> str:
        if self.shard is None:
            return ""
        count = shards.counts_of(self.shard.collection).write_shards
        return _in_slot("", shard_of(str(values[self.shard.by]), count))

    def __str__(self) -> str:
        start = "TENANT#<tenant>#" if self.realm == "tenant" else CONTROL_PLANE_PREFIX
        return f"{start}{self.partition.text}{'#<slot>' if self.shard else ''} / {self.sort.text}"


class TenantKey(_Key):
    """A key in the partitions of the tenant that the table at hand belongs to."""

    __slots__ = ()

    @classmethod
    def _realm(cls) -> Realm:
        return "tenant"


class ControlKey(_Key):
    """A key in the control plane's partitions."""

    __slots__ = ()

    @classmethod
    def _realm(cls) -> Realm:
        return "control"


Key = TenantKey | ControlKey


def _inside(realm: Realm, text: str) -> KeyTemplate:
    """A partition begins with a tag of its own: its boundary is added, and may not be spelled or evaded here."""
    template = KeyTemplate.parse(text)
    first = template.segments[0]
    if not isinstance(first, str) or not first.isupper() or first in RESERVED_TAGS[realm]:
        raise BadTemplate(f"partition {text!r} must begin with an upper-case tag; the boundary before it is added")
    return template


def _in_slot(plain: str, slot: int) -> str:
    return f"{plain}#{shard_suffix(slot)}"


def _blame(template: KeyTemplate) -> str:
    return " and ".join(template.fields) or template.text


NEXT = chr(ord("#") + 1)
"""What follows every key that goes on after a rendered segment, since segments are joined by '#'."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueRange:
    """From one value to another, both included; an end that is not given is open."""

    low: object = None
    high: object = None


@dataclass(frozen=True, slots=True)
class SortKeyRange:
    """Everything that begins with a text, or lies between two texts where one of them is given."""

    prefix: str = ""
    low: str = ""
    high: str = ""

    @property
    def is_empty(self) -> bool:
        """DynamoDB refuses a range that is the wrong way round instead of finding nothing in it."""
        return bool(self.high) and self.low.encode() > self.high.encode()

    def condition(self) -> tuple[str, Mapping[str, Value]]:
        """What is asked of the sort key `#s`, with its values; nothing where all of the partition is read."""
        if self.low and self.high:
            return " AND #s BETWEEN :low AND :high", {":low": {"S": self.low}, ":high": {"S": self.high}}
        if self.low:
            return " AND #s >= :low", {":low": {"S": self.low}}
        if self.high:
            return " AND #s <= :high", {":high": {"S": self.high}}
        if self.prefix:
            return " AND begins_with(#s, :s)", {":s": {"S": self.prefix}}
        return "", {}


def end_of_prefix(prefix: str) -> str:
    """The first text behind everything that begins with this prefix, which ends in '#' or is empty."""
    return prefix[:-1] + NEXT if prefix else ""
