"""Policies that refuse sessions which were already given out: of suspended tenants, and of before a given time."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from keyfence_iam.policy import Condition, Policy, Statement
from keyfence_iam.policy.document import MAX_INLINE_SIZE, policy_size
from keyfence_iam.roles.statements import EVERYTHING
from keyfence_iam.tenant import SESSION_TAG, TenantId, parse_tenant_id

MAX_SUSPENSION_SIZE = MAX_INLINE_SIZE - 4_480
"""Leaves the role's own policy and a revocation their part of what IAM allows."""


class InvalidSuspension(ValueError):
    """A suspension that IAM would not take, or that would not do what it says."""


def deny_tenants_policy(tenants: Iterable[TenantId]) -> Policy:
    """Attached to the tenant roles: sessions of these tenants are refused from then on."""
    listed = tuple(sorted({parse_tenant_id(tenant) for tenant in tenants}))
    if not listed:
        raise InvalidSuspension("a suspension names at least one tenant; when nobody is suspended, detach the policy")
    policy = _refusal("SuspendedTenants", Condition("StringEquals", f"aws:PrincipalTag/{SESSION_TAG}", listed))
    if policy_size(policy) > MAX_SUSPENSION_SIZE:
        raise InvalidSuspension(
            f"{len(listed)} tenants take {policy_size(policy):,} characters, and a policy has {MAX_SUSPENSION_SIZE:,}"
        )
    return policy


def deny_sessions_before(before: datetime) -> Policy:
    """Attached to a role: its sessions of before that time are refused. Parts of a second count as a whole one."""
    if before.tzinfo is None:
        raise InvalidSuspension("the time must say its time zone")
    whole = (before + timedelta(microseconds=999_999)).astimezone(UTC)
    return _refusal(
        "RevokedSessions", Condition("DateLessThan", "aws:TokenIssueTime", (f"{whole:%Y-%m-%dT%H:%M:%SZ}",))
    )


def _refusal(sid: str, condition: Condition) -> Policy:
    statement = Statement(effect="Deny", sid=sid, actions=("*",), resources=EVERYTHING, conditions=(condition,))
    return Policy(statements=(statement,))
