"""The mutation offboardTenant starts an offboarding, a migrator completes it, and the result stays available."""

import asyncio
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from pydantic import SecretStr
from starlette.applications import Starlette

from keyfence.jobs.offboard.certificate import compare_export, parse_signer, verify_certificate
from keyfence_iam.tenant import TenantId
from tests.stack import SHORT_SETTLE, ServiceStack
from tests.system.jobs.offboarding_run import all_items, connect_as_migrator, fill, items_of

OFFBOARD = """mutation($id: ID!, $confirm: ID!) { offboardTenant(id: $id, confirm: $confirm) {
  tenant { id status name } phase exportUri itemsExported itemsPurged certificate } }"""
USERS = "{ users(first: 1) { edges { node { id } } } }"
SIGNING_KEY = "k" * 43


@pytest.fixture
def application_with_migrator(stack: ServiceStack, tmp_path: Path) -> Iterator[Starlette]:
    """The application as in `keyfence dev`, which also runs jobs as the migrator."""
    settings = stack.settings.model_copy(
        update={"exports": tmp_path, "signing_key": SecretStr(SIGNING_KEY), **SHORT_SETTLE}
    )
    with connect_as_migrator(stack, **SHORT_SETTLE) as migrator_access:
        yield stack.serve(settings=settings, migrator=migrator_access)


async def offboard(stack: ServiceStack, tenant: TenantId, application: Starlette | None = None) -> dict[str, Any]:
    operator = replace(stack.operator_client(), application=application or stack.application)
    answer: dict[str, Any] = (await operator.data(OFFBOARD, id=tenant, confirm=tenant))["offboardTenant"]
    return answer


async def test_only_an_operator_can_offboard_a_tenant(stack: ServiceStack, tenant: TenantId) -> None:
    owner = replace(stack.api_client(tenant), path="/admin/graphql")
    assert await owner.error_code(OFFBOARD, id=tenant, confirm=tenant) == "UNAUTHENTICATED"
    await stack.api_client(tenant).data(USERS)


async def test_a_wrong_confirmation_offboards_nothing(stack: ServiceStack, tenant: TenantId) -> None:
    other_tenant = await stack.new_tenant()
    for id, confirm, code in (
        (tenant, other_tenant, "BAD_USER_INPUT"),
        (tenant, "", "BAD_USER_INPUT"),
        ("nobody-here", "nobody-here", "NOT_FOUND"),
        ("NO ID", "NO ID", "BAD_USER_INPUT"),
    ):
        assert await stack.operator_client().error_code(OFFBOARD, id=id, confirm=confirm) == code
    for active_tenant in (tenant, other_tenant):
        await stack.api_client(active_tenant).data(USERS)


async def test_without_a_migrator_the_offboarding_is_only_started(stack: ServiceStack, tenant: TenantId) -> None:
    fill(stack, tenant, 3)
    session = stack.api_client(tenant)
    await session.data(USERS)
    stack.take_calls()
    for _ in range(2):
        answer = await offboard(stack, tenant)
        assert answer["tenant"] == {"id": tenant, "status": "OFFBOARDING", "name": tenant.title()}
        assert (answer["phase"], answer["itemsExported"], answer["itemsPurged"]) == ("SUSPENDING", 0, 0)
        assert (answer["exportUri"], answer["certificate"]) == (None, None)
    assert {call.operation for call in stack.take_calls()} <= {"GetItem", "TransactWriteItems"}
    assert await session.error_code(USERS) == "FORBIDDEN"
    assert len(items_of(all_items(stack), tenant)) == 3
    assert (
        await stack.operator_client().error_code("mutation($id: ID!) { resumeTenant(id: $id) { id } }", id=tenant)
        == "CONFLICT"
    )


async def test_a_server_with_a_migrator_completes_it_in_the_background(
    stack: ServiceStack, tenant: TenantId, application_with_migrator: Starlette, tmp_path: Path
) -> None:
    fill(stack, tenant, 8)
    started = time.monotonic()
    answer = await offboard(stack, tenant, application_with_migrator)
    assert answer["certificate"] is None
    while answer["phase"] != "FINISHED":
        assert time.monotonic() < started + 60
        await asyncio.sleep(0.05)
        answer = await offboard(stack, tenant, application_with_migrator)
    assert answer["tenant"] == {"id": tenant, "status": "OFFBOARDED", "name": tenant}
    assert (answer["phase"], answer["itemsExported"], answer["itemsPurged"]) == ("FINISHED", 8, 8)
    claims = verify_certificate(orjson.dumps(answer["certificate"]), parse_signer(SIGNING_KEY).verifier)
    compare_export(claims, tmp_path / claims["export"])
    assert answer["exportUri"] == (tmp_path / claims["export"]).as_uri()
    assert claims["operator"] == "an-operator"
    assert items_of(all_items(stack), tenant) == []
    assert await offboard(stack, tenant) == answer, "every server gives this answer, also a server without a migrator"
    client = replace(stack.api_client(tenant), application=application_with_migrator)
    assert await client.error_code(USERS) == "UNAUTHENTICATED"
