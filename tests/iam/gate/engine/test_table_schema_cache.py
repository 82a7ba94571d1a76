"""A table's schema is requested from the engine once, until the table changes."""

import asyncio
import json

import pytest

from keyfence_iam.authorization import TableSchema, UnsupportedRequest
from keyfence_iam.gate.engine.engine_client import EngineClient, EngineUnreachable
from keyfence_iam.gate.engine.table_schema_cache import MAX_SCHEMA_AGE_SECONDS, TableSchemaCache
from tests.iam.gate.server.raw_client import GET, TABLE, gate_before, tenant, unfenced
from tests.iam.gate.server.scripted_engine import ScriptedEngine, response, scripted, with_table

KEYS = TableSchema.from_description(TABLE)


def asked(engine: ScriptedEngine) -> int:
    return sum(b"DynamoDB_20120810.DescribeTable" in head for head, _ in engine.requests)


async def test_simultaneous_callers_share_one_request() -> None:
    async with scripted(with_table(TABLE)) as (engine, url):
        schemas = TableSchemaCache(EngineClient(url), "us-east-1")
        answers = await asyncio.gather(*(schemas.find(["keyfence"]) for _ in range(20)))
        assert await schemas.find(["keyfence"]) == {"keyfence": KEYS}
    assert answers == [{"keyfence": KEYS}] * 20
    assert len(engine.requests) == 1


async def test_the_shared_request_continues_when_its_first_caller_is_cancelled() -> None:
    async with scripted(with_table(TABLE)) as (engine, url):
        schemas = TableSchemaCache(EngineClient(url), "us-east-1")
        first = asyncio.create_task(schemas.find(["keyfence"]))
        second = asyncio.create_task(schemas.find(["keyfence"]))
        await asyncio.sleep(0)
        first.cancel()
        assert await second == {"keyfence": KEYS}
    assert len(engine.requests) == 1


async def test_a_missing_table_is_not_cached() -> None:
    async with scripted(with_table(None)) as (engine, url):
        schemas = TableSchemaCache(EngineClient(url), "us-east-1")
        assert await schemas.find(["keyfence"]) == {}
        assert await schemas.find(["keyfence"]) == {}
    assert len(engine.requests) == 2


async def test_a_response_that_arrives_after_clear_is_not_cached() -> None:
    """A table that is changed at that moment would otherwise keep its old schema."""
    async with scripted(with_table(TABLE)) as (engine, url):
        schemas = TableSchemaCache(EngineClient(url), "us-east-1")
        early = asyncio.create_task(schemas.find(["keyfence"]))
        await asyncio.sleep(0)
        schemas.clear()
        await early
        assert schemas.cached == {}
        await schemas.find(["keyfence"])
        assert schemas.cached == {"keyfence": KEYS}
    assert len(engine.requests) == 2


async def test_cached_schemas_expire() -> None:
    moment = [0.0]
    async with scripted(with_table(TABLE)) as (engine, url):
        schemas = TableSchemaCache(EngineClient(url), "us-east-1", now=lambda: moment[0])
        for moment[0] in (0.0, MAX_SCHEMA_AGE_SECONDS - 1, MAX_SCHEMA_AGE_SECONDS + 1, 2 * MAX_SCHEMA_AGE_SECONDS):
            await schemas.find(["keyfence"])
    assert len(engine.requests) == 2


@pytest.mark.parametrize("answer", [response(500, b"{}"), response(200, b"x"), response(400, b"[]")], ids=repr)
async def test_an_unusable_description_raises(answer: bytes) -> None:
    async with scripted(lambda *_: answer) as (_, url):
        with pytest.raises(EngineUnreachable):
            await TableSchemaCache(EngineClient(url), "us-east-1").find(["keyfence"])


async def test_a_table_without_a_string_partition_key_is_unsupported() -> None:
    async with scripted(with_table({})) as (_, url):
        with pytest.raises(UnsupportedRequest):
            await TableSchemaCache(EngineClient(url), "us-east-1").find(["keyfence"])


@pytest.mark.parametrize("operation", ["CreateTable", "UpdateTable", "DeleteTable"])
async def test_a_call_that_changes_a_table_clears_the_cache(operation: str) -> None:
    async with gate_before() as (gate, engine):
        caller = tenant(gate)
        await caller.call("GetItem", GET)
        await caller.call("GetItem", GET)
        before = asked(engine)
        await unfenced(gate).call(operation, json.dumps({"TableName": "keyfence"}).encode())
        await caller.call("GetItem", GET)
        assert (before, asked(engine)) == (1, 2)
