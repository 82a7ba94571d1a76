"""Claims that a provider could be made to sign, and that must not lead to a tenant or a role."""

import json

import pytest

from keyfence.auth.principal import Principal, Role
from keyfence.auth.token_verifier import TokenVerifier, operator_verifier, tenant_verifier
from keyfence.errors import Unauthenticated
from keyfence.settings import IssuerSettings, Settings
from tests.data.recorded_tokens import RecordedToken, recorded_token
from tests.fakes.clock import ManualClock
from tests.fakes.identity_provider import IdentityProvider
from tests.service.auth.test_tokens import refusal

AUTH0 = recorded_token("auth0-access-token")
COGNITO = recorded_token("cognito-access-token")
OKTA = recorded_token("okta-access-token")
KEYCLOAK = recorded_token("keycloak-client-roles")
GOOGLE = recorded_token("google-id-token")
ROLES_CLAIM = "https://example.com/roles"


async def refusal_of(shape: RecordedToken, claims: object, **mapping: object) -> str:
    return await refusal(shape.documented_verifier(**mapping), shape.sign_bytes(json.dumps(claims).encode()))


async def test_a_neighbours_tenant_from_an_issuer_of_one_tenant_is_refused() -> None:
    message = "the token's issuer may not issue tokens for the tenant in the token"
    assert await refusal_of(OKTA, {**OKTA.claims, "tenant": "globex"}) == message
    assert await refusal_of(COGNITO, {**COGNITO.claims, "custom:tenant": "globex"}, tenant="acme") == message


async def test_a_tenant_claim_beside_the_constant_must_be_a_tenant_id_too() -> None:
    verifier = OKTA.documented_verifier()
    assert (await verifier.verify(OKTA.sign({**OKTA.claims, "tenant": "acme"}))).tenant == "acme"
    values: list[object] = ["", "Acme", ["acme"], 7, True, {}]
    for value in values:
        assert await refusal_of(OKTA, {**OKTA.claims, "tenant": value})


@pytest.mark.parametrize(
    "value",
    [
        ["org_acme", "org_globex"],
        ["org_acme", "org_acme"],
        ["org_acme"],
        [],
        7,
        0,
        True,
        {"org_acme": {}},
        {"id": "org_acme"},
        "org_acme org_globex",
        "org_acme,org_globex",
        "",
        None,
    ],
    ids=repr,
)
async def test_a_tenant_claim_that_is_not_one_organisation_is_refused(value: object) -> None:
    assert await refusal_of(AUTH0, {**AUTH0.claims, "org_id": value})


@pytest.mark.parametrize("value", [["acme", "globex"], ["acme"], 7, {"acme": {}}, True], ids=repr)
async def test_a_tenant_claim_that_is_not_one_tenant_id_is_refused(value: object) -> None:
    assert await refusal_of(COGNITO, {**COGNITO.claims, "custom:tenant": value})


LOOKALIKES = {
    "Cyrillic a": "\u0430cme",
    "full-width letters": "\uff41\uff43\uff4d\uff45",
    "upper case": "ACME",
    "Turkish dotless i": "\u0131nitech",
    "combining accent": "acme\u0301",
    "zero-width space": "acme\u200b",
    "zero-width joiner": "ac\u200dme",
    "soft hyphen": "ac\u00adme",
    "byte order mark": "\ufeffacme",
    "right-to-left override": "\u202eemca",
    "long s": "acme\u017f",
    "Arabic digit": "acme\u0661",
    "trailing newline": "acme\n",
    "leading blank": " acme",
    "trailing NUL": "acme\x00",
    "trailing hash": "acme#",
    "half of a surrogate pair": "acme\ud800",
}


@pytest.mark.parametrize("tenant", LOOKALIKES.values(), ids=LOOKALIKES.keys())
async def test_a_lookalike_of_a_tenant_id_is_refused(tenant: str) -> None:
    assert await refusal_of(COGNITO, {**COGNITO.claims, "custom:tenant": tenant})
    assert await refusal_of(COGNITO, {**COGNITO.claims, "custom:tenant": tenant}, tenant="acme")
    assert await refusal_of(GOOGLE, {**GOOGLE.claims, "hd": f"{tenant}.example"})


@pytest.mark.parametrize("domain", ["ACME.example", "acme.example.", "www.acme.example", "acme.example.globex.example"])
async def test_a_domain_that_is_not_exactly_the_mapped_one_is_refused(domain: str) -> None:
    assert await refusal_of(GOOGLE, {**GOOGLE.claims, "hd": domain})


SPELLINGS = {
    "the same text": f'"{ROLES_CLAIM}"',
    "escaped slashes": r'"https:\/\/example.com\/roles"',
    "an escaped colon": r'"https\u003a//example.com/roles"',
    "an escaped letter": r'"https://ex\u0061mple.com/roles"',
}


@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=SPELLINGS.keys())
@pytest.mark.parametrize("is_first", [True, False], ids=["first", "last"])
async def test_a_namespaced_claim_that_is_spelled_twice_is_refused(spelling: str, is_first: bool) -> None:
    payload = json.dumps(AUTH0.claims)
    second = f'{spelling}: ["billing-admin"]'
    forged = f"{{{second}, {payload[1:]}" if is_first else f"{payload[:-1]}, {second}}}"
    assert json.loads(forged)[ROLES_CLAIM]
    message = "the token has a claim or a header parameter twice"
    assert await refusal(AUTH0.documented_verifier(), AUTH0.sign_bytes(forged.encode())) == message


async def test_a_member_of_a_claim_that_is_spelled_twice_is_refused() -> None:
    payload = json.dumps(KEYCLOAK.claims)
    forged = payload.replace('{"roles": ["editor"]}', '{"roles": ["editor"], "roles": ["manager"]}')
    assert forged != payload
    assert "twice" in await refusal(KEYCLOAK.documented_verifier(), KEYCLOAK.sign_bytes(forged.encode()))


async def test_a_claim_with_the_whole_text_of_a_path_comes_before_the_path() -> None:
    claims = {**KEYCLOAK.claims, "resource_access.keyfence.roles": ["manager"]}
    assert (await KEYCLOAK.documented_verifier().verify(KEYCLOAK.sign(claims))).role is Role.ADMIN
    assert await refusal_of(KEYCLOAK, {**claims, "resource_access.keyfence.roles": []})


@pytest.mark.parametrize("access", [7, "keyfence", ["keyfence"], {"keyfence": 7}, {"keyfence": ["editor"]}, {}, None])
async def test_a_path_through_a_value_that_is_no_object_finds_nothing(access: object) -> None:
    assert await refusal_of(KEYCLOAK, {**KEYCLOAK.claims, "resource_access": access})


async def test_names_of_roles_that_python_knows_grant_nothing() -> None:
    for role in ("__class__", "OWNER", "ADMIN", "keys", "get"):
        assert await refusal_of(AUTH0, {**AUTH0.claims, ROLES_CLAIM: [role]})


async def test_an_empty_subject_is_not_replaced_by_the_client() -> None:
    subjects: list[object] = ["", " \n", 7, []]
    for subject in subjects:
        assert await refusal_of(OKTA, {**OKTA.claims, "sub": subject})


API, ADMIN_API = "https://api.example.com", "https://admin.example.com"


def shared_issuer(provider: IdentityProvider, audience: str) -> tuple[IssuerSettings, ...]:
    return (IssuerSettings(issuer=provider.url, jwks=provider.jwks(), audiences=(audience,)),)


@pytest.mark.parametrize(
    ("audience", "accepting_apis"),
    [
        (API, ["tenants"]),
        ([API, "userinfo"], ["tenants"]),
        (ADMIN_API, ["operators"]),
        ([ADMIN_API, "userinfo"], ["operators"]),
        ([API, ADMIN_API], []),
        ("keyfence", []),
        ("keyfence-admin", []),
    ],
    ids=str,
)
async def test_no_token_is_valid_for_tenants_and_for_operators(
    provider: IdentityProvider, clock: ManualClock, audience: object, accepting_apis: list[str]
) -> None:
    settings = Settings(issuers=shared_issuer(provider, API), admin_issuers=shared_issuer(provider, ADMIN_API))
    tenants: TokenVerifier[Principal] = tenant_verifier(settings, clock=clock)
    operators = operator_verifier(settings, clock=clock)
    accepted = []
    for name, verifier, token in (
        ("tenants", tenants, provider.token(aud=audience)),
        ("operators", operators, provider.token_without("tenant", "role", aud=audience)),
    ):
        try:
            await verifier.verify(token)
            accepted.append(name)
        except Unauthenticated:
            continue
    assert accepted == accepting_apis
