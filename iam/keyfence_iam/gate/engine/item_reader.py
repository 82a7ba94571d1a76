"""`ItemReader`: reads stored items before a call is executed, because their sizes decide what the call costs."""

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from keyfence_iam.dynamodb.item_costs import ItemIdentity, ItemKey
from keyfence_iam.dynamodb.item_size import Item
from keyfence_iam.gate.engine.engine_client import EngineClient, gate_headers

MAX_BATCH_GET_KEYS = 100
"""The number of keys that DynamoDB accepts in one BatchGetItem."""

ItemsBefore = Mapping[ItemIdentity, Item]
"""Stored items before a call, by table and key. An item that does not exist is not in the mapping."""


class ItemReader:
    """Reads items with strong consistency.

    If the engine rejects the read, no items are returned: the engine will also reject the call that follows.
    """

    def __init__(self, engine: EngineClient, region: str) -> None:
        self._engine, self._headers = engine, gate_headers(region, "BatchGetItem")

    async def read(self, keys: Iterable[ItemKey]) -> ItemsBefore:
        distinct_keys = list({key.identity: key for key in keys}.values())
        items: dict[ItemIdentity, Item] = {}
        for start in range(0, len(distinct_keys), MAX_BATCH_GET_KEYS):
            batch = distinct_keys[start : start + MAX_BATCH_GET_KEYS]
            schemas = {key.table: key.schema for key in batch}
            for table, item in await self._batch_get(_request_items(batch)):
                items[table, schemas[table].key_bytes(item)] = item
        return items

    async def _batch_get(self, request_items: Mapping[str, Any]) -> list[tuple[str, Item]]:
        """Returns the items that exist, each with the name of its table. Repeats the call for unprocessed keys."""
        tables_and_items: list[tuple[str, Item]] = []
        while request_items:
            response = await self._engine.post(self._headers, orjson.dumps({"RequestItems": request_items}))
            content = orjson.loads(response.body) if response.status == 200 else {}
            for table, items in (content.get("Responses") or {}).items():
                tables_and_items += [(table, item) for item in items]
            request_items = content.get("UnprocessedKeys") or {}
        return tables_and_items


def _request_items(keys: Iterable[ItemKey]) -> dict[str, Any]:
    request_items: dict[str, Any] = {}
    for key in keys:
        entry = request_items.setdefault(key.table, {"ConsistentRead": True, "Keys": []})
        entry["Keys"].append(key.key)
    return request_items
