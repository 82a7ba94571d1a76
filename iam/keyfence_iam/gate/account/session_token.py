"""Encrypted session tokens, access keys, secrets."""

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

KEY_BYTES = 32
_ACCESS_KEY = re.compile(r"ASIA[A-Z2-7]{16}")


class InvalidGateKey(ValueError):
    """A gate key that is not 32 bytes."""


def new_gate_key() -> bytes:
    return secrets.token_bytes(KEY_BYTES)


def derive_key(gate_key: bytes, purpose: str) -> bytes:
    """64 bytes for one purpose: keys of different purposes tell nothing about each other."""
    if len(gate_key) != KEY_BYTES:
        raise InvalidGateKey(f"the gate's key must be {KEY_BYTES} bytes, not {len(gate_key)}")
    return hmac.digest(gate_key, purpose.encode(), "sha512")


def new_access_key() -> str:
    return f"ASIA{b32encode(secrets.token_bytes(10)).decode()}"


def is_access_key(text: str) -> bool:
    return _ACCESS_KEY.fullmatch(text) is not None


def secret_for(secret: bytes, access_key: str) -> str:
    """40 characters, always the same for the same id: nothing needs to be kept."""
    return b64encode(hmac.digest(secret, access_key.encode(), "sha256")[:30]).decode()


LARGEST_TOKEN = 4096
_FORMAT = b"keyfence-session-1"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionClaims:
    """What was granted. The role and managed policies are named: their texts are those of the day they are read."""

    role: str
    role_id: str
    name: str
    issued_at: datetime
    expires_at: datetime
    tags: Mapping[str, str] = field(default_factory=dict)
    transitive: tuple[str, ...] = ()
    policy: str | None = None
    policy_arns: tuple[str, ...] = ()
    source_identity: str | None = None


class InvalidSessionToken(ValueError):
    """A token that this key did not seal for this access key."""


class TokenTooLarge(ValueError):
    """What a session was granted does not fit into a token of 4,096 bytes."""

    def __init__(self, size: int) -> None:
        super().__init__(f"the session token would take {size} bytes of {LARGEST_TOKEN}")
        self.utilization = -(-100 * size // LARGEST_TOKEN)


class TokenCipher:
    """Binds a grant to its access key: the token of one session is no token of another."""

    def __init__(self, gate_key: bytes) -> None:
        self._cipher = AESSIV(derive_key(gate_key, "session tokens"))

    def sealed(self, grant: SessionClaims, access_key: str, smallest: int = 0) -> str:
        packed = zlib.compress(orjson.dumps(_written(grant)), 9)
        token = self._token(packed, access_key)
        if len(token) < smallest:
            token = self._token(packed + bytes(_missing(smallest, len(packed))), access_key)
        if len(token) > LARGEST_TOKEN:
            raise TokenTooLarge(len(token))
        return token

    def opened(self, token: str, access_key: str) -> SessionClaims:
        try:
            packed = self._cipher.decrypt(_decoded(token), [_FORMAT, access_key.encode()])
        except (InvalidTag, ValueError) as error:
            raise InvalidSessionToken("the session token is not one of this access key") from error
        return _read(orjson.loads(zlib.decompressobj().decompress(packed)))

    def _token(self, packed: bytes, access_key: str) -> str:
        return b64encode(self._cipher.encrypt(packed, [_FORMAT, access_key.encode()])).decode()


def _missing(smallest: int, packed: int) -> int:
    """The seal adds 16 bytes, and base64 makes four characters of three."""
    return -(-smallest // 4) * 3 - 16 - packed


def _decoded(token: str) -> bytes:
    if len(token) > LARGEST_TOKEN:
        raise ValueError("longer than any token")
    sealed = b64decode(token, validate=True)
    # Base64 leaves bits unused: only the one spelling that was issued is a token.
    if b64encode(sealed).decode() != token:
        raise ValueError("not as it was issued")
    return sealed


def _written(grant: SessionClaims) -> list[object]:
    times = (int(grant.issued_at.timestamp()), int(grant.expires_at.timestamp()))
    tags, transitive, arns = list(grant.tags.items()), grant.transitive, grant.policy_arns
    return [grant.role, grant.role_id, grant.name, *times, tags, transitive, grant.policy, arns, grant.source_identity]


def _read(written: list[object]) -> SessionClaims:
    match written:
        case [
            str(role),
            str(role_id),
            str(name),
            int(issued),
            int(expires),
            list(tags),
            list(transitive),
            str() | None as policy,
            list(arns),
            str() | None as source_identity,
        ]:
            return SessionClaims(
                role=role,
                role_id=role_id,
                name=name,
                issued_at=datetime.fromtimestamp(issued, UTC),
                expires_at=datetime.fromtimestamp(expires, UTC),
                tags=dict(tags),
                transitive=tuple(transitive),
                policy=policy,
                policy_arns=tuple(arns),
                source_identity=source_identity,
            )
    raise InvalidSessionToken("the session token is of another format")


Clock = Callable[[], datetime]


def utc_now() -> datetime:
    return datetime.now(UTC)


def iso_seconds(moment: datetime) -> str:
    """To the second, as policies compare it and as STS prints it."""
    return f"{moment.astimezone(UTC).isoformat()[:19]}Z"
