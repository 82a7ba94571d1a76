"""The health of STS follows from the requests of the cache. A problem is logged when it begins and when it ends."""

import pytest
from structlog.testing import capture_logs

from keyfence_iam.sts.session_spec import SessionRefused, SessionUnavailable, suspender_session
from keyfence_iam.sts.sts_health import StsHealth
from tests.fakes.clock import ManualClock
from tests.fakes.sts import SessionCacheFixture, reads, writes

OUTAGE = SessionUnavailable("STS cannot be reached")
REFUSAL = SessionRefused("STS rejects AssumeRole")
OUTAGE_TEXT = "STS cannot be reached, or answers errors"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def health(clock: ManualClock) -> StsHealth:
    return StsHealth(clock)


def test_the_next_session_of_any_role_ends_an_outage(health: StsHealth) -> None:
    health.record_failure(reads("acme"), OUTAGE)
    assert health.problem == OUTAGE_TEXT
    health.record_session(writes("globex"))
    assert not health.problem
    assert health.failed_specs() == []


def test_only_a_session_of_the_same_role_ends_a_refusal(health: StsHealth) -> None:
    health.record_failure(reads("acme"), REFUSAL)
    health.record_session(writes("acme"))
    assert health.problem == "STS refuses sessions of the role tenant-read"
    health.record_session(reads("globex"))
    assert health.problem is None


def test_a_refusal_ends_an_outage_because_sts_has_answered(health: StsHealth) -> None:
    health.record_failure(reads("acme"), OUTAGE)
    health.record_failure(reads("acme"), REFUSAL)
    assert health.problem == "STS refuses sessions of the role tenant-read"


def test_a_refused_role_that_tenants_do_not_need_is_logged_and_retried_but_no_problem(health: StsHealth) -> None:
    with capture_logs() as logs:
        health.record_failure(suspender_session(), REFUSAL)
    assert [line["event"] for line in logs] == ["session_refused"]
    assert (health.problem, health.failed_specs()) == (None, [suspender_session()])


def test_an_sts_that_fails_now_and_then_is_logged_at_most_once_in_ten_seconds(
    health: StsHealth, clock: ManualClock
) -> None:
    with capture_logs() as logs:
        for _ in range(40):
            health.record_failure(reads("acme"), OUTAGE)
            health.record_session(reads("acme"))
            clock.now += 0.5
    assert [line["event"] for line in logs] == ["session_unavailable", "session_available"] * 2


async def test_after_a_failure_the_cache_requests_a_session_and_does_not_cache_it(cache: SessionCacheFixture) -> None:
    cache.sts.fail()
    with pytest.raises(SessionUnavailable):
        await cache.use(reads("acme"))
    cache.sts.recover()
    cache.advance(5)
    assert cache.sessions.health.problem is None
    assert cache.sts.requests == [reads("acme")] * 2
    cache.advance(60)
    assert cache.sts.requests == [reads("acme")] * 2, "a healthy STS is not called without need"
    await cache.use(reads("acme"))
    assert cache.sts.requests == [reads("acme")] * 3


async def test_an_outage_that_a_replacement_noticed_ends_although_the_session_is_not_used_again(
    cache: SessionCacheFixture,
) -> None:
    denied = await cache.sessions.credentials(reads("acme"))
    cache.sessions._sessions[reads("acme")].was_used = False
    cache.sts.fail()
    assert await cache.sessions.replace(reads("acme"), denied) is None
    assert cache.sessions.health.problem == OUTAGE_TEXT
    cache.sts.recover()
    cache.advance(10)
    assert cache.sessions.health.problem is None
