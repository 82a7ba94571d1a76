"""Operators onboard tenants through the API, each exactly once."""

import asyncio
from typing import Any

import pytest

from tests.data.operator_requests import ONBOARD, TENANT, TenantApplicant, event_kinds
from tests.stack import ServiceStack

VIEWER = "{ viewer { subject tenant { id name tier } user { email role } } }"


async def test_a_tenant_can_log_in_as_soon_as_the_mutation_answers(stack: ServiceStack) -> None:
    newcomer = TenantApplicant.named()
    onboarded = await newcomer.onboard(stack)
    assert onboarded["created"] is True
    assert onboarded["tenant"] | {"createdAt": "", "version": 0} == {
        "id": newcomer.id,
        "name": newcomer.id.title(),
        "status": "ACTIVE",
        "tier": "PREMIUM",
        "placement": "POOL",
        "issuer": newcomer.provider.issuer,
        "createdAt": "",
        "version": 0,
    }
    viewer = await newcomer.session(stack, user=onboarded["owner"]["id"]).data(VIEWER)
    assert viewer["viewer"]["tenant"] == {"id": newcomer.id, "name": newcomer.id.title(), "tier": "PREMIUM"}
    assert viewer["viewer"]["user"] == {"email": f"owner@{newcomer.id}.example", "role": "OWNER"}


async def test_the_same_request_again_answers_with_the_same_tenant(stack: ServiceStack) -> None:
    newcomer = TenantApplicant.named()
    first, second_answer = await newcomer.onboard(stack), await newcomer.onboard(stack)
    assert second_answer == {**first, "created": False}
    assert await event_kinds(stack, newcomer.id) == ["tenant.registered", "tenant.onboarded"]


async def test_concurrent_equal_requests_create_one_tenant(stack: ServiceStack) -> None:
    newcomer = TenantApplicant.named()
    answers = await asyncio.gather(*(newcomer.onboard(stack) for _ in range(8)))
    assert [answer["created"] for answer in answers].count(True) == 1
    assert len({answer["owner"]["id"] for answer in answers}) == 1
    assert await event_kinds(stack, newcomer.id) == ["tenant.registered", "tenant.onboarded"]
    users = await newcomer.session(stack).data("{ users { edges { node { id } } } }")
    assert [edge["node"]["id"] for edge in users["users"]["edges"]] == [answers[0]["owner"]["id"]]


@pytest.mark.parametrize(
    "change",
    [
        {"name": "Other"},
        {"tier": "FREE"},
        {"ownerEmail": "x@y.example"},
        {"ownerName": "X"},
        {"issuer": "https://o.example"},
    ],
    ids=lambda change: next(iter(change)),
)
async def test_another_request_for_a_taken_id_is_a_conflict(stack: ServiceStack, change: dict[str, str]) -> None:
    newcomer = TenantApplicant.named()
    await newcomer.onboard(stack)
    assert await stack.operator_client().error_code(ONBOARD, input=newcomer.application(**change)) == "CONFLICT"


async def test_a_taken_issuer_is_a_conflict_and_the_id_stays_free(stack: ServiceStack) -> None:
    first, second = TenantApplicant.named(), TenantApplicant.named()
    await first.onboard(stack)
    application = second.application(issuer=first.provider.issuer)
    (error,) = (await stack.operator_client().execute(ONBOARD, input=application))["errors"]
    assert (error["extensions"]["code"], error["extensions"]["field"]) == ("CONFLICT", "issuer")
    assert (await stack.operator_client().data(TENANT, id=second.id))["tenant"] is None
    assert (await second.onboard(stack))["created"] is True


INVALID_REQUESTS: dict[str, tuple[dict[str, Any], str]] = {
    "an id with an upper-case letter": ({"id": "Acme"}, "id"),
    "an id of one character": ({"id": "a"}, "id"),
    "an id with a hash": ({"id": "a#b"}, "id"),
    "no name": ({"name": " "}, "name"),
    "a name too long": ({"name": "n" * 201}, "name"),
    "an owner without address": ({"ownerEmail": "nobody"}, "ownerEmail"),
    "an owner without name": ({"ownerName": ""}, "ownerName"),
    "an issuer whose metadata are at a private address": ({"jwks": None, "issuer": "https://10.0.0.1"}, "issuer"),
    "a mapping that is no object": ({"mapping": "claims"}, "mapping"),
    "a mapping to a neighbour": ({"mapping": {"tenants": {"org_1": "acme"}}}, "mapping"),
    "keys that are no object": ({"jwks": [1]}, "jwks"),
    "an empty set of keys": ({"jwks": {"keys": []}}, "jwks"),
    "keys over http": ({"jwks": None, "jwksUri": "http://id.example/keys"}, "jwksUri"),
}


@pytest.mark.parametrize("name", INVALID_REQUESTS)
async def test_an_invalid_request_names_its_field_and_claims_nothing(stack: ServiceStack, name: str) -> None:
    changes, field = INVALID_REQUESTS[name]
    newcomer = TenantApplicant.named()
    (error,) = (await stack.operator_client().execute(ONBOARD, input=newcomer.application(**changes)))["errors"]
    assert (error["extensions"]["code"], error["extensions"].get("field")) == ("BAD_USER_INPUT", field)
    assert (await newcomer.onboard(stack))["created"] is True


async def test_a_token_of_a_tenants_own_issuer_cannot_name_another_tenant(stack: ServiceStack) -> None:
    """The other tenant's id starts with the same characters."""
    first, second = TenantApplicant.named("ring"), TenantApplicant.named("ring-1")
    await first.onboard(stack)
    await second.onboard(stack)
    assert await first.session(stack, claiming=second.id).error_code(VIEWER) == "UNAUTHENTICATED"
    assert await second.session(stack, claiming=first.id).error_code(VIEWER) == "UNAUTHENTICATED"
    assert (await first.session(stack).data(VIEWER))["viewer"]["tenant"]["id"] == first.id


async def test_the_owner_is_written_with_the_tenants_own_session(stack: ServiceStack) -> None:
    newcomer = TenantApplicant.named()
    stack.take_calls()
    await newcomer.onboard(stack)
    key_prefix = f"'TENANT#{newcomer.id}#"
    credentials_of_calls = [call.credentials for call in stack.take_calls() if key_prefix in str(call.parameters)]
    sessions = [
        stack.gate.session_issuer.get(credentials.access_key, credentials.token or "")
        for credentials in credentials_of_calls
    ]
    assert {session.tags["tenant"] for session in sessions} == {newcomer.id}


async def test_a_repeated_request_does_not_return_later_changes_of_the_owner(stack: ServiceStack) -> None:
    """A repeated request does not create a deleted owner again."""
    newcomer = TenantApplicant.named()
    first = await newcomer.onboard(stack)
    client = newcomer.session(stack)
    await client.data("mutation($id: ID!) { deleteUser(id: $id) }", id=first["owner"]["id"])
    assert (await newcomer.onboard(stack))["created"] is False
    assert (await client.data("{ users { edges { node { id } } } }"))["users"]["edges"] == []
