"""The prefix that marks keys of a development machine, so that production can refuse them."""

import secrets

DEVELOPMENT_KEY_PREFIX = "dev-"
"""The beginning of every secret key and every key id (`kid`) that a development machine creates."""
DEVELOPMENT_ISSUER = "https://keyfence.local/dev"
"""The `iss` claim of the tokens that `keyfence token` signs."""


def new_development_key() -> str:
    """Returns the prefix and 32 random bytes in URL-safe base64."""
    return f"{DEVELOPMENT_KEY_PREFIX}{secrets.token_urlsafe(32)}"


def is_development_key(text: str) -> bool:
    """Returns whether a secret key, or the id of a public key, comes from a development machine."""
    return text.startswith(DEVELOPMENT_KEY_PREFIX)
