"""Snapshots of a tenant's items, which tests compare and restore."""

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

BATCH_SIZE = 25
ID = re.compile(r"\b[a-z]{3}_[0-7][0-9A-HJKMNP-TV-Z]{25}")
TIME = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|\+00:00)")
TTL = re.compile(r'"ttl": \{"N": "\d+"\}')


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A tenant's items at one time."""

    items: tuple[Item, ...]

    def normalized(self, since: "Snapshot") -> list[str]:
        """Returns the items as texts, to compare two runs. New ids and times, which `since` does not contain, are
        replaced by placeholders."""
        before, now = since._text(), self._text()
        ids = {id: f"{id[:3]}_new{rank}" for rank, id in enumerate(sorted(_added_texts(ID, now, before)))}
        times = dict.fromkeys(_added_texts(TIME, now, before), "now")
        return sorted(TTL.sub('"ttl": "set"', _replace_all(_replace_all(line, ids), times)) for line in now)

    def _text(self) -> list[str]:
        return [json.dumps(item, sort_keys=True) for item in self.items]


def _added_texts(pattern: re.Pattern[str], now: Iterable[str], before: Iterable[str]) -> set[str]:
    return set(pattern.findall("\n".join(now))) - set(pattern.findall("\n".join(before)))


def _replace_all(line: str, replacements: dict[str, str]) -> str:
    for old, new in replacements.items():
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
            FilterExpression="begins_with(PK, :prefix)",
            ExpressionAttributeValues={":prefix": {"S": Fence.for_tenant(self.tenant).prefix}},
        )
        return Snapshot(tuple(dict(item) for page in pages for item in page["Items"]))

    def restore(self, snapshot: Snapshot) -> None:
        """Deletes and puts items, so that the tenant has exactly the items of the snapshot."""
        current = self.snapshot().items
        added = {_key(item) for item in current} - {_key(item) for item in snapshot.items}
        deletions = [{"DeleteRequest": {"Key": {"PK": {"S": pk}, "SK": {"S": sk}}}} for pk, sk in added]
        self._write([*deletions, *({"PutRequest": {"Item": item}} for item in snapshot.items if item not in current)])

    def _write(self, requests: list[Any]) -> None:
        for start in range(0, len(requests), BATCH_SIZE):
            batch = requests[start : start + BATCH_SIZE]
            assert not self.engine.batch_write_item(RequestItems={self.table: batch})["UnprocessedItems"]


def _key(item: Item) -> tuple[str, str]:
    return item["PK"]["S"], item["SK"]["S"]
