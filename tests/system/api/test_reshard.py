"""Operators change the number of shards of a collection while users work."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from keyfence.app.local_development import aws_access
from keyfence_iam.tenant import TenantId
from tests.stack import SHORT_SETTLE, ApiClient, ServiceStack

pytestmark = pytest.mark.one_engine

RESHARD = """mutation ($tenant: ID!, $collection: String!, $shards: Int!, $rebalance: Boolean! = false) {
  reshard(tenant: $tenant, collection: $collection, shards: $shards, rebalance: $rebalance) {
    collection readShards writeShards generation job
  }
}"""
SHARDS = """query ($id: ID!) { tenant(id: $id) {
  shards { collection readShards writeShards generation job } events { edges { node { kind by detail } } }
} }"""
CREATE = """mutation ($email: String!) {
  createUser(input: {email: $email, name: "Ann"}) { id }
}"""


@pytest.fixture
async def operator(stack: ServiceStack, with_migrator: bool) -> AsyncIterator[ApiClient]:
    """A client with an operator's token, of a server with a short settle time, with or without a migrator."""
    settings = stack.settings.model_copy(update=SHORT_SETTLE)
    migrator = aws_access(settings, stack.gate.session_issuer).connect_migrator() if with_migrator else None
    application = stack.serve(settings=settings, migrator=migrator)
    yield replace(stack.operator_client(), application=application)
    if migrator:
        migrator.close()


async def shards_of(operator: ApiClient, tenant: TenantId, collection: str = "users") -> dict[str, Any]:
    answer = await operator.execute(SHARDS, id=tenant)
    (shard_counts,) = [counts for counts in answer["data"]["tenant"]["shards"] if counts["collection"] == collection]
    return dict(shard_counts)


async def create_user(client: ApiClient, email: str) -> None:
    """Repeats the call while it is throttled. A cached tenant can expire during a slow request."""
    for _ in range(50):
        answer = await client.execute(CREATE, email=email)
        if "errors" not in answer:
            return
        assert answer["errors"][0]["extensions"]["code"] == "THROTTLED", answer
    raise AssertionError("the call was throttled every time")


async def wait_for_end(operator: ApiClient, tenant: TenantId) -> dict[str, Any]:
    for _ in range(400):
        if (shard_counts := await shards_of(operator, tenant))["job"] is None:
            return shard_counts
        await asyncio.sleep(0.02)
    raise AssertionError("the reshard did not end in time")


@pytest.mark.parametrize("with_migrator", [False, True])
async def test_a_server_grows_a_collection_by_itself_and_writes_events(
    stack: ServiceStack, operator: ApiClient, tenant: TenantId
) -> None:
    started = (await operator.execute(RESHARD, tenant=tenant, collection="users", shards=4))["data"]["reshard"]
    assert (started["readShards"], started["writeShards"]) == (4, 1)
    assert started["job"].startswith("job_")
    repeated = (await operator.execute(RESHARD, tenant=tenant, collection="users", shards=4))["data"]["reshard"]
    assert repeated["job"] in (started["job"], None)
    shard_counts = await wait_for_end(operator, tenant)
    assert (shard_counts["readShards"], shard_counts["writeShards"], shard_counts["generation"]) == (4, 4, 2)
    events = (await operator.execute(SHARDS, id=tenant))["data"]["tenant"]["events"]["edges"]
    assert [edge["node"]["kind"] for edge in events[:2]] == ["shards.grown", "shards.growing"]
    assert {edge["node"]["by"] for edge in events[:2]} == {"an-operator"}
    repeated_after_end = (await operator.execute(RESHARD, tenant=tenant, collection="users", shards=4))["data"][
        "reshard"
    ]
    assert repeated_after_end == shard_counts


@pytest.mark.parametrize("with_migrator", [True])
async def test_users_are_listed_once_after_the_shards_are_reduced_again(
    stack: ServiceStack, operator: ApiClient, tenant: TenantId
) -> None:
    await operator.execute(RESHARD, tenant=tenant, collection="users", shards=8)
    await wait_for_end(operator, tenant)
    client = replace(stack.api_client(tenant), application=operator.application)
    for number in range(20):
        await create_user(client, f"{number}@x.example")
    used_shards = {item["GSI2PK"]["S"][-2:] for item in _users(stack, tenant)}
    assert len(used_shards) > 2
    await operator.execute(RESHARD, tenant=tenant, collection="users", shards=2)
    shard_counts = await wait_for_end(operator, tenant)
    assert (shard_counts["readShards"], shard_counts["writeShards"]) == (2, 2)
    assert {item["GSI2PK"]["S"][-2:] for item in _users(stack, tenant)} == {"00", "01"}
    answer = await client.execute("{ users(first: 50) { edges { node { email } } } }")
    emails = [edge["node"]["email"] for edge in answer["data"]["users"]["edges"]]
    assert sorted(emails) == sorted(f"{number}@x.example" for number in range(20))


@pytest.mark.parametrize("with_migrator", [False])
async def test_a_reshard_that_moves_items_waits_for_the_migrator_and_blocks_others(
    stack: ServiceStack, operator: ApiClient, tenant: TenantId
) -> None:
    await operator.execute(RESHARD, tenant=tenant, collection="users", shards=4)
    await wait_for_end(operator, tenant)
    started = (await operator.execute(RESHARD, tenant=tenant, collection="users", shards=2))["data"]["reshard"]
    await asyncio.sleep(0.2)
    assert await shards_of(operator, tenant) == started
    conflict = await operator.execute(RESHARD, tenant=tenant, collection="users", shards=8)
    (error,) = conflict["errors"]
    assert error["extensions"]["code"] == "CONFLICT"
    assert error["extensions"]["job"] == started["job"]
    other_collection = await operator.execute(RESHARD, tenant=tenant, collection="customers", shards=2)
    assert "errors" not in other_collection, "another collection is another matter"


@pytest.mark.parametrize("with_migrator", [False])
@pytest.mark.parametrize(
    ("collection", "shards", "field"),
    [("nothing", 2, "collection"), ("users", 0, "shards"), ("users", 257, "shards"), ("counters", 101, "shards")],
)
async def test_an_unknown_collection_or_an_impossible_number_of_shards_is_bad_input(
    stack: ServiceStack, operator: ApiClient, tenant: TenantId, collection: str, shards: int, field: str
) -> None:
    answer = await operator.execute(RESHARD, tenant=tenant, collection=collection, shards=shards)
    (error,) = answer["errors"]
    assert (error["extensions"]["code"], error["extensions"]["field"]) == ("BAD_USER_INPUT", field)


@pytest.mark.parametrize("with_migrator", [False])
async def test_a_tenant_that_does_not_exist_is_not_found(stack: ServiceStack, operator: ApiClient) -> None:
    answer = await operator.execute(RESHARD, tenant="nobody-here", collection="users", shards=2)
    assert answer["errors"][0]["extensions"]["code"] == "NOT_FOUND"


def _users(stack: ServiceStack, tenant: TenantId) -> list[Any]:
    items = stack.engine_client().scan(TableName=stack.settings.table)["Items"]
    return [item for item in items if item["PK"]["S"].startswith(f"TENANT#{tenant}#USER#") and "GSI2PK" in item]
