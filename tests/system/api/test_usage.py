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
PATIENCE = 1_500
SPRING, SUMMER = datetime(2026, 5, 1, tzinfo=UTC), datetime(2026, 7, 1, tzinfo=UTC)


@dataclass(slots=True)
class Till:
    """A client that adds up what the engine says was consumed."""

    client: DynamoDb
    total: CapacityMeter = field(default_factory=CapacityMeter)

    async def call(self, operation: str, parameters: Mapping[str, Any], credentials: Credentials) -> Answer:
        answer = await self.client.call(operation, parameters, credentials)
        self.total.record(operation, answer)
        return answer

    def close(self) -> None:
        self.client.close()


@pytest.fixture
def till(stack: ServiceStack) -> Till:
    return Till(stack.recorder)


@pytest.fixture
def server(stack: ServiceStack, till: Till) -> QuotaServer:
    return QuotaServer(stack=replace(stack, tables=replace(stack.tables, client=till)))


async def used(server: QuotaServer, tenant: TenantId) -> UsageCounts:
    return (await server.usages.sum_hours(tenant, SPRING, SUMMER)).total


async def work(session: ApiClient, name: str) -> None:
    """Send reads, writes, conflicts, malformed requests and concurrent requests."""
    await session.data(CREATE, email=f"{name}@x.example")
    await session.error_code(CREATE, email=f"{name}@x.example")
    await asyncio.gather(*(session.data(USERS) for _ in range(3)))
    await session.execute(
        "{ a: users { edges { node { email groups { edges { node { id } } } } } } groups { __typename } }"
    )
    await session.execute("{ nonsense }")
    await session.execute("{ viewer { subject } __typename }")


async def test_the_usage_of_all_tenants_and_the_service_is_what_the_engine_reported(
    server: QuotaServer, till: Till
) -> None:
    sessions = [await server.tenant(name) for name in ("sum", "sum-1", "sum-11")]
    quiet = await server.tenant("sum-quiet")
    till.total = CapacityMeter()
    for number, session in enumerate(sessions):
        for round_ in range(number + 1):
            await work(session, f"n{round_}")
    given = (till.total.read_units, till.total.write_units)
    await server.flushing.flush()
    parts = {who: await used(server, who) for who in (*(one.tenant for one in sessions), CONTROL_PLANE)}
    assert (
        sum(float(one.read_units) for one in parts.values()),
        sum(float(one.write_units) for one in parts.values()),
    ) == given
    assert [parts[one.tenant].requests for one in sessions] == [8, 16, 24]
    first, second, third = (parts[one.tenant].read_units for one in sessions)
    assert 0 < first < second < third
    assert parts[CONTROL_PLANE].read_units > 0, "the tenants were read"
    assert await used(server, quiet.tenant) == UsageCounts()


async def test_usage_is_counted_by_root_field_whatever_the_operation_name_is(server: QuotaServer) -> None:
    session = await server.tenant()
    await work(session, "ann")
    await session.execute("query users { groups { edges { node { id } } } }")
    await session.execute("query($y: Boolean = true) { ...F } fragment F on Query { x: groups { __typename } }")
    await server.flushing.flush()
    usage = await server.usages.sum_hours(session.tenant, SPRING, SUMMER)
    assert {name: counts.requests for name, counts in usage.operations.items()} == {
        "createUser": 2,
        "groups": 1,
        "several": 1,
        "unknown": 2,
        "users": 3,
        "viewer": 1,
    }
    viewer = usage.operations["viewer"].read_units
    assert 0 < 3 * viewer < usage.operations["users"].read_units, "each looks at its token, and these at the list too"


async def test_refused_requests_are_counted_separately(server: QuotaServer) -> None:
    session = await server.tenant(requests_per_second=1)
    for _ in range(5):
        await session.execute(USERS)
    await server.flushing.flush()
    found = await server.usages.sum_hours(session.tenant, SPRING, SUMMER)
    assert (found.total.requests, found.total.refused) == (2, 3)
    assert found.operations["unknown"].refused == 3


async def test_whole_hours_are_added_up_over_days_months_and_processes(
    stack: ServiceStack, server: QuotaServer
) -> None:
    session = await server.tenant("hours")
    neighbour = await server.tenant("hours-1")
    other = QuotaServer(stack=stack, hour=server.hour)
    night = datetime.fromtimestamp(server.hour.now, UTC)
    for hours in (0, 1, 1, 25):
        server.hour.now = (night + timedelta(hours=hours)).timestamp()
        await session.data(USERS)
        await other.session(session).data(USERS)
        await neighbour.data(USERS)
    await server.flushing.flush()
    await other.flushing.flush()

    async def requests(start: datetime, end: datetime) -> int:
        return (await server.usages.sum_hours(session.tenant, start, end)).total.requests

    midnight = datetime(2026, 6, 1, tzinfo=UTC)
    assert await requests(SPRING, SUMMER) == 8
    assert await requests(midnight - timedelta(minutes=1), midnight) == 2
    assert await requests(midnight, midnight + timedelta(minutes=1)) == 4
    assert await requests(midnight - timedelta(minutes=20), midnight + timedelta(minutes=40)) == 6
    assert await requests(midnight + timedelta(hours=1), midnight + timedelta(hours=23)) == 0
    assert await requests(midnight + timedelta(hours=23), midnight + timedelta(hours=24)) == 0
    assert await requests(midnight + timedelta(hours=1), midnight + timedelta(hours=25)) == 2
    told = await server.usages.sum_hours(
        session.tenant, midnight - timedelta(minutes=1), midnight + timedelta(minutes=1)
    )
    assert (told.start, told.end) == (midnight - timedelta(hours=1), midnight + timedelta(hours=1))


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
    session = await server.tenant()
    for _ in range(3):
        await session.data(USERS)
    await server.flushing.flush()
    for _ in range(2):
        await session.data(USERS)
    again = QuotaServer(stack=stack)
    for _ in range(4):
        await again.session(session).data(USERS)
    await again.flushing.flush()
    await again.flushing.flush()
    assert (await used(server, session.tenant)).requests == 7


async def test_operators_can_read_usage_and_cost_and_tenants_cannot(stack: ServiceStack, server: QuotaServer) -> None:
    session = await server.tenant()
    await session.data(CREATE, email="a@x.example")
    await session.data(USERS)
    await server.flushing.flush()
    span = {"from": SPRING.isoformat(), "to": SUMMER.isoformat()}
    operator = stack.operator_client()
    told = (await operator.data(USAGE, tenant=session.tenant, **span))["usage"]
    counts = await used(server, session.tenant)
    reads, writes = counts.read_units, counts.write_units
    assert (told["readUnits"], told["writeUnits"]) == (float(reads), float(writes))
    assert told["costUsd"] == pytest.approx(float((reads * Decimal("0.125") + writes * Decimal("0.625")) / 10**6))
    assert told["costUsd"] > 0
    assert (told["requests"], told["throttled"]) == (2, 0)
    assert {one["operation"] for one in told["operations"]} == {"createUser", "users"}
    assert (await operator.data(USAGE, tenant="-", **span))["usage"]["readUnits"] > 0
    assert await operator.error_code(USAGE, tenant="nobody-here", **span) == "NOT_FOUND"
    assert await operator.error_code(USAGE, tenant="TENANT#", **span) == "BAD_USER_INPUT"
    assert (
        await replace(operator, token=session.token).error_code(USAGE, tenant=session.tenant, **span)
        == "UNAUTHENTICATED"
    )


async def test_usage_expires_after_400_days(stack: ServiceStack, server: QuotaServer) -> None:
    session = await server.tenant()
    await session.data(USERS)
    await server.flushing.flush()
    partition = f"CONTROL#USAGE#{session.tenant}#2026-05"
    found = stack.engine_client().query(
        TableName=stack.settings.table,
        KeyConditionExpression="PK = :p",
        ExpressionAttributeValues={":p": {"S": partition}},
    )
    (item,) = found["Items"]
    hour = datetime(2026, 5, 31, 23, tzinfo=UTC)
    assert item["SK"]["S"].startswith("2026-05-31T23:00:00.000000Z#")
    assert int(item["ttl"]["N"]) == int((hour + timedelta(days=400)).timestamp())


async def lived(stack: ServiceStack, session: ApiClient, seconds: float, until: Callable[[], Awaitable[bool]]) -> None:
    """Run a server for one request, until the condition holds."""
    settings = stack.settings.model_copy(update={"usage_seconds": seconds})
    server = Service(aws_access(settings, stack.gate.sessions).connect()).app
    async with server.router.lifespan_context(server):
        await replace(session, application=server).data(USERS)
        for _ in range(PATIENCE):
            if await until():
                break
            await asyncio.sleep(0.02)


async def now_used(stack: ServiceStack, session: ApiClient) -> int:
    usages = UsageRepository(stack.tables.for_control_plane(writes=False))
    now = datetime.now(UTC)
    found = await usages.sum_hours(session.tenant, now - timedelta(hours=2), now + timedelta(hours=1))
    return found.total.requests


async def test_a_server_writes_its_usage_when_it_stops(stack: ServiceStack, owner: ApiClient) -> None:
    async def at_once() -> bool:
        return True

    await lived(stack, owner, 3600, at_once)
    assert await now_used(stack, owner) == 1


async def test_a_server_writes_its_usage_while_it_runs(stack: ServiceStack, owner: ApiClient) -> None:
    seen = []

    async def written() -> bool:
        seen.append(await now_used(stack, owner))
        return seen[-1] == 1

    await lived(stack, owner, 0.02, written)
    assert seen[-1] == 1


async def test_a_commands_usage_is_written_for_its_tenant_when_it_ends(stack: ServiceStack, tenant: TenantId) -> None:
    async with metered_tables(stack.tables) as tables:
        await UserRepository(tables.for_tenant(TenantLocation(tenant=tenant), writes=False)).newest(first=5, after=None)
        await tables.for_tenant(TenantLocation(tenant=tenant), writes=False).find(user_by_id, id="usr_nobody")
    now = datetime.now(UTC)
    usages = UsageRepository(stack.tables.for_control_plane(writes=False))
    found = await usages.sum_hours(tenant, now - timedelta(hours=2), now + timedelta(hours=1))
    (outside,) = found.operations.values()
    assert list(found.operations) == ["outside"]
    assert (outside.requests, outside.read_units > 0) == (0, True)


@pytest.mark.one_engine
async def test_a_larger_storage_is_known_though_weighing_makes_no_version(
    stack: ServiceStack, tenant: TenantId
) -> None:
    registry = TenantCache(stack.tables.for_control_plane(writes=False), max_age_seconds=0.0)
    before = await registry.get(tenant)
    weighed = UpdateExpression(sets={("storedBytes",): 77})
    await stack.tables.for_control_plane(writes=True).write(update_attributes(tenants, {"id": tenant}, weighed))
    after = await registry.get(tenant)
    assert (after.version, after.stored_bytes) == (before.version, 77)
