"""Scans of the whole table, which only the migrator may do."""

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
    total: int


WHOLE_TABLE = ScanSegment(0, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanPage:
    """One page of a scan. A page can be empty although the scan has not ended."""

    items: Sequence[Item]
    scanned: int
    units: float
    next_key: Item | None
    """The key to continue after, or None at the end."""


@dataclass(frozen=True, slots=True)
class TableScan:
    """Scans with the credentials of the migrator, which can read but not write."""

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
        """Returns a page of the items that have a key inside the fence, in the table or in an index. With None: of all
        items."""
        parameters = {
            "TableName": self.caller.table,
            "Limit": limit,
            **_source(index),
            **_segment(segment),
            **_filter(index, fence),
            **({"ExclusiveStartKey": after} if after else {}),
        }
        try:
            answer = await self.caller.call("Scan", parameters)
        except DynamoDbError as error:
            raise error.as_keyfence_error() from error
        return ScanPage(
            items=answer["Items"],
            scanned=answer["ScannedCount"],
            units=_units(answer),
            next_key=answer.get("LastEvaluatedKey"),
        )


def tenant_of_partition(partition: str) -> TenantId | None:
    """Returns the tenant that a partition belongs to, or None if it belongs to no tenant."""
    realm, _, rest = partition.partition("#")
    try:
        return parse_tenant_id(rest.partition("#")[0]) if realm == "TENANT" else None
    except InvalidTenantId:
        return None


def _source(index: Index) -> dict[str, Any]:
    """The table is read consistently. Indexes have no consistent reads."""
    return {"ConsistentRead": True} if index == "table" else {"IndexName": index.upper()}


def _segment(segment: ScanSegment) -> dict[str, Any]:
    return {} if segment == WHOLE_TABLE else {"Segment": segment.number, "TotalSegments": segment.total}


def _filter(index: Index, fence: Fence | None) -> dict[str, Any]:
    if fence is None:
        return {}
    indexes: tuple[Index, ...] = ("table", *INDEXES) if index == "table" else ("table", index)
    names = {f"#p{number}": key_names(each).partition for number, each in enumerate(indexes)}
    return {
        "FilterExpression": " OR ".join(f"begins_with({name}, :fence)" for name in names),
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": {":fence": {"S": fence.prefix}},
    }


def _units(answer: dict[str, Any]) -> float:
    """Returns the consumed units. If the engine does not report them, each scanned item counts as one unit."""
    consumed = answer.get("ConsumedCapacity")
    return consumed_total(consumed) if consumed else float(answer["ScannedCount"])
