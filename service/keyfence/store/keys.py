"""Fences, keys inside a fence (`TenantKey`, `ControlKey`), and ranges of sort keys."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Self

from keyfence.errors import BadInput
from keyfence.store.codec import AttributeValue
from keyfence.store.key_template import BadTemplate, KeyTemplate
from keyfence.store.shards import Sharding, ShardMap, shard_of, shard_suffix
from keyfence_iam.tenant import CONTROL_PLANE_PREFIX, TenantId, parse_tenant_id, tenant_key_prefix

Realm = Literal["tenant", "control"]
"""Whether keys belong to tenants or to the control plane."""

AFTER_SEPARATOR = chr(ord("#") + 1)
"""The character that sorts after '#'. Segments of keys are joined by '#', so `text + AFTER_SEPARATOR` sorts after all
keys that have further segments after `text`."""
RESERVED_TAGS: Mapping[Realm, frozenset[str]] = {
    "tenant": frozenset({"TENANT", "CONTROL"}),
    "control": frozenset({"CONTROL"}),
}
"""Tags that a partition template must not begin with, because they would look like the prefix of a fence."""
MAX_PARTITION_KEY_BYTES = 2048
"""DynamoDB's limit for a partition key."""
MAX_UNSHARDED_BYTES = MAX_PARTITION_KEY_BYTES - len("#00")
"""The limit of a partition key before the shard number is appended."""
MAX_SORT_KEY_BYTES = 1024
"""DynamoDB's limit for a sort key."""


@dataclass(frozen=True, slots=True)
class Fence:
    """The prefix of every partition key of one tenant, or of the control plane."""

    realm: Realm
    prefix: str
    index_prefix: str | None = None
    """The prefix of partition keys in indexes. For a tenant it contains the index tag.

    If it is None, the fence cannot make index keys."""

    @classmethod
    def for_tenant(cls, tenant: TenantId, index_tag: str | None = None) -> "Fence":
        prefix = tenant_key_prefix(parse_tenant_id(tenant))
        return cls("tenant", prefix, None if index_tag is None else f"{prefix}{index_tag}#")

    @classmethod
    def for_control_plane(cls) -> "Fence":
        return cls("control", CONTROL_PLANE_PREFIX, CONTROL_PLANE_PREFIX)

    def contains(self, partition: str) -> bool:
        return partition.startswith(self.prefix)


class KeyPair(NamedTuple):
    """A rendered partition key and sort key."""

    partition: str
    sort: str


@dataclass(frozen=True, slots=True, init=False)
class _Key:
    """The shared part of `TenantKey` and `ControlKey`. A key can only be rendered inside a fence of the same realm."""

    realm: Realm
    partition: KeyTemplate
    sort: KeyTemplate
    sharding: Sharding | None
    when: Callable[[Any], bool] | None
    """Returns whether a model has this key. None means that every model has it."""
    fields: frozenset[str]
    """The names of the model's fields that the key needs."""
    is_index_key: bool
    """Whether the key belongs to an index, and not to the table."""

    def __init__(
        self,
        partition: str,
        sort: str,
        *,
        sharding: Sharding | None = None,
        when: Callable[[Any], bool] | None = None,
    ) -> None:
        object.__setattr__(self, "realm", self._realm())
        object.__setattr__(self, "partition", _parse_partition(self.realm, partition))
        object.__setattr__(self, "sort", KeyTemplate.parse(sort))
        object.__setattr__(self, "sharding", sharding)
        object.__setattr__(self, "when", when)
        hashed_fields = {sharding.hashed_field} if sharding else set()
        object.__setattr__(self, "fields", frozenset({*self.partition.fields, *self.sort.fields, *hashed_fields}))
        object.__setattr__(self, "is_index_key", False)

    @classmethod
    def _realm(cls) -> Realm:
        raise TypeError("declare a TenantKey or a ControlKey")

    def for_index(self) -> Self:
        """Returns the same key as a key of an index. Its partitions have the index prefix of the fence."""
        key = copy(self)
        object.__setattr__(key, "is_index_key", True)
        return key

    def render(self, fence: Fence, shards: ShardMap, values: Mapping[str, object]) -> KeyPair:
        """Returns the key of a new item with these field values. Raises BadInput if a value does not fit into a key."""
        sort = self.sort.render(values)
        if len(sort.encode()) > MAX_SORT_KEY_BYTES:
            raise BadInput(f"{_field_names(self.sort)}: too long for a key ({MAX_SORT_KEY_BYTES} bytes when escaped)")
        partition = self._unsharded_partition(fence, values)
        if self.sharding is not None:
            count = shards.counts_of(self.sharding.collection).write_shards
            partition = _with_shard(partition, shard_of(str(values[self.sharding.hashed_field]), count))
        return KeyPair(partition, sort)

    def candidates(self, fence: Fence, shards: ShardMap, values: Mapping[str, object]) -> Iterator[KeyPair]:
        """Yields every key that an item with these values may have: one for each shard that may contain the item.

        Without a value for the hashed field, every shard may contain the item."""
        partition, sort = self._unsharded_partition(fence, values), self.sort.render(values)
        if self.sharding is None:
            yield KeyPair(partition, sort)
            return
        counts = shards.counts_of(self.sharding.collection)
        if self.sharding.hashed_field in values:
            candidate_shards: Iterable[int] = counts.candidates(str(values[self.sharding.hashed_field]))
        else:
            candidate_shards = range(counts.read_shards)
        for shard in candidate_shards:
            yield KeyPair(_with_shard(partition, shard), sort)

    def partitions(self, fence: Fence, shards: ShardMap, values: Mapping[str, object]) -> Iterator[str]:
        """Yields every partition that may contain items with these values, in the order in which to read them."""
        for stage in self.read_stages(fence, shards, values):
            yield from stage

    def read_stages(self, fence: Fence, shards: ShardMap, values: Mapping[str, object]) -> Iterator[list[str]]:
        """Yields the partitions that may contain items with these values, as a list for each stage. Read one stage
        after the other. The partitions of one stage can be read at the same time."""
        partition = self._unsharded_partition(fence, values)
        if self.sharding is None:
            yield [partition]
        else:
            for stage in shards.counts_of(self.sharding.collection).read_stages():
                yield [_with_shard(partition, shard) for shard in stage]

    def is_moving(self, shards: ShardMap) -> bool:
        """Whether a job is moving the items with this kind of key between shards."""
        return self.sharding is not None and shards.counts_of(self.sharding.collection).move_direction is not None

    def _unsharded_partition(self, fence: Fence, values: Mapping[str, object]) -> str:
        if fence.realm != self.realm:
            raise TypeError(f"a {self.realm} key cannot be rendered inside a {fence.realm} fence")
        prefix = fence.index_prefix if self.is_index_key else fence.prefix
        if prefix is None:
            raise TypeError("an index key cannot be rendered inside a fence without an index prefix")
        text = prefix + self.partition.render(values)
        if len(text.encode()) > MAX_UNSHARDED_BYTES:
            limit = f"{MAX_PARTITION_KEY_BYTES} bytes when escaped"
            raise BadInput(f"{_field_names(self.partition)}: too long for a key ({limit})")
        return text

    def __str__(self) -> str:
        tenant_prefix = "TENANT#<tenant>#<index tag>#" if self.is_index_key else "TENANT#<tenant>#"
        prefix = tenant_prefix if self.realm == "tenant" else CONTROL_PLANE_PREFIX
        return f"{prefix}{self.partition.text}{'#<shard>' if self.sharding else ''} / {self.sort.text}"


class TenantKey(_Key):
    """A key in the partitions of a tenant. The `Table` that uses the key knows the tenant."""

    __slots__ = ()

    @classmethod
    def _realm(cls) -> Realm:
        return "tenant"


class ControlKey(_Key):
    """A key in the partitions of the control plane."""

    __slots__ = ()

    @classmethod
    def _realm(cls) -> Realm:
        return "control"


Key = TenantKey | ControlKey


def _parse_partition(realm: Realm, text: str) -> KeyTemplate:
    """Returns a partition template. Raises BadTemplate unless it begins with a tag that is not reserved.

    The prefix of the fence is not part of a template. It is added to every key that is rendered."""
    template = KeyTemplate.parse(text)
    tag = template.segments[0]
    if not isinstance(tag, str) or not tag.isupper() or tag in RESERVED_TAGS[realm]:
        raise BadTemplate(
            f"partition {text!r} must begin with an upper-case tag; the prefix of the fence is added before it"
        )
    return template


def _with_shard(partition: str, shard: int) -> str:
    return f"{partition}#{shard_suffix(shard)}"


def _field_names(template: KeyTemplate) -> str:
    return " and ".join(template.fields) or template.text


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueRange:
    """Values from `low` to `high`, both included. None means no limit."""

    low: object = None
    high: object = None


@dataclass(frozen=True, slots=True)
class SortKeyRange:
    """The sort keys that a Query reads. With `low` or `high`: the keys from `low` to `high`. Otherwise: the keys that
    begin with `prefix`. An empty text means no limit."""

    prefix: str = ""
    low: str = ""
    high: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether no key can be in the range. DynamoDB answers a Query of such a range with an error."""
        return bool(self.high) and self.low.encode() > self.high.encode()

    def condition(self) -> tuple[str, Mapping[str, AttributeValue]]:
        """Returns the condition on the sort key `#s`, and its values. Both are empty for a whole partition."""
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
    """Returns a text that sorts after every key with this prefix. The prefix must end in '#'. For an empty prefix,
    returns an empty text, which means no limit."""
    return prefix[:-1] + AFTER_SEPARATOR if prefix else ""
