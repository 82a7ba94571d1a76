"""Changes of a tenant by operators take effect immediately, write an event, and follow the allowed status changes."""

import asyncio
from dataclasses import replace

import pytest

from keyfence.app.composition_root import Service
from keyfence.app.local_development import aws_access
from keyfence_iam.tenant import parse_tenant_id
from tests.data.operator_requests import EVENTS, ONBOARD, RESUME, SUSPEND, TENANT, TenantApplicant, event_kinds
from tests.stack import ServiceStack

VIEWER = "{ viewer { tenant { name tier } } }"
RENAME = """mutation($id: ID!, $name: String!, $v: Int) {
  renameTenant(id: $id, name: $name, expectedVersion: $v) { name version } }"""
QUOTAS = """mutation($id: ID!, $r: Int, $u: Int) {
  setQuotas(id: $id, requestsPerSecond: $r, users: $u) { quotas { requestsPerSecond users } } }"""
TIER = "mutation($id: ID!, $tier: Tier!) { setTier(id: $id, tier: $tier) { tier quotas { requestsPerSecond users } } }"


async def onboarded_applicant(stack: ServiceStack, id: str | None = None) -> TenantApplicant:
    newcomer = TenantApplicant.named(id)
    await newcomer.onboard(stack)
    return newcomer


async def test_a_suspended_tenant_is_refused_immediately_and_served_again_when_resumed(stack: ServiceStack) -> None:
    newcomer, operator = await onboarded_applicant(stack), stack.operator_client()
    own_client = newcomer.session(stack)
    await own_client.data(VIEWER)
    assert (await operator.data(SUSPEND, id=newcomer.id))["suspendTenant"]["status"] == "SUSPENDED"
    assert await own_client.error_code(VIEWER) == "FORBIDDEN"
    assert (await operator.data(TENANT, id=newcomer.id))["tenant"]["reason"] == "unpaid"
    assert (await operator.data(RESUME, id=newcomer.id))["resumeTenant"]["status"] == "ACTIVE"
    await own_client.data(VIEWER)
    assert (await operator.data(TENANT, id=newcomer.id))["tenant"]["reason"] is None


async def test_iam_denies_a_session_that_was_issued_before_the_suspension(stack: ServiceStack) -> None:
    """Tenants with the same prefix are not affected."""
    names = ("far", "far-1", "far-11")
    clients = {}
    for name in names:
        await onboarded_applicant(stack, name)
        clients[name] = stack.boto_client(parse_tenant_id(name))
    await stack.operator_client().data(SUSPEND, id="far-1")
    for name in names:
        key = {"PK": {"S": f"TENANT#{name}#USER#x"}, "SK": {"S": "PROFILE"}}
        if name == "far-1":
            with pytest.raises(clients[name].exceptions.ClientError, match="AccessDeniedException"):
                clients[name].get_item(TableName=stack.settings.table, Key=key)
        else:
            clients[name].get_item(TableName=stack.settings.table, Key=key)


async def test_iam_denies_a_server_that_does_not_know_of_the_suspension_yet(stack: ServiceStack) -> None:
    newcomer = await onboarded_applicant(stack)
    unaware_server = stack.serve()
    other_server = replace(newcomer.session(stack), application=unaware_server)
    users = "{ users { edges { node { id } } } }"
    await other_server.data(users)
    await stack.operator_client().data(SUSPEND, id=newcomer.id)
    assert await other_server.error_code(users) == "FORBIDDEN"


async def test_concurrent_suspensions_all_take_effect(stack: ServiceStack) -> None:
    """Two concurrent publications must not undo each other."""
    applicants = [await onboarded_applicant(stack) for _ in range(6)]
    await asyncio.gather(*(stack.operator_client().data(SUSPEND, id=applicant.id) for applicant in applicants))
    for applicant in applicants:
        client = stack.boto_client(parse_tenant_id(applicant.id))
        with pytest.raises(client.exceptions.ClientError, match="AccessDeniedException"):
            client.get_item(
                TableName=stack.settings.table,
                Key={"PK": {"S": f"TENANT#{applicant.id}#USER#x"}, "SK": {"S": "PROFILE"}},
            )


async def test_a_suspension_that_iam_did_not_get_is_an_error_and_to_repeat_it_publishes_it(stack: ServiceStack) -> None:
    newcomer, operator = await onboarded_applicant(stack), stack.operator_client()
    unreachable = stack.settings.model_copy(update={"iam_endpoint_url": "http://127.0.0.1:9"})
    connections = aws_access(unreachable, stack.gate.session_issuer).connect()
    server_without_iam = replace(operator, application=Service(connections).app)
    (error,) = (await server_without_iam.execute(SUSPEND, id=newcomer.id))["errors"]
    assert error["extensions"]["code"] == "THROTTLED"
    assert "send the same request again" in error["message"]
    connections.close()
    client = stack.boto_client(parse_tenant_id(newcomer.id))
    key = {"PK": {"S": f"TENANT#{newcomer.id}#USER#x"}, "SK": {"S": "PROFILE"}}
    client.get_item(TableName=stack.settings.table, Key=key)
    await operator.data(SUSPEND, id=newcomer.id)
    with pytest.raises(client.exceptions.ClientError, match="AccessDeniedException"):
        client.get_item(TableName=stack.settings.table, Key=key)


async def test_a_second_suspension_changes_only_the_reason(stack: ServiceStack) -> None:
    newcomer, operator = await onboarded_applicant(stack), stack.operator_client()
    await operator.data(SUSPEND, id=newcomer.id)
    before = (await operator.data(TENANT, id=newcomer.id))["tenant"]
    await operator.data(SUSPEND, id=newcomer.id)
    assert (await operator.data(TENANT, id=newcomer.id))["tenant"] == before
    await operator.data(SUSPEND, id=newcomer.id, reason="abuse")
    assert (await operator.data(TENANT, id=newcomer.id))["tenant"]["reason"] == "abuse"


async def test_a_new_name_is_returned_immediately_and_an_old_version_is_a_conflict(stack: ServiceStack) -> None:
    newcomer, operator = await onboarded_applicant(stack), stack.operator_client()
    version = (await operator.data(TENANT, id=newcomer.id))["tenant"]["version"]
    await operator.data(RENAME, id=newcomer.id, name="Neu", v=version)
    assert (await newcomer.session(stack).data(VIEWER))["viewer"]["tenant"]["name"] == "Neu"
    assert await operator.error_code(RENAME, id=newcomer.id, name="Neuer", v=version) == "CONFLICT"


async def test_quota_overrides_stay_when_the_tier_changes(stack: ServiceStack) -> None:
    newcomer, operator = await onboarded_applicant(stack), stack.operator_client()
    await operator.data(QUOTAS, id=newcomer.id, r=77)
    changed = (await operator.data(TIER, id=newcomer.id, tier="FREE"))["setTier"]
    assert changed == {"tier": "FREE", "quotas": {"requestsPerSecond": 77, "users": 10}}


@pytest.mark.parametrize("quotas", [{"r": 0}, {"u": -1}, {"r": 1_000_000_001}, {}], ids=str)
async def test_a_quota_below_the_minimum_is_refused(stack: ServiceStack, quotas: dict[str, int]) -> None:
    newcomer = await onboarded_applicant(stack)
    assert await stack.operator_client().error_code(QUOTAS, id=newcomer.id, **quotas) == "BAD_USER_INPUT"


async def test_every_change_is_an_event_with_the_operators_name(stack: ServiceStack) -> None:
    newcomer = await onboarded_applicant(stack)
    applicant = stack.operator_client("op-7")
    await applicant.data(RENAME, id=newcomer.id, name="Neu")
    await applicant.data(TIER, id=newcomer.id, tier="FREE")
    await applicant.data(QUOTAS, id=newcomer.id, r=5)
    await applicant.data(SUSPEND, id=newcomer.id)
    await applicant.data(RESUME, id=newcomer.id)
    assert (await event_kinds(stack, newcomer.id))[2:] == [
        "tenant.renamed",
        "tenant.tier_changed",
        "tenant.quotas_changed",
        "tenant.suspended",
        "tenant.resumed",
    ]
    events = (await applicant.data(EVENTS, id=newcomer.id))["tenant"]["events"]["edges"]
    assert {edge["node"]["by"] for edge in events[:5]} == {"op-7"}
    assert events[2]["node"]["detail"] == {"requestsPerSecond": 5}


async def test_a_change_without_effect_leaves_no_event(stack: ServiceStack) -> None:
    newcomer, operator = await onboarded_applicant(stack), stack.operator_client()
    await operator.data(TIER, id=newcomer.id, tier="PREMIUM")
    await operator.data(RESUME, id=newcomer.id)
    assert len(await event_kinds(stack, newcomer.id)) == 2


UNKNOWN: dict[str, tuple[str, dict[str, object]]] = {
    "rename": (RENAME, {"name": "N"}),
    "tier": (TIER, {"tier": "FREE"}),
    "quotas": (QUOTAS, {"r": 1}),
    "suspend": (SUSPEND, {}),
    "resume": (RESUME, {}),
}


@pytest.mark.parametrize("name", UNKNOWN)
async def test_a_change_of_an_unknown_tenant_is_not_found(stack: ServiceStack, name: str) -> None:
    query, arguments = UNKNOWN[name]
    assert await stack.operator_client().error_code(query, id="nobody-here", **arguments) == "NOT_FOUND"


async def test_a_repeated_onboarding_of_a_suspended_tenant_changes_nothing(stack: ServiceStack) -> None:
    newcomer, operator = await onboarded_applicant(stack), stack.operator_client()
    await operator.data(SUSPEND, id=newcomer.id)
    second_answer = (await operator.data(ONBOARD, input=newcomer.application()))["onboardTenant"]
    assert (second_answer["created"], second_answer["tenant"]["status"]) == (False, "SUSPENDED")
