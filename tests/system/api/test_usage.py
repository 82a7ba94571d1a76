"""The usage of tenants is counted exactly, and adds up to what DynamoDB reports."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from keyfence.app.composition_root import Service
from keyfence.app.local_development import aws_access
from keyfence.domains.users.access_patterns import user_by_id
from keyfence.domains.users.repository import UserRepository
from keyfence.errors import BadInput
from keyfence.store.dynamodb.capacity import CapacityMeter
from keyfence.store.dynamodb.client import Answer, DynamoDb
from keyfence.store.expressions import UpdateExpression
from keyfence.store.tenant_location import TenantLocation
from keyfence.store.writes import update_attributes
from keyfence.tenancy.access_patterns import tenants
from keyfence.tenancy.tenant_cache import TenantCache
from keyfence.usage.hourly_usage import CONTROL_PLANE, UsageCounts, UsageRepository
from keyfence.usage.ledger import metered_tables
from keyfence_iam.credentials import Credentials
from keyfence_iam.tenant import TenantId
from tests.stack import ApiClient, ServiceStack
from tests.system.api.quota_server import QuotaServer

USERS = "{ users { edges { node { email } } } }"
CREATE = 'mutation($email: String!) { createUser(input: {email: $email, name: "N"}) { id } }'
USAGE = """query($tenant: ID!, $from: DateTime!, $to: DateTime!) { usage(tenant: $tenant, from: $from, to: $to) {
  tenant from to requests readUnits writeUnits throttled costUsd operations { operation requests costUsd } } }"""
MAX_POLLS = 1_500
"""Polls of 0.02 s: the test waits up to 30 s."""
SPRING, SUMMER = datetime(2026, 5, 1, tzinfo=UTC), datetime(2026, 7, 1, tzinfo=UTC)


@dataclass(slots=True)
class CapacityRecorder:
    """A DynamoDB client that adds up the capacity that the engine reports."""

    client: DynamoDb
    total: CapacityMeter = field(default_factory=CapacityMeter)

    async def call(self, operation: str, parameters: Mapping[str, Any], credentials: Credentials) -> Answer:
        answer = await self.client.call(operation, parameters, credentials)
        self.total.record(operation, answer)
        return answer

    def close(self) -> None:
        self.client.close()


@pytest.fixture
def capacity_recorder(stack: ServiceStack) -> CapacityRecorder:
    return CapacityRecorder(stack.recorder)


@pytest.fixture
def server(stack: ServiceStack, capacity_recorder: CapacityRecorder) -> QuotaServer:
    return QuotaServer(stack=replace(stack, tables=replace(stack.tables, client=capacity_recorder)))


async def total_usage(server: QuotaServer, tenant: TenantId) -> UsageCounts:
    return (await server.usages.sum_hours(tenant, SPRING, SUMMER)).total


async def send_varied_requests(client: ApiClient, name: str) -> None:
    """Sends reads, writes, conflicts, malformed requests and concurrent requests."""
    await client.data(CREATE, email=f"{name}@x.example")
    await client.error_code(CREATE, email=f"{name}@x.example")
    await asyncio.gather(*(client.data(USERS) for _ in range(3)))
    await client.execute(
        "{ a: users { edges { node { email groups { edges { node { id } } } } } } groups { __typename } }"
    )
    await client.execute("{ nonsense }")
    await client.execute("{ viewer { subject } __typename }")


async def test_the_usage_of_all_tenants_and_the_service_is_what_the_engine_reported(
    server: QuotaServer, capacity_recorder: CapacityRecorder
) -> None:
    clients = [await server.new_tenant_client(name) for name in ("sum", "sum-1", "sum-11")]
    idle_client = await server.new_tenant_client("sum-quiet")
    capacity_recorder.total = CapacityMeter()
    for number, client in enumerate(clients):
        for round_ in range(number + 1):
            await send_varied_requests(client, f"n{round_}")
    reported_units = (capacity_recorder.total.read_units, capacity_recorder.total.write_units)
    await server.flusher.flush()
    usage_by_tenant = {
        tenant: await total_usage(server, tenant) for tenant in (*(client.tenant for client in clients), CONTROL_PLANE)
    }
    assert (
        sum(float(usage.read_units) for usage in usage_by_tenant.values()),
        sum(float(usage.write_units) for usage in usage_by_tenant.values()),
    ) == reported_units
    assert [usage_by_tenant[client.tenant].requests for client in clients] == [8, 16, 24]
    first, second, third = (usage_by_tenant[client.tenant].read_units for client in clients)
    assert 0 < first < second < third
    assert usage_by_tenant[CONTROL_PLANE].read_units > 0, "the service read the records of the tenants"
    assert await total_usage(server, idle_client.tenant) == UsageCounts()


async def test_usage_is_counted_by_root_field_whatever_the_operation_name_is(server: QuotaServer) -> None:
    client = await server.new_tenant_client()
    await send_varied_requests(client, "ann")
    await client.execute("query users { groups { edges { node { id } } } }")
    await client.execute("query($y: Boolean = true) { ...F } fragment F on Query { x: groups { __typename } }")
    await server.flusher.flush()
    usage = await server.usages.sum_hours(client.tenant, SPRING, SUMMER)
    assert {name: counts.requests for name, counts in usage.operations.items()} == {
        "createUser": 2,
        "groups": 1,
        "several": 1,
        "unknown": 2,
        "users": 3,
        "viewer": 1,
    }
    viewer = usage.operations["viewer"].read_units
    assert 0 < 3 * viewer < usage.operations["users"].read_units, (
        "each request checks its token, and these requests read the list too"
    )


async def test_refused_requests_are_counted_separately(server: QuotaServer) -> None:
    client = await server.new_tenant_client(requests_per_second=1)
    for _ in range(5):
        await client.execute(USERS)
    await server.flusher.flush()
    usage = await server.usages.sum_hours(client.tenant, SPRING, SUMMER)
    assert (usage.total.requests, usage.total.refused) == (2, 3)
    assert usage.operations["unknown"].refused == 3


async def test_whole_hours_are_added_up_over_days_months_and_processes(
    stack: ServiceStack, server: QuotaServer
) -> None:
    client = await server.new_tenant_client("hours")
    neighbour = await server.new_tenant_client("hours-1")
    other_server = QuotaServer(stack=stack, hour=server.hour)
    start_of_test = datetime.fromtimestamp(server.hour.now, UTC)
    for hours in (0, 1, 1, 25):
        server.hour.now = (start_of_test + timedelta(hours=hours)).timestamp()
        await client.data(USERS)
        await other_server.client(client).data(USERS)
        await neighbour.data(USERS)
    await server.flusher.flush()
    await other_server.flusher.flush()

    async def requests(start: datetime, end: datetime) -> int:
        return (await server.usages.sum_hours(client.tenant, start, end)).total.requests

    midnight = datetime(2026, 6, 1, tzinfo=UTC)
    assert await requests(SPRING, SUMMER) == 8
    assert await requests(midnight - timedelta(minutes=1), midnight) == 2
    assert await requests(midnight, midnight + timedelta(minutes=1)) == 4
    assert await requests(midnight - timedelta(minutes=20), midnight + timedelta(minutes=40)) == 6
    assert await requests(midnight + timedelta(hours=1), midnight + timedelta(hours=23)) == 0
    assert await requests(midnight + timedelta(hours=23), midnight + timedelta(hours=24)) == 0
    assert await requests(midnight + timedelta(hours=1), midnight + timedelta(hours=25)) == 2
    answer = await server.usages.sum_hours(
        client.tenant, midnight - timedelta(minutes=1), midnight + timedelta(minutes=1)
    )
    assert (answer.start, answer.end) == (midnight - timedelta(hours=1), midnight + timedelta(hours=1))


@pytest.mark.parametrize(
    ("start", "end"),
    [(SUMMER, SPRING), (SPRING, SPRING), (SPRING, SPRING + timedelta(days=401)), (SPRING.replace(tzinfo=None), SUMMER)],
    ids=["backwards", "nothing", "too much", "no zone"],
)
async def test_an_invalid_period_is_refused(server: QuotaServer, start: datetime, end: datetime) -> None:
    with pytest.raises((BadInput, TypeError)):
        await server.usages.sum_hours(CONTROL_PLANE, start, end)


async def test_a_crash_loses_only_unwritten_usage_and_written_usage_counts_once(
    stack: ServiceStack, server: QuotaServer
) -> None:
    client = await server.new_tenant_client()
    for _ in range(3):
        await client.data(USERS)
    await server.flusher.flush()
    for _ in range(2):
        await client.data(USERS)
    restarted_server = QuotaServer(stack=stack)
    for _ in range(4):
        await restarted_server.client(client).data(USERS)
    await restarted_server.flusher.flush()
    await restarted_server.flusher.flush()
    assert (await total_usage(server, client.tenant)).requests == 7


async def test_operators_can_read_usage_and_cost_and_tenants_cannot(stack: ServiceStack, server: QuotaServer) -> None:
    client = await server.new_tenant_client()
    await client.data(CREATE, email="a@x.example")
    await client.data(USERS)
    await server.flusher.flush()
    period = {"from": SPRING.isoformat(), "to": SUMMER.isoformat()}
    operator = stack.operator_client()
    answer = (await operator.data(USAGE, tenant=client.tenant, **period))["usage"]
    counts = await total_usage(server, client.tenant)
    reads, writes = counts.read_units, counts.write_units
    assert (answer["readUnits"], answer["writeUnits"]) == (float(reads), float(writes))
    assert answer["costUsd"] == pytest.approx(float((reads * Decimal("0.125") + writes * Decimal("0.625")) / 10**6))
    assert answer["costUsd"] > 0
    assert (answer["requests"], answer["throttled"]) == (2, 0)
    assert {operation["operation"] for operation in answer["operations"]} == {"createUser", "users"}
    assert (await operator.data(USAGE, tenant="-", **period))["usage"]["readUnits"] > 0
    assert await operator.error_code(USAGE, tenant="nobody-here", **period) == "NOT_FOUND"
    assert await operator.error_code(USAGE, tenant="TENANT#", **period) == "BAD_USER_INPUT"
    assert (
        await replace(operator, token=client.token).error_code(USAGE, tenant=client.tenant, **period)
        == "UNAUTHENTICATED"
    )


async def test_usage_expires_after_400_days(stack: ServiceStack, server: QuotaServer) -> None:
    client = await server.new_tenant_client()
    await client.data(USERS)
    await server.flusher.flush()
    partition = f"CONTROL#USAGE#{client.tenant}#2026-05"
    answer = stack.engine_client().query(
        TableName=stack.settings.table,
        KeyConditionExpression="PK = :p",
        ExpressionAttributeValues={":p": {"S": partition}},
    )
    (item,) = answer["Items"]
    hour = datetime(2026, 5, 31, 23, tzinfo=UTC)
    assert item["SK"]["S"].startswith("2026-05-31T23:00:00.000000Z#")
    assert int(item["ttl"]["N"]) == int((hour + timedelta(days=400)).timestamp())


async def serve_one_request(
    stack: ServiceStack, client: ApiClient, seconds: float, until: Callable[[], Awaitable[bool]]
) -> None:
    """Starts a server, sends one request, and stops the server when the condition holds."""
    settings = stack.settings.model_copy(update={"usage_seconds": seconds})
    server = Service(aws_access(settings, stack.gate.session_issuer).connect()).app
    async with server.router.lifespan_context(server):
        await replace(client, application=server).data(USERS)
        for _ in range(MAX_POLLS):
            if await until():
                break
            await asyncio.sleep(0.02)


async def current_requests(stack: ServiceStack, client: ApiClient) -> int:
    usages = UsageRepository(stack.tables.for_control_plane(may_write=False))
    now = datetime.now(UTC)
    usage = await usages.sum_hours(client.tenant, now - timedelta(hours=2), now + timedelta(hours=1))
    return usage.total.requests


async def test_a_server_writes_its_usage_when_it_stops(stack: ServiceStack, owner: ApiClient) -> None:
    async def is_done() -> bool:
        return True

    await serve_one_request(stack, owner, 3600, is_done)
    assert await current_requests(stack, owner) == 1


async def test_a_server_writes_its_usage_while_it_runs(stack: ServiceStack, owner: ApiClient) -> None:
    requests_seen = []

    async def is_written() -> bool:
        requests_seen.append(await current_requests(stack, owner))
        return requests_seen[-1] == 1

    await serve_one_request(stack, owner, 0.02, is_written)
    assert requests_seen[-1] == 1


async def test_a_commands_usage_is_written_for_its_tenant_when_it_ends(stack: ServiceStack, tenant: TenantId) -> None:
    async with metered_tables(stack.tables) as tables:
        await UserRepository(tables.for_tenant(TenantLocation(tenant=tenant), may_write=False)).newest(
            first=5, after=None
        )
        await tables.for_tenant(TenantLocation(tenant=tenant), may_write=False).find(user_by_id, id="usr_nobody")
    now = datetime.now(UTC)
    usages = UsageRepository(stack.tables.for_control_plane(may_write=False))
    usage = await usages.sum_hours(tenant, now - timedelta(hours=2), now + timedelta(hours=1))
    (usage_outside_requests,) = usage.operations.values()
    assert list(usage.operations) == ["outside"]
    assert (usage_outside_requests.requests, usage_outside_requests.read_units > 0) == (0, True)


@pytest.mark.one_engine
async def test_a_measured_storage_size_reaches_the_cache_although_it_makes_no_new_version(
    stack: ServiceStack, tenant: TenantId
) -> None:
    registry = TenantCache(stack.tables.for_control_plane(may_write=False), max_age_seconds=0.0)
    before = await registry.get(tenant)
    measured_storage = UpdateExpression(sets={("storedBytes",): 77})
    await stack.tables.for_control_plane(may_write=True).write(
        update_attributes(tenants, {"id": tenant}, measured_storage)
    )
    after = await registry.get(tenant)
    assert (after.version, after.stored_bytes) == (before.version, 77)
