"""Starting and stopping a gate, and replacing its account while it runs."""

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
from tests.iam.gate.server.raw_client import DEPLOYMENT, GET, KEY, TABLE, Caller, gate_before, process, tenant
from tests.iam.gate.server.scripted_engine import response, scripted, with_table

NAMES = (b"acme", b"globex")
NOTHING = Policy(statements=(Statement(effect="Deny", actions=("*",), resources=("*",)),))
TO_NOBODY = Policy(statements=(Statement(effect="Deny", principals={"AWS": ("*",)}, actions=("*",), resources=("*",)),))


def start(url: str, port: int = 0) -> Gate:
    return Gate.start(engine_url=url, account=Account.from_definitions(ROLES, DEPLOYMENT), key=KEY, port=port)


def test_a_port_in_use_is_named_in_the_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(GateStartError, match=f"port {port} on 127.0.0.1 is already in use"):
            start("http://127.0.0.1:1", port=port)


def test_an_invalid_engine_url_is_rejected_before_the_gate_listens() -> None:
    with pytest.raises(InvalidEngineUrl):
        start("localhost:8000")


def test_it_listens_on_localhost_only_until_it_is_stopped() -> None:
    gate = start("http://127.0.0.1:1")
    port = int(gate.url.rpartition(":")[2])
    assert gate.url == f"http://127.0.0.1:{port}"
    gate.stop()
    gate.stop()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))


async def test_a_call_in_progress_is_answered_before_the_gate_stops() -> None:
    arrived, asked = asyncio.Event(), with_table(None)

    def answer(head: bytes, body: bytes) -> bytes | None:
        arrived.set()
        return asked(head, body)

    async with scripted(answer) as (_, url):
        gate = start(url)
        waiting = asyncio.create_task(tenant(gate).call("GetItem", GET))
        await arrived.wait()
        await asyncio.to_thread(gate.stop)
        assert (await waiting).error == "AccessDeniedException"


async def test_a_new_policy_applies_to_live_sessions() -> None:
    async with gate_before() as (gate, _):
        caller = tenant(gate)
        assert (await caller.call("GetItem", GET)).status == 200
        gate.account = gate.account.with_policy("tenant-write", NOTHING)
        reply = await caller.call("GetItem", GET)
    assert reply.error == "AccessDeniedException"
    assert reply.content["Message"].endswith("with an explicit deny in an identity-based policy")


async def test_a_resource_policy_of_the_table_is_evaluated() -> None:
    async with gate_before() as (gate, _):
        caller = tenant(gate)
        gate.account = replace(gate.account, resource_policies={DEPLOYMENT.table_arn: (TO_NOBODY,)})
        reply = await caller.call("GetItem", GET)
    assert reply.content["Message"].endswith("with an explicit deny in a resource-based policy")


async def test_sessions_outlive_the_gate_that_issued_them() -> None:
    async with gate_before() as (gate, _):
        credentials = tenant(gate).credentials
    async with gate_before() as (gate, _):
        assert (await Caller(gate, credentials).call("GetItem", GET)).status == 200


async def test_a_session_expires_by_the_gates_clock() -> None:
    ahead = timedelta()
    async with gate_before(clock=lambda: datetime.now(UTC) + ahead) as (gate, engine):
        ahead = timedelta(hours=-1, minutes=-1)
        caller = tenant(gate)
        ahead = timedelta()
        reply = await caller.call("GetItem", GET)
    assert reply.error == "ExpiredTokenException"
    assert engine.requests == []


async def test_only_the_latest_denials_are_kept() -> None:
    async with gate_before() as (gate, _):
        caller = process(gate, "service-base")
        for _ in range(3):
            await caller.call("GetItem", GET)
        assert len(gate.denials) == 3
        gate.denials.clear()
        assert list(gate.denials) == []


async def test_a_hundred_simultaneous_calls_get_their_own_responses() -> None:
    def echo(head: bytes, body: bytes) -> bytes | None:
        return with_table(TABLE)(head, body) if b".DescribeTable" in head else response(200, body)

    async with scripted(echo) as (_, url):
        gate = start(url)
        callers = [tenant(gate, name.decode()) for name in NAMES]
        bodies = [GET.replace(b"acme", name).replace(b'"B"', b'"%d"' % n) for n in range(50) for name in NAMES]
        replies = await asyncio.gather(
            *(caller.call("GetItem", body) for caller, body in zip(callers * 50, bodies, strict=True))
        )
        await asyncio.to_thread(gate.stop)
    assert [reply.body for reply in replies] == bodies
