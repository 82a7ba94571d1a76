"""Many tenants are onboarded concurrently, list_tenants with the newest first, and their owners can log in."""

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

TENANT_COUNT = tier.size(default=50, full=1_000)
CONCURRENT_REQUESTS = 8
LIST = """query($first: Int!, $after: String, $status: TenantStatus) {
  tenants(first: $first, after: $after, status: $status) {
    edges { node { id createdAt } } pageInfo { hasNextPage endCursor } } }"""
VIEWER = "{ viewer { tenant { id } user { email } } }"


@pytest.fixture
def unlimited_stack(stack: ServiceStack) -> Iterator[ServiceStack]:
    """A server without limits on calls to STS and on lookups of issuers."""
    settings = stack.settings.model_copy(
        update={"sts_calls_per_second": 10_000.0, "issuer_lookups_per_second": 10_000.0}
    )
    connections = aws_access(settings, stack.gate.session_issuer).connect()
    yield replace(stack, session_cache=connections.sessions, application=Service(connections).app)
    connections.close()


async def run_for_all(
    operation: Callable[[TenantApplicant], Awaitable[None]], applicants: list[TenantApplicant]
) -> None:
    limit = asyncio.Semaphore(CONCURRENT_REQUESTS)

    async def run(applicant: TenantApplicant) -> None:
        async with limit:
            await operation(applicant)

    await asyncio.gather(*map(run, applicants))


async def list_tenants(operator: ApiClient, first: int, **arguments: Any) -> list[dict[str, str]]:
    tenants: list[dict[str, str]] = []
    after = None
    while True:
        page = (await operator.data(LIST, first=first, after=after, **arguments))["tenants"]
        tenants += [edge["node"] for edge in page["edges"]]
        after = page["pageInfo"]["endCursor"]
        if not page["pageInfo"]["hasNextPage"]:
            return tenants


@pytest.mark.one_engine
async def test_many_tenants_are_onboarded_listed_and_can_log_in(unlimited_stack: ServiceStack) -> None:
    applicants = [TenantApplicant.named(f"many-{number}") for number in range(TENANT_COUNT)]
    owners: dict[str, str] = {}

    async def onboard(applicant: TenantApplicant) -> None:
        owners[applicant.id] = (await applicant.onboard(unlimited_stack))["owner"]["id"]

    async def log_in(applicant: TenantApplicant) -> None:
        seen = (await applicant.session(unlimited_stack, user=owners[applicant.id]).data(VIEWER))["viewer"]
        assert seen == {"tenant": {"id": applicant.id}, "user": {"email": f"owner@{applicant.id}.example"}}

    await run_for_all(onboard, applicants)
    our_ids = {applicant.id for applicant in applicants}
    listed = [
        tenant for tenant in await list_tenants(unlimited_stack.operator_client(), 100) if tenant["id"] in our_ids
    ]
    assert sorted(tenant["id"] for tenant in listed) == sorted(applicant.id for applicant in applicants)
    assert [tenant["createdAt"] for tenant in listed] == sorted(
        (tenant["createdAt"] for tenant in listed), reverse=True
    )
    await run_for_all(log_in, applicants)


def new_tenant(number: int, month: datetime) -> Tenant:
    created_at = month + timedelta(minutes=number)
    return Tenant(
        id=parse_tenant_id(f"m{number}-{month:%Y%m}"),
        name="A Shop",
        tier=Tier.FREE,
        status=TenantStatus.SUSPENDED if number % 2 else TenantStatus.ACTIVE,
        created_at=created_at,
        updated_at=created_at,
    )


@pytest.mark.parametrize("size", [1, 7, 100])
async def test_a_list_continues_over_months_with_and_without_tenants(stack: ServiceStack, size: int) -> None:
    """Pages end inside a month, at the end of a month, and before a month without tenants."""
    months = [datetime(2026, month, 3, tzinfo=UTC) for month in (1, 2, 5, 6)]
    tenants = TenantRepository(stack.tables.for_control_plane(may_write=True), "somebody")
    added = [new_tenant(number, month) for month in months for number in range(4)]
    for tenant in added:
        if await tenants.find(tenant.id) is None:
            await tenants.add(tenant)
    newest_first = [tenant.id for tenant in sorted(added, key=lambda tenant: tenant.created_at, reverse=True)]
    our_ids = set(newest_first)
    listed = [tenant["id"] for tenant in await list_tenants(stack.operator_client(), size) if tenant["id"] in our_ids]
    assert listed == newest_first
    suspended = {tenant.id for tenant in added if tenant.status is TenantStatus.SUSPENDED}
    listed_suspended = [
        tenant["id"]
        for tenant in await list_tenants(stack.operator_client(), size, status="SUSPENDED")
        if tenant["id"] in our_ids
    ]
    assert listed_suspended == [id for id in newest_first if id in suspended]
