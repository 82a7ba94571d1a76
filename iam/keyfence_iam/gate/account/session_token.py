"""Session tokens (encrypted claims), access keys and secret keys, all derived from the gate's key."""

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
_ACCESS_KEY = re.compile(r"ASIA[A-Z2-7]{16}")
_TOKEN_FORMAT = b"keyfence-session-1"
_CIPHER_OVERHEAD = 16

Clock = Callable[[], datetime]


class InvalidGateKey(ValueError):
    """A gate key that does not have 32 bytes."""


class InvalidSessionToken(ValueError):
    """A token that was not issued with this gate key for this access key."""


class TokenTooLarge(ValueError):
    """The claims do not fit into a session token."""

    def __init__(self, size: int) -> None:
        super().__init__(f"the session token would have {size} bytes; the maximum is {MAX_TOKEN_SIZE}")
        self.utilization = token_utilization(size)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionClaims:
    """The content of a session token. It names the role and the managed policies, whose texts are read at each use."""

    role: str
    role_id: str
    session_name: str
    issued_at: datetime
    expires_at: datetime
    tags: Mapping[str, str] = field(default_factory=dict)
    transitive_tag_keys: tuple[str, ...] = ()
    policy: str | None = None
    policy_arns: tuple[str, ...] = ()
    source_identity: str | None = None


class TokenCipher:
    """Encrypts claims, bound to one access key: a token is invalid with any other access key."""

    def __init__(self, gate_key: bytes) -> None:
        self._cipher = AESSIV(derive_key(gate_key, "session tokens"))

    def encrypt(self, claims: SessionClaims, access_key: str, minimum_size: int = 0) -> str:
        """Returns a token of at least `minimum_size` characters. Raises TokenTooLarge."""
        packed = zlib.compress(orjson.dumps(_to_list(claims)), 9)
        token = self._token(packed, access_key)
        if len(token) < minimum_size:
            token = self._token(packed + bytes(_padding(minimum_size, len(packed))), access_key)
        if len(token) > MAX_TOKEN_SIZE:
            raise TokenTooLarge(len(token))
        return token

    def decrypt(self, token: str, access_key: str) -> SessionClaims:
        try:
            packed = self._cipher.decrypt(_decode(token), [_TOKEN_FORMAT, access_key.encode()])
        except (InvalidTag, ValueError) as error:
            raise InvalidSessionToken("the session token was not issued for this access key") from error
        return _from_list(orjson.loads(zlib.decompressobj().decompress(packed)))

    def _token(self, packed: bytes, access_key: str) -> str:
        return b64encode(self._cipher.encrypt(packed, [_TOKEN_FORMAT, access_key.encode()])).decode()


def token_utilization(size: int) -> int:
    """Returns how many percent of the maximal token size are used, rounded up."""
    return -(-100 * size // MAX_TOKEN_SIZE)


def new_gate_key() -> bytes:
    return secrets.token_bytes(GATE_KEY_BYTES)


def derive_key(gate_key: bytes, purpose: str) -> bytes:
    """Returns 64 bytes for one purpose. A key of one purpose reveals nothing about the key of another."""
    if len(gate_key) != GATE_KEY_BYTES:
        raise InvalidGateKey(f"the gate's key must be {GATE_KEY_BYTES} bytes, not {len(gate_key)}")
    return hmac.digest(gate_key, purpose.encode(), "sha512")


def new_access_key() -> str:
    return f"ASIA{b32encode(secrets.token_bytes(10)).decode()}"


def is_access_key(text: str) -> bool:
    return _ACCESS_KEY.fullmatch(text) is not None


def secret_for(secret: bytes, access_key: str) -> str:
    """Returns the 40 characters of the secret key that belongs to an access key. It need not be stored."""
    return b64encode(hmac.digest(secret, access_key.encode(), "sha256")[:30]).decode()


def utc_now() -> datetime:
    return datetime.now(UTC)


def iso_seconds(time: datetime) -> str:
    """Returns the time in whole seconds, as policies compare it and as STS prints it."""
    return f"{time.astimezone(UTC).isoformat()[:19]}Z"


def _padding(minimum_size: int, packed: int) -> int:
    """The cipher adds 16 bytes, and base64 turns three bytes into four characters."""
    return -(-minimum_size // 4) * 3 - _CIPHER_OVERHEAD - packed


def _decode(token: str) -> bytes:
    if len(token) > MAX_TOKEN_SIZE:
        raise ValueError("longer than any token")
    encrypted = b64decode(token, validate=True)
    # The last base64 character has unused bits. Only the spelling that was issued is accepted.
    if b64encode(encrypted).decode() != token:
        raise ValueError("another spelling of the same bytes")
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
            int(issued),
            int(expires),
            list(tags),
            list(transitive_tag_keys),
            str() | None as policy,
            list(arns),
            str() | None as source_identity,
        ]:
            return SessionClaims(
                role=role,
                role_id=role_id,
                session_name=session_name,
                issued_at=datetime.fromtimestamp(issued, UTC),
                expires_at=datetime.fromtimestamp(expires, UTC),
                tags=dict(tags),
                transitive_tag_keys=tuple(transitive_tag_keys),
                policy=policy,
                policy_arns=tuple(arns),
                source_identity=source_identity,
            )
    raise InvalidSessionToken("the session token has another format")
