"""Tokens of a provider with its own claims reach the API of their tenant, and can be revoked without a jti."""

import time
from dataclasses import replace
from typing import Any

import jwt

from tests.data.operator_requests import ONBOARD, TenantApplicant, event_kinds
from tests.stack import ApiClient, ServiceStack

VIEWER = "{ viewer { subject role tenant { id } } }"
SET = """mutation($id: ID!, $jwks: JSON, $discover: Boolean! = false, $mapping: JSON) {
  setIdentity(id: $id, jwks: $jwks, discover: $discover, mapping: $mapping) { issuer } }"""
MAPPING = {
    "audiences": ["https://api.example.com"],
    "claims": {"tenant": "org_id", "role": "https://example.com/roles"},
    "tenants": {"org_1": "placeholder"},
    "roles": {"billing-admin": "ADMIN", "reader": "VIEWER"},
}
CREATE = 'mutation { createUser(input: {email: "new@x.example", name: "New"}) { id } }'
REVOKE_LOGIN = "mutation($sid: String!) { revokeLogin(sid: $sid) }"
REVOKE_SUBJECT = "mutation($sub: String!) { revokeSubject(sub: $sub) }"


def mapping_for(applicant: TenantApplicant) -> dict[str, Any]:
    return {**MAPPING, "tenants": {"org_1": applicant.id}}


def client(stack: ServiceStack, applicant: TenantApplicant, **changes: object) -> ApiClient:
    """Returns a client with a token in the shape of Auth0, which has no jti."""
    now = int(time.time())
    claims = {
        "iss": applicant.provider.issuer,
        "sub": "auth0|ann",
        "aud": ["https://api.example.com", f"{applicant.provider.issuer}/userinfo"],
        "iat": now - 1,
        "exp": now + 600,
        "sid": "login-1",
        "org_id": "org_1",
        "https://example.com/roles": ["billing-admin", "reader"],
        **changes,
    }
    token = jwt.encode(claims, applicant.provider.key, algorithm="ES256", headers={"kid": applicant.provider.kid})
    return replace(applicant.session(stack), token=token)


async def onboarded(stack: ServiceStack) -> TenantApplicant:
    applicant = TenantApplicant.named()
    await applicant.onboard(stack, mapping=mapping_for(applicant))
    return applicant


async def test_a_tenant_is_onboarded_with_the_mapping_of_its_issuer(stack: ServiceStack) -> None:
    applicant = await onboarded(stack)
    viewer = (await client(stack, applicant).data(VIEWER))["viewer"]
    assert viewer == {"subject": "auth0|ann", "role": "ADMIN", "tenant": {"id": applicant.id}}
    reader = client(stack, applicant, **{"https://example.com/roles": "reader"})
    assert await reader.error_code(CREATE) == "FORBIDDEN"
    for claims in ({"org_id": "org_2"}, {"org_id": ["org_1"]}, {"tenant": "acme", "org_id": None}, {"aud": "other"}):
        assert await client(stack, applicant, **claims).error_code(VIEWER) == "UNAUTHENTICATED"
    assert await applicant.session(stack).error_code(VIEWER) == "UNAUTHENTICATED"


async def test_the_mapping_is_part_of_the_onboarding_request(stack: ServiceStack) -> None:
    applicant = await onboarded(stack)
    repeated = await applicant.onboard(stack, mapping=mapping_for(applicant))
    assert repeated["created"] is False
    for other in (None, {"default_role": "VIEWER"}):
        application = applicant.application(mapping=other)
        assert await stack.operator_client().error_code(ONBOARD, input=application) == "CONFLICT"


async def test_a_mapping_can_be_set_replaced_and_removed_without_other_keys(stack: ServiceStack) -> None:
    applicant, operator = TenantApplicant.named(), stack.operator_client()
    await applicant.onboard(stack)
    assert await client(stack, applicant).error_code(VIEWER) == "UNAUTHENTICATED"
    await operator.data(SET, id=applicant.id, mapping=mapping_for(applicant))
    token = client(stack, applicant)
    assert (await token.data(VIEWER))["viewer"]["role"] == "ADMIN"
    roles = {"roles": {"billing-admin": "VIEWER"}}
    await operator.data(SET, id=applicant.id, mapping={**mapping_for(applicant), **roles})
    assert (await token.data(VIEWER))["viewer"]["role"] == "VIEWER"
    await operator.data(SET, id=applicant.id, jwks=applicant.provider.jwks())
    assert (await token.data(VIEWER))["viewer"]["role"] == "VIEWER", "new keys leave the mapping as it is"
    await operator.data(SET, id=applicant.id, mapping={})
    assert await token.error_code(VIEWER) == "UNAUTHENTICATED"
    assert (await applicant.session(stack).data(VIEWER))["viewer"]["tenant"]["id"] == applicant.id
    assert (await event_kinds(stack, applicant.id))[2:] == ["tenant.issuer_mapping_changed"] * 3


async def test_an_invalid_identity_changes_nothing(stack: ServiceStack) -> None:
    applicant, operator = await onboarded(stack), stack.operator_client()
    for changes, field in (
        ({"mapping": {"tenants": {"org_1": "acme"}}}, "mapping"),
        ({"mapping": {"roles": {"reader": "KING"}}}, "mapping"),
        ({"mapping": [1]}, "mapping"),
        ({"jwks": applicant.provider.jwks(), "discover": True}, "jwks"),
    ):
        (error,) = (await operator.execute(SET, id=applicant.id, **changes))["errors"]
        assert (error["extensions"]["code"], error["extensions"]["field"]) == ("BAD_USER_INPUT", field)
    assert (await client(stack, applicant).data(VIEWER))["viewer"]["role"] == "ADMIN"


async def test_a_login_is_revoked_without_a_jti(stack: ServiceStack) -> None:
    applicant = await onboarded(stack)
    ann, again, other = (client(stack, applicant, sid=sid) for sid in ("login-1", "login-1", "login-2"))
    reader = client(stack, applicant, sub="bob", sid="login-3", **{"https://example.com/roles": "reader"})
    assert await reader.error_code(REVOKE_LOGIN, sid="login-1") == "FORBIDDEN"
    await ann.data(REVOKE_LOGIN, sid="login-1")
    assert await again.error_code(CREATE) == "UNAUTHENTICATED"
    assert await other.data(CREATE)
    await reader.data(REVOKE_LOGIN, sid="login-3")
    assert await reader.error_code(CREATE) == "UNAUTHENTICATED"


async def test_all_tokens_of_a_subject_are_revoked_by_their_issue_time(stack: ServiceStack) -> None:
    applicant = await onboarded(stack)
    admin = client(stack, applicant, sub="auth0|boss")
    old = client(stack, applicant)
    await admin.data(REVOKE_SUBJECT, sub="auth0|ann")
    assert await old.error_code(CREATE) == "UNAUTHENTICATED"
    new = client(stack, applicant, iat=int(time.time()) + 2)
    assert await new.data(CREATE)
    reader = client(stack, applicant, sub="bob", **{"https://example.com/roles": "reader"})
    assert await reader.error_code(REVOKE_SUBJECT, sub="auth0|boss") == "FORBIDDEN"


async def test_a_warm_request_makes_one_check_with_one_call(stack: ServiceStack) -> None:
    applicant = await onboarded(stack)
    ann = client(stack, applicant)
    await ann.data(VIEWER)
    stack.take_calls()
    await ann.data(VIEWER)
    (check,) = stack.take_calls()
    (read,) = check.parameters["RequestItems"].values()
    prefix = f"TENANT#{applicant.id}#REVOCATION"
    assert [key["PK"]["S"] for key in read["Keys"]] == [f"{prefix}#SID#login-1", f"{prefix}#SUB#auth0|ann"]
