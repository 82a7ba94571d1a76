"""One list, asked for with its arguments: what its Query says, and where its cursors stand."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic

from keyfence.store.codec import Item
from keyfence.store.cursor import Position, Scope
from keyfence.store.entity import M, Query, key_names
from keyfence.store.keys import Fence
from keyfence.store.merging import Order, Slot
from keyfence.store.shards import ShardMap
from keyfence.store.stretch import Stretch


@dataclass(frozen=True, slots=True)
class Reading(Generic[M]):
    """A pattern with its values, inside one fence; a cursor belongs to exactly one of these."""

    pattern: Query[M]
    fence: Fence
    values: Mapping[str, object]
    stretch: Stretch

    def partitions(self, shards: ShardMap) -> Iterator[str]:
        return self.pattern.key.partitions(self.fence, shards, self.values)

    def waves(self, shards: ShardMap, start: Position | None) -> list[list[Slot]]:
        """The slots to read from this place on, those first that have to be read first."""
        waves = self.pattern.key.waves(self.fence, shards, self.values)
        passed = start.sort if start and self._changes_keys else None
        return [[Slot(one, start and self.resume(one, start), passed) for one in wave] for wave in waves]

    @property
    def _changes_keys(self) -> bool:
        """Whether items of this index move from slot to slot by their own keys, which decide between equal places."""
        return self.pattern.index != "table" and self.pattern.entity.keys["table"].shard is not None

    @property
    def order(self) -> Order:
        return Order(key_names(self.pattern.index).sort, self.pattern.newest_first)

    def scope(self) -> Scope:
        arguments = "|".join((self.pattern.key.partition.render(self.values), self.stretch.low, self.stretch.high))
        return Scope(self.fence.prefix, self.pattern.identity, arguments)

    def query(self, partition: str, limit: int, start: Item | None, *, consistent: bool) -> dict[str, Any]:
        names = key_names(self.pattern.index)
        condition, values = self.stretch.condition()
        parameters: dict[str, Any] = {
            "KeyConditionExpression": f"#p = :p{condition}",
            "ExpressionAttributeNames": {"#p": names.partition, **({"#s": names.sort} if condition else {})},
            "ExpressionAttributeValues": {":p": {"S": partition}, **values},
            "Limit": limit,
            "ScanIndexForward": not self.pattern.newest_first,
        }
        if self.pattern.index == "table":
            parameters["ConsistentRead"] = consistent
        else:
            parameters["IndexName"] = self.pattern.index.upper()
        return parameters | ({"ExclusiveStartKey": start} if start else {})

    def position(self, item: Item) -> Position:
        sort = item[key_names(self.pattern.index).sort]["S"]
        if self.pattern.index == "table":
            return Position(sort)
        return Position(sort, item["PK"]["S"].removeprefix(self.fence.prefix), item["SK"]["S"])

    def resume(self, partition: str, position: Position) -> Item:
        """The place after which to go on, in any slot: order is by sort key, and the place need not exist there."""
        names = key_names(self.pattern.index)
        start: Item = {names.partition: {"S": partition}, names.sort: {"S": position.sort}}
        if self.pattern.index != "table":
            start["PK"] = {"S": self.fence.prefix + position.table_partition}
            start["SK"] = {"S": position.table_sort}
        return start
