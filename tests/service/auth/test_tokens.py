"""A token is accepted only if every part of it is right."""

import json

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import get_default_algorithms
from structlog.testing import capture_logs

from keyfence.auth.bearer_token import MAX_TOKEN_LENGTH
from keyfence.auth.claims import principal_from_claims
from keyfence.auth.issuer import issuer_from_settings
from keyfence.auth.principal import Operator, Principal, Role
from keyfence.auth.token_verifier import NOT_SIGNED_MESSAGE, TokenVerifier, operator_verifier, tenant_verifier
from keyfence.errors import Unauthenticated
from keyfence.settings import IssuerSettings, Settings
from keyfence_iam.tenant import TenantId
from tests.fakes.clock import ManualClock
from tests.fakes.identity_provider import URL, IdentityProvider, base64url, jwk, private_key, sign_token

UserVerifier = TokenVerifier[Principal]


async def refusal(verifier: TokenVerifier[Principal] | TokenVerifier[Operator], token: str) -> str:
    """Returns the error message, or the reason in the log if the message does not tell it.

    The same token must be refused a second time too."""
    with pytest.raises(Unauthenticated) as first, capture_logs():
        await verifier.verify(token)
    with pytest.raises(Unauthenticated) as second, capture_logs() as lines:
        await verifier.verify(token)
    assert first.value.message == second.value.message
    if second.value.message != NOT_SIGNED_MESSAGE:
        return second.value.message
    (reason,) = [str(line["reason"]) for line in lines if line["event"] == "token_refused"]
    return reason


async def test_a_valid_token_identifies_its_principal(verifier: UserVerifier, provider: IdentityProvider) -> None:
    principal = await verifier.verify(provider.token(scope="introspect export"))
    assert principal == Principal(
        tenant=TenantId("acme"),
        subject="usr_1",
        role=Role.MEMBER,
        token_id="t1",
        issued_at=int(provider.clock.now),
        expires_at=int(provider.clock.now) + 3600,
        scopes=frozenset({"introspect", "export"}),
    )


@pytest.mark.parametrize(
    ("algorithm", "name"),
    [(name, "first") for name in ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512")]
    + [("EdDSA", "first"), ("EdDSA", "ed448")],
)
async def test_every_asymmetric_algorithm_is_accepted(clock: ManualClock, algorithm: str, name: str) -> None:
    provider = IdentityProvider(clock, algorithm=algorithm, key_name=name)
    verifier = TokenVerifier(
        issuers=[provider.issuer()], audience="keyfence", caller_from_claims=principal_from_claims, clock=clock
    )
    assert (await verifier.verify(provider.token())).tenant == "acme"


@pytest.mark.parametrize(
    "token",
    [
        "",
        ".",
        "..",
        "...",
        "a.b.c",
        "AAAA.AAAA.AAAA",
        "not a token",
        "Bearer AAAA.AAAA.AAAA",
        "\x00",
        "é.é.é",
        "\ud800",
        "{}",
        "e30.e30.",
        "e30=.e30=.AAAA",
        f"{base64url(b'[]')}.{base64url(b'{}')}.AAAA",
        f"{base64url(b'{' * 3000)}.{base64url(b'{}')}.AAAA",
        f"{base64url(b'[' * 3000)}.{base64url(b'{}')}.AAAA",
    ],
)
async def test_a_text_that_is_not_a_token_is_refused(verifier: UserVerifier, token: str) -> None:
    assert await refusal(verifier, token)


@pytest.mark.parametrize(
    "payload", [b"", b"null", b"[]", b'"x"', b"1", b"NaN", b"{", b"\xff", b'{"iss":NaN}', b"[" * 3000, b'{"a":' * 900]
)
async def test_a_signed_payload_that_is_not_claims_is_refused(
    verifier: UserVerifier, provider: IdentityProvider, payload: bytes
) -> None:
    assert await refusal(verifier, provider.sign_bytes(payload))


async def test_padding_and_line_ends_are_refused(verifier: UserVerifier, provider: IdentityProvider) -> None:
    token = provider.token()
    for changed in (token + "=", token + "==", token + "\n", " " + token, token.replace(".", ".\n", 1), token + "."):
        assert "not a readable JWT" in await refusal(verifier, changed)


async def test_other_jose_serializations_are_refused(verifier: UserVerifier, provider: IdentityProvider) -> None:
    header, payload, signature = provider.token().split(".")
    flattened = json.dumps({"protected": header, "payload": payload, "signature": signature})
    assert "not a readable JWT" in await refusal(verifier, flattened)
    assert "not a readable JWT" in await refusal(verifier, f"{header}.{payload}.{signature}.{header}.{payload}")


async def test_the_longest_token_is_accepted_and_a_longer_one_is_not(
    verifier: UserVerifier, provider: IdentityProvider
) -> None:
    unpadded_length = len(provider.token(pad=""))
    tokens = [
        provider.token(pad="x" * size)
        for size in range((MAX_TOKEN_LENGTH - unpadded_length) // 4 * 3 - 8, MAX_TOKEN_LENGTH)
    ]
    longest = max((token for token in tokens if len(token) <= MAX_TOKEN_LENGTH), key=len)
    too_long = min((token for token in tokens if len(token) > MAX_TOKEN_LENGTH), key=len)
    assert (await verifier.verify(longest)).tenant == "acme"
    assert "at most 8192" in await refusal(verifier, too_long)


@pytest.mark.parametrize("algorithm", ["none", "None", "NONE", "nOnE", "", " none", None, 0, [], ["ES256"], {}])
async def test_a_token_with_any_spelling_of_the_algorithm_none_is_refused(
    verifier: UserVerifier, provider: IdentityProvider, algorithm: object
) -> None:
    header = base64url(json.dumps({"alg": algorithm, "kid": "k1"}).encode())
    payload = base64url(json.dumps(provider.claims()).encode())
    good_signature = provider.token().rpartition(".")[2]
    for signature in ("", good_signature):
        assert "algorithm" in await refusal(verifier, f"{header}.{payload}.{signature}")


async def test_a_token_without_an_algorithm_is_refused(verifier: UserVerifier, provider: IdentityProvider) -> None:
    token = sign_token({"kid": "k1"}, json.dumps(provider.claims()).encode(), provider.key, "ES256")
    assert "algorithm" in await refusal(verifier, token)


@pytest.mark.parametrize("algorithm", ["HS256", "HS384", "HS512"])
async def test_the_public_key_is_not_accepted_as_an_hmac_secret(clock: ManualClock, algorithm: str) -> None:
    provider = IdentityProvider(clock, algorithm="RS256")
    verifier = TokenVerifier(
        issuers=[provider.issuer()], audience="keyfence", caller_from_claims=principal_from_claims, clock=clock
    )
    public = provider.key.public_key()
    for encoding in (Encoding.PEM, Encoding.DER):
        secret = public.public_bytes(encoding, PublicFormat.SubjectPublicKeyInfo)
        token = sign_token({"alg": algorithm, "kid": "k1"}, json.dumps(provider.claims()).encode(), secret, algorithm)
        assert "algorithm" in await refusal(verifier, token)


@pytest.mark.parametrize(
    ("header_algorithm", "signing_algorithm"), [("RS256", "PS256"), ("PS256", "RS256"), ("RS512", "RS256")]
)
async def test_the_algorithm_must_be_the_one_that_signed(
    clock: ManualClock, header_algorithm: str, signing_algorithm: str
) -> None:
    provider = IdentityProvider(clock, algorithm=signing_algorithm, headers={"alg": header_algorithm})
    verifier = TokenVerifier(
        issuers=[provider.issuer()], audience="keyfence", caller_from_claims=principal_from_claims, clock=clock
    )
    assert "signature" in await refusal(verifier, provider.token())


async def test_a_key_with_an_alg_verifies_no_other_algorithm(clock: ManualClock) -> None:
    provider = IdentityProvider(clock, algorithm="RS256")
    issuer = issuer_from_settings(IssuerSettings(issuer=URL, jwks=provider.jwks(alg="RS512")))
    verifier = TokenVerifier(
        issuers=[issuer], audience="keyfence", caller_from_claims=principal_from_claims, clock=clock
    )
    assert "signature" in await refusal(verifier, provider.token())


@pytest.mark.parametrize("algorithm", ["ES256", "ES384", "EdDSA"])
async def test_a_token_of_another_key_type_is_refused(clock: ManualClock, algorithm: str) -> None:
    rsa = IdentityProvider(clock, algorithm="RS256")
    verifier = TokenVerifier(
        issuers=[rsa.issuer()], audience="keyfence", caller_from_claims=principal_from_claims, clock=clock
    )
    assert "signature" in await refusal(verifier, IdentityProvider(clock, algorithm=algorithm).token())


async def test_another_key_with_a_known_kid_is_refused(
    verifier: UserVerifier, provider: IdentityProvider, clock: ManualClock
) -> None:
    stranger = IdentityProvider(clock, key_name="stranger")
    assert "signature" in await refusal(verifier, stranger.token())


async def test_a_key_inside_the_token_is_not_used(verifier: UserVerifier, clock: ManualClock) -> None:
    embedded_key = jwk(private_key("ES256", "stranger"), "k1")
    stranger = IdentityProvider(
        clock, key_name="stranger", headers={"jwk": embedded_key, "jku": "https://evil.example/jwks"}
    )
    assert "signature" in await refusal(verifier, stranger.token())


@pytest.mark.parametrize("kid", [None, "", 7, ["k1"], "x" * 257])
async def test_a_token_without_a_kid_is_refused(
    verifier: UserVerifier, provider: IdentityProvider, kid: object
) -> None:
    assert await refusal(verifier, provider.sign(provider.claims(), kid=kid))


async def test_an_unknown_kid_is_refused(verifier: UserVerifier, provider: IdentityProvider) -> None:
    assert "no key with this kid" in await refusal(verifier, provider.sign(provider.claims(), kid="k2"))


@pytest.mark.parametrize(
    "header", [{"crit": ["exp"]}, {"crit": []}, {"crit": ["b64"], "b64": True}, {"crit": ["b64"], "b64": False}]
)
async def test_a_token_with_critical_extensions_is_refused(
    verifier: UserVerifier, provider: IdentityProvider, header: dict[str, object]
) -> None:
    assert await refusal(verifier, provider.sign(provider.claims(), **header))


@pytest.mark.parametrize(
    "issuer", ["https://evil.example", URL + "/", URL.upper(), URL[:-1], URL + "#", " " + URL, "", 7, [URL], None]
)
async def test_an_issuer_url_that_is_not_exactly_equal_is_refused(
    verifier: UserVerifier, provider: IdentityProvider, issuer: object
) -> None:
    assert await refusal(verifier, provider.token(iss=issuer)) == "the issuer is unknown"


async def test_forged_tokens_do_not_tell_which_issuers_are_accepted(
    verifier: UserVerifier, provider: IdentityProvider, clock: ManualClock
) -> None:
    stranger = IdentityProvider(clock, key_name="stranger")
    forged_tokens = {
        "the issuer is unknown": stranger.token(iss="https://evil.example"),
        "the issuer has no key with this kid": stranger.sign(stranger.claims(), kid="k2"),
        "the signature does not match": stranger.token(),
    }
    for reason, token in forged_tokens.items():
        with pytest.raises(Unauthenticated) as refused, capture_logs() as lines:
            await verifier.verify(token)
        assert refused.value.message == NOT_SIGNED_MESSAGE
        assert [line["reason"] for line in lines] == [reason]


@pytest.mark.parametrize(
    ("header", "claims"),
    [
        ('{"alg":"ES256","kid":"k1"}', '{"tenant":"globex",%s'),
        ('{"alg":"ES256","kid":"k1"}', '{"t\\u0065nant":"globex",%s'),
        ('{"alg":"ES256","kid":"k1"}', '{"nested":{"a":1,"a":1},%s'),
        ('{"alg":"ES256","kid":"k2","kid":"k1"}', "{%s"),
        ('{"alg":"none","alg":"ES256","kid":"k1"}', "{%s"),
    ],
)
async def test_a_signed_token_with_a_repeated_claim_or_header_parameter_is_refused(
    verifier: UserVerifier, provider: IdentityProvider, header: str, claims: str
) -> None:
    members = json.dumps(provider.claims())[1:]
    content = ".".join(base64url(text.encode()) for text in (header, claims % members))
    signature = get_default_algorithms()["ES256"].sign(content.encode(), private_key("ES256", provider.key_name))
    token = f"{content}.{base64url(signature)}"
    assert await refusal(verifier, token) == "the token has a claim or a header parameter twice"


async def test_a_key_of_one_issuer_verifies_no_token_of_another(clock: ManualClock) -> None:
    acme = IdentityProvider(clock)
    globex = IdentityProvider(clock, url="https://id.example/globex", kid="g1", key_name="globex")
    issuers = [acme.issuer("acme"), globex.issuer("globex")]
    verifier = TokenVerifier(
        issuers=issuers, audience="keyfence", caller_from_claims=principal_from_claims, clock=clock
    )
    assert "no key with this kid" in await refusal(verifier, globex.token(iss=acme.url))
    assert (await verifier.verify(globex.token(tenant="globex"))).tenant == "globex"


async def test_an_issuer_that_is_bound_to_a_tenant_is_accepted_for_it_only(clock: ManualClock) -> None:
    provider = IdentityProvider(clock)
    verifier = TokenVerifier(
        issuers=[provider.issuer("acme")], audience="keyfence", caller_from_claims=principal_from_claims, clock=clock
    )
    assert (await verifier.verify(provider.token())).tenant == "acme"
    for neighbour in ("globex", "acmecorp", "acm"):
        assert "may not issue tokens for" in await refusal(verifier, provider.token(tenant=neighbour))


async def test_tenants_and_operators_apis_refuse_each_others_tokens(provider: IdentityProvider) -> None:
    issuers = (IssuerSettings(issuer=URL, jwks=provider.jwks()),)
    settings = Settings(issuers=issuers, admin_issuers=issuers)
    tenants, operators = (make(settings, clock=provider.clock) for make in (tenant_verifier, operator_verifier))
    admin = provider.token_without("tenant", "role", aud="keyfence-admin", scope="tenants")
    assert (await tenants.verify(provider.token())).subject == "usr_1"
    assert await operators.verify(admin) == Operator(
        subject="usr_1",
        token_id="t1",
        expires_at=int(provider.clock.now) + 3600,
        scopes=frozenset({"tenants"}),
    )
    assert "audience" in await refusal(tenants, admin)
    assert "audience" in await refusal(operators, provider.token())


async def test_a_tenants_token_for_the_operators_audience_is_refused(
    operators: TokenVerifier[Operator], provider: IdentityProvider
) -> None:
    assert "tenant's token" in await refusal(operators, provider.token(aud="keyfence-admin"))


async def test_an_operators_token_for_the_tenants_audience_is_refused(
    verifier: UserVerifier, provider: IdentityProvider
) -> None:
    assert "tenant claim" in await refusal(verifier, provider.token_without("tenant"))
