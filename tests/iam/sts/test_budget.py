"""STS is called no more often than the budget allows, and refreshes have a reserve."""

import pytest

from keyfence_iam.sts.session_spec import SessionThrottled
from keyfence_iam.token_bucket import call_budget
from tests.fakes.sts import SessionCacheFixture, reads, session_cache


async def crowd(stage: SessionCacheFixture) -> None:
    """Requests sessions for a hundred new tenants."""
    for number in range(100):
        await stage.use(reads(f"t{number:02}"))


async def test_a_new_tenant_beyond_the_budget_gets_the_time_to_retry() -> None:
    stage = session_cache(budget=call_budget(5.0))
    with pytest.raises(SessionThrottled) as refused:
        await crowd(stage)
    assert len(stage.sts.requests) == 9, "a burst of two seconds, less the reserve for refreshes"
    assert stage.sessions.counts["throttled"] == 1
    assert refused.value.retry_after_seconds > 0
    stage.clock.now += refused.value.retry_after_seconds + 0.001
    assert await stage.use(reads("t99"))


async def test_cached_sessions_cost_no_budget() -> None:
    stage = session_cache(budget=call_budget(1.0))
    for _ in range(100):
        await stage.use(reads("acme"))
    assert stage.sessions.counts["throttled"] == 0


async def test_new_tenants_cannot_use_up_the_reserve_for_refreshes() -> None:
    stage = session_cache(budget=call_budget(10.0))
    await stage.use(reads("acme"))
    stage.clock.now += 541
    with pytest.raises(SessionThrottled):
        await crowd(stage)
    stage.sessions.refresh_due()
    stage.settle()
    assert stage.sessions.counts["renewed"] == 1


async def test_a_refresh_beyond_the_budget_waits() -> None:
    stage = session_cache(budget=call_budget(1.0))
    await stage.use(reads("a1"))
    stage.clock.now += 1
    await stage.use(reads("a2"))
    stage.clock.now += 1
    await stage.use(reads("a3"))
    stage.clock.now += 541
    for renewed in (2, 2, 3):
        stage.sessions.refresh_due()
        stage.settle()
        assert stage.sessions.counts["renewed"] == renewed
        stage.clock.now += 0.5
    assert stage.sessions.counts["throttled"] == 0
