"""offboardTenant: the service starts it, a migrator completes it, and its result stays available."""

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

from keyfence.jobs.offboard.certificate import compare_export, signer, verify_certificate
from keyfence_iam.tenant import TenantId
from tests.engine.offboarding_run import all_items, fill, items_of, migrator
from tests.stack import SHORT_SETTLE, World

OFFBOARD = """mutation($id: ID!, $confirm: ID!) { offboardTenant(id: $id, confirm: $confirm) {
  tenant { id status name } phase exportUri itemsExported itemsPurged certificate } }"""
USERS = "{ users(first: 1) { edges { node { id } } } }"
KEY = "k" * 43


@pytest.fixture
def attended(world: World, tmp_path: Path) -> Iterator[Starlette]:
    """The service as `keyfence dev` runs it, with a migrator."""
    settings = world.settings.model_copy(update={"exports": tmp_path, "signing_key": SecretStr(KEY), **SHORT_SETTLE})
    with migrator(world, **SHORT_SETTLE) as by:
        yield world.serve(settings=settings, migrator=by)


async def offboarded(world: World, tenant: TenantId, application: Starlette | None = None) -> dict[str, Any]:
    operator = replace(world.operator(), application=application or world.application)
    answer: dict[str, Any] = (await operator.ask(OFFBOARD, id=tenant, confirm=tenant))["offboardTenant"]
    return answer


async def test_only_an_operator_can_offboard_a_tenant(world: World, tenant: TenantId) -> None:
    owner = replace(world.session(tenant), path="/admin/graphql")
    assert await owner.refusal(OFFBOARD, id=tenant, confirm=tenant) == "UNAUTHENTICATED"
    await world.session(tenant).ask(USERS)


async def test_a_wrong_confirmation_offboards_nothing(world: World, tenant: TenantId) -> None:
    other = await world.new_tenant()
    for id, confirm, code in (
        (tenant, other, "BAD_USER_INPUT"),
        (tenant, "", "BAD_USER_INPUT"),
        ("nobody-here", "nobody-here", "NOT_FOUND"),
        ("NO ID", "NO ID", "BAD_USER_INPUT"),
    ):
        assert await world.operator().refusal(OFFBOARD, id=id, confirm=confirm) == code
    for one in (tenant, other):
        await world.session(one).ask(USERS)


async def test_without_a_migrator_the_offboarding_is_only_started(world: World, tenant: TenantId) -> None:
    fill(world, tenant, 3)
    session = world.session(tenant)
    await session.ask(USERS)
    world.calls()
    for _ in range(2):
        answer = await offboarded(world, tenant)
        assert answer["tenant"] == {"id": tenant, "status": "OFFBOARDING", "name": tenant.title()}
        assert (answer["phase"], answer["itemsExported"], answer["itemsPurged"]) == ("SUSPENDING", 0, 0)
        assert (answer["exportUri"], answer["certificate"]) == (None, None)
    assert {call.operation for call in world.calls()} <= {"GetItem", "TransactWriteItems"}
    assert await session.refusal(USERS) == "FORBIDDEN"
    assert len(items_of(all_items(world), tenant)) == 3
    assert (
        await world.operator().refusal("mutation($id: ID!) { resumeTenant(id: $id) { id } }", id=tenant) == "CONFLICT"
    )


async def test_a_server_with_a_migrator_completes_it_in_the_background(
    world: World, tenant: TenantId, attended: Starlette, tmp_path: Path
) -> None:
    fill(world, tenant, 8)
    started = time.monotonic()
    answer = await offboarded(world, tenant, attended)
    assert answer["certificate"] is None
    while answer["phase"] != "FINISHED":
        assert time.monotonic() < started + 60
        await asyncio.sleep(0.05)
        answer = await offboarded(world, tenant, attended)
    assert answer["tenant"] == {"id": tenant, "status": "OFFBOARDED", "name": tenant}
    assert (answer["phase"], answer["itemsExported"], answer["itemsPurged"]) == ("FINISHED", 8, 8)
    claims = verify_certificate(orjson.dumps(answer["certificate"]), signer(KEY).verifier)
    compare_export(claims, tmp_path / claims["export"])
    assert answer["exportUri"] == (tmp_path / claims["export"]).as_uri()
    assert claims["operator"] == "an-operator"
    assert items_of(all_items(world), tenant) == []
    assert await offboarded(world, tenant) == answer, "any server answers with it, also one that cannot scan"
    gone = replace(world.session(tenant), application=attended)
    assert await gone.refusal(USERS) == "UNAUTHENTICATED"
