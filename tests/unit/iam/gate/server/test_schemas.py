"""The engine is asked for a table's keys once, until the table changes."""

import asyncio
import json

import pytest

from keyfence_iam.authorization import TableSchema, UnsupportedRequest
from keyfence_iam.gate.engine.client import EngineClient, EngineUnreachable
from keyfence_iam.gate.engine.reads import MAX_SCHEMA_AGE_SECONDS, TableSchemaCache
from tests.unit.iam.gate.server.raw_client import GET, TABLE, gate_before, tenant, unfenced
from tests.unit.iam.gate.server.scripted_engine import ScriptedEngine, response, scripted, with_table

KEYS = TableSchema.from_description(TABLE)


def asked(engine: ScriptedEngine) -> int:
    return sum(b"DynamoDB_20120810.DescribeTable" in head for head, _ in engine.requests)


async def test_of_many_that_ask_at_once_one_goes() -> None:
    async with scripted(with_table(TABLE)) as (engine, url):
        schemas = TableSchemaCache(EngineClient(url), "us-east-1")
        answers = await asyncio.gather(*(schemas.find(["keyfence"]) for _ in range(20)))
        assert await schemas.find(["keyfence"]) == {"keyfence": KEYS}
    assert answers == [{"keyfence": KEYS}] * 20
    assert len(engine.requests) == 1


async def test_the_one_that_goes_goes_on_when_the_first_who_asked_gives_up() -> None:
    async with scripted(with_table(TABLE)) as (engine, url):
        schemas = TableSchemaCache(EngineClient(url), "us-east-1")
        first = asyncio.create_task(schemas.find(["keyfence"]))
        second = asyncio.create_task(schemas.find(["keyfence"]))
        await asyncio.sleep(0)
        first.cancel()
        assert await second == {"keyfence": KEYS}
    assert len(engine.requests) == 1


async def test_a_missing_table_is_asked_for_again_every_time() -> None:
    async with scripted(with_table(None)) as (engine, url):
        schemas = TableSchemaCache(EngineClient(url), "us-east-1")
        assert await schemas.find(["keyfence"]) == {}
        assert await schemas.find(["keyfence"]) == {}
    assert len(engine.requests) == 2


async def test_what_was_forgotten_while_the_answer_was_on_its_way_is_asked_for_again() -> None:
    """A table that is altered just then would otherwise keep its old keys."""
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


async def test_a_table_that_was_changed_behind_the_gates_back_is_noticed_after_a_while() -> None:
    moment = [0.0]
    async with scripted(with_table(TABLE)) as (engine, url):
        schemas = TableSchemaCache(EngineClient(url), "us-east-1", now=lambda: moment[0])
        for moment[0] in (0.0, MAX_SCHEMA_AGE_SECONDS - 1, MAX_SCHEMA_AGE_SECONDS + 1, 2 * MAX_SCHEMA_AGE_SECONDS):
            await schemas.find(["keyfence"])
    assert len(engine.requests) == 2


@pytest.mark.parametrize("answer", [response(500, b"{}"), response(200, b"x"), response(400, b"[]")], ids=repr)
async def test_an_engine_that_does_not_say_is_not_guessed(answer: bytes) -> None:
    async with scripted(lambda *_: answer) as (_, url):
        with pytest.raises(EngineUnreachable):
            await TableSchemaCache(EngineClient(url), "us-east-1").find(["keyfence"])


async def test_a_table_without_a_text_for_its_partition_is_not_understood() -> None:
    async with scripted(with_table({})) as (_, url):
        with pytest.raises(UnsupportedRequest):
            await TableSchemaCache(EngineClient(url), "us-east-1").find(["keyfence"])


@pytest.mark.parametrize("operation", ["CreateTable", "UpdateTable", "DeleteTable"])
async def test_a_call_that_alters_a_table_makes_the_gate_ask_again(operation: str) -> None:
    async with gate_before() as (gate, engine):
        caller = tenant(gate)
        await caller.call("GetItem", GET)
        await caller.call("GetItem", GET)
        before = asked(engine)
        await unfenced(gate).call(operation, json.dumps({"TableName": "keyfence"}).encode())
        await caller.call("GetItem", GET)
        assert (before, asked(engine)) == (1, 2)
