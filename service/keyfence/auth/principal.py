"""The callers that a token can identify: a `Principal` (a user of a tenant, with a `Role`) or an `Operator`."""

from dataclasses import dataclass
from enum import StrEnum

from keyfence_iam.tenant import TenantId


class Role(StrEnum):
    """The roles of users, from the strongest to the weakest. A role may do everything that weaker roles may do."""

    OWNER = "OWNER"
    ADMIN = "ADMIN"
    MEMBER = "MEMBER"
    VIEWER = "VIEWER"

    def covers(self, required: "Role") -> bool:
        """Whether this role is the required role or a stronger one."""
        return _RANKS[self] <= _RANKS[required]


_RANKS = {role: rank for rank, role in enumerate(Role)}
"""0 is the strongest role."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """A user or a machine of a tenant, as a verified token identifies it. `issued_at` and `expires_at` are the token's
    `iat` and `exp`, in epoch seconds."""

    tenant: TenantId
    subject: str
    role: Role
    token_id: str | None
    """The `jti` claim. None: the provider gives its tokens no id."""
    issued_at: int
    expires_at: int
    session_id: str | None = None
    """The `sid` claim. All tokens of one login have it. None: the token has no such claim."""
    scopes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """A caller of the operators' API, who belongs to no tenant."""

    subject: str
    token_id: str | None
    expires_at: int
    scopes: frozenset[str] = frozenset()


INTROSPECT_SCOPE = "introspect"
"""Callers with this scope may read the GraphQL schema."""
