"""`Group`, `Membership` and `Member`, and checks of their fields that need no read of the table."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import NewType

from keyfence.store.embedded_edges import EdgeAttributes, EmbeddedEdges
from keyfence.validation import checked_line, checked_text

GroupId = NewType("GroupId", str)
MemberId = NewType("MemberId", str)

MAX_NAME_LENGTH = 200
MAX_DESCRIPTION_LENGTH = 2000


class GroupRole(StrEnum):
    """The role of a member in a group."""

    MANAGER = "MANAGER"
    MEMBER = "MEMBER"


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A named group of users. `embedded_edges` has the group's first members. It is None if the group was read from an
    index."""

    id: GroupId
    name: str
    created_at: datetime
    updated_at: datetime
    description: str | None = None
    member_count: int = 0
    version: int = 1
    deleted_at: datetime | None = None
    embedded_edges: EmbeddedEdges | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """A user is a member of a group. The membership is an edge in the list of the user's groups and in the list of the
    group's members. The user joined at `created_at`."""

    user_id: MemberId
    group_id: GroupId
    role: GroupRole
    created_at: datetime
    updated_at: datetime
    version: int = 1

    @property
    def attributes(self) -> EdgeAttributes:
        """The attributes that are embedded in the items of the user and of the group."""
        return {
            "role": self.role,
            "joined": self.created_at.isoformat(),
            "changed": self.updated_at.isoformat(),
            "version": str(self.version),
        }

    @classmethod
    def from_attributes(cls, user_id: str, group_id: str, attributes: EdgeAttributes) -> "Membership":
        return cls(
            user_id=MemberId(user_id),
            group_id=GroupId(group_id),
            role=GroupRole(attributes["role"]),
            created_at=datetime.fromisoformat(attributes["joined"]),
            updated_at=datetime.fromisoformat(attributes["changed"]),
            version=int(attributes["version"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """The part of a user's item that memberships need: whether the user exists, and the edges to groups."""

    id: MemberId
    created_at: datetime
    updated_at: datetime
    version: int
    deleted_at: datetime | None = None
    embedded_edges: EmbeddedEdges


def is_alive(group_or_member: Group | Member) -> bool:
    return group_or_member.deleted_at is None


checked_name = partial(checked_line, field="name", max_length=MAX_NAME_LENGTH)


def checked_description(description: str | None) -> str | None:
    return checked_text(description, "description", MAX_DESCRIPTION_LENGTH) if description else None
