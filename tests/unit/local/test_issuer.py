"""The local issuer signs what its own JWKS verifies, with a key that stays in its directory."""

import stat
import time
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from keyfence.auth.principal import Role
from keyfence.development import LOCAL_ISSUER
from keyfence.local.data_directory import SecretUnusable
from keyfence.local.issuer import FILE, LocalIssuer, local_issuer


@pytest.fixture
def issuer(tmp_path: Path) -> LocalIssuer:
    return local_issuer(tmp_path)


def verified(token: str, issuer: LocalIssuer, audience: str) -> dict[str, Any]:
    key = jwt.PyJWKSet.from_dict(issuer.jwks())[jwt.get_unverified_header(token)["kid"]]
    return jwt.decode(token, key, algorithms=["ES256"], audience=audience, issuer=LOCAL_ISSUER)


def test_a_tenants_token_has_exactly_the_agreed_claims(issuer: LocalIssuer) -> None:
    before = int(time.time())
    token = issuer.token(tenant="acme", user="usr_1", role=Role.ADMIN, ttl=60, scopes=["introspect"])
    claims = verified(token, issuer, "keyfence")
    assert set(claims) == {"iss", "aud", "sub", "exp", "iat", "jti", "tenant", "role", "scope"}
    assert (claims["sub"], claims["tenant"], claims["role"]) == ("usr_1", "acme", "ADMIN")
    assert claims["scope"] == "introspect"
    assert claims["exp"] - claims["iat"] == 60
    assert claims["iat"] >= before


def test_a_token_without_scopes_has_no_scope_claim(issuer: LocalIssuer) -> None:
    assert "scope" not in verified(issuer.token(tenant="acme", user="u"), issuer, "keyfence")


def test_an_operators_token_belongs_to_no_tenant(issuer: LocalIssuer) -> None:
    claims = verified(issuer.admin_token(ttl=5), issuer, "keyfence-admin")
    assert set(claims) == {"iss", "aud", "sub", "exp", "iat", "jti"}


def test_an_operators_token_is_not_for_tenants(issuer: LocalIssuer) -> None:
    with pytest.raises(jwt.InvalidAudienceError):
        verified(issuer.admin_token(), issuer, "keyfence")


def test_no_two_tokens_have_one_id(issuer: LocalIssuer) -> None:
    tokens = [issuer.token(tenant="acme", user="u") for _ in range(5)]
    assert len({verified(token, issuer, "keyfence")["jti"] for token in tokens}) == 5


def test_the_published_key_is_public_and_marked_as_development(issuer: LocalIssuer) -> None:
    (key,) = jwt.PyJWKSet.from_dict(issuer.jwks()).keys
    assert key.key_id is not None
    assert key.key_id.startswith("dev-")
    published: Any = issuer.jwks()["keys"]
    assert ["d" in key for key in published] == [False]


def test_the_key_is_kept_for_its_owner_alone_and_used_again(tmp_path: Path, issuer: LocalIssuer) -> None:
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600
    assert local_issuer(tmp_path).jwks() == issuer.jwks()


def test_two_directories_have_two_keys(tmp_path: Path, issuer: LocalIssuer) -> None:
    (tmp_path / "other").mkdir()
    other = local_issuer(tmp_path / "other")
    assert other.kid != issuer.kid
    with pytest.raises(KeyError):
        verified(issuer.token(tenant="acme", user="u"), other, "keyfence")


@pytest.mark.parametrize(
    "content", [b"", b"garbage", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"]
)
def test_a_corrupt_key_file_is_said_in_a_sentence_and_left_alone(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)
    with pytest.raises(SecretUnusable, match=r"does not hold a private key: remove it"):
        local_issuer(tmp_path)
    assert (tmp_path / FILE).read_bytes() == content


def test_a_key_of_another_kind_is_refused(tmp_path: Path) -> None:
    key = ed25519.Ed25519PrivateKey.generate()
    (tmp_path / FILE).write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    with pytest.raises(SecretUnusable, match="P-256"):
        local_issuer(tmp_path)
