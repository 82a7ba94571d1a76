"""Tokens in the shapes of known identity providers are accepted with their documented mapping, and only with it."""

import pytest

from keyfence.auth.principal import Principal, Role
from keyfence.auth.token_verifier import TokenVerifier
from keyfence.errors import Unauthenticated
from tests.data.recorded_tokens import RECORDED, RecordedToken, json_of_sections, recorded_token
from tests.fakes.identity_provider import Json

every_shape = pytest.mark.parametrize("shape", RECORDED, ids=lambda shape: shape.name)

MAPPED_CLAIMS = [(shape, use, path) for shape in RECORDED for use, path in shape.mapping["claims"].items()]
every_mapped_claim = pytest.mark.parametrize(
    ("shape", "use", "path"), MAPPED_CLAIMS, ids=[f"{shape.name}-{use}" for shape, use, _ in MAPPED_CLAIMS]
)

EMPTY_VALUES: list[object] = [None, "", [], {}]
OTHER_TYPES: list[object] = [7, 1.5, True, False, {"acme": {}}, [7], [["acme"]], [None], [{"name": "acme"}]]
TEXT_USES = {"tenant", "subject", "session", "token_id"}


async def refuses(verifier: TokenVerifier[Principal], token: str) -> bool:
    try:
        await verifier.verify(token)
    except Unauthenticated:
        return True
    return False


@every_shape
async def test_a_token_is_accepted_with_its_documented_mapping(shape: RecordedToken) -> None:
    assert await shape.documented_verifier().verify(shape.sign()) == shape.principal


@every_shape
async def test_a_token_is_refused_without_its_mapping(shape: RecordedToken) -> None:
    assert await refuses(shape.verifier(), shape.sign())
    assert await refuses(shape.verifier(tenant="acme"), shape.sign())


@every_shape
@pytest.mark.parametrize("member", ["audiences", "claims", "roles", "tenants", "tenant", "default_role"])
async def test_a_token_is_refused_if_a_member_of_its_mapping_is_missing(shape: RecordedToken, member: str) -> None:
    mapping = {name: value for name, value in shape.mapping.items() if name not in (member, "jwks_uri")}
    is_redundant = member == "tenant" and "tenants" in shape.mapping
    is_missing = member in shape.mapping and not is_redundant
    assert await refuses(shape.verifier(**mapping), shape.sign()) == is_missing


@every_mapped_claim
@pytest.mark.parametrize("value", EMPTY_VALUES, ids=repr)
async def test_a_token_is_refused_if_a_mapped_claim_is_missing_or_empty(
    shape: RecordedToken, use: str, path: str, value: object
) -> None:
    assert await refuses(shape.documented_verifier(), shape.sign(shape.with_claim(path, value)))


@every_mapped_claim
@pytest.mark.parametrize("value", OTHER_TYPES, ids=repr)
async def test_a_token_is_refused_if_a_mapped_claim_has_another_type(
    shape: RecordedToken, use: str, path: str, value: object
) -> None:
    assert await refuses(shape.documented_verifier(), shape.sign(shape.with_claim(path, value)))


@every_mapped_claim
async def test_a_claim_that_is_one_text_cannot_be_a_list(shape: RecordedToken, use: str, path: str) -> None:
    if use in TEXT_USES:
        assert await refuses(shape.documented_verifier(), shape.sign(shape.with_claim(path, [shape.claims[path]])))


@every_shape
async def test_a_token_of_a_neighbour_is_refused_by_an_issuer_of_one_tenant(shape: RecordedToken) -> None:
    verifier = shape.documented_verifier(tenant="acme")
    assert (await verifier.verify(shape.sign())).tenant == "acme"
    assert await refuses(verifier, shape.sign({**shape.claims, **shape.neighbour}))


@every_shape
async def test_an_organisation_that_is_not_mapped_yields_no_tenant(shape: RecordedToken) -> None:
    if "tenants" in shape.mapping:
        assert await refuses(shape.documented_verifier(), shape.sign({**shape.claims, **shape.neighbour}))


@every_shape
async def test_a_token_for_another_audience_is_refused(shape: RecordedToken) -> None:
    path = shape.mapping["claims"].get("audience", "aud")
    for audience in ("another-client", ["another-client"], ["another-client", "billing"], None):
        assert await refuses(shape.documented_verifier(), shape.sign(shape.with_claim(path, audience)))


@every_shape
async def test_unknown_roles_grant_nothing_and_the_strongest_role_counts(shape: RecordedToken) -> None:
    if (path := shape.mapping["claims"].get("role")) is None:
        return
    roles: dict[str, str] = shape.mapping["roles"]
    verifier = shape.documented_verifier()
    for unknown in (["nobody-knows"], "nobody-knows", [name.upper() for name in roles], list(roles.values())):
        assert await refuses(verifier, shape.sign(shape.with_claim(path, unknown)))
    strongest = next(role for role in Role if role in roles.values())
    for listed in (list(roles), [*reversed(roles), "nobody-knows"]):
        assert (await verifier.verify(shape.sign(shape.with_claim(path, listed)))).role is strongest


@every_shape
async def test_the_default_role_replaces_a_missing_role_only(shape: RecordedToken) -> None:
    path = shape.mapping["claims"].get("role", "role")
    verifier = shape.documented_verifier(default_role="VIEWER")
    if path in shape.claims or "." in path:
        assert (await verifier.verify(shape.sign())).role is shape.principal.role
    for missing in (None, [], ["nobody-knows"]):
        assert (await verifier.verify(shape.sign(shape.with_claim(path, missing)))).role is Role.VIEWER
    for malformed in (7, True, {"ADMIN": 1}, [7], ["nobody-knows", 7]):
        assert await refuses(verifier, shape.sign(shape.with_claim(path, malformed)))


@pytest.mark.parametrize("type_", ["JWT", "jwt", "at+jwt", "AT+JWT", "application/at+jwt"])
async def test_access_tokens_of_rfc_9068_are_accepted(type_: str) -> None:
    shape = recorded_token("auth0-access-token")
    assert await shape.documented_verifier().verify(shape.sign(typ=type_))


@pytest.mark.parametrize("type_", ["logout+jwt", "dpop+jwt", "secevent+jwt", "JWE", "", 7, ["JWT"]])
async def test_a_token_of_another_type_is_refused(type_: object) -> None:
    shape = recorded_token("auth0-access-token")
    assert await refuses(shape.documented_verifier(), shape.sign(typ=type_))


MACHINES: dict[str, Json] = {
    "auth0-access-token": {"sub": "machine@clients", "gty": "client-credentials", "https://example.com/roles": None},
    "cognito-access-token": {"sub": "web-client", "username": None, "cognito:groups": None},
    "okta-access-token": {"sub": "web-client", "uid": None, "groups": None},
    "entra-v2-access-token": {"scp": None, "name": None, "roles": ["Keyfence.Viewer"]},
    "keycloak-client-roles": {"sub": None, "client_id": "machine", "preferred_username": "service-account-machine"},
}
SUBJECTS = {
    "auth0-access-token": "machine@clients",
    "entra-v2-access-token": "ann-0001",
    "keycloak-client-roles": "machine",
}


@pytest.mark.parametrize("name", MACHINES)
async def test_a_machine_is_its_client_and_has_the_default_role(name: str) -> None:
    shape = recorded_token(name)
    claims = {key: value for key, value in {**shape.claims, **MACHINES[name]}.items() if value is not None}
    principal = await shape.documented_verifier(default_role="VIEWER").verify(shape.sign(claims))
    assert (principal.tenant, principal.subject) == ("acme", SUBJECTS.get(name, "web-client"))
    assert principal.role is (Role.MEMBER if name == "keycloak-client-roles" else Role.VIEWER)


def test_every_section_with_a_mapping_and_a_sample_is_a_recorded_token() -> None:
    assert sorted(json_of_sections()) == sorted(shape.section for shape in RECORDED)


@every_shape
def test_the_sample_on_the_page_is_the_recorded_token(shape: RecordedToken) -> None:
    mapping, sample = json_of_sections()[shape.section]
    assert sample == shape.claims
    assert mapping["issuer"] == sample["iss"]
