"""A denied session is replaced by a new one, since it may have been revoked, at most once in an interval."""

import asyncio

import pytest

from keyfence_iam.credentials import Credentials
from keyfence_iam.sts.session_spec import SessionThrottled
from keyfence_iam.token_bucket import call_budget
from tests.fakes.sts import SessionCacheFixture, reads, session_cache, writes

ACME = reads("acme")


async def replaced(stage: SessionCacheFixture, refused: Credentials) -> Credentials | None:
    return await stage.sessions.replace(ACME, refused)


async def test_a_denied_session_is_replaced_for_all_callers(stage: SessionCacheFixture) -> None:
    refused = await stage.sessions.credentials(ACME)
    other = await replaced(stage, refused)
    assert other not in {None, refused}
    assert await stage.sessions.credentials(ACME) == other
    assert len(stage.sts.requests) == 2


async def test_simultaneous_denials_share_one_replacement(stage: SessionCacheFixture) -> None:
    refused = await stage.sessions.credentials(ACME)
    others = await asyncio.gather(*(replaced(stage, refused) for _ in range(50)))
    assert len(set(others)) == 1
    assert len(stage.sts.requests) == 2


async def test_a_late_denial_gets_the_session_that_is_cached_by_then(stage: SessionCacheFixture) -> None:
    refused = await stage.sessions.credentials(ACME)
    other = await replaced(stage, refused)
    assert await replaced(stage, refused) == other
    assert len(stage.sts.requests) == 2


async def test_repeated_denials_cost_one_call_to_sts_in_half_a_minute(stage: SessionCacheFixture) -> None:
    for _ in range(20):
        await replaced(stage, await stage.sessions.credentials(ACME))
    assert len(stage.sts.requests) == 2
    stage.clock.now += 29.9
    assert await replaced(stage, await stage.sessions.credentials(ACME)) is None
    stage.clock.now += 0.1
    assert await replaced(stage, await stage.sessions.credentials(ACME))
    assert len(stage.sts.requests) == 3


async def test_the_refresh_keeps_the_time_of_a_replacement(stage: SessionCacheFixture) -> None:
    await replaced(stage, await stage.sessions.credentials(ACME))
    stage.sessions.refresh_due()
    assert await replaced(stage, await stage.sessions.credentials(ACME)) is None
    stage.clock.now += 30
    stage.sessions.refresh_due()
    assert stage.sessions._next_replacement_at == {}


async def test_a_replacement_for_one_spec_is_not_used_for_another(stage: SessionCacheFixture) -> None:
    await replaced(stage, await stage.sessions.credentials(ACME))
    for spec in (writes("acme"), reads("globex")):
        denied = await stage.sessions.credentials(spec)
        other = await stage.sessions.replace(spec, denied)
        assert other is not None
        assert other.access_key.startswith(f"{spec.role}/{spec.tenant}/")


async def test_without_sts_a_denied_session_stays_cached(stage: SessionCacheFixture) -> None:
    denied = await stage.sessions.credentials(ACME)
    stage.sts.fail()
    assert await replaced(stage, denied) is None
    assert await stage.sessions.credentials(ACME) == denied


@pytest.mark.parametrize("failure", [SessionThrottled("busy", 1.0), ZeroDivisionError()], ids=["busy", "unforeseen"])
async def test_an_error_of_sts_leaves_the_denial_as_it_is(stage: SessionCacheFixture, failure: Exception) -> None:
    denied = await stage.sessions.credentials(ACME)
    stage.sts.failure = failure
    assert await replaced(stage, denied) is None


async def test_beyond_the_budget_nothing_is_replaced_and_the_next_denial_may_try() -> None:
    stage = session_cache(budget=call_budget(0.5))
    denied = await stage.sessions.credentials(ACME)
    assert await replaced(stage, denied) is None
    stage.clock.now += 2
    assert await replaced(stage, denied)


async def test_a_replacement_is_refreshed_like_any_session(stage: SessionCacheFixture) -> None:
    await replaced(stage, await stage.sessions.credentials(ACME))
    other = await stage.use(ACME)
    stage.advance(600)
    assert await stage.use(ACME) != other
