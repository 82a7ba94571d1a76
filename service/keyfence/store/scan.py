"""Table scans by the migrator; whose a partition is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from keyfence.store.codec import Item
from keyfence.store.dynamodb.caller import DynamoDbCaller
from keyfence.store.dynamodb.errors import DynamoDbError
from keyfence.store.entity import INDEXES, Index, key_names
from keyfence.store.keys import Fence
from keyfence_iam.tenant import InvalidTenantId, TenantId, parse_tenant_id


class ScanSegment(NamedTuple):
    """One of so many parts of equal right, which together are the whole and can be scanned at once."""

    number: int
    total: int


WHOLE_TABLE = ScanSegment(0, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanPage:
    """One page of a scan. It may hold nothing though the scan is not over."""

    items: Sequence[Item]
    scanned: int
    units: float
    next_key: Item | None
    """Where to go on, or None at the end."""


@dataclass(frozen=True, slots=True)
class TableScan:
    """Scans on the migrator's own credentials; it reads and cannot write."""

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
        """Of the items that have a key inside the fence, be it the table's or an index's; of all where it is None."""
        place = {"TableName": self.caller.table, **_place(index), **_part(segment)}
        asked = {**place, "Limit": limit, **_filter(index, fence)}
        try:
            answer = await self.caller.call("Scan", asked | ({"ExclusiveStartKey": after} if after else {}))
        except DynamoDbError as refusal:
            raise refusal.as_keyfence_error() from refusal
        return ScanPage(
            items=answer["Items"],
            scanned=answer["ScannedCount"],
            units=_units(answer),
            next_key=answer.get("LastEvaluatedKey"),
        )


def _place(index: Index) -> dict[str, Any]:
    """The table is read as it is now; no index can be."""
    return {"ConsistentRead": True} if index == "table" else {"IndexName": index.upper()}


def _part(part: ScanSegment) -> dict[str, Any]:
    return {} if part == WHOLE_TABLE else {"Segment": part.number, "TotalSegments": part.total}


def _filter(index: Index, inside: Fence | None) -> dict[str, Any]:
    if inside is None:
        return {}
    looked_at: tuple[Index, ...] = ("table", *INDEXES) if index == "table" else ("table", index)
    names = {f"#p{at}": key_names(one).partition for at, one in enumerate(looked_at)}
    return {
        "FilterExpression": " OR ".join(f"begins_with({name}, :fence)" for name in names),
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": {":fence": {"S": inside.prefix}},
    }


def _units(answer: dict[str, Any]) -> float:
    """Where an engine does not say, an item is taken for a unit."""
    consumed = (answer.get("ConsumedCapacity") or {}).get("CapacityUnits")
    return float(answer["ScannedCount"] if consumed is None else consumed)


def tenant_of_partition(partition: str) -> TenantId | None:
    """Whose a partition is, if it is a tenant's."""
    realm, _, rest = partition.partition("#")
    try:
        return parse_tenant_id(rest.partition("#")[0]) if realm == "TENANT" else None
    except InvalidTenantId:
        return None
