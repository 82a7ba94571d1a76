"""`Principal`, `Operator`, `Role`, the scope `introspect`."""

from dataclasses import dataclass
from enum import StrEnum

from keyfence_iam.tenant import TenantId


class Role(StrEnum):
    """Declared from the strongest to the weakest; each covers all that follow it."""

    OWNER = "OWNER"
    ADMIN = "ADMIN"
    MEMBER = "MEMBER"
    VIEWER = "VIEWER"

    def covers(self, needed: "Role") -> bool:
        return _RANK[self] <= _RANK[needed]


_RANK = {role: rank for rank, role in enumerate(Role)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """A caller inside one tenant. `expires_at` is in epoch seconds, as the token has it."""

    tenant: TenantId
    subject: str
    role: Role
    token_id: str
    expires_at: int
    scopes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """A caller who runs the service and belongs to no tenant."""

    subject: str
    token_id: str
    expires_at: int
    scopes: frozenset[str] = frozenset()


INTROSPECT_SCOPE = "introspect"
"""Whoever has it may read the schema."""
