"""The service accepts a valid token, and rejects each kind of invalid token."""

from datetime import UTC, datetime, timedelta
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from keyfence.local.development_issuer import DevelopmentIssuer
from keyfence_iam.tenant import TenantId
from tests.stack import ApiClient, ServiceStack

QUERY = {"query": "{ viewer { subject } }"}


def claims(tenant: str, **changes: Any) -> dict[str, Any]:
    now = datetime.now(UTC)
    valid_claims = {
        "iss": "https://keyfence.local/dev",
        "aud": "keyfence",
        "sub": "x",
        "jti": "1",
        "iat": now,
        "exp": now + timedelta(minutes=5),
        "tenant": tenant,
        "role": "OWNER",
    }
    return valid_claims | changes


def sign_token(issuer: DevelopmentIssuer, payload: dict[str, Any], **headers: str) -> str:
    return jwt.encode(payload, issuer.key, algorithm="ES256", headers={"kid": issuer.kid, **headers})


def hmac_of_public_key(issuer: DevelopmentIssuer, tenant: str) -> str:
    """Returns a token signed with HMAC, with the public key as the secret. PyJWT refuses to make such a token."""
    import hashlib
    import hmac

    valid_token = sign_token(issuer, claims(tenant))
    header = jwt.utils.base64url_encode(b'{"alg":"HS256","kid":"%s"}' % issuer.kid.encode()).decode()
    content = f"{header}.{valid_token.split('.')[1]}"
    secret = issuer.key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return f"{content}.{jwt.utils.base64url_encode(hmac.digest(secret, content.encode(), hashlib.sha256)).decode()}"


def unsigned_token(issuer: DevelopmentIssuer, tenant: str) -> str:
    header = jwt.utils.base64url_encode(b'{"alg":"none","kid":"%s"}' % issuer.kid.encode()).decode()
    return f"{header}.{sign_token(issuer, claims(tenant)).split('.')[1]}."


def bad_tokens(issuer: DevelopmentIssuer, tenant: str) -> dict[str, str]:
    other_issuer = DevelopmentIssuer(key=ec.generate_private_key(ec.SECP256R1()))
    past = datetime.now(UTC) - timedelta(minutes=5)
    return {
        "garbage": "x.y.z",
        "expired": sign_token(issuer, claims(tenant, exp=past)),
        "operators' audience": sign_token(issuer, claims(tenant, aud="keyfence-admin")),
        "none": unsigned_token(issuer, tenant),
        "HS256 with the public key": hmac_of_public_key(issuer, tenant),
        "unknown issuer": sign_token(issuer, claims(tenant, iss="https://elsewhere.example")),
        "another's key under our kid": sign_token(other_issuer, claims(tenant), kid=issuer.kid),
        "unregistered tenant": sign_token(issuer, claims("nobody-here")),
        "tenant with a # in its id": sign_token(issuer, claims(f"{tenant}#USER")),
        "tenant in capitals": sign_token(issuer, claims(tenant.upper())),
        "no tenant": sign_token(issuer, {claim: value for claim, value in claims(tenant).items() if claim != "tenant"}),
        "unknown role": sign_token(issuer, claims(tenant, role="GOD")),
    }


KINDS = list(bad_tokens(DevelopmentIssuer(key=ec.generate_private_key(ec.SECP256R1())), "x1"))


@pytest.mark.parametrize("kind", KINDS)
async def test_a_bad_token_is_unauthenticated(stack: ServiceStack, tenant: TenantId, kind: str) -> None:
    token = bad_tokens(stack.issuer, tenant)[kind]
    answer = await ApiClient(stack.application, token, tenant).post(QUERY)
    assert answer.status_code == 401
    assert answer.json()["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"
    assert "data" not in answer.json()


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "Basic abc", "Token x"])
async def test_the_response_to_a_request_without_a_token_names_the_bearer_scheme(
    stack: ServiceStack, tenant: TenantId, header: str
) -> None:
    answer = await ApiClient(stack.application, "", tenant).post(QUERY, authorization=header)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")


async def test_a_good_token_is_accepted(owner: ApiClient) -> None:
    assert (await owner.post(QUERY)).status_code == 200
