"""`User`, `Setting` and `EmailClaim`, and checks of their fields that need no read of the table."""

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import NewType

from keyfence.auth.principal import Role
from keyfence.store.embedded_edges import EmbeddedEdges
from keyfence.validation import checked_line

UserId = NewType("UserId", str)

MAX_NAME_LENGTH = 200
MAX_SETTINGS = 50
MAX_SETTING_NAME_LENGTH = 64
MAX_SETTING_BYTES = 4_096
"""The largest length of a setting's JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """A user of one tenant. `embedded_edges` has the user's first memberships. It is None if the user was read from an
    index."""

    id: UserId
    email: str
    name: str
    role: Role
    created_at: datetime
    updated_at: datetime
    version: int = 1
    deleted_at: datetime | None = None
    setting_names: frozenset[str] = frozenset()
    embedded_edges: EmbeddedEdges | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UserCount:
    """The number of users of a tenant. Deleted users do not count."""

    created_at: datetime
    updated_at: datetime
    total: int = 0
    version: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class EmailClaim:
    """An item with the email in its key. A table has each key only once, so no two users of a tenant share an email.

    `email` is the result of `email_key`, so that all spellings of an address have the same key. `User.email` is the
    address as it was typed."""

    email: str
    user_id: UserId
    created_at: datetime
    updated_at: datetime
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A named value of a user. `text` is the JSON of the value."""

    user_id: UserId
    name: str
    text: str
    created_at: datetime
    updated_at: datetime
    version: int = 1


def is_alive(user: User) -> bool:
    return user.deleted_at is None


checked_name = partial(checked_line, field="name", max_length=MAX_NAME_LENGTH)
