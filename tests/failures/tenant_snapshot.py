"""Snapshots of a tenant's items, to restore them and to compare two of them."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from keyfence.store.keys import Fence
from keyfence_iam.tenant import TenantId
from tests.stack import ServiceStack

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

Item = dict[str, Any]

BATCH = 25
ID = re.compile(r"\b[a-z]{3}_[0-7][0-9A-HJKMNP-TV-Z]{25}")
TIME = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|\+00:00)")
TTL = re.compile(r'"ttl": \{"N": "\d+"\}')


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A tenant's items at one time."""

    items: tuple[Item, ...]

    def normalized(self, since: "Snapshot") -> list[str]:
        """Returns the items as text. New ids and times are replaced by placeholders."""
        before, now = since._text(), self._text()
        ids = {id: f"{id[:3]}_new{rank}" for rank, id in enumerate(sorted(_new(ID, now, before)))}
        times = dict.fromkeys(_new(TIME, now, before), "now")
        return sorted(TTL.sub('"ttl": "set"', _replaced(_replaced(line, ids), times)) for line in now)

    def _text(self) -> list[str]:
        return [json.dumps(item, sort_keys=True) for item in self.items]


def _new(pattern: re.Pattern[str], now: Iterable[str], before: Iterable[str]) -> set[str]:
    return set(pattern.findall("\n".join(now))) - set(pattern.findall("\n".join(before)))


def _replaced(line: str, names: dict[str, str]) -> str:
    for old, new in names.items():
        line = line.replace(old, new)
    return line


@dataclass(frozen=True, slots=True)
class TenantItems:
    """A tenant's items in the engine, behind the gate."""

    engine: "DynamoDBClient"
    table: str
    tenant: TenantId

    @classmethod
    def of(cls, stack: ServiceStack, tenant: TenantId) -> "TenantItems":
        return cls(stack.engine_client(), stack.settings.table, tenant)

    def snapshot(self) -> Snapshot:
        pages = self.engine.get_paginator("scan").paginate(
            TableName=self.table,
            ConsistentRead=True,
            FilterExpression="begins_with(PK, :own)",
            ExpressionAttributeValues={":own": {"S": Fence.for_tenant(self.tenant).prefix}},
        )
        return Snapshot(tuple(dict(item) for page in pages for item in page["Items"]))

    def restore(self, kept: Snapshot) -> None:
        """Makes the tenant's items those of the snapshot."""
        now = self.snapshot().items
        added = {_address(item) for item in now} - {_address(item) for item in kept.items}
        gone = [{"DeleteRequest": {"Key": {"PK": {"S": pk}, "SK": {"S": sk}}}} for pk, sk in added]
        self._write([*gone, *({"PutRequest": {"Item": item}} for item in kept.items if item not in now)])

    def _write(self, requests: list[Any]) -> None:
        for start in range(0, len(requests), BATCH):
            some = requests[start : start + BATCH]
            assert not self.engine.batch_write_item(RequestItems={self.table: some})["UnprocessedItems"]


def _address(item: Item) -> tuple[str, str]:
    return item["PK"]["S"], item["SK"]["S"]
