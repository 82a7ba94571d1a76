"""A table's schema is requested from the engine once, until the table changes."""

import asyncio
import json

import pytest

from keyfence_iam.authorization import TableSchema, UnsupportedRequest
from keyfence_iam.gate.engine.engine_client import EngineClient, EngineUnreachable
from keyfence_iam.gate.engine.table_schema_cache import MAX_SCHEMA_AGE_SECONDS, TableSchemaCache
from tests.iam.gate.server.raw_client import GET_ITEM, TABLE, admin_caller, gate_with_engine, tenant_caller
from tests.iam.gate.server.scripted_engine import ScriptedEngine, response, start_engine, table_responses

SCHEMA = TableSchema.from_description(TABLE)


def describe_count(engine: ScriptedEngine) -> int:
    return sum(b"DynamoDB_20120810.DescribeTable" in head for head, _ in engine.requests)


async def test_simultaneous_callers_share_one_request() -> None:
    async with start_engine(table_responses(TABLE)) as (engine, url):
        schemas = TableSchemaCache(EngineClient(url), "us-east-1")
        answers = await asyncio.gather(*(schemas.find(["keyfence"]) for _ in range(20)))
        assert await schemas.find(["keyfence"]) == {"keyfence": SCHEMA}
    assert answers == [{"keyfence": SCHEMA}] * 20
    assert len(engine.requests) == 1


async def test_the_shared_request_continues_when_its_first_caller_is_cancelled() -> None:
    async with start_engine(table_responses(TABLE)) as (engine, url):
        schemas = TableSchemaCache(EngineClient(url), "us-east-1")
        first = asyncio.create_task(schemas.find(["keyfence"]))
        second = asyncio.create_task(schemas.find(["keyfence"]))
        await asyncio.sleep(0)
        first.cancel()
        assert await second == {"keyfence": SCHEMA}
    assert len(engine.requests) == 1


async def test_a_missing_table_is_not_cached() -> None:
    async with start_engine(table_responses(None)) as (engine, url):
        schemas = TableSchemaCache(EngineClient(url), "us-east-1")
        assert await schemas.find(["keyfence"]) == {}
        assert await schemas.find(["keyfence"]) == {}
    assert len(engine.requests) == 2


async def test_a_name_that_no_table_can_have_is_that_of_a_missing_table() -> None:
    """DynamoDB and dynoxide reject a name of two characters. This is no failure of the engine."""
    refusal = response(400, b'{"__type": "com.amazon.coral.validate#ValidationException", "message": "too short"}')
    async with start_engine(lambda *_: refusal) as (_, url):
        assert await TableSchemaCache(EngineClient(url), "us-east-1").find(["PK"]) == {}


async def test_a_response_that_arrives_after_clear_is_not_cached() -> None:
    """Otherwise a table that is changed during the request would keep its old schema in the cache."""
    async with start_engine(table_responses(TABLE)) as (engine, url):
        schemas = TableSchemaCache(EngineClient(url), "us-east-1")
        pending = asyncio.create_task(schemas.find(["keyfence"]))
        await asyncio.sleep(0)
        schemas.clear()
        await pending
        assert schemas.cached_schemas == {}
        await schemas.find(["keyfence"])
        assert schemas.cached_schemas == {"keyfence": SCHEMA}
    assert len(engine.requests) == 2


async def test_cached_schemas_expire() -> None:
    now = [0.0]
    async with start_engine(table_responses(TABLE)) as (engine, url):
        schemas = TableSchemaCache(EngineClient(url), "us-east-1", now=lambda: now[0])
        for now[0] in (0.0, MAX_SCHEMA_AGE_SECONDS - 1, MAX_SCHEMA_AGE_SECONDS + 1, 2 * MAX_SCHEMA_AGE_SECONDS):
            await schemas.find(["keyfence"])
    assert len(engine.requests) == 2


@pytest.mark.parametrize("answer", [response(500, b"{}"), response(200, b"x"), response(400, b"[]")], ids=repr)
async def test_an_invalid_table_description_raises_an_error(answer: bytes) -> None:
    async with start_engine(lambda *_: answer) as (_, url):
        with pytest.raises(EngineUnreachable):
            await TableSchemaCache(EngineClient(url), "us-east-1").find(["keyfence"])


async def test_a_table_without_a_string_partition_key_raises_unsupported_request() -> None:
    async with start_engine(table_responses({})) as (_, url):
        with pytest.raises(UnsupportedRequest):
            await TableSchemaCache(EngineClient(url), "us-east-1").find(["keyfence"])


@pytest.mark.parametrize("operation", ["CreateTable", "UpdateTable", "DeleteTable"])
async def test_a_call_that_changes_a_table_clears_the_cache(operation: str) -> None:
    async with gate_with_engine() as (gate, engine):
        caller = tenant_caller(gate)
        await caller.call("GetItem", GET_ITEM)
        await caller.call("GetItem", GET_ITEM)
        before = describe_count(engine)
        await admin_caller(gate).call(operation, json.dumps({"TableName": "keyfence"}).encode())
        await caller.call("GetItem", GET_ITEM)
        assert (before, describe_count(engine)) == (1, 2)
