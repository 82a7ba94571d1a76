"""Suspensions and revocations deny the intended sessions, and reject invalid arguments."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from keyfence_iam.deployment import Deployment
from keyfence_iam.policy import Condition, parse_policy
from keyfence_iam.policy.role import MAX_INLINE_SIZE, policy_size
from keyfence_iam.roles import ROLES
from keyfence_iam.suspension.deny_policies import (
    MAX_SUSPENSION_SIZE,
    InvalidSuspension,
    deny_sessions_before,
    deny_tenants_policy,
)
from keyfence_iam.tenant import InvalidTenantId, TenantId

NOON = datetime(2026, 1, 2, 12, 0, 0, tzinfo=UTC)
LONG_TENANT_IDS = [TenantId(f"tenant-with-a-rather-long-id-{number:03}") for number in range(1000)]


def only_condition(policy: object) -> Condition:
    (statement,) = parse_policy(policy).statements
    assert (statement.effect, statement.actions, statement.resources) == ("Deny", ("*",), ("*",))
    (condition,) = statement.conditions
    return condition


def test_a_suspension_denies_everything_to_its_tenants() -> None:
    policy = deny_tenants_policy([TenantId("globex"), TenantId("acme"), TenantId("acme")])
    assert only_condition(policy.as_json()) == Condition("StringEquals", "aws:PrincipalTag/tenant", ("acme", "globex"))


@pytest.mark.parametrize("text", ["*", "", "ACME", "a*", "${aws:username}", "acme#"])
def test_an_invalid_tenant_id_cannot_be_suspended(text: str) -> None:
    with pytest.raises(InvalidTenantId):
        deny_tenants_policy([TenantId("acme"), TenantId(text)])


def test_a_suspension_without_tenants_is_rejected() -> None:
    with pytest.raises(InvalidSuspension, match="at least one tenant"):
        deny_tenants_policy([])


def test_a_suspension_that_is_too_large_is_rejected_with_its_size() -> None:
    with pytest.raises(
        InvalidSuspension, match=r"1000 suspended tenants has 3\d,\d{3} characters; the maximum is 5,760"
    ):
        deny_tenants_policy(LONG_TENANT_IDS)


@pytest.mark.parametrize("role", ["tenant-read", "tenant-write"])
def test_the_largest_suspension_fits_beside_the_identity_policy_and_a_revocation(role: str) -> None:
    largest = max(number for number in range(1, 300) if _fits(number))
    policies = (
        ROLES[role].identity(Deployment(table="t" * 255)),
        deny_tenants_policy(LONG_TENANT_IDS[:largest]),
        deny_sessions_before(NOON),
    )
    assert largest > 150
    assert sum(policy_size(policy) for policy in policies) <= MAX_INLINE_SIZE


def _fits(number: int) -> bool:
    try:
        return policy_size(deny_tenants_policy(LONG_TENANT_IDS[:number])) <= MAX_SUSPENSION_SIZE
    except InvalidSuspension:
        return False


def test_a_revocation_denies_everything_to_older_sessions() -> None:
    assert only_condition(deny_sessions_before(NOON).as_json()) == Condition(
        "DateLessThan", "aws:TokenIssueTime", ("2026-01-02T12:00:00Z",)
    )


def test_the_time_of_a_revocation_is_rounded_up_to_the_next_second() -> None:
    policy = deny_sessions_before(NOON + timedelta(microseconds=1))
    assert only_condition(policy.as_json()).values == ("2026-01-02T12:00:01Z",)


def test_the_time_of_a_revocation_is_in_utc() -> None:
    noon_in_new_york = NOON.astimezone(timezone(timedelta(hours=-5)))
    assert deny_sessions_before(noon_in_new_york) == deny_sessions_before(NOON)


def test_a_time_without_a_time_zone_is_rejected() -> None:
    with pytest.raises(InvalidSuspension, match="time zone"):
        deny_sessions_before(NOON.replace(tzinfo=None))
