"""Changes of a tenant by operators take effect immediately, write an event, and follow the allowed status changes."""

import asyncio
from dataclasses import replace

import pytest

from keyfence.app.local import aws_access
from keyfence.app.service import Service
from keyfence_iam.tenant import parse_tenant_id
from tests.data.operator_requests import EVENTS, ONBOARD, RESUME, SUSPEND, TENANT, TenantApplicant, event_kinds
from tests.stack import World

VIEWER = "{ viewer { tenant { name tier } } }"
RENAME = """mutation($id: ID!, $name: String!, $v: Int) {
  renameTenant(id: $id, name: $name, expectedVersion: $v) { name version } }"""
QUOTAS = """mutation($id: ID!, $r: Int, $u: Int) {
  setQuotas(id: $id, requestsPerSecond: $r, users: $u) { quotas { requestsPerSecond users } } }"""
TIER = "mutation($id: ID!, $tier: Tier!) { setTier(id: $id, tier: $tier) { tier quotas { requestsPerSecond users } } }"


async def arrived(world: World, id: str | None = None) -> TenantApplicant:
    newcomer = TenantApplicant.named(id)
    await newcomer.onboard(world)
    return newcomer


async def test_a_suspended_tenant_is_refused_immediately_and_served_again_when_resumed(world: World) -> None:
    newcomer, operator = await arrived(world), world.operator()
    own = newcomer.session(world)
    await own.ask(VIEWER)
    assert (await operator.ask(SUSPEND, id=newcomer.id))["suspendTenant"]["status"] == "SUSPENDED"
    assert await own.refusal(VIEWER) == "FORBIDDEN"
    assert (await operator.ask(TENANT, id=newcomer.id))["tenant"]["reason"] == "unpaid"
    assert (await operator.ask(RESUME, id=newcomer.id))["resumeTenant"]["status"] == "ACTIVE"
    await own.ask(VIEWER)
    assert (await operator.ask(TENANT, id=newcomer.id))["tenant"]["reason"] is None


async def test_iam_denies_a_session_that_was_issued_before_the_suspension(world: World) -> None:
    """Tenants with the same prefix are not affected."""
    names = ("far", "far-1", "far-11")
    clients = {}
    for name in names:
        await arrived(world, name)
        clients[name] = world.client(parse_tenant_id(name))
    await world.operator().ask(SUSPEND, id="far-1")
    for name in names:
        key = {"PK": {"S": f"TENANT#{name}#USER#x"}, "SK": {"S": "PROFILE"}}
        if name == "far-1":
            with pytest.raises(clients[name].exceptions.ClientError, match="AccessDeniedException"):
                clients[name].get_item(TableName=world.settings.table, Key=key)
        else:
            clients[name].get_item(TableName=world.settings.table, Key=key)


async def test_iam_denies_a_server_that_does_not_know_of_the_suspension_yet(world: World) -> None:
    newcomer = await arrived(world)
    unaware = world.serve()
    elsewhere = replace(newcomer.session(world), application=unaware)
    users = "{ users { edges { node { id } } } }"
    await elsewhere.ask(users)
    await world.operator().ask(SUSPEND, id=newcomer.id)
    assert await elsewhere.refusal(users) == "FORBIDDEN"


async def test_concurrent_suspensions_all_take_effect(world: World) -> None:
    """Two concurrent publications must not undo each other."""
    crowd = [await arrived(world) for _ in range(6)]
    await asyncio.gather(*(world.operator().ask(SUSPEND, id=one.id) for one in crowd))
    for one in crowd:
        client = world.client(parse_tenant_id(one.id))
        with pytest.raises(client.exceptions.ClientError, match="AccessDeniedException"):
            client.get_item(
                TableName=world.settings.table, Key={"PK": {"S": f"TENANT#{one.id}#USER#x"}, "SK": {"S": "PROFILE"}}
            )


async def test_a_suspension_that_iam_did_not_get_is_an_error_and_to_repeat_it_publishes_it(world: World) -> None:
    newcomer, operator = await arrived(world), world.operator()
    unreachable = world.settings.model_copy(update={"iam_endpoint_url": "http://127.0.0.1:9"})
    connections = aws_access(unreachable, world.gate.sessions).connect()
    without_iam = replace(operator, application=Service(connections).app)
    (error,) = (await without_iam.answer(SUSPEND, id=newcomer.id))["errors"]
    assert error["extensions"]["code"] == "THROTTLED"
    assert "send the same request again" in error["message"]
    connections.close()
    client = world.client(parse_tenant_id(newcomer.id))
    key = {"PK": {"S": f"TENANT#{newcomer.id}#USER#x"}, "SK": {"S": "PROFILE"}}
    client.get_item(TableName=world.settings.table, Key=key)
    await operator.ask(SUSPEND, id=newcomer.id)
    with pytest.raises(client.exceptions.ClientError, match="AccessDeniedException"):
        client.get_item(TableName=world.settings.table, Key=key)


async def test_a_second_suspension_changes_only_the_reason(world: World) -> None:
    newcomer, operator = await arrived(world), world.operator()
    await operator.ask(SUSPEND, id=newcomer.id)
    before = (await operator.ask(TENANT, id=newcomer.id))["tenant"]
    await operator.ask(SUSPEND, id=newcomer.id)
    assert (await operator.ask(TENANT, id=newcomer.id))["tenant"] == before
    await operator.ask(SUSPEND, id=newcomer.id, reason="abuse")
    assert (await operator.ask(TENANT, id=newcomer.id))["tenant"]["reason"] == "abuse"


async def test_a_new_name_is_returned_immediately_and_an_old_version_is_a_conflict(world: World) -> None:
    newcomer, operator = await arrived(world), world.operator()
    version = (await operator.ask(TENANT, id=newcomer.id))["tenant"]["version"]
    await operator.ask(RENAME, id=newcomer.id, name="Neu", v=version)
    assert (await newcomer.session(world).ask(VIEWER))["viewer"]["tenant"]["name"] == "Neu"
    assert await operator.refusal(RENAME, id=newcomer.id, name="Neuer", v=version) == "CONFLICT"


async def test_quota_overrides_stay_when_the_tier_changes(world: World) -> None:
    newcomer, operator = await arrived(world), world.operator()
    await operator.ask(QUOTAS, id=newcomer.id, r=77)
    changed = (await operator.ask(TIER, id=newcomer.id, tier="FREE"))["setTier"]
    assert changed == {"tier": "FREE", "quotas": {"requestsPerSecond": 77, "users": 10}}


@pytest.mark.parametrize("quotas", [{"r": 0}, {"u": -1}, {"r": 1_000_000_001}, {}], ids=str)
async def test_a_quota_below_the_minimum_is_refused(world: World, quotas: dict[str, int]) -> None:
    newcomer = await arrived(world)
    assert await world.operator().refusal(QUOTAS, id=newcomer.id, **quotas) == "BAD_USER_INPUT"


async def test_every_change_is_an_event_with_the_operators_name(world: World) -> None:
    newcomer = await arrived(world)
    somebody = world.operator("op-7")
    await somebody.ask(RENAME, id=newcomer.id, name="Neu")
    await somebody.ask(TIER, id=newcomer.id, tier="FREE")
    await somebody.ask(QUOTAS, id=newcomer.id, r=5)
    await somebody.ask(SUSPEND, id=newcomer.id)
    await somebody.ask(RESUME, id=newcomer.id)
    assert (await event_kinds(world, newcomer.id))[2:] == [
        "tenant.renamed",
        "tenant.tier",
        "tenant.quotas",
        "tenant.suspended",
        "tenant.resumed",
    ]
    found = (await somebody.ask(EVENTS, id=newcomer.id))["tenant"]["events"]["edges"]
    assert {edge["node"]["by"] for edge in found[:5]} == {"op-7"}
    assert found[2]["node"]["detail"] == {"requestsPerSecond": 5}


async def test_a_change_without_effect_leaves_no_event(world: World) -> None:
    newcomer, operator = await arrived(world), world.operator()
    await operator.ask(TIER, id=newcomer.id, tier="PREMIUM")
    await operator.ask(RESUME, id=newcomer.id)
    assert len(await event_kinds(world, newcomer.id)) == 2


UNKNOWN: dict[str, tuple[str, dict[str, object]]] = {
    "rename": (RENAME, {"name": "N"}),
    "tier": (TIER, {"tier": "FREE"}),
    "quotas": (QUOTAS, {"r": 1}),
    "suspend": (SUSPEND, {}),
    "resume": (RESUME, {}),
}


@pytest.mark.parametrize("name", UNKNOWN)
async def test_a_tenant_that_is_not_there_is_not_found(world: World, name: str) -> None:
    query, arguments = UNKNOWN[name]
    assert await world.operator().refusal(query, id="nobody-here", **arguments) == "NOT_FOUND"


async def test_a_repeated_onboarding_of_a_suspended_tenant_changes_nothing(world: World) -> None:
    newcomer, operator = await arrived(world), world.operator()
    await operator.ask(SUSPEND, id=newcomer.id)
    again = (await operator.ask(ONBOARD, input=newcomer.application()))["onboardTenant"]
    assert (again["created"], again["tenant"]["status"]) == (False, "SUSPENDED")
