"""`TableSchemaCache`: the keys and indexes of the engine's tables, read with DescribeTable."""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import orjson

from keyfence_iam.dynamodb.table_schema import TableSchema
from keyfence_iam.gate.engine.engine_client import EngineClient, EngineUnreachable, gate_headers

MAX_SCHEMA_AGE_SECONDS = 30.0
"""After this time a schema is read again, because a table can be changed on the engine without the gate."""

MISSING_TABLE_ERRORS = ("ResourceNotFoundException", "ValidationException")
"""The errors of DescribeTable for a table that does not exist. The second error is for a name that no table can have,
such as a name of two characters.
"""


class TableSchemaCache:
    """Caches the schemas of tables. A missing table is not cached, so that it is found as soon as it exists."""

    def __init__(self, engine: EngineClient, region: str, now: Callable[[], float] = time.monotonic) -> None:
        self._engine, self._headers, self._now = engine, gate_headers(region, "DescribeTable"), now
        self._schemas: dict[str, TableSchema] = {}
        self._pending: dict[str, asyncio.Task[TableSchema | None]] = {}
        self._expires_at = 0.0

    @property
    def cached_schemas(self) -> Mapping[str, TableSchema]:
        """The cached schemas by table name."""
        if self._now() >= self._expires_at:
            self.clear()
        return self._schemas

    def clear(self) -> None:
        """Empties the cache. A pending response will not be cached: it may describe a table before its change."""
        self._schemas, self._pending = {}, {}
        self._expires_at = self._now() + MAX_SCHEMA_AGE_SECONDS

    async def find(self, tables: Iterable[str]) -> Mapping[str, TableSchema]:
        """Returns the schemas of these tables, without the tables that do not exist.

        Raises UnsupportedRequest if the partition key of a table is not one string attribute, and EngineUnreachable if
        DescribeTable fails.
        """
        schemas = {table: self.cached_schemas.get(table) or await self._find_one(table) for table in tables}
        return {table: schema for table, schema in schemas.items() if schema is not None}

    async def _find_one(self, table: str) -> TableSchema | None:
        """Reads a schema from the engine.

        Callers that need the same schema at the same time share one request. The request continues if a caller is
        cancelled.
        """
        if table not in self._pending:
            self._pending[table] = asyncio.create_task(self._describe(table, self._schemas, self._pending))
        return await asyncio.shield(self._pending[table])

    async def _describe(
        self, table: str, schemas: dict[str, TableSchema], pending: dict[str, asyncio.Task[TableSchema | None]]
    ) -> TableSchema | None:
        """Reads a schema, stores it in `schemas`, and removes the request from `pending`.

        If `clear` is called during the request, the cache gets new dictionaries, and this schema is not cached.
        """
        try:
            schema = await self._request_schema(table)
        finally:
            del pending[table]
        if schema is not None:
            schemas[table] = schema
        return schema

    async def _request_schema(self, table: str) -> TableSchema | None:
        response = await self._engine.post(self._headers, orjson.dumps({"TableName": table}))
        content = _json_object(response.body)
        if response.status == 200:
            return TableSchema.from_description(content.get("Table"))
        if str(content.get("__type", "")).endswith(MISSING_TABLE_ERRORS):
            return None
        raise EngineUnreachable(f"DescribeTable of {table} failed with HTTP {response.status}", may_be_executed=False)


def _json_object(body: bytes) -> Mapping[str, Any]:
    try:
        content = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise EngineUnreachable("the response of DescribeTable is not JSON", may_be_executed=False) from error
    return content if isinstance(content, dict) else {}
