"""Faults look like those of AWS, and only allowed calls meet them."""

import pytest

from keyfence_iam.gate.faults import Fault, FaultKind
from keyfence_iam.gate.gate import Gate
from tests.iam.gate.server.raw_client import GET, Reply, exchange, gate_before, process, tenant
from tests.iam.gate.server.scripted_engine import ScriptedEngine


def gets(engine: ScriptedEngine) -> int:
    return sum(b".GetItem" in head for head, _ in engine.requests)


async def identity(gate: Gate) -> Reply:
    body = b"Action=GetCallerIdentity&Version=2011-06-15"
    caller = process(gate, "service-base")
    return await exchange(gate.url, caller.form(body))


async def test_an_error_fault_replaces_the_engines_response() -> None:
    async with gate_before(faults=[Fault(kind="error", operation="GetItem", nth=2)]) as (gate, engine):
        caller = tenant(gate)
        replies = [await caller.call("GetItem", GET) for _ in range(3)]
    assert [reply.status for reply in replies] == [200, 500, 200]
    assert replies[1].content["__type"] == "com.amazonaws.dynamodb.v20120810#InternalServerError"
    assert gets(engine) == 2


async def test_an_error_may_have_any_code_status_and_message() -> None:
    fault = Fault(kind="error", code="RequestLimitExceeded", status=400, message="slowly")
    async with gate_before(faults=[fault]) as (gate, _):
        reply = await tenant(gate).call("GetItem", GET)
    assert (reply.status, reply.error, reply.content["message"]) == (400, "RequestLimitExceeded", "slowly")


async def test_a_throttle_has_the_code_of_a_hot_partition_by_default() -> None:
    faults = [Fault(kind="throttle", nth=1), Fault(kind="throttle", nth=2, code="ThrottlingException")]
    async with gate_before(faults=faults) as (gate, engine):
        caller = tenant(gate)
        replies = [await caller.call("GetItem", GET) for _ in range(2)]
    assert [reply.status for reply in replies] == [400, 400]
    assert [reply.error for reply in replies] == ["ProvisionedThroughputExceededException", "ThrottlingException"]
    assert gets(engine) == 0


async def test_a_lost_request_closes_the_connection_and_does_not_reach_the_engine() -> None:
    async with gate_before(faults=[Fault(kind="lost_request", nth=1)]) as (gate, engine):
        caller = tenant(gate)
        replies = [await caller.call("GetItem", GET) for _ in range(2)]
    assert [reply.status for reply in replies] == [0, 200]
    assert gets(engine) == 1


async def test_a_lost_response_closes_the_connection_after_the_engine_executed_the_call() -> None:
    async with gate_before(faults=[Fault(kind="lost_response", nth=1)]) as (gate, engine):
        caller = tenant(gate)
        replies = [await caller.call("GetItem", GET) for _ in range(2)]
    assert [reply.status for reply in replies] == [0, 200]
    assert gets(engine) == 2


async def test_latency_only_delays_and_adds_to_other_faults() -> None:
    faults = [Fault(kind="error", nth=2), Fault(kind="latency", milliseconds=1)]
    async with gate_before(faults=faults) as (gate, engine):
        caller = tenant(gate)
        replies = [await caller.call("GetItem", GET) for _ in range(2)]
    assert [reply.status for reply in replies] == [200, 500]
    assert gets(engine) == 1


async def test_a_fault_with_a_key_prefix_applies_to_no_other_key() -> None:
    async with gate_before(faults=[Fault(kind="error", key_prefix="TENANT#acme#")]) as (gate, _):
        own = await tenant(gate, "acme").call("GetItem", GET)
        neighbour = await tenant(gate, "acmecorp").call("GetItem", GET.replace(b"acme", b"acmecorp"))
    assert (own.status, neighbour.status) == (500, 200)


@pytest.mark.parametrize("kind", ["error", "throttle", "lost_request", "lost_response"])
async def test_a_denied_call_meets_no_fault_and_is_not_counted(kind: FaultKind) -> None:
    async with gate_before(faults=[Fault(kind=kind, nth=1)]) as (gate, _):
        denied = await tenant(gate, "globex").call("GetItem", GET)
        struck = await tenant(gate, "acme").call("GetItem", GET)
    assert denied.error == "AccessDeniedException"
    assert struck.status != 200


async def test_faults_can_be_replaced_while_the_gate_runs() -> None:
    fault = Fault(kind="error", nth=1)
    async with gate_before(faults=[fault]) as (gate, _):
        caller = tenant(gate)
        statuses = [(await caller.call("GetItem", GET)).status for _ in range(2)]
        gate.faults = [fault]
        statuses += [(await caller.call("GetItem", GET)).status for _ in range(2)]
        gate.faults = []
        statuses.append((await caller.call("GetItem", GET)).status)
    assert statuses == [500, 200, 500, 200, 200]


async def test_sts_has_its_own_faults_and_error_format() -> None:
    faults = [
        Fault(kind="error", service="sts", nth=2),
        Fault(kind="throttle", service="sts", nth=3),
        Fault(kind="lost_request", service="sts", nth=4),
        Fault(kind="lost_response", service="sts", nth=5),
        Fault(kind="error", service="sts", operation="AssumeRole"),
    ]
    async with gate_before(faults=faults) as (gate, _):
        replies = [await identity(gate) for _ in range(6)]
        data = await tenant(gate).call("GetItem", GET)
    assert [reply.status for reply in replies] == [200, 500, 400, 0, 0, 200]
    assert b"<Code>InternalFailure</Code>" in replies[1].body
    assert b"<Code>Throttling</Code>" in replies[2].body
    assert data.status == 200


async def test_a_denied_assume_role_is_denied_also_while_sts_fails() -> None:
    body = b"Action=AssumeRole&Version=2011-06-15&RoleArn=arn:aws:iam::000000000000:role/keyfence-migrator"
    async with gate_before(faults=[Fault(kind="error", service="sts")]) as (gate, _):
        caller = process(gate, "service-base")
        reply = await exchange(gate.url, caller.form(body + b"&RoleSessionName=somebody"))
    assert reply.status == 403
    assert b"<Code>AccessDenied</Code>" in reply.body
