"""A gate starts and stops, and its account can be replaced while it runs."""

import asyncio
import socket
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from keyfence_iam.gate.account.account import Account
from keyfence_iam.gate.engine.engine_client import InvalidEngineUrl
from keyfence_iam.gate.gate import Gate, GateStartError
from keyfence_iam.policy import Policy, Statement
from keyfence_iam.roles import ROLES
from tests.iam.gate.server.raw_client import (
    DEPLOYMENT,
    GATE_KEY,
    GET_ITEM,
    TABLE,
    Caller,
    gate_with_engine,
    role_caller,
    tenant_caller,
)
from tests.iam.gate.server.scripted_engine import response, start_engine, table_responses

TENANTS = (b"acme", b"globex")
DENY_ALL = Policy(statements=(Statement(effect="Deny", actions=("*",), resources=("*",)),))
DENY_ALL_PRINCIPALS = Policy(
    statements=(Statement(effect="Deny", principals={"AWS": ("*",)}, actions=("*",), resources=("*",)),)
)


def start(url: str, port: int = 0) -> Gate:
    return Gate.start(engine_url=url, account=Account.from_definitions(ROLES, DEPLOYMENT), key=GATE_KEY, port=port)


def test_a_port_in_use_is_named_in_the_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(GateStartError, match=f"port {port} on 127.0.0.1 is already in use"):
            start("http://127.0.0.1:1", port=port)


def test_an_invalid_engine_url_is_rejected_before_the_gate_listens() -> None:
    with pytest.raises(InvalidEngineUrl):
        start("localhost:8000")


def test_the_gate_listens_on_localhost_until_it_is_stopped() -> None:
    gate = start("http://127.0.0.1:1")
    port = int(gate.url.rpartition(":")[2])
    assert gate.url == f"http://127.0.0.1:{port}"
    gate.stop()
    gate.stop()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))


async def test_a_call_in_progress_is_answered_before_the_gate_stops() -> None:
    arrived, respond_without_table = asyncio.Event(), table_responses(None)

    def answer(head: bytes, body: bytes) -> bytes | None:
        arrived.set()
        return respond_without_table(head, body)

    async with start_engine(answer) as (_, url):
        gate = start(url)
        waiting = asyncio.create_task(tenant_caller(gate).call("GetItem", GET_ITEM))
        await arrived.wait()
        await asyncio.to_thread(gate.stop)
        assert (await waiting).error == "AccessDeniedException"


async def test_a_new_policy_applies_to_existing_sessions() -> None:
    async with gate_with_engine() as (gate, _):
        caller = tenant_caller(gate)
        assert (await caller.call("GetItem", GET_ITEM)).status == 200
        gate.account = gate.account.with_policy("tenant-write", DENY_ALL)
        reply = await caller.call("GetItem", GET_ITEM)
    assert reply.error == "AccessDeniedException"
    assert reply.content["Message"].endswith("with an explicit deny in an identity-based policy")


async def test_a_resource_policy_of_the_table_is_evaluated() -> None:
    async with gate_with_engine() as (gate, _):
        caller = tenant_caller(gate)
        gate.account = replace(gate.account, resource_policies={DEPLOYMENT.table_arn: (DENY_ALL_PRINCIPALS,)})
        reply = await caller.call("GetItem", GET_ITEM)
    assert reply.content["Message"].endswith("with an explicit deny in a resource-based policy")


async def test_a_new_gate_with_the_same_key_accepts_old_sessions() -> None:
    async with gate_with_engine() as (gate, _):
        credentials = tenant_caller(gate).credentials
    async with gate_with_engine() as (gate, _):
        assert (await Caller(gate, credentials).call("GetItem", GET_ITEM)).status == 200


async def test_the_clock_of_the_gate_decides_when_a_session_expires() -> None:
    clock_offset = timedelta()
    async with gate_with_engine(clock=lambda: datetime.now(UTC) + clock_offset) as (gate, engine):
        clock_offset = timedelta(hours=-1, minutes=-1)
        caller = tenant_caller(gate)
        clock_offset = timedelta()
        reply = await caller.call("GetItem", GET_ITEM)
    assert reply.error == "ExpiredTokenException"
    assert engine.requests == []


async def test_denials_are_kept_until_they_are_cleared() -> None:
    async with gate_with_engine() as (gate, _):
        caller = role_caller(gate, "service-base")
        for _ in range(3):
            await caller.call("GetItem", GET_ITEM)
        assert len(gate.denials) == 3
        gate.denials.clear()
        assert list(gate.denials) == []


async def test_each_of_a_hundred_simultaneous_calls_gets_its_own_response() -> None:
    def echo(head: bytes, body: bytes) -> bytes | None:
        return table_responses(TABLE)(head, body) if b".DescribeTable" in head else response(200, body)

    async with start_engine(echo) as (_, url):
        gate = start(url)
        callers = [tenant_caller(gate, name.decode()) for name in TENANTS]
        bodies = [GET_ITEM.replace(b"acme", name).replace(b'"B"', b'"%d"' % n) for n in range(50) for name in TENANTS]
        replies = await asyncio.gather(
            *(caller.call("GetItem", body) for caller, body in zip(callers * 50, bodies, strict=True))
        )
        await asyncio.to_thread(gate.stop)
    assert [reply.body for reply in replies] == bodies
