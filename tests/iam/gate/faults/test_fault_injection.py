"""Injected faults look like the errors of AWS. Only allowed calls get faults."""

import asyncio

import pytest

from keyfence_iam.gate.fault_definition import Fault, FaultKind
from keyfence_iam.gate.fault_injection import DYNAMODB_ERRORS, inject
from keyfence_iam.gate.gate import Gate
from tests.iam.gate.server.raw_client import GET_ITEM, Reply, gate_with_engine, role_caller, send_raw, tenant_caller
from tests.iam.gate.server.scripted_engine import ScriptedEngine


def get_item_count(engine: ScriptedEngine) -> int:
    return sum(b".GetItem" in head for head, _ in engine.requests)


async def get_caller_identity(gate: Gate) -> Reply:
    body = b"Action=GetCallerIdentity&Version=2011-06-15"
    caller = role_caller(gate, "service-base")
    return await send_raw(gate.url, caller.form_request(body))


async def test_an_error_fault_replaces_the_engines_response() -> None:
    async with gate_with_engine(faults=[Fault(kind="error", operation="GetItem", nth=2)]) as (gate, engine):
        caller = tenant_caller(gate)
        replies = [await caller.call("GetItem", GET_ITEM) for _ in range(3)]
    assert [reply.status for reply in replies] == [200, 500, 200]
    assert replies[1].content["__type"] == "com.amazonaws.dynamodb.v20120810#InternalServerError"
    assert get_item_count(engine) == 2


async def test_an_error_may_have_any_code_status_and_message() -> None:
    fault = Fault(kind="error", code="RequestLimitExceeded", status=400, message="slowly")
    async with gate_with_engine(faults=[fault]) as (gate, _):
        reply = await tenant_caller(gate).call("GetItem", GET_ITEM)
    assert (reply.status, reply.error, reply.content["message"]) == (400, "RequestLimitExceeded", "slowly")


async def test_the_default_code_of_a_throttle_is_that_of_a_hot_partition() -> None:
    faults = [Fault(kind="throttle", nth=1), Fault(kind="throttle", nth=2, code="ThrottlingException")]
    async with gate_with_engine(faults=faults) as (gate, engine):
        caller = tenant_caller(gate)
        replies = [await caller.call("GetItem", GET_ITEM) for _ in range(2)]
    assert [reply.status for reply in replies] == [400, 400]
    assert [reply.error for reply in replies] == ["ProvisionedThroughputExceededException", "ThrottlingException"]
    assert get_item_count(engine) == 0


async def test_a_lost_request_closes_the_connection_and_does_not_reach_the_engine() -> None:
    async with gate_with_engine(faults=[Fault(kind="lost_request", nth=1)]) as (gate, engine):
        caller = tenant_caller(gate)
        replies = [await caller.call("GetItem", GET_ITEM) for _ in range(2)]
    assert [reply.status for reply in replies] == [0, 200]
    assert get_item_count(engine) == 1


async def test_a_lost_response_closes_the_connection_after_the_engine_executed_the_call() -> None:
    async with gate_with_engine(faults=[Fault(kind="lost_response", nth=1)]) as (gate, engine):
        caller = tenant_caller(gate)
        replies = [await caller.call("GetItem", GET_ITEM) for _ in range(2)]
    assert [reply.status for reply in replies] == [0, 200]
    assert get_item_count(engine) == 2


async def test_latency_does_not_replace_other_faults() -> None:
    faults = [Fault(kind="error", nth=2), Fault(kind="latency", milliseconds=1)]
    async with gate_with_engine(faults=faults) as (gate, engine):
        caller = tenant_caller(gate)
        replies = [await caller.call("GetItem", GET_ITEM) for _ in range(2)]
    assert [reply.status for reply in replies] == [200, 500]
    assert get_item_count(engine) == 1


async def test_a_call_is_delayed_by_the_sum_of_its_latencies(monkeypatch: pytest.MonkeyPatch) -> None:
    delays: list[float] = []

    async def record(seconds: float) -> None:
        delays.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", record)
    faults = [Fault(kind="latency", milliseconds=20), Fault(kind="latency", milliseconds=30)]
    assert not await inject(faults, DYNAMODB_ERRORS)
    assert delays == [0.05]


async def test_a_fault_with_a_key_prefix_applies_to_no_other_key() -> None:
    async with gate_with_engine(faults=[Fault(kind="error", key_prefix="TENANT#acme#")]) as (gate, _):
        own = await tenant_caller(gate, "acme").call("GetItem", GET_ITEM)
        neighbour = await tenant_caller(gate, "acmecorp").call("GetItem", GET_ITEM.replace(b"acme", b"acmecorp"))
    assert (own.status, neighbour.status) == (500, 200)


@pytest.mark.parametrize("kind", ["error", "throttle", "lost_request", "lost_response"])
async def test_a_denied_call_gets_no_fault_and_is_not_counted(kind: FaultKind) -> None:
    async with gate_with_engine(faults=[Fault(kind=kind, nth=1)]) as (gate, _):
        denied = await tenant_caller(gate, "globex").call("GetItem", GET_ITEM)
        faulty = await tenant_caller(gate, "acme").call("GetItem", GET_ITEM)
    assert denied.error == "AccessDeniedException"
    assert faulty.status != 200


async def test_faults_can_be_replaced_while_the_gate_runs() -> None:
    fault = Fault(kind="error", nth=1)
    async with gate_with_engine(faults=[fault]) as (gate, _):
        caller = tenant_caller(gate)
        statuses = [(await caller.call("GetItem", GET_ITEM)).status for _ in range(2)]
        gate.faults = [fault]
        statuses += [(await caller.call("GetItem", GET_ITEM)).status for _ in range(2)]
        gate.faults = []
        statuses.append((await caller.call("GetItem", GET_ITEM)).status)
    assert statuses == [500, 200, 500, 200, 200]


async def test_sts_has_its_own_faults_and_error_format() -> None:
    faults = [
        Fault(kind="error", service="sts", nth=2),
        Fault(kind="throttle", service="sts", nth=3),
        Fault(kind="lost_request", service="sts", nth=4),
        Fault(kind="lost_response", service="sts", nth=5),
        Fault(kind="error", service="sts", operation="AssumeRole"),
    ]
    async with gate_with_engine(faults=faults) as (gate, _):
        replies = [await get_caller_identity(gate) for _ in range(6)]
        data = await tenant_caller(gate).call("GetItem", GET_ITEM)
    assert [reply.status for reply in replies] == [200, 500, 400, 0, 0, 200]
    assert b"<Code>InternalFailure</Code>" in replies[1].body
    assert b"<Code>Throttling</Code>" in replies[2].body
    assert data.status == 200


async def test_an_assume_role_without_permission_is_denied_also_while_sts_fails() -> None:
    body = b"Action=AssumeRole&Version=2011-06-15&RoleArn=arn:aws:iam::000000000000:role/keyfence-migrator"
    async with gate_with_engine(faults=[Fault(kind="error", service="sts")]) as (gate, _):
        caller = role_caller(gate, "service-base")
        reply = await send_raw(gate.url, caller.form_request(body + b"&RoleSessionName=somebody"))
    assert reply.status == 403
    assert b"<Code>AccessDenied</Code>" in reply.body
