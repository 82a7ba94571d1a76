"""The two kinds of caller, as their verified tokens name them."""

from dataclasses import dataclass

from keyfence.auth.role import Role
from keyfence_iam.boundary import TenantId


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
