"""The callers that a token can identify: a `Principal` in a tenant, with a `Role`, or an `Operator`."""

from dataclasses import dataclass
from enum import StrEnum

from keyfence_iam.tenant import TenantId


class Role(StrEnum):
    """The roles of users, from the strongest to the weakest. Each role covers all that follow it."""

    OWNER = "OWNER"
    ADMIN = "ADMIN"
    MEMBER = "MEMBER"
    VIEWER = "VIEWER"

    def covers(self, needed: "Role") -> bool:
        return _RANK[self] <= _RANK[needed]


_RANK = {role: rank for rank, role in enumerate(Role)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """A caller that belongs to one tenant. `expires_at` is the token's `exp`, in epoch seconds."""

    tenant: TenantId
    subject: str
    role: Role
    token_id: str
    expires_at: int
    scopes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """A caller that operates the service and belongs to no tenant."""

    subject: str
    token_id: str
    expires_at: int
    scopes: frozenset[str] = frozenset()


INTROSPECT_SCOPE = "introspect"
"""Callers with this scope may read the GraphQL schema."""
