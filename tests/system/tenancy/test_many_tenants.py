"""Many tenants come in one run, are listed in the order in which they came, and each has its own login."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from keyfence.app.composition_root import Service
from keyfence.app.local_development import aws_access
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.tenant import Tenant
from keyfence.tenancy.tenant_status import TenantStatus
from keyfence.tenancy.tier_quotas import Tier
from keyfence_iam.tenant import parse_tenant_id
from tests import tier
from tests.data.operator_requests import TenantApplicant
from tests.stack import ApiClient, ServiceStack

MANY = tier.size(default=50, full=1_000)
AT_ONCE = 8
LIST = """query($first: Int!, $after: String, $status: TenantStatus) {
  tenants(first: $first, after: $after, status: $status) {
    edges { node { id createdAt } } pageInfo { hasNextPage endCursor } } }"""
VIEWER = "{ viewer { tenant { id } user { email } } }"


@pytest.fixture
def hurried(stack: ServiceStack) -> Iterator[ServiceStack]:
    """A server without limits on calls to STS and on lookups of issuers."""
    settings = stack.settings.model_copy(
        update={"sts_calls_per_second": 10_000.0, "issuer_lookups_per_second": 10_000.0}
    )
    connections = aws_access(settings, stack.gate.sessions).connect()
    yield replace(stack, vending=connections.sessions, application=Service(connections).app)
    connections.close()


async def in_turn(work: Callable[[TenantApplicant], Awaitable[None]], newcomers: list[TenantApplicant]) -> None:
    turns = asyncio.Semaphore(AT_ONCE)

    async def one(newcomer: TenantApplicant) -> None:
        async with turns:
            await work(newcomer)

    await asyncio.gather(*map(one, newcomers))


async def listed(operator: ApiClient, first: int, **arguments: Any) -> list[dict[str, str]]:
    found: list[dict[str, str]] = []
    after = None
    while True:
        page = (await operator.data(LIST, first=first, after=after, **arguments))["tenants"]
        found += [edge["node"] for edge in page["edges"]]
        after = page["pageInfo"]["endCursor"]
        if not page["pageInfo"]["hasNextPage"]:
            return found


@pytest.mark.one_engine
async def test_many_tenants_come_are_listed_and_log_in(hurried: ServiceStack) -> None:
    crowd = [TenantApplicant.named(f"crowd-{number}") for number in range(MANY)]
    owners: dict[str, str] = {}

    async def come(newcomer: TenantApplicant) -> None:
        owners[newcomer.id] = (await newcomer.onboard(hurried))["owner"]["id"]

    async def log_in(newcomer: TenantApplicant) -> None:
        seen = (await newcomer.session(hurried, user=owners[newcomer.id]).data(VIEWER))["viewer"]
        assert seen == {"tenant": {"id": newcomer.id}, "user": {"email": f"owner@{newcomer.id}.example"}}

    await in_turn(come, crowd)
    ours = {newcomer.id for newcomer in crowd}
    found = [one for one in await listed(hurried.operator_client(), 100) if one["id"] in ours]
    assert sorted(one["id"] for one in found) == sorted(newcomer.id for newcomer in crowd)
    assert [one["createdAt"] for one in found] == sorted((one["createdAt"] for one in found), reverse=True)
    await in_turn(log_in, crowd)


def entered(number: int, month: datetime) -> Tenant:
    at = month + timedelta(minutes=number)
    return Tenant(
        id=parse_tenant_id(f"m{number}-{month:%Y%m}"),
        name="A Shop",
        tier=Tier.FREE,
        status=TenantStatus.SUSPENDED if number % 2 else TenantStatus.ACTIVE,
        created_at=at,
        updated_at=at,
    )


@pytest.mark.parametrize("size", [1, 7, 100])
async def test_a_list_goes_on_over_months_with_and_without_tenants(stack: ServiceStack, size: int) -> None:
    """Every page ends somewhere else: inside a month, at its end, before a month in which nobody came."""
    months = [datetime(2026, month, 3, tzinfo=UTC) for month in (1, 2, 5, 6)]
    tenants = TenantRepository(stack.tables.for_control_plane(writes=True), "somebody")
    made = [entered(number, month) for month in months for number in range(4)]
    for tenant in made:
        if await tenants.find(tenant.id) is None:
            await tenants.add(tenant)
    wanted = [tenant.id for tenant in sorted(made, key=lambda one: one.created_at, reverse=True)]
    ours = set(wanted)
    everybody = [one["id"] for one in await listed(stack.operator_client(), size) if one["id"] in ours]
    assert everybody == wanted
    suspended = {tenant.id for tenant in made if tenant.status is TenantStatus.SUSPENDED}
    found = [one["id"] for one in await listed(stack.operator_client(), size, status="SUSPENDED") if one["id"] in ours]
    assert found == [id for id in wanted if id in suspended]
