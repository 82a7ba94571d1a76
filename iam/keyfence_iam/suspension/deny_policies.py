"""Deny policies for sessions that already exist: those of suspended tenants, and those issued before a given time."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from keyfence_iam.policy import Condition, Policy, Statement
from keyfence_iam.policy.document import MAX_INLINE_SIZE, policy_size
from keyfence_iam.roles.shared_statements import ALL_RESOURCES
from keyfence_iam.tenant import SESSION_TAG, TenantId, parse_tenant_id

MAX_SUSPENSION_SIZE = MAX_INLINE_SIZE - 4_480
"""The rest of a role's inline policy size is for the role's own policy and for a revocation."""


class InvalidSuspension(ValueError):
    """A suspension that IAM would reject, or that would not have the intended effect."""


def deny_tenants_policy(tenants: Iterable[TenantId]) -> Policy:
    """Returns the policy that, on the tenant roles, denies every call of these tenants' sessions."""
    listed = tuple(sorted({parse_tenant_id(tenant) for tenant in tenants}))
    if not listed:
        raise InvalidSuspension("a suspension names at least one tenant; when nobody is suspended, detach the policy")
    policy = _deny_all("SuspendedTenants", Condition("StringEquals", f"aws:PrincipalTag/{SESSION_TAG}", listed))
    if policy_size(policy) > MAX_SUSPENSION_SIZE:
        raise InvalidSuspension(
            f"{len(listed)} tenants take {policy_size(policy):,} characters, and a policy has {MAX_SUSPENSION_SIZE:,}"
        )
    return policy


def deny_sessions_before(time: datetime) -> Policy:
    """Returns the policy that, on a role, denies its sessions issued before this time.

    The time is rounded up to the next second: TokenIssueTime has whole seconds, and no session of that second may stay.
    """
    if time.tzinfo is None:
        raise InvalidSuspension("the time has no time zone")
    rounded = (time + timedelta(microseconds=999_999)).astimezone(UTC)
    return _deny_all(
        "RevokedSessions", Condition("DateLessThan", "aws:TokenIssueTime", (f"{rounded:%Y-%m-%dT%H:%M:%SZ}",))
    )


def _deny_all(sid: str, condition: Condition) -> Policy:
    statement = Statement(effect="Deny", sid=sid, actions=("*",), resources=ALL_RESOURCES, conditions=(condition,))
    return Policy(statements=(statement,))
