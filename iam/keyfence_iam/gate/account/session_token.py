"""Encrypts and decrypts session tokens, and derives the secret keys of sessions from the gate's key."""

import hmac
import re
import secrets
import zlib
from base64 import b32encode, b64decode, b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

import orjson
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

GATE_KEY_BYTES = 32
MAX_TOKEN_SIZE = 4096
"""The maximum number of characters of a token. STS also rejects sessions that need a larger token."""
_ACCESS_KEY = re.compile(r"ASIA[A-Z2-7]{16}")
_TOKEN_FORMAT = b"keyfence-session-1"
"""The version of the format. The cipher authenticates it with each token, so a token of another version is invalid."""
_CIPHER_OVERHEAD_BYTES = 16
"""The bytes that AES-SIV adds to the encrypted text."""

Clock = Callable[[], datetime]


class InvalidGateKey(ValueError):
    """A gate key that does not have 32 bytes."""


class InvalidSessionToken(ValueError):
    """A token that was not issued with this gate key for this access key."""


class TokenTooLarge(ValueError):
    """The claims do not fit into a session token."""

    def __init__(self, size: int) -> None:
        super().__init__(f"the session token would have {size} characters; the maximum is {MAX_TOKEN_SIZE}")
        self.utilization = token_utilization(size)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionClaims:
    """The content of a session token.

    The token names the role and the managed policies, but does not contain their policy texts. A changed policy
    therefore also applies to tokens that already exist.
    """

    role: str
    role_id: str
    session_name: str
    issued_at: datetime
    expires_at: datetime
    tags: Mapping[str, str] = field(default_factory=dict)
    transitive_tag_keys: tuple[str, ...] = ()
    policy: str | None = None
    """The session policy, as JSON text."""
    policy_arns: tuple[str, ...] = ()
    """The ARNs of managed session policies."""
    source_identity: str | None = None


class TokenCipher:
    """Encrypts claims into tokens, and decrypts tokens. A token is only valid together with its access key."""

    def __init__(self, gate_key: bytes) -> None:
        self._cipher = AESSIV(derive_key(gate_key, "session tokens"))

    def encrypt(self, claims: SessionClaims, access_key: str, minimum_size: int = 0) -> str:
        """Returns a token of at least `minimum_size` characters. Raises TokenTooLarge if the claims do not fit."""
        content = zlib.compress(orjson.dumps(_to_list(claims)), 9)
        token = self._encrypt_content(content, access_key)
        if len(token) < minimum_size:
            zeros = bytes(_padding_bytes(minimum_size, len(content)))
            token = self._encrypt_content(content + zeros, access_key)
        if len(token) > MAX_TOKEN_SIZE:
            raise TokenTooLarge(len(token))
        return token

    def decrypt(self, token: str, access_key: str) -> SessionClaims:
        """Returns the claims of a token. Raises InvalidSessionToken if it was not issued for this access key."""
        try:
            content = self._cipher.decrypt(_decode(token), [_TOKEN_FORMAT, access_key.encode()])
        except (InvalidTag, ValueError) as error:
            raise InvalidSessionToken("the session token was not issued for this access key") from error
        # A decompressor object ignores the zeros that `encrypt` appended. zlib.decompress would reject them.
        return _from_list(orjson.loads(zlib.decompressobj().decompress(content)))

    def _encrypt_content(self, content: bytes, access_key: str) -> str:
        return b64encode(self._cipher.encrypt(content, [_TOKEN_FORMAT, access_key.encode()])).decode()


def token_utilization(size: int) -> int:
    """Returns how many percent of the maximal token size are used, rounded up."""
    return -(-100 * size // MAX_TOKEN_SIZE)  # -(-a // b) is a / b, rounded up


def new_gate_key() -> bytes:
    return secrets.token_bytes(GATE_KEY_BYTES)


def derive_key(gate_key: bytes, purpose: str) -> bytes:
    """Returns a key of 64 bytes for one purpose. The key of one purpose reveals nothing about the key of another.

    Raises InvalidGateKey if the gate key does not have 32 bytes.
    """
    if len(gate_key) != GATE_KEY_BYTES:
        raise InvalidGateKey(f"the gate's key must have {GATE_KEY_BYTES} bytes, but has {len(gate_key)}")
    return hmac.digest(gate_key, purpose.encode(), "sha512")


def new_access_key() -> str:
    return f"ASIA{b32encode(secrets.token_bytes(10)).decode()}"


def is_access_key(text: str) -> bool:
    return _ACCESS_KEY.fullmatch(text) is not None


def secret_key_for(derivation_key: bytes, access_key: str) -> str:
    """Returns the secret key of an access key: 40 characters. It is derived again for each use and never stored."""
    return b64encode(hmac.digest(derivation_key, access_key.encode(), "sha256")[:30]).decode()


def utc_now() -> datetime:
    return datetime.now(UTC)


def iso_seconds(time: datetime) -> str:
    """Returns a time as text in UTC without fractions of a second. Policies and STS responses use this format."""
    return f"{time.astimezone(UTC).isoformat()[:19]}Z"


def _padding_bytes(minimum_size: int, content_size: int) -> int:
    """Returns how many bytes must be appended to the content, so that the token has `minimum_size` characters.

    Base64 has four characters for three bytes.
    """
    return -(-minimum_size // 4) * 3 - _CIPHER_OVERHEAD_BYTES - content_size


def _decode(token: str) -> bytes:
    if len(token) > MAX_TOKEN_SIZE:
        raise ValueError("the token is longer than MAX_TOKEN_SIZE")
    encrypted = b64decode(token, validate=True)
    # The last base64 character has unused bits, so several texts decode to the same bytes. Only one text is accepted.
    if b64encode(encrypted).decode() != token:
        raise ValueError("the token is not in the form that was issued")
    return encrypted


def _to_list(claims: SessionClaims) -> list[object]:
    return [
        claims.role,
        claims.role_id,
        claims.session_name,
        int(claims.issued_at.timestamp()),
        int(claims.expires_at.timestamp()),
        list(claims.tags.items()),
        claims.transitive_tag_keys,
        claims.policy,
        claims.policy_arns,
        claims.source_identity,
    ]


def _from_list(values: list[object]) -> SessionClaims:
    match values:
        case [
            str(role),
            str(role_id),
            str(session_name),
            int(issued_at),
            int(expires_at),
            list(tags),
            list(transitive_tag_keys),
            str() | None as policy,
            list(policy_arns),
            str() | None as source_identity,
        ]:
            return SessionClaims(
                role=role,
                role_id=role_id,
                session_name=session_name,
                issued_at=datetime.fromtimestamp(issued_at, UTC),
                expires_at=datetime.fromtimestamp(expires_at, UTC),
                tags=dict(tags),
                transitive_tag_keys=tuple(transitive_tag_keys),
                policy=policy,
                policy_arns=tuple(policy_arns),
                source_identity=source_identity,
            )
    raise InvalidSessionToken("the content of the session token does not have the expected format")
