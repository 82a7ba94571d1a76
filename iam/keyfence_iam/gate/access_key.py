"""Access keys of temporary credentials: an id drawn by chance, and the secret that follows from it and a key."""

import hmac
import re
import secrets
from base64 import b32encode, b64encode

KEY_BYTES = 32
_ACCESS_KEY = re.compile(r"ASIA[A-Z2-7]{16}")


class BadGateKey(ValueError):
    """A gate key that is not 32 bytes."""


def new_gate_key() -> bytes:
    return secrets.token_bytes(KEY_BYTES)


def derived(gate_key: bytes, purpose: str) -> bytes:
    """64 bytes for one purpose: keys of different purposes tell nothing about each other."""
    if len(gate_key) != KEY_BYTES:
        raise BadGateKey(f"the gate's key must be {KEY_BYTES} bytes, not {len(gate_key)}")
    return hmac.digest(gate_key, purpose.encode(), "sha512")


def new_access_key() -> str:
    return f"ASIA{b32encode(secrets.token_bytes(10)).decode()}"


def is_access_key(text: str) -> bool:
    return _ACCESS_KEY.fullmatch(text) is not None


def secret_key(secret: bytes, access_key: str) -> str:
    """40 characters, always the same for the same id: nothing needs to be kept."""
    return b64encode(hmac.digest(secret, access_key.encode(), "sha256")[:30]).decode()
