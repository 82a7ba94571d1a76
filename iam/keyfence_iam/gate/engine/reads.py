"""The gate's own reads: table schemas (cached) and items before a write."""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, TypeVar

import orjson

from keyfence_iam.dynamodb.costs import ItemIdentity, ItemKey
from keyfence_iam.dynamodb.item_size import Item
from keyfence_iam.gate.engine.client import EngineClient, EngineUnreachable
from keyfence_iam.gate.http.messages import Headers


def gate_headers(region: str, operation: str) -> Headers:
    """Engines check no signature, but some of them read the region from it or miss its date."""
    scope = f"keyfence-gate/20120810/{region}/dynamodb/aws4_request"
    return [
        (b"content-type", b"application/x-amz-json-1.0"),
        (b"x-amz-target", f"DynamoDB_20120810.{operation}".encode()),
        (b"x-amz-date", b"20120810T000000Z"),
        (b"authorization", f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0".encode()),
    ]


T = TypeVar("T")

MAX_AGE_SECONDS = 30.0
"""Somebody may change a table behind the gate's back, on the engine itself."""


class TableSchemaCache(Generic[T]):
    """What is missing is asked for again every time, so that a table is found as soon as it is there."""

    def __init__(
        self,
        upstream: EngineClient,
        region: str,
        described: Callable[[object], T],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._upstream, self._headers, self._now = upstream, gate_headers(region, "DescribeTable"), now
        self._read = described
        self._known: dict[str, T] = {}
        self._asked: dict[str, asyncio.Task[T | None]] = {}
        self._stale_at = 0.0

    @property
    def known(self) -> Mapping[str, T]:
        if self._now() >= self._stale_at:
            self.forget()
        return self._known

    def forget(self) -> None:
        """An answer that is still on its way is of a table as it was, and is not kept either."""
        self._known, self._asked = {}, {}
        self._stale_at = self._now() + MAX_AGE_SECONDS

    async def of(self, tables: Iterable[str]) -> Mapping[str, T]:
        """The keys of those tables that there are."""
        found = {table: self.known.get(table) or await self._shared(table) for table in tables}
        return {table: keys for table, keys in found.items() if keys is not None}

    async def _shared(self, table: str) -> T | None:
        """Of many that ask at once one goes, and it goes on when the first of them gives up."""
        if table not in self._asked:
            self._asked[table] = asyncio.create_task(self._described(table, self._known, self._asked))
        return await asyncio.shield(self._asked[table])

    async def _described(self, table: str, known: dict[str, T], asked: dict[str, asyncio.Task[T | None]]) -> T | None:
        try:
            keys = await self._ask(table)
        finally:
            del asked[table]
        if keys is not None:
            known[table] = keys
        return keys

    async def _ask(self, table: str) -> T | None:
        answer = await self._upstream.post(self._headers, orjson.dumps({"TableName": table}))
        content = _content(answer.body)
        if answer.status == 200:
            return self._read(content.get("Table"))
        if str(content.get("__type", "")).endswith("ResourceNotFoundException"):
            return None
        raise EngineUnreachable(f"it does not describe the table: HTTP {answer.status}", sent=False)


def _content(body: bytes) -> Mapping[str, Any]:
    try:
        content = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise EngineUnreachable("its description of a table is not JSON", sent=False) from error
    return content if isinstance(content, dict) else {}


ItemsBefore = Mapping[ItemIdentity, Item]

MOST = 100
"""So many keys one BatchGetItem may have."""


class ItemReader:
    """Reads consistently. What the engine refuses to read it will refuse the caller too, in its own words."""

    def __init__(self, upstream: EngineClient, region: str) -> None:
        self._upstream, self._headers = upstream, gate_headers(region, "BatchGetItem")

    async def images(self, targets: Iterable[ItemKey]) -> ItemsBefore:
        wanted, found = list({target.identity: target for target in targets}.values()), dict[ItemIdentity, Item]()
        for start in range(0, len(wanted), MOST):
            some = wanted[start : start + MOST]
            schemas = {target.table: target.schema for target in some}
            for table, item in await self._items(_requested(some)):
                found[table, schemas[table].identity(item)] = item
        return found

    async def _items(self, requested: Mapping[str, Any]) -> list[tuple[str, Item]]:
        found: list[tuple[str, Item]] = []
        while requested:
            answer = await self._upstream.post(self._headers, orjson.dumps({"RequestItems": requested}))
            content = orjson.loads(answer.body) if answer.status == 200 else {}
            found += [(table, item) for table, items in (content.get("Responses") or {}).items() for item in items]
            requested = content.get("UnprocessedKeys") or {}
        return found


def _requested(targets: Iterable[ItemKey]) -> dict[str, Any]:
    requested: dict[str, Any] = {}
    for target in targets:
        entry = requested.setdefault(target.table, {"ConsistentRead": True, "Keys": []})
        entry["Keys"].append(target.key)
    return requested
