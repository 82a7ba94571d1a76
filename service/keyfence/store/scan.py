"""Scans of a whole table or index. Only the migrator (the role that runs jobs) may scan."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from keyfence.store.codec import Item
from keyfence.store.dynamodb.caller import DynamoDbCaller
from keyfence.store.dynamodb.error_codes import DynamoDbError
from keyfence.store.entity import INDEXES, Index, key_names
from keyfence.store.keys import Fence
from keyfence_iam.dynamodb.capacity import consumed_total
from keyfence_iam.tenant import InvalidTenantId, TenantId, parse_tenant_id


class ScanSegment(NamedTuple):
    """One of the segments of a parallel scan."""

    number: int
    """From 0 to `total` - 1."""
    total: int


WHOLE_TABLE = ScanSegment(0, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanPage:
    """One page of a scan. A page can be empty although the scan has not ended."""

    items: Sequence[Item]
    """The items that match the filter."""
    scanned_count: int
    """The number of items that were read, including those that do not match the filter."""
    units: float
    """The consumed read units."""
    next_key: Item | None
    """The ExclusiveStartKey of the next page, or None at the end."""


@dataclass(frozen=True, slots=True)
class TableScan:
    """Scans with the credentials of the caller, which must be those of the migrator."""

    caller: DynamoDbCaller

    async def page(
        self,
        *,
        fence: Fence | None,
        index: Index = "table",
        after: Item | None,
        limit: int,
        segment: ScanSegment = WHOLE_TABLE,
    ) -> ScanPage:
        """Returns the page after the key `after`, or the first page if `after` is None.

        With a fence, the page has only items with a key inside the fence. This key can be the table key, or an index
        key that the scanned table or index contains. Without a fence, the page has all items."""
        parameters = {
            "TableName": self.caller.table,
            "Limit": limit,
            **_source_parameters(index),
            **_segment_parameters(segment),
            **_filter_parameters(index, fence),
            **({"ExclusiveStartKey": after} if after else {}),
        }
        try:
            answer = await self.caller.call("Scan", parameters)
        except DynamoDbError as error:
            raise error.as_keyfence_error() from error
        return ScanPage(
            items=answer["Items"],
            scanned_count=answer["ScannedCount"],
            units=_consumed_units(answer),
            next_key=answer.get("LastEvaluatedKey"),
        )


def tenant_of_partition(partition: str) -> TenantId | None:
    """Returns the tenant that a partition belongs to, or None if it belongs to no tenant."""
    realm, _, rest = partition.partition("#")
    try:
        return parse_tenant_id(rest.partition("#")[0]) if realm == "TENANT" else None
    except InvalidTenantId:
        return None


def _source_parameters(index: Index) -> dict[str, Any]:
    """Returns the parameters that select the table or an index. Indexes have no consistent reads."""
    return {"ConsistentRead": True} if index == "table" else {"IndexName": index.upper()}


def _segment_parameters(segment: ScanSegment) -> dict[str, Any]:
    return {} if segment == WHOLE_TABLE else {"Segment": segment.number, "TotalSegments": segment.total}


def _filter_parameters(index: Index, fence: Fence | None) -> dict[str, Any]:
    """Returns the filter for items with a key inside the fence. An index does not contain the keys of other indexes."""
    if fence is None:
        return {}
    visible_indexes: tuple[Index, ...] = ("table", *INDEXES) if index == "table" else ("table", index)
    names = {f"#p{number}": key_names(visible).partition for number, visible in enumerate(visible_indexes)}
    return {
        "FilterExpression": " OR ".join(f"begins_with({name}, :fence)" for name in names),
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": {":fence": {"S": fence.prefix}},
    }


def _consumed_units(answer: dict[str, Any]) -> float:
    """Returns the consumed units. If the engine does not report them, each scanned item counts as one unit."""
    consumed = answer.get("ConsumedCapacity")
    return consumed_total(consumed) if consumed else float(answer["ScannedCount"])
