"""The development issuer signs tokens that its own JWKS verifies, with a key that stays in its directory."""

import stat
import time
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from keyfence.auth.principal import Role
from keyfence.development_keys import DEVELOPMENT_ISSUER
from keyfence.errors import BadInput
from keyfence.local.data_directory import ISSUER_KEY_FILE, KeyFileUnusable, data_directory
from keyfence.local.development_issuer import (
    DevelopmentIssuer,
    create_tenant_issuer,
    get_tenant_issuer,
    load_development_issuer,
)


@pytest.fixture
def issuer(tmp_path: Path) -> DevelopmentIssuer:
    return load_development_issuer(tmp_path)


def verified_claims(token: str, issuer: DevelopmentIssuer, audience: str) -> dict[str, Any]:
    key = jwt.PyJWKSet.from_dict(issuer.jwks())[jwt.get_unverified_header(token)["kid"]]
    return jwt.decode(token, key, algorithms=["ES256"], audience=audience, issuer=DEVELOPMENT_ISSUER)


def test_a_tenants_token_has_exactly_the_documented_claims(issuer: DevelopmentIssuer) -> None:
    before = int(time.time())
    token = issuer.token(tenant="acme", user="usr_1", role=Role.ADMIN, ttl=60, scopes=["introspect"])
    claims = verified_claims(token, issuer, "keyfence")
    assert set(claims) == {"iss", "aud", "sub", "exp", "iat", "jti", "tenant", "role", "scope"}
    assert (claims["sub"], claims["tenant"], claims["role"]) == ("usr_1", "acme", "ADMIN")
    assert claims["scope"] == "introspect"
    assert claims["exp"] - claims["iat"] == 60
    assert claims["iat"] >= before


def test_a_token_without_scopes_has_no_scope_claim(issuer: DevelopmentIssuer) -> None:
    assert "scope" not in verified_claims(issuer.token(tenant="acme", user="u"), issuer, "keyfence")


def test_an_operators_token_belongs_to_no_tenant(issuer: DevelopmentIssuer) -> None:
    claims = verified_claims(issuer.admin_token(ttl=5), issuer, "keyfence-admin")
    assert set(claims) == {"iss", "aud", "sub", "exp", "iat", "jti"}


def test_an_operators_token_is_refused_by_the_tenants_api(issuer: DevelopmentIssuer) -> None:
    with pytest.raises(jwt.InvalidAudienceError):
        verified_claims(issuer.admin_token(), issuer, "keyfence")


def test_each_token_has_another_id(issuer: DevelopmentIssuer) -> None:
    tokens = [issuer.token(tenant="acme", user="u") for _ in range(5)]
    assert len({verified_claims(token, issuer, "keyfence")["jti"] for token in tokens}) == 5


def test_the_published_key_is_public_and_marked_as_development(issuer: DevelopmentIssuer) -> None:
    (key,) = jwt.PyJWKSet.from_dict(issuer.jwks()).keys
    assert key.key_id is not None
    assert key.key_id.startswith("dev-")
    published: Any = issuer.jwks()["keys"]
    assert ["d" in key for key in published] == [False]


def test_only_the_owner_can_read_the_key_and_the_key_is_loaded_the_second_time(
    tmp_path: Path, issuer: DevelopmentIssuer
) -> None:
    assert stat.S_IMODE((tmp_path / ISSUER_KEY_FILE).stat().st_mode) == 0o600
    assert load_development_issuer(tmp_path).jwks() == issuer.jwks()


def test_two_directories_have_two_keys(tmp_path: Path, issuer: DevelopmentIssuer) -> None:
    (tmp_path / "other").mkdir()
    other = load_development_issuer(tmp_path / "other")
    assert other.kid != issuer.kid
    with pytest.raises(KeyError):
        verified_claims(issuer.token(tenant="acme", user="u"), other, "keyfence")


@pytest.mark.parametrize(
    "content", [b"", b"garbage", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"]
)
def test_a_corrupt_key_file_is_an_error_and_is_left_alone(tmp_path: Path, content: bytes) -> None:
    (data_directory(tmp_path) / ISSUER_KEY_FILE).write_bytes(content)
    with pytest.raises(KeyFileUnusable, match=r"does not contain a private key. Delete the file"):
        load_development_issuer(tmp_path)
    assert (tmp_path / ISSUER_KEY_FILE).read_bytes() == content


def test_a_key_of_another_kind_is_refused(tmp_path: Path) -> None:
    key = ed25519.Ed25519PrivateKey.generate()
    (tmp_path / ISSUER_KEY_FILE).write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    with pytest.raises(KeyFileUnusable, match="P-256"):
        load_development_issuer(tmp_path)


def test_each_tenants_issuer_has_its_own_key_and_the_key_is_loaded_the_second_time(
    tmp_path: Path, issuer: DevelopmentIssuer
) -> None:
    first = create_tenant_issuer(tmp_path, "https://id.initech.example")
    other = create_tenant_issuer(tmp_path, "https://id.hooli.example")
    assert create_tenant_issuer(tmp_path, "https://id.initech.example").jwks() == first.jwks()
    assert len({issuer.kid, first.kid, other.kid}) == 3
    token = get_tenant_issuer(tmp_path, "https://id.initech.example").token(tenant="initech", user="u")
    key = jwt.PyJWKSet.from_dict(first.jwks())[jwt.get_unverified_header(token)["kid"]]
    claims = jwt.decode(token, key, algorithms=["ES256"], audience="keyfence", issuer="https://id.initech.example")
    assert claims["tenant"] == "initech"


def test_an_issuer_without_a_key_is_named_with_the_command_that_creates_one(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="create one with `keyfence jwks --issuer https://"):
        get_tenant_issuer(tmp_path, "https://id.initech.example")
    assert list(tmp_path.iterdir()) == []
