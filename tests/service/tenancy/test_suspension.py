"""IAM's room for suspensions goes to those whose sessions may still live."""

from datetime import UTC, datetime, timedelta

import pytest

from keyfence.errors import Throttled
from keyfence.tenancy.suspensions import MAX_SESSION_AGE, drop_oldest_to_fit
from keyfence_iam.suspension.deny_policies import deny_tenants_policy
from keyfence_iam.tenant import TenantId

NOW = datetime(2026, 11, 16, tzinfo=UTC)
MANY = 1_000


def crowd(count: int, age: timedelta) -> dict[str, datetime]:
    return {f"tenant-{number:024d}": NOW - age - timedelta(seconds=number) for number in range(count)}


def test_all_stay_while_there_is_room() -> None:
    some = crowd(100, MAX_SESSION_AGE)
    assert drop_oldest_to_fit(some, NOW) == some


def test_those_who_were_shut_out_longest_leave_first() -> None:
    kept = drop_oldest_to_fit(crowd(MANY, MAX_SESSION_AGE), NOW)
    assert 0 < len(kept) < MANY
    assert sorted(kept) == sorted(crowd(MANY, MAX_SESSION_AGE))[: len(kept)]
    deny_tenants_policy(map(TenantId, kept))


def test_nobody_leaves_who_may_have_a_session() -> None:
    with pytest.raises(Throttled) as refusal:
        drop_oldest_to_fit(crowd(MANY, timedelta()), NOW)
    assert 0 < int(str(refusal.value.extensions["retryAfterMs"])) <= MAX_SESSION_AGE.total_seconds() * 1000


def test_a_session_lives_no_longer_than_a_suspension_is_kept() -> None:
    assert timedelta(hours=1) < MAX_SESSION_AGE
