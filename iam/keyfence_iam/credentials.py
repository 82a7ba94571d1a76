"""Credentials of one AWS session."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a call is signed with; the secrets stay out of every repr."""

    access_key: str
    secret_key: str = field(repr=False)
    token: str | None = field(default=None, repr=False)
