"""Credentials of one AWS session."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Credentials:
    """Signs a call. The secret key and the session token are not in the repr."""

    access_key: str
    secret_key: str = field(repr=False)
    token: str | None = field(default=None, repr=False)
