"""`Credentials`: the keys and the token of one AWS session."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Credentials:
    """Keys that sign calls. The repr shows neither the secret key nor the session token."""

    access_key: str
    secret_key: str = field(repr=False)
    token: str | None = field(default=None, repr=False)
