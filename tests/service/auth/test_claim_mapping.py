"""A claim mapping is refused unless every member of it is understood."""

import pytest

from keyfence.auth.claim_mapping import (
    MAX_NAME_LENGTH,
    BadClaimMapping,
    ClaimMapping,
    ClaimPath,
    ClaimUse,
    parse_claim_mapping,
)
from keyfence.auth.issuer import issuer_from_settings
from keyfence.auth.principal import Role
from keyfence.auth.token_verifier import operator_verifier
from keyfence.settings import IssuerSettings, Settings
from keyfence_iam.tenant import TenantId
from tests.fakes.identity_provider import URL, IdentityProvider, Json

ACME = TenantId("acme")


def test_an_empty_object_is_no_mapping() -> None:
    assert parse_claim_mapping({}, None) == ClaimMapping()
    assert parse_claim_mapping({}, ACME) == ClaimMapping(tenant=ACME)


def test_every_member_is_read() -> None:
    document = {
        "audiences": ["api"],
        "claims": {"tenant": "org_id", "role": "realm_access.roles"},
        "roles": {"boss": "OWNER"},
        "tenants": {"org_1": "acme"},
        "default_role": "VIEWER",
    }
    assert parse_claim_mapping(document, ACME) == ClaimMapping(
        tenant=ACME,
        audiences=frozenset({"api"}),
        claims={ClaimUse.TENANT: ClaimPath("org_id"), ClaimUse.ROLE: ClaimPath("realm_access.roles")},
        roles={"boss": Role.OWNER},
        tenants={"org_1": ACME},
        default_role=Role.VIEWER,
        is_custom=True,
    )


MALFORMED: dict[str, object] = {
    "no object": [],
    "text": "claims",
    "nothing": None,
    "an unknown member": {"claim": {"tenant": "org_id"}},
    "another spelling of a member": {"defaultRole": "VIEWER"},
    "audiences are a text": {"audiences": "api"},
    "no audience": {"audiences": []},
    "an audience is a number": {"audiences": [7]},
    "an audience is empty": {"audiences": [""]},
    "claims are a list": {"claims": ["tenant"]},
    "no claim": {"claims": {}},
    "an unknown use of a claim": {"claims": {"email": "email"}},
    "a claim is a list": {"claims": {"role": ["roles"]}},
    "a claim is empty": {"claims": {"tenant": ""}},
    "a claim is too long": {"claims": {"tenant": "x" * (MAX_NAME_LENGTH + 1)}},
    "a claim has a control character": {"claims": {"tenant": "org\nid"}},
    "an unknown role": {"roles": {"boss": "KING"}},
    "a role in lower case": {"roles": {"boss": "owner"}},
    "a role is a list": {"roles": {"boss": ["OWNER"]}},
    "a tenant id in upper case": {"tenants": {"org_1": "ACME"}},
    "a tenant id is a number": {"tenants": {"org_1": 7}},
    "an empty organisation id": {"tenants": {"": "acme"}},
    "an unknown default role": {"default_role": "NOBODY"},
    "a default role is nothing": {"default_role": None},
    "a default role is a list": {"default_role": ["VIEWER"]},
}


@pytest.mark.parametrize("document", MALFORMED.values(), ids=MALFORMED.keys())
def test_a_malformed_mapping_is_refused(document: object) -> None:
    with pytest.raises(BadClaimMapping):
        parse_claim_mapping(document, None)


def test_the_mapping_of_an_issuer_of_one_tenant_names_no_other_tenant() -> None:
    neighbours = {"tenants": {"org_1": "acme", "org_2": "globex"}}
    assert parse_claim_mapping(neighbours, None).tenants == {"org_1": "acme", "org_2": "globex"}
    with pytest.raises(BadClaimMapping, match="no tenant but acme"):
        parse_claim_mapping(neighbours, ACME)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("role", "whole"),
        ("a.b", "whole name"),
        ("c.d", "nested"),
        ("c.d.e", None),
        ("c", {"d": "nested", "f": None}),
        ("c.f", None),
        ("missing", None),
        ("missing.d", None),
        ("https://x.example/r", "namespaced"),
        ("list.0", None),
        (".", None),
        ("c.", None),
    ],
)
def test_a_path_is_a_whole_name_first_and_a_dotted_path_otherwise(path: str, value: object) -> None:
    claims: Json = {
        "role": "whole",
        "a.b": "whole name",
        "a": {"b": "not this"},
        "c": {"d": "nested", "f": None},
        "https://x.example/r": "namespaced",
        "list": ["not this"],
    }
    assert ClaimPath(path).find(claims) == value


@pytest.mark.parametrize("member", ["claims", "roles", "default_role"])
def test_a_malformed_mapping_in_the_settings_is_refused_with_its_issuer(
    provider: IdentityProvider, member: str
) -> None:
    values: Json = {"claims": {"email": "email"}, "roles": {"boss": "KING"}, "default_role": "KING"}
    settings = IssuerSettings(issuer=URL, jwks=provider.jwks(), **{member: values[member]})
    with pytest.raises(ValueError, match=f"issuer {URL}: .*{member}"):
        issuer_from_settings(settings)


@pytest.mark.parametrize(
    "mapping",
    [
        {"roles": {"boss": "OWNER"}},
        {"default_role": "VIEWER"},
        {"tenants": {"org_1": "acme"}},
        {"claims": {"tenant": "org_id"}},
        {"claims": {"role": "roles"}},
    ],
    ids=str,
)
def test_an_operators_issuer_has_neither_tenants_nor_roles(provider: IdentityProvider, mapping: Json) -> None:
    issuer = IssuerSettings(issuer=URL, jwks=provider.jwks(), **mapping)
    with pytest.raises(ValueError, match="must not have a tenant or a role"):
        operator_verifier(Settings(admin_issuers=(issuer,)))


def test_operators_and_tenants_cannot_share_an_audience_of_an_issuer(provider: IdentityProvider) -> None:
    issuer = IssuerSettings(issuer=URL, jwks=provider.jwks(), audiences=("api",))
    with pytest.raises(ValueError, match="different audiences"):
        operator_verifier(Settings(issuers=(issuer,), admin_issuers=(issuer,)))
    with pytest.raises(ValueError, match="different audiences"):
        operator_verifier(Settings(audience="api", admin_issuers=(issuer,)))
