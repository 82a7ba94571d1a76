"""Only the traffic role may read the traffic report."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import ReadOnlyCredentials

from keyfence_iam.gate.gate import Gate
from keyfence_iam.gate.throughput.partition_limits import PartitionLimits
from keyfence_iam.tenant import tenant_of_key
from tests.fakes.clock import ManualClock
from tests.iam.gate.server.raw_client import (
    DEPLOYMENT,
    GET_ITEM,
    Caller,
    Reply,
    gate_with_engine,
    role_caller,
    send_raw,
    tenant_caller,
)

SERVICE_ROLES = ("service-base", "control-plane", "suspender", "stream-worker", "migrator")


@asynccontextmanager
async def gate_with_limits(limits: PartitionLimits | None) -> AsyncIterator[Gate]:
    async with gate_with_engine(limits=limits, traffic_role="provisioner") as (gate, _):
        yield gate


async def get_traffic(caller: Caller, service: str = "dynamodb") -> Reply:
    request = AWSRequest("GET", f"{caller.gate.url}/traffic")
    credentials = caller.credentials
    SigV4Auth(
        ReadOnlyCredentials(credentials.access_key, credentials.secret_key, credentials.token),
        service,
        DEPLOYMENT.region,
    ).add_auth(request)
    host = ("host", caller.gate.url.removeprefix("http://"))
    lines = [f"{name}: {value}" for name, value in (host, *request.headers.items())]
    return await send_raw(caller.gate.url, "\r\n".join(["GET /traffic HTTP/1.1", *lines, "", ""]).encode())


async def test_the_traffic_role_gets_the_traffic_report() -> None:
    async with gate_with_limits(PartitionLimits(group_of=tenant_of_key, now=ManualClock())) as gate:
        assert (await tenant_caller(gate).call("GetItem", GET_ITEM)).status == 200
        reply = await get_traffic(role_caller(gate, "provisioner"))
    assert reply.status == 200
    (partition,) = reply.content["partitions"]
    assert (partition["key"], partition["group"], partition["read"]) == ("TENANT#acme#A", "acme", 0.05)
    assert reply.content["limits"] == {"read": 3000, "write": 1000, "burstSeconds": 1}


async def test_tenants_and_service_roles_are_denied() -> None:
    async with gate_with_limits(PartitionLimits(now=ManualClock())) as gate:
        callers = [
            tenant_caller(gate),
            tenant_caller(gate, role="tenant-read"),
            *(role_caller(gate, role) for role in SERVICE_ROLES),
        ]
        replies = [await get_traffic(caller) for caller in callers]
    assert {(reply.status, reply.error) for reply in replies} == {(400, "AccessDeniedException")}


async def test_a_session_of_the_traffic_role_with_a_session_policy_is_denied() -> None:
    async with gate_with_limits(PartitionLimits(now=ManualClock())) as gate:
        claims = gate.session_issuer.issue_service_session("provisioner").session.claims
        policy = '{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"*","Resource":"*"}}'
        restricted = gate.session_issuer.issue(replace(claims, policy=policy)).credentials
        assert (await get_traffic(Caller(gate, restricted))).error == "AccessDeniedException"


async def test_a_request_without_a_valid_signature_is_denied() -> None:
    async with gate_with_limits(PartitionLimits(now=ManualClock())) as gate:
        provisioner = role_caller(gate, "provisioner")
        forged = Caller(gate, replace(provisioner.credentials, secret_key="x"))
        unsigned = await send_raw(gate.url, b"GET /traffic HTTP/1.1\r\nhost: x\r\n\r\n")
        replies = [unsigned, await get_traffic(forged), await get_traffic(provisioner, "sts")]
    assert {reply.status for reply in replies} <= {400, 403}
    assert all(b"partitions" not in reply.body for reply in replies)


async def test_without_a_traffic_role_everybody_is_denied() -> None:
    async with gate_with_engine(limits=PartitionLimits(now=ManualClock())) as (gate, _):
        reply = await get_traffic(role_caller(gate, "provisioner"))
    assert reply.error == "AccessDeniedException"
    assert b"lets no role read" in reply.body


async def test_a_gate_without_limits_has_no_traffic_report() -> None:
    async with gate_with_limits(None) as gate:
        reply = await get_traffic(role_caller(gate, "provisioner"))
    assert (reply.status, reply.error) == (404, "ResourceNotFoundException")


@pytest.mark.parametrize("parameters", [{}, {"ReturnConsumedCapacity": "TOTAL"}], ids=["not requested", "requested"])
async def test_only_a_caller_that_requests_consumed_capacity_gets_the_unchanged_response(
    parameters: dict[str, Any],
) -> None:
    body = b'{ "Item":{},"ConsumedCapacity":{"CapacityUnits":0.5}}'
    answer = b"HTTP/1.1 200 OK\r\nx-amz-crc32: 1\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)
    async with gate_with_engine(other_response=answer, limits=PartitionLimits(now=ManualClock())) as (gate, engine):
        reply = await tenant_caller(gate).call("GetItem", json.dumps({**json.loads(GET_ITEM), **parameters}).encode())
    assert (reply.body == body) == bool(parameters)
    assert json.loads(engine.requests[-1][1])["ReturnConsumedCapacity"] == "TOTAL"
    assert b"x-amz-crc32: 1\r\n" in reply.head or not parameters


async def test_a_gate_without_limits_forwards_byte_for_byte_and_adds_no_reads() -> None:
    async with gate_with_engine() as (gate, engine):
        await tenant_caller(gate).call("PutItem", GET_ITEM.replace(b'"Key"', b'"Item"'))
    assert [body for head, body in engine.requests if b"DescribeTable" not in head] == [
        GET_ITEM.replace(b'"Key"', b'"Item"')
    ]


async def test_a_call_without_a_response_of_the_engine_is_not_charged() -> None:
    async with gate_with_engine(other_response=None, limits=PartitionLimits(now=ManualClock())) as (gate, _):
        assert (await tenant_caller(gate).call("GetItem", GET_ITEM)).status == 500
        assert gate.limits is not None
        assert gate.limits.traffic_report()["partitions"] == []
