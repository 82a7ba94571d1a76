"""How keys of a development machine are marked, so that production refuses them."""

import secrets

DEVELOPMENT_KEY_PREFIX = "dev-"
"""The first characters of every local key or key id."""
DEVELOPMENT_ISSUER = "https://keyfence.local/dev"
"""The `iss` claim of the tokens that `keyfence token` signs."""


def new_development_key() -> str:
    """Returns 32 random bytes in URL-safe base64, behind the prefix."""
    return f"{DEVELOPMENT_KEY_PREFIX}{secrets.token_urlsafe(32)}"


def is_development_key(text: str) -> bool:
    return text.startswith(DEVELOPMENT_KEY_PREFIX)
