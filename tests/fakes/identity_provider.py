"""An identity provider that publishes its keys, and that signs valid and invalid tokens."""

import base64
import json
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa
from jwt import PyJWS
from jwt.algorithms import AllowedPrivateKeys, ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from keyfence.auth.issuer import Issuer, issuer_from_settings
from keyfence.settings import IssuerSettings
from tests.fakes.clock import ManualClock

Json = dict[str, Any]

URL = "https://id.example/acme"
_CURVES = {"ES256": ec.SECP256R1(), "ES384": ec.SECP384R1(), "ES512": ec.SECP521R1()}


@cache
def private_key(algorithm: str, name: str = "first", bits: int = 2048) -> AllowedPrivateKeys:
    """Returns the same key for the same name: RSA keys take long to generate."""
    if algorithm in _CURVES:
        return ec.generate_private_key(_CURVES[algorithm])
    if algorithm == "EdDSA":
        return ed448.Ed448PrivateKey.generate() if name == "ed448" else ed25519.Ed25519PrivateKey.generate()
    return rsa.generate_private_key(public_exponent=65537, key_size=bits)


def jwk(key: AllowedPrivateKeys, kid: str, **members: object) -> Json:
    public = key.public_key()
    if isinstance(public, rsa.RSAPublicKey):
        return {**RSAAlgorithm.to_jwk(public, as_dict=True), "kid": kid, **members}
    if isinstance(public, ec.EllipticCurvePublicKey):
        return {**ECAlgorithm.to_jwk(public, as_dict=True), "kid": kid, **members}
    return {**OKPAlgorithm.to_jwk(public, as_dict=True), "kid": kid, **members}


def base64url(content: bytes) -> str:
    """Returns the base64url text without padding, as the parts of a JWT are written."""
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def sign_token(header: Json, payload: bytes, key: AllowedPrivateKeys | bytes, algorithm: str) -> str:
    """Returns a token with exactly this header, even if a JWT library would refuse to sign it."""
    content = f"{base64url(json.dumps(header).encode())}.{base64url(payload)}"
    signature = PyJWS().get_algorithm_by_name(algorithm).sign(content.encode(), key)
    return f"{content}.{base64url(signature)}"


@dataclass
class IdentityProvider:
    """`headers` replace or extend the headers of every token."""

    clock: ManualClock
    url: str = URL
    algorithm: str = "ES256"
    kid: str = "k1"
    key_name: str = "first"
    headers: Json = field(default_factory=dict)

    @property
    def key(self) -> AllowedPrivateKeys:
        return private_key(self.algorithm, self.key_name)

    def jwks(self, **members: object) -> Json:
        return {"keys": [jwk(self.key, self.kid, **members)]}

    def issuer(self, tenant: str | None = None) -> Issuer:
        return issuer_from_settings(IssuerSettings(issuer=self.url, jwks=self.jwks(), tenant=tenant))

    def claims(self, **changes: object) -> Json:
        now = int(self.clock.now)
        claims = {"iss": self.url, "aud": "keyfence", "sub": "usr_1", "exp": now + 3600, "iat": now, "jti": "t1"}
        return {**claims, "tenant": "acme", "role": "MEMBER", **changes}

    def token(self, **changes: object) -> str:
        return self.sign(self.claims(**changes))

    def token_without(self, *names: str, **changes: object) -> str:
        return self.sign({name: value for name, value in self.claims(**changes).items() if name not in names})

    def sign(self, claims: object, **headers: object) -> str:
        return self.sign_bytes(json.dumps(claims).encode(), **headers)

    def sign_bytes(self, payload: bytes, **headers: object) -> str:
        header = {"alg": self.algorithm, "kid": self.kid, "typ": "JWT", **self.headers, **headers}
        return sign_token(header, payload, self.key, self.algorithm)
