"""Policies that refuse sessions which were already given out: of suspended tenants, and of before a given time."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from keyfence_iam.policy import Condition, Policy, Statement
from keyfence_iam.policy.document import INLINE, size
from keyfence_iam.roles.statements import EVERYTHING
from keyfence_iam.tenant import TENANT_TAG, TenantId, tenant_id

LARGEST = INLINE - 4_480
"""Leaves the role's own policy and a revocation their part of what IAM allows."""


class BadSuspension(ValueError):
    """A suspension that IAM would not take, or that would not do what it says."""


def suspended(tenants: Iterable[TenantId]) -> Policy:
    """Attached to the tenant roles: sessions of these tenants are refused from then on."""
    listed = tuple(sorted({tenant_id(tenant) for tenant in tenants}))
    if not listed:
        raise BadSuspension("a suspension names at least one tenant; when nobody is suspended, detach the policy")
    policy = _refusal("SuspendedTenants", Condition("StringEquals", f"aws:PrincipalTag/{TENANT_TAG}", listed))
    if size(policy) > LARGEST:
        raise BadSuspension(f"{len(listed)} tenants take {size(policy):,} characters, and a policy has {LARGEST:,}")
    return policy


def revoked(before: datetime) -> Policy:
    """Attached to a role: its sessions of before that time are refused. Parts of a second count as a whole one."""
    if before.tzinfo is None:
        raise BadSuspension("the time must say its time zone")
    whole = (before + timedelta(microseconds=999_999)).astimezone(UTC)
    return _refusal(
        "RevokedSessions", Condition("DateLessThan", "aws:TokenIssueTime", (f"{whole:%Y-%m-%dT%H:%M:%SZ}",))
    )


def _refusal(sid: str, condition: Condition) -> Policy:
    statement = Statement(effect="Deny", sid=sid, actions=("*",), resources=EVERYTHING, conditions=(condition,))
    return Policy(statements=(statement,))
