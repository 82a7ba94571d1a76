"""If the IAM policy has no room for all suspensions, those of tenants without a session are dropped."""

from datetime import UTC, datetime, timedelta

import pytest

from keyfence.errors import Throttled
from keyfence.tenancy.suspensions import MAX_SESSION_AGE, drop_oldest_to_fit
from keyfence_iam.suspension.deny_policies import deny_tenants_policy
from keyfence_iam.tenant import TenantId

NOW = datetime(2026, 11, 16, tzinfo=UTC)
TOO_MANY = 1_000


def suspensions(count: int, age: timedelta) -> dict[str, datetime]:
    return {f"tenant-{number:024d}": NOW - age - timedelta(seconds=number) for number in range(count)}


def test_no_suspension_is_dropped_while_all_fit() -> None:
    suspended_at_by_tenant = suspensions(100, MAX_SESSION_AGE)
    assert drop_oldest_to_fit(suspended_at_by_tenant, NOW) == suspended_at_by_tenant


def test_the_oldest_suspensions_are_dropped_first() -> None:
    remaining = drop_oldest_to_fit(suspensions(TOO_MANY, MAX_SESSION_AGE), NOW)
    assert 0 < len(remaining) < TOO_MANY
    assert sorted(remaining) == sorted(suspensions(TOO_MANY, MAX_SESSION_AGE))[: len(remaining)]
    deny_tenants_policy(map(TenantId, remaining))


def test_no_suspension_of_a_tenant_that_may_have_a_session_is_dropped() -> None:
    with pytest.raises(Throttled) as refusal:
        drop_oldest_to_fit(suspensions(TOO_MANY, timedelta()), NOW)
    assert 0 < int(str(refusal.value.extensions["retryAfterMs"])) <= MAX_SESSION_AGE.total_seconds() * 1000


def test_a_suspension_is_kept_longer_than_a_session_lives() -> None:
    assert timedelta(hours=1) < MAX_SESSION_AGE
