"""A denied session, which may have been revoked, is replaced by a new one, at most once in an interval."""

import asyncio

import pytest

from keyfence_iam.credentials import Credentials
from keyfence_iam.sts.session_spec import SessionThrottled
from keyfence_iam.token_bucket import call_budget
from tests.fakes.sts import SessionCacheFixture, reads, session_cache, writes

ACME = reads("acme")


async def replace_session(cache: SessionCacheFixture, denied: Credentials) -> Credentials | None:
    return await cache.sessions.replace(ACME, denied)


async def test_a_denied_session_is_replaced_for_all_callers(cache: SessionCacheFixture) -> None:
    denied = await cache.sessions.credentials(ACME)
    other = await replace_session(cache, denied)
    assert other not in {None, denied}
    assert await cache.sessions.credentials(ACME) == other
    assert len(cache.sts.requests) == 2


async def test_simultaneous_denials_share_one_replacement(cache: SessionCacheFixture) -> None:
    denied = await cache.sessions.credentials(ACME)
    replacements = await asyncio.gather(*(replace_session(cache, denied) for _ in range(50)))
    assert len(set(replacements)) == 1
    assert len(cache.sts.requests) == 2


async def test_a_second_denial_of_the_same_session_gets_the_cached_replacement(cache: SessionCacheFixture) -> None:
    denied = await cache.sessions.credentials(ACME)
    other = await replace_session(cache, denied)
    assert await replace_session(cache, denied) == other
    assert len(cache.sts.requests) == 2


async def test_repeated_denials_cost_one_call_to_sts_in_half_a_minute(cache: SessionCacheFixture) -> None:
    for _ in range(20):
        await replace_session(cache, await cache.sessions.credentials(ACME))
    assert len(cache.sts.requests) == 2
    cache.clock.now += 29.9
    assert await replace_session(cache, await cache.sessions.credentials(ACME)) is None
    cache.clock.now += 0.1
    assert await replace_session(cache, await cache.sessions.credentials(ACME))
    assert len(cache.sts.requests) == 3


async def test_a_refresh_does_not_allow_an_earlier_replacement(cache: SessionCacheFixture) -> None:
    await replace_session(cache, await cache.sessions.credentials(ACME))
    cache.sessions.refresh_due_sessions()
    assert await replace_session(cache, await cache.sessions.credentials(ACME)) is None
    cache.clock.now += 30
    cache.sessions.refresh_due_sessions()
    assert cache.sessions._next_replacement_at == {}


async def test_a_replacement_for_one_spec_is_not_used_for_another(cache: SessionCacheFixture) -> None:
    await replace_session(cache, await cache.sessions.credentials(ACME))
    for spec in (writes("acme"), reads("globex")):
        denied = await cache.sessions.credentials(spec)
        other = await cache.sessions.replace(spec, denied)
        assert other is not None
        assert other.access_key.startswith(f"{spec.role}/{spec.tenant}/")


async def test_a_denied_session_stays_cached_during_an_outage_of_sts(cache: SessionCacheFixture) -> None:
    denied = await cache.sessions.credentials(ACME)
    cache.sts.fail()
    assert await replace_session(cache, denied) is None
    assert await cache.sessions.credentials(ACME) == denied


@pytest.mark.parametrize("failure", [SessionThrottled("busy", 1.0), ZeroDivisionError()], ids=["busy", "unexpected"])
async def test_an_error_of_sts_gives_no_replacement(cache: SessionCacheFixture, failure: Exception) -> None:
    denied = await cache.sessions.credentials(ACME)
    cache.sts.failure = failure
    assert await replace_session(cache, denied) is None


async def test_a_replacement_beyond_the_budget_is_made_after_a_later_denial() -> None:
    cache = session_cache(budget=call_budget(0.5))
    denied = await cache.sessions.credentials(ACME)
    assert await replace_session(cache, denied) is None
    cache.clock.now += 2
    assert await replace_session(cache, denied)


async def test_a_replacement_is_refreshed_like_any_session(cache: SessionCacheFixture) -> None:
    await replace_session(cache, await cache.sessions.credentials(ACME))
    other = await cache.use(ACME)
    cache.advance(600)
    assert await cache.use(ACME) != other
