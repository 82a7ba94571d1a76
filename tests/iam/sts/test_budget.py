"""STS is called no more often than the budget allows, and refreshes have a reserve."""

import pytest

from keyfence_iam.sts.session_spec import SessionThrottled
from keyfence_iam.token_bucket import call_budget
from tests.fakes.sts import SessionCacheFixture, reads, session_cache


async def request_a_hundred_sessions(cache: SessionCacheFixture) -> None:
    """Requests sessions for a hundred new tenants."""
    for number in range(100):
        await cache.use(reads(f"t{number:02}"))


async def test_the_error_for_a_session_beyond_the_budget_has_the_time_to_retry() -> None:
    cache = session_cache(budget=call_budget(5.0))
    with pytest.raises(SessionThrottled) as error:
        await request_a_hundred_sessions(cache)
    assert len(cache.sts.requests) == 9, "a burst of two seconds, less the reserve for refreshes"
    assert cache.sessions.counts["throttled"] == 1
    assert error.value.retry_after_seconds > 0
    cache.clock.now += error.value.retry_after_seconds + 0.001
    assert await cache.use(reads("t99"))


async def test_cached_sessions_cost_no_budget() -> None:
    cache = session_cache(budget=call_budget(1.0))
    for _ in range(100):
        await cache.use(reads("acme"))
    assert cache.sessions.counts["throttled"] == 0


async def test_new_tenants_cannot_use_up_the_reserve_for_refreshes() -> None:
    cache = session_cache(budget=call_budget(10.0))
    await cache.use(reads("acme"))
    cache.clock.now += 541
    with pytest.raises(SessionThrottled):
        await request_a_hundred_sessions(cache)
    cache.sessions.refresh_due_sessions()
    cache.wait_for_sts()
    assert cache.sessions.counts["renewed"] == 1


async def test_a_refresh_beyond_the_budget_is_made_later() -> None:
    cache = session_cache(budget=call_budget(1.0))
    await cache.use(reads("a1"))
    cache.clock.now += 1
    await cache.use(reads("a2"))
    cache.clock.now += 1
    await cache.use(reads("a3"))
    cache.clock.now += 541
    for refresh_count in (2, 2, 3):
        cache.sessions.refresh_due_sessions()
        cache.wait_for_sts()
        assert cache.sessions.counts["renewed"] == refresh_count
        cache.clock.now += 0.5
    assert cache.sessions.counts["throttled"] == 0
