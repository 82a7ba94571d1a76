"""The Deny policies that stop existing sessions: sessions of suspended tenants, and sessions issued before a time."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from keyfence_iam.policy import Condition, Policy, Statement
from keyfence_iam.policy.role import MAX_INLINE_SIZE, policy_size
from keyfence_iam.roles.shared_statements import ALL_RESOURCES
from keyfence_iam.tenant import SESSION_TAG, TenantId, parse_tenant_id

MAX_SUSPENSION_SIZE = MAX_INLINE_SIZE - 4_480
"""The maximum size of a suspension policy, in characters.

IAM limits the size of all inline policies of a role. 4,480 characters are left for the identity policy of the role and
for a policy that denies older sessions.
"""


class InvalidSuspension(ValueError):
    """A suspension without tenants or with too many tenants, or a time without a time zone."""


def deny_tenants_policy(tenants: Iterable[TenantId]) -> Policy:
    """Returns a policy for the tenant roles that denies every call of these tenants' sessions.

    Raises InvalidSuspension if there are no tenants, or too many for the size of the policy. Raises InvalidTenantId if
    a tenant id is malformed.
    """
    sorted_tenants = tuple(sorted({parse_tenant_id(tenant) for tenant in tenants}))
    if not sorted_tenants:
        raise InvalidSuspension("a suspension names at least one tenant; if no tenant is suspended, delete the policy")
    policy = _deny_all("SuspendedTenants", Condition("StringEquals", f"aws:PrincipalTag/{SESSION_TAG}", sorted_tenants))
    if policy_size(policy) > MAX_SUSPENSION_SIZE:
        raise InvalidSuspension(
            f"the policy of {len(sorted_tenants)} suspended tenants has {policy_size(policy):,} characters;"
            f" the maximum is {MAX_SUSPENSION_SIZE:,}"
        )
    return policy


def deny_sessions_before(time: datetime) -> Policy:
    """Returns a policy that denies the sessions of a role that were issued before this time.

    TokenIssueTime has whole seconds. A time with a fraction of a second is rounded up, so that all sessions that were
    issued in the same second are denied. Raises InvalidSuspension if the time has no time zone.
    """
    if time.tzinfo is None:
        raise InvalidSuspension("the time has no time zone; pass a time with a time zone")
    rounded_up = (time + timedelta(microseconds=999_999)).astimezone(UTC)
    return _deny_all(
        "RevokedSessions", Condition("DateLessThan", "aws:TokenIssueTime", (f"{rounded_up:%Y-%m-%dT%H:%M:%SZ}",))
    )


def _deny_all(sid: str, condition: Condition) -> Policy:
    statement = Statement(effect="Deny", sid=sid, actions=("*",), resources=ALL_RESOURCES, conditions=(condition,))
    return Policy(statements=(statement,))
