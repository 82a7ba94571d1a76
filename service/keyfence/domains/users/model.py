"""Users, and the rules that hold without looking anything up."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import NewType

from keyfence.auth.principal import Role
from keyfence.errors import BadInput
from keyfence.store.embedded_edges import EmbeddedEdges
from keyfence.validation import checked_line

UserId = NewType("UserId", str)

NAME_LENGTH = 200
EMAIL_LENGTH = 254
SETTINGS = 50
SETTING_NAME_LENGTH = 64
SETTING_BYTES = 4_096

_EMAIL = re.compile(r"[^@\s\x00-\x1f\x7f]+@[^@\s\x00-\x1f\x7f]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """A person in one tenant. `head` is known only where the whole item was read, not from an index."""

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
    """How many users the tenant has: those who were created and not deleted."""

    created_at: datetime
    updated_at: datetime
    total: int = 0
    version: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class EmailClaim:
    """The one item that can hold an address, so that no two users of a tenant share it."""

    email: str
    user_id: UserId
    created_at: datetime
    updated_at: datetime
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A named JSON value of a user, kept as its text."""

    user_id: UserId
    name: str
    text: str
    created_at: datetime
    updated_at: datetime
    version: int = 1


def is_alive(user: User) -> bool:
    return user.deleted_at is None


def checked_name(name: str) -> str:
    return checked_line(name, "name", NAME_LENGTH)


def checked_email(email: str) -> str:
    if len(email) > EMAIL_LENGTH or not _EMAIL.fullmatch(email):
        raise BadInput(f"email must be an address like name@host, of at most {EMAIL_LENGTH} characters", field="email")
    return email
