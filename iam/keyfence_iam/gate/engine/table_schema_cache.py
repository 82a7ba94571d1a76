"""`TableSchemaCache`: the keys and indexes of the engine's tables, read with DescribeTable."""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import orjson

from keyfence_iam.dynamodb.table_schema import TableSchema
from keyfence_iam.gate.engine.engine_client import EngineClient, EngineUnreachable, gate_headers

MAX_SCHEMA_AGE_SECONDS = 30.0
"""A table may also be changed on the engine directly, without the gate."""


class TableSchemaCache:
    """Schemas from DescribeTable. A missing table is not cached: it is found as soon as it exists."""

    def __init__(self, engine: EngineClient, region: str, now: Callable[[], float] = time.monotonic) -> None:
        self._engine, self._headers, self._now = engine, gate_headers(region, "DescribeTable"), now
        self._schemas: dict[str, TableSchema] = {}
        self._pending: dict[str, asyncio.Task[TableSchema | None]] = {}
        self._expires_at = 0.0

    @property
    def cached(self) -> Mapping[str, TableSchema]:
        if self._now() >= self._expires_at:
            self.clear()
        return self._schemas

    def clear(self) -> None:
        """Also a response that is still on its way is not cached: it may describe the table before a change."""
        self._schemas, self._pending = {}, {}
        self._expires_at = self._now() + MAX_SCHEMA_AGE_SECONDS

    async def find(self, tables: Iterable[str]) -> Mapping[str, TableSchema]:
        """Returns the schemas of those tables that exist. Raises UnsupportedRequest or EngineUnreachable."""
        found = {table: self.cached.get(table) or await self._find_one(table) for table in tables}
        return {table: schema for table, schema in found.items() if schema is not None}

    async def _find_one(self, table: str) -> TableSchema | None:
        """Simultaneous callers share one request, which continues if one of them is cancelled."""
        if table not in self._pending:
            self._pending[table] = asyncio.create_task(self._describe(table, self._schemas, self._pending))
        return await asyncio.shield(self._pending[table])

    async def _describe(
        self, table: str, schemas: dict[str, TableSchema], pending: dict[str, asyncio.Task[TableSchema | None]]
    ) -> TableSchema | None:
        """Writes into the dictionaries of the time when it began; `clear` has replaced them in the meantime."""
        try:
            schema = await self._request(table)
        finally:
            del pending[table]
        if schema is not None:
            schemas[table] = schema
        return schema

    async def _request(self, table: str) -> TableSchema | None:
        response = await self._engine.post(self._headers, orjson.dumps({"TableName": table}))
        content = _content(response.body)
        if response.status == 200:
            return TableSchema.from_description(content.get("Table"))
        if str(content.get("__type", "")).endswith("ResourceNotFoundException"):
            return None
        raise EngineUnreachable(f"it does not describe the table: HTTP {response.status}", sent=False)


def _content(body: bytes) -> Mapping[str, Any]:
    try:
        content = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise EngineUnreachable("its description of a table is not JSON", sent=False) from error
    return content if isinstance(content, dict) else {}
